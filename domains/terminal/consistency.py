"""`contradictions`: what a screen says against what is certain of the machine."""

from __future__ import annotations

import contextlib
import posixpath
import re

from agentworld_envs.domains.terminal.belief import Belief, read_screen
from agentworld_envs.domains.terminal.clock import mask
from agentworld_envs.domains.terminal.effects import follow
from agentworld_envs.domains.terminal.places import Place, find
from agentworld_envs.domains.terminal.readers import READERS, operands_of, printed
from agentworld_envs.domains.terminal.words import Command, Unfollowed, Word, read_script

_LONGEST = 8000
"""Longer outputs are cut by the terminal and not compared."""
_LOOKS = ("cat", "head", "tail", "wc", "sort", "stat", "ls")
"""Programs that complain of every operand that is not there."""
_LS_FLAGS = re.compile(r"-[1aAlh]+")
_ABSENT = re.compile(r"(?:bash: )?(?:line \d+: )?\w+: .*: No such file or directory")
"""The only line of an output; in the middle of one it may be the contents of a file."""
_COMPLAINT = re.compile(r"no such|not a directory|cannot|not found|error|denied", re.IGNORECASE)
_LONG = re.compile(r"[-dlbcps][rwxsStT-]{9}[.+@]? +\d+ +\S+ +\S+ +[\d.]+[KMG]? +\S+ +\S+ +\S+ (.+)")


def contradictions(belief: Belief, command: str, screen: str) -> list[str]:
    """What is certainly wrong on the screen after a shell command, a line each.

    Args:
        belief: what is known before the command.
        command: its text.
        screen: what the simulator answered.
    """
    if not belief.certain or belief.cwd is None:
        return []
    output, cwd = read_screen(command, screen)
    found = [] if cwd is None else _wrong_folder(belief, command, cwd)
    with contextlib.suppress(Unfollowed):
        if output is not None and len(output) <= _LONGEST and "2>" not in command:
            found += _wrong_output(belief, read_script(command), output)
    return found


def _wrong_folder(belief: Belief, command: str, cwd: str) -> list[str]:
    after = belief.fork()
    try:
        follow(after, command)
    except Unfollowed:
        return []
    if after.cwd in (None, cwd):
        return []
    return [f"The prompt shows the folder {cwd}; the shell is in {after.cwd}."]


def _wrong_output(belief: Belief, commands: list[Command], output: str) -> list[str]:
    """Of one simple command, without redirections."""
    if len(commands) != 1:
        return []
    [command] = commands
    if len(command.stages) != 1 or command.target is not None or command.fed or not command.stages[0]:
        return []
    first, *words = command.stages[0]
    if first.quoted or first.active or first.glob or any(word.active or word.glob for word in words):
        return []
    name = first.text
    expected = _expected(belief, name, words, command)
    if expected is not None:
        return _differs(name, words, expected, output)
    if name == "cd":
        return _wrong_absence(belief, [word for word in words if not word.text.startswith("-")], output)
    if name in _LOOKS:
        given = operands_of(name, words, READERS[name])
        found = _wrong_absence(belief, given, output)
        if name == "ls" and not found and len(given) < 2:
            options = [word.text for word in words if word.text.startswith("-")]
            if all(_LS_FLAGS.fullmatch(option) for option in options):
                return _wrong_listing(belief, given[0].text if given else ".", "".join(options), output)
        return found
    return []


def _expected(belief: Belief, name: str, words: list[Word], command: Command) -> str | None:
    """What is printed for certain, `None` when that is not known."""
    if name == "pwd" and not words:
        return f"{belief.cwd}\n"
    if name in ("echo", "printf") and words:
        data = printed(command.stages, None)
    elif name == "cat" and words and not any(word.text.startswith("-") for word in words):
        parts = [_contents(find(belief, word.text)) for word in words]
        known = [part for part in parts if part is not None]
        data = b"".join(known) if len(known) == len(parts) else None
    else:
        return None
    text = None if data is None else _shown(data)
    return None if text is None or len(text) > _LONGEST else text


def _contents(place: Place) -> bytes | None:
    return place.data if place.kind == "file" and place.mode & 0o400 else None


def _shown(data: bytes) -> str | None:
    """Contents as a screen shows them; `None` where it would show something else."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    if not all(char.isprintable() or char in "\n\t" for char in text):
        return None
    return text if not text or text.endswith("\n") else text + "\n"


def _differs(name: str, words: list[Word], expected: str, output: str) -> list[str]:
    shown, right = mask(output).splitlines(), mask(expected).splitlines()
    if shown == right:
        return []
    what = " ".join([name, *(word.text for word in words)])
    at = next((i for i, (a, b) in enumerate(zip(shown, right, strict=False)) if a != b), min(len(shown), len(right)))
    return [f"`{what:.100}` prints {_line(right, at)} in line {at + 1}; the answer has {_line(shown, at)}."]


def _line(lines: list[str], at: int) -> str:
    return repr(lines[at])[:120] if at < len(lines) else "nothing"


def _wrong_absence(belief: Belief, given: list[Word], output: str) -> list[str]:
    """Something that is there is said not to be, or the other way round."""
    if len(given) != 1:
        return []
    [word] = given
    place = find(belief, word.text, slash=True)
    denied = _ABSENT.fullmatch(output.strip()) is not None and word.text in output
    if place.kind in ("file", "folder") and denied:
        return [f"{place.path} is there; the answer says that it is not."]
    if place.kind == "none" and not _COMPLAINT.search(output):
        return [f"{place.path} is not there; the answer does not say so."]
    return []


def _wrong_listing(belief: Belief, word: str, options: str, output: str) -> list[str]:
    """`ls` of a folder lacks what is there, or has what is not."""
    folder = find(belief, word, slash=True)
    if folder.kind != "folder" or folder.mode & 0o500 != 0o500:
        return []
    inside = {path: posixpath.basename(path) for path in _children(belief, folder.path)}
    if not all(_is_plain(name) for name in inside.values()):
        return []
    hidden = "a" in options or "A" in options
    lines = output.splitlines()
    if "l" in options:
        matches = [_LONG.fullmatch(line) for line in lines if not re.fullmatch(r"total \S+", line)]
        listed = [match[1].partition(" -> ")[0] for match in matches if match is not None]
        if len(listed) < len(matches):
            return []
    else:
        listed = [name for line in lines for name in re.split(r"\t|  +", line)]
    there = [path for path in inside if belief.look(path)[1] is not None or path in belief.blurred]
    lacking = [path for path in there if inside[path] not in output and (hidden or not inside[path].startswith("."))]
    found = [f"{path} is there; the listing lacks it." for path in sorted(lacking)]
    for name in listed:
        path = posixpath.join(folder.path, name)
        if _is_plain(name) and name not in (".", "..") and belief.look(path) == (True, None):
            found.append(f"{path} is not there; the listing has it.")
    return found


def _children(belief: Belief, folder: str) -> set[str]:
    """Paths right below a folder of which anything is known, that they are unknown included."""
    paths = {*belief.files, *belief.blurred, *belief.unknown}
    return {path for path in paths if path != "/" and posixpath.dirname(path) == folder}


def _is_plain(name: str) -> bool:
    """Whether a name is listed as it is, in one word."""
    return re.fullmatch(r"[\w.,+@%=-]+", name, re.ASCII) is not None
