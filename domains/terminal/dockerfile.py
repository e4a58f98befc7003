"""The part of a Dockerfile that can be done in a sandbox without network: folders, files, variables, commands."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from agentworld_envs.domains.terminal.entries import Entry, entries_of, file
from agentworld_envs.interface import TaskError

_NETWORK = re.compile(
    r"\b(curl|wget|pip3?|uv|uvx|npm|npx|yarn|cargo|go get|gem|conda|apk|yum|dnf|git clone|add-apt-repository|rustup)\b"
)
_APT = re.compile(r"\bapt(?:-get)?\b")
_IGNORED = {"ARG", "CMD", "ENTRYPOINT", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "SHELL", "STOPSIGNAL", "USER"}
_PROGRAM_OF = {
    "build-essential": "make",
    "coreutils": "ls",
    "findutils": "find",
    "gawk": "awk",
    "procps": "ps",
    "python3-pytest": "python:pytest",
    "python3-yaml": "python:yaml",
    "xz-utils": "xz",
}
"""Program by which it is known that a package is there; by default one of the package's name."""
_HARNESS = {
    "apt-utils",
    "asciinema",
    "ca-certificates",
    "curl",
    "locales",
    "python3-pip",
    "python3-venv",
    "sudo",
    "tmux",
    "tzdata",
    "wget",
}
"""Packages that a task's harness wants, or that are of no use without network."""


class Unsupported(TaskError):
    """The file needs what a sandbox without network cannot give."""


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
    recipe = Recipe()
    for line in _lines(path.read_text(encoding="utf-8")):
        name, _, rest = line.partition(" ")
        _apply(recipe, name.upper(), rest.strip(), path.parent)
    recipe.folders.append(recipe.cwd)
    return recipe


def _lines(text: str) -> list[str]:
    kept = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\[ \t]*\n", " ", "\n".join(kept))
    return [line.strip() for line in joined.splitlines() if line.strip()]


def _apply(recipe: Recipe, name: str, rest: str, context: Path) -> None:
    if name == "FROM":
        if recipe.base:
            raise Unsupported("it is built in several stages")
        recipe.base = rest
    elif name == "WORKDIR":
        recipe.cwd = str(PurePosixPath(recipe.cwd) / rest.strip("\"'"))
        recipe.folders.append(recipe.cwd)
    elif name == "ENV":
        recipe.env.update(_variables(rest))
    elif name in ("COPY", "ADD"):
        _copy(recipe, rest, context)
    elif name == "RUN":
        _run(recipe, rest)
    elif name not in _IGNORED:
        raise Unsupported(f"its instruction {name} is not known")


def _variables(rest: str) -> dict[str, str]:
    words = shlex.split(rest)
    if words and "=" not in words[0]:
        return {words[0]: " ".join(words[1:])}
    return dict(word.split("=", 1) for word in words if "=" in word)


def _copy(recipe: Recipe, rest: str, context: Path) -> None:
    words = json.loads(rest) if rest.startswith("[") else shlex.split(rest)
    if any(word.startswith("--from") for word in words):
        raise Unsupported("it copies from another image")
    *sources, target = [word for word in words if not word.startswith("--")]
    root = str(PurePosixPath(recipe.cwd) / target)
    for source in sources:
        if "://" in source:
            raise Unsupported(f"it fetches {source.partition('://')[0]} addresses")
        found = sorted(context.glob(source.lstrip("/"))) if source not in (".", "./") else [context]
        if not found:
            raise Unsupported(f"its file {source!r} is missing")
        for path in found:
            if not path.resolve().is_relative_to(context.resolve()):
                raise Unsupported(f"its file {source!r} lies outside of its folder")
            if path.is_dir():
                copied = entries_of(path, root)
                recipe.files.update({k: v for k, v in copied.items() if not k.endswith("/Dockerfile")})
                recipe.folders.append(root)
            else:
                inside = target.endswith(("/", ".")) or len(sources) > 1 or len(found) > 1
                recipe.files[f"{root.rstrip('/')}/{path.name}" if inside else root] = _one(path)


def _one(path: Path) -> Entry:
    data = path.read_bytes()
    mode = "755" if path.stat().st_mode & 0o100 else None
    try:
        return file(data.decode(), mode=mode)
    except UnicodeDecodeError:
        return file(data, mode=mode)


def _run(recipe: Recipe, rest: str) -> None:
    command = shlex.join(json.loads(rest)) if rest.startswith("[") else rest
    left = []
    for part in re.split(r"\s*&&\s*", command):
        if _APT.search(part):
            recipe.needs += _packages(part)
        elif "/var/lib/apt/lists" not in part:
            left.append(part)
    command = " && ".join(left)
    match = _NETWORK.search(command)
    if match is not None:
        raise Unsupported(f"it needs the network: {match[0]}")
    if command:
        recipe.setup.append(f"cd {shlex.quote(recipe.cwd)} && {command}" if recipe.cwd != "/app" else command)


def _packages(part: str) -> list[str]:
    """Programs that stand for the packages that apt is to install."""
    words = shlex.split(part)
    if "install" not in words:
        return []
    names = [word.partition("=")[0] for word in words[words.index("install") + 1 :] if not word.startswith("-")]
    return [_PROGRAM_OF.get(name, name) for name in names if name not in _HARNESS]
