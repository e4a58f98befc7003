"""The part of a Dockerfile that can be done in a sandbox without network: folders, files, variables, commands.

Files are copied before the first command is run. Whatever is not understood is said to be so, and never left out.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from agentworld_envs.domains.terminal.dockershell import without_packages
from agentworld_envs.domains.terminal.dockertext import (
    SANDBOX_PATH,
    Unsupported,
    ignored_by,
    instructions,
    words_of,
)
from agentworld_envs.domains.terminal.entries import Entry, entries_of, read_entry
from agentworld_envs.domains.terminal.scenario import WRITABLE

_IGNORED = {"CMD", "ENTRYPOINT", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "STOPSIGNAL", "USER", "VOLUME"}
_ARCHIVE = re.compile(r"\.(tar|tar\.(gz|bz2|xz|zst)|tgz|tbz2?|txz)$")
_FLAG = re.compile(r"--([a-z]+)(?:=(\S*))?(?:\s+|$)")


class Step(NamedTuple):
    """One `RUN`."""

    cwd: str
    variables: dict[str, str]
    options: str
    """Of the shell."""
    command: str


@dataclass(slots=True)
class Recipe:
    """What a Dockerfile does."""

    cwd: str = "/app"
    env: dict[str, str] = field(default_factory=dict)
    files: dict[str, Entry] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    base: str = ""
    """Its base image, which is not used: a sandbox runs on its own root."""


def read_dockerfile(path: Path) -> Recipe:
    """Read a Dockerfile; files are taken from its folder.

    Raises:
        Unsupported: an instruction that needs the network, or that is not known.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Unsupported("its Dockerfile is not UTF-8") from error
    build = _Build(path.parent)
    for name, rest in instructions(text):
        build.apply(name, rest.strip())
    return build.finish()


class _Build:
    def __init__(self, context: Path) -> None:
        self._context = context
        self._ignored = ignored_by(context)
        self._recipe = Recipe()
        self._arguments: dict[str, str] = {}
        self._before: dict[str, str] = {}
        """Arguments before `FROM`; they are known behind it only where they are named again."""
        self._options = ""
        self._steps: list[Step] = []

    @property
    def _variables(self) -> dict[str, str]:
        return {"PATH": SANDBOX_PATH, **self._arguments, **self._recipe.env}

    def apply(self, name: str, rest: str) -> None:
        recipe = self._recipe
        if name == "FROM":
            if recipe.base:
                raise Unsupported("it is built in several stages")
            recipe.base = rest or "scratch"
            self._before, self._arguments = self._arguments, {}
        elif name == "ARG":
            self._argument(rest)
        elif not recipe.base:
            raise Unsupported(f"its instruction {name} stands before FROM")
        elif name == "WORKDIR":
            recipe.cwd = posixpath.normpath(posixpath.join(recipe.cwd, self._one(rest)))
            recipe.folders.append(recipe.cwd)
        elif name == "ENV":
            recipe.env.update(self._assignments(rest))
        elif name in ("COPY", "ADD"):
            self._copy(name, rest)
        elif name == "RUN":
            self._run(rest)
        elif name == "SHELL":
            self._shell(rest)
        elif name not in _IGNORED:
            raise Unsupported(f"its instruction {name} is not known")

    def finish(self) -> Recipe:
        recipe = self._recipe
        if not recipe.base:
            raise Unsupported("its Dockerfile has no FROM")
        recipe.folders.append(recipe.cwd)
        recipe.setup = [_rendered(step, recipe.env) for step in self._steps]
        return recipe

    def _one(self, rest: str) -> str:
        value = "".join(words_of(rest, self._variables, split=False))
        if not value:
            raise Unsupported("its WORKDIR is empty")
        return value

    def _argument(self, rest: str) -> None:
        for word in words_of(rest, {**self._before, **self._variables}):
            name, given, value = word.partition("=")
            if not given and name.startswith(("TARGET", "BUILD")):
                continue  # the builder knows them, and nobody else
            self._arguments[name] = value if given else self._before.get(name, "")

    def _assignments(self, rest: str) -> dict[str, str]:
        first = re.match(r"[^\s=]+(?=\s)", rest)
        if first is not None:
            found = {first[0]: "".join(words_of(rest[first.end() :].strip(), self._variables, split=False))}
        else:
            found = dict(word.partition("=")[::2] for word in words_of(rest, self._variables))
        for name in found:
            if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
                raise Unsupported(f"its variable {name!r:.40} has no name that a shell knows")
        return found

    def _shell(self, rest: str) -> None:
        words = _json_words(rest)
        if not words or posixpath.basename(words[0]) not in ("sh", "bash", "dash"):
            raise Unsupported(f"its SHELL is {rest:.60}")
        options = [re.sub(r"(?<=-)[a-zA-Z]+", lambda m: re.sub("[cl]", "", m[0]), word) for word in words[1:]]
        self._options = shlex.join(option for option in options if option != "-")

    def _run(self, rest: str) -> None:
        flag = _FLAG.match(rest)
        if flag is not None:
            raise Unsupported(f"its RUN has the option --{flag[1]}")
        words = _json_words(rest)
        command, needs = without_packages(rest if words is None else shlex.join(words))
        self._recipe.needs += needs
        if command:
            variables = {**self._arguments, **self._recipe.env}
            self._steps.append(Step(self._recipe.cwd, variables, self._options, command))

    def _copy(self, name: str, rest: str) -> None:
        mode: str | None = None
        while flag := _FLAG.match(rest):
            rest = rest[flag.end() :]
            if flag[1] == "from":
                raise Unsupported("it copies from another image")
            if flag[1] == "chmod" and re.fullmatch(r"[0-7]{3,4}", flag[2] or ""):
                mode = flag[2]
            elif flag[1] not in ("chown", "link"):
                raise Unsupported(f"its {name} has the option {flag[0].strip()}")
        listed = _json_words(rest)
        if listed is None:
            words = words_of(rest, self._variables)
        else:
            words = ["".join(words_of(word, self._variables, split=False)) for word in listed]
        if len(words) < 2:
            raise Unsupported(f"its {name} has no target")
        *sources, target = words
        if name == "ADD" and any(_ARCHIVE.search(source) for source in sources):
            raise Unsupported("it unpacks an archive")
        root = posixpath.normpath(posixpath.join(self._recipe.cwd, target))
        found = [path for source in sources for path in self._find(source)]
        inside = target.endswith("/") or posixpath.basename(target) in (".", "..") or self._is_folder(root)
        if len(found) > 1 and not inside:
            raise Unsupported(f"its {name} has several sources, and its target {target!r} does not end with /")
        for path in found:
            self._put(path, root, mode, inside=inside)

    def _find(self, source: str) -> list[Path]:
        if "://" in source or source.startswith("git@"):
            raise Unsupported(f"it fetches {source.partition('://')[0]} addresses")
        plain = posixpath.normpath(source.lstrip("/") or ".")
        if "**" in plain or "\\" in plain:
            raise Unsupported(f"its pattern {source!r} is not understood")
        context = self._context
        found = [context] if plain == "." else [] if plain.startswith("..") else sorted(context.glob(plain))
        if plain.startswith("..") or any(not p.resolve().is_relative_to(context.resolve()) for p in found):
            raise Unsupported(f"its file {source!r} lies outside of its folder")
        found = [p for p in found if p.is_dir() or not self._ignored(p.relative_to(context).as_posix())]
        if not found:
            raise Unsupported(f"its file {source!r} is missing")
        return found

    def _is_folder(self, path: str) -> bool:
        recipe = self._recipe
        known = [*WRITABLE, recipe.cwd, *recipe.folders, *(name for name, e in recipe.files.items() if e.folder)]
        if any(f"{name}/".startswith(path.rstrip("/") + "/") for name in known):
            return True
        if any(name.startswith(path + "/") for name in recipe.files):
            return True
        made = re.compile(rf"\bmkdir\b[^;&|\n]*(?<![\w.-]){re.escape(posixpath.basename(path))}(?![\w.-])")
        if any(made.search(step.command) for step in self._steps):
            raise Unsupported(f"whether its target {path!r} is a folder is not known; it would be with / at the end")
        return False

    def _put(self, path: Path, root: str, mode: str | None, *, inside: bool) -> None:
        files = self._recipe.files
        if not path.is_dir():
            entry = read_entry(path)
            name = posixpath.join(root, path.name) if inside else root
            files[name] = entry if mode is None else entry.model_copy(update={"mode": mode})
            return
        above = path.relative_to(self._context).as_posix()

        def skip(below: str) -> bool:
            name = below if above == "." else f"{above}/{below}"
            return name == "Dockerfile" or self._ignored(name)

        for name, entry in entries_of(path, root, skip=skip).items():
            changed = mode is not None and entry.link is None
            files[name] = entry.model_copy(update={"mode": mode}) if changed else entry
        self._recipe.folders.append(root)


def _rendered(step: Step, final: dict[str, str]) -> str:
    """A command that does what a step does where the final variables are set. Docker's shell goes on after errors."""
    lines = [f"cd {shlex.quote(step.cwd)}"]
    lines += [f"export {n}={shlex.quote(v)}" for n, v in step.variables.items() if final.get(n) != v]
    gone = [name for name in final if name not in step.variables]
    if "PATH" in gone:
        gone.remove("PATH")
        lines.append(f"export PATH={SANDBOX_PATH}")
    if gone:
        lines.append(f"unset {' '.join(gone)}")
    lines.append("set +e" + (f" {step.options}" if step.options else ""))
    return "\n".join([*lines, step.command])


def _json_words(text: str) -> list[str] | None:
    """The words of the JSON form of an instruction; `None` when it is not written so."""
    if not text.startswith("["):
        return None
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else None


__all__ = ["Recipe", "Unsupported", "read_dockerfile"]
