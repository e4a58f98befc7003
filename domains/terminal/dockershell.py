"""The shell text of `RUN`: without what only installs packages, which a sandbox has or has not."""

from __future__ import annotations

import re
import shlex

from agentworld_envs.domains.terminal.dockertext import Unsupported

_NETWORK = re.compile(
    r"\b(curl|wget|pip3?|uv|uvx|npm|npx|yarn|cargo|go get|gem|conda|apk|yum|dnf|git clone|add-apt-repository|rustup)\b"
)
_APT = re.compile(r"(?:\w+=\S*\s+|sudo\s+)*(?:apt|apt-get)(?:\s|$)")
_APT_INSIDE = re.compile(
    r"(?:[|(){}!&`]|\b(?:then|do|else|elif|if|while|until|sudo|exec|time|env|xargs)\s)\s*(?:\w+=\S*\s+)*(?:apt|apt-get)(?:\s|$)"
)
_LISTS = re.compile(r"rm\s+-\w+\s+/var/lib/apt/lists(?:/\*)?(?:\s+/var/cache/apt\S*|\s+/tmp/\*|\s+/var/tmp/\*)*")
_COMPOUND = re.compile(r"(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|function)\b|[(){}]")
_PARTS = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|&&|\|\||;;|[;\n]|[^'"\\&|;\n]+|.""", re.S)
_NOTHING = ("update", "clean", "autoclean", "autoremove", "upgrade", "dist-upgrade", "purge", "remove")
"""Commands of apt without which a sandbox is as good."""
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


def without_packages(command: str) -> tuple[str, list[str]]:
    """A command without what apt does in it, and the programs that stand for the packages it would install.

    Raises:
        Unsupported: it needs the network, or what apt does cannot be taken out of it.
    """
    kept: list[tuple[str, str]] = []
    needs: list[str] = []
    dropped = False
    parts = _split(command)
    for index, (separator, part) in enumerate(parts):
        if _APT.match(part):
            following = parts[index + 1][0] if index + 1 < len(parts) else ""
            if "||" in (separator, following):
                raise Unsupported(f"what it does when apt fails is not understood: {part!r:.60}")
            needs += _packages(part)
            dropped = True
        elif _LISTS.fullmatch(part):
            dropped = True
        else:
            kept.append((separator, part))
    bare = [_without_quotes(part) for _, part in kept]
    if any(_APT_INSIDE.search(part) for part in bare) or (dropped and any(_COMPOUND.match(part) for part in bare)):
        raise Unsupported("it calls apt in a way that is not understood")
    left = command
    if dropped:
        left = "".join((f"{sep} " if sep == ";" else f" {sep} ") + part for sep, part in kept)
        left = re.sub(r"^\s*(?:&&|\|\||;|\n)\s*", "", left)
    match = _NETWORK.search(left)
    if match is not None:
        raise Unsupported(f"it needs the network: {match[0]}")
    return left.strip(), needs


def _split(command: str) -> list[tuple[str, str]]:
    """Commands with the operator before each, split outside of quotes."""
    found: list[tuple[str, str]] = [("", "")]
    for token in _PARTS.findall(command):
        if token in ("&&", "||", ";", "\n"):
            found.append((token, ""))
        else:
            found[-1] = (found[-1][0], found[-1][1] + token)
    return [(separator, part.strip()) for separator, part in found if part.strip()]


def _without_quotes(text: str) -> str:
    return re.sub(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.""", "Q", text, flags=re.S)


def _packages(part: str) -> list[str]:
    """Programs that stand for the packages that a call of apt is to install."""
    text = re.sub(r"\s[12]?>\s*/dev/null|\s2>&1", " ", part)
    if re.search(r"[$`*?<>|&(){}#\[\]]", text):
        raise Unsupported(f"a call of apt is not understood: {part!r:.60}")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Unsupported(f"a call of apt is not understood: {part!r:.60}") from error
    words = words[next(i for i, word in enumerate(words) if word in ("apt", "apt-get")) + 1 :]
    operands: list[str] = []
    while words:
        word = words.pop(0)
        if word in ("-o", "-t", "-c") and words:
            words.pop(0)
        elif not word.startswith("-"):
            operands.append(word)
    if not operands or (operands[0] != "install" and operands[0] not in _NOTHING):
        raise Unsupported(f"a call of apt is not understood: {part!r:.60}")
    names = [re.split("[=/:]", name)[0] for name in operands[1:]] if operands[0] == "install" else []
    if any(not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", name) for name in names):
        raise Unsupported(f"a call of apt is not understood: {part!r:.60}")
    return [_PROGRAM_OF.get(name, name) for name in names if name not in _HARNESS]
