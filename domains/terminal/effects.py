"""`follow`: the certain effects of simple shell commands on a `Belief`.

It knows a small part of the shell: words and quotes, `&&`, `;` and line breaks, pipes of programs that only read (see
`readers`), redirections to a file, here-documents, `cd`, `export`, `mkdir`, `touch`, `rm`, `cp`, `mv`, `chmod` and
`ln -s`. All else is not followed; whoever calls then has to forget what it believed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from agentworld_envs.domains.terminal.places import (
    Place,
    belongs_elsewhere,
    find,
    find_link,
    mode_of,
)
from agentworld_envs.domains.terminal.readers import check_reader, printed, prints_lines
from agentworld_envs.domains.terminal.scenario import WRITABLE
from agentworld_envs.domains.terminal.wording import HOME
from agentworld_envs.domains.terminal.words import Command, Unfollowed, Word, read_script

if TYPE_CHECKING:
    from agentworld_envs.domains.terminal.belief import Belief

UMASK = 0o022
MOST_SLEEPS = 4
"""Of one script; a command that takes too long is stopped."""
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_MEANING = re.compile(
    r"BASH.*|LD_.*|MALLOC.*|GLIBC.*|GCONV.*|PS\d|HIST.*|histchars|auto_resume|.*_OPTIONS|U?ID|EUID|PPID|"
    r"HOME|PATH|CDPATH|IFS|ENV|SHELLOPTS|SHELL|PWD|OLDPWD|POSIXLY_CORRECT|PROMPT_COMMAND|GLOBIGNORE|EXECIGNORE|TMPDIR|"
    r"INPUTRC|TERM|TERMCAP|FUNCNEST|FUNCNAME|GROUPS|DIRSTACK|TMOUT|IGNOREEOF|OPT\w+|LINENO|SECONDS|RANDOM|_|AWK\w*|JQ\w*"
)


def changes_meaning(name: str) -> bool:
    """Whether commands may mean something else once this variable is set."""
    return _MEANING.fullmatch(name) is not None


def follow(belief: Belief, script: str, *, typed: bool = False) -> None:
    """Apply what a script does.

    Args:
        belief: what is known before; may be half changed when the script is not followed.
        script: shell text.
        typed: it runs in a terminal and not with empty standard input.

    Raises:
        Unfollowed: its effects are not certain.
    """
    done: bool | None = True
    commands = read_script(script)
    sleeps = [stage for command in commands for stage in command.stages if stage and stage[0].text == "sleep"]
    if len(sleeps) > MOST_SLEEPS:
        raise Unfollowed("a command that may be stopped")
    for command in commands:
        if not command.needs_success or done is True:
            done = _apply(belief, command, typed)
        elif done is None:
            if command.target is not None:  # here it matters whether it runs
                raise Unfollowed("a command that may run")
            _check_stages(belief, command, typed)


def _check_stages(belief: Belief, command: Command, typed: bool) -> None:
    for index, stage in enumerate(command.stages):
        check_reader(belief, stage, typed=typed, fed=index > 0 or command.fed)


def _apply(belief: Belief, command: Command, typed: bool) -> bool | None:
    """Apply one pipe. Gives whether it succeeds, `None` when only a shell would know."""
    first = command.stages[0]
    alone = len(command.stages) == 1 and command.target is None and not command.fed
    name = first[0].head if first and not (first[0].quoted or first[0].active or first[0].glob) else ""
    if alone and name in _EFFECTS:
        words = [word.plain for word in first[1:]]
        if not all(words):
            raise Unfollowed("an empty word")
        return _EFFECTS[name](belief, words)
    if alone and first and (name == "export" or _ASSIGNMENT.match(first[0].head)):
        return _assign(belief, first[1:] if name == "export" else first, exports=name == "export")
    if command.source is not None:
        place = find(belief, command.source.plain)
        if place.kind != "file" or place.mode & 0o400 == 0:
            raise Unfollowed(place.path)
    if first:
        _check_stages(belief, command, typed)
    elif command.target is None:
        raise Unfollowed("nothing")
    if command.target is not None:
        data = printed(command.stages, command.document) if first else b""
        if data is None and command.append:
            _check_feedback(belief, command)
        done = _write(belief, command.target.plain, data, command.append, bool(first) and prints_lines(command.stages))
        if done is not True:
            return done
    surely = not first or (len(command.stages) == 1 and name in ("echo", "true", ":"))
    return True if surely else None


def _check_feedback(belief: Belief, command: Command) -> None:
    """Raise Unfollowed where a pipe may read what it appends, and never end."""
    assert command.target is not None
    target = find(belief, command.target.plain)
    words = [word for stage in command.stages for word in stage[1:]] + [command.source or Word("x")]
    for word in words:
        if target.kind != "none" and not word.text.startswith("-") and word.text:
            place = find(belief, word.plain, slash=True)
            if place.path == target.path or place.kind in ("folder", "unknown"):
                raise Unfollowed(word.text)


def _assign(belief: Belief, words: list[Word], *, exports: bool) -> bool:
    for word in words:
        match = _ASSIGNMENT.match(word.head)
        name = match[1] if match else word.plain
        if (match is None and not exports) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise Unfollowed(word.text)
        if word.glob or changes_meaning(name):
            raise Unfollowed(name)
        if match is not None and belief.certain:
            belief.variables[name] = None if word.active else word.text[len(name) + 1 :]
    return True


def _write(belief: Belief, word: str, data: bytes | None, append: bool, lines: bool) -> bool | None:
    """Write a file, of unknown contents when `data` is `None`. Gives whether that is possible."""
    if word == "/dev/null":
        return True
    place = find(belief, word)
    if _elsewhere(belief, place):
        return None
    if place.kind == "unknown":
        raise Unfollowed(word)
    if place.kind == "folder" or not place.has_parent:
        return False
    if place.kind == "file" and place.mode & 0o600 != 0o600:
        raise Unfollowed(word)
    mode = place.mode if place.kind == "file" else 0o666 & ~UMASK
    if append and place.kind == "file":
        old = place.data
        lines = (lines or data == b"" or (data or b"").endswith(b"\n")) and (
            place.lines or (data is not None and data.endswith(b"\n"))
        )
        data = old + data if old is not None and data is not None else None
    if data is None:
        belief.blur(place.path, mode, lines=lines)
    else:
        belief.put(place.path, {"type": "file", "mode": f"{mode:o}", "data": data})
    return True


def _elsewhere(belief: Belief, place: Place) -> bool:
    """Whether a change at a place is of no interest; nothing is known of the place afterwards."""
    if belongs_elsewhere(place.path):
        belief.forget(place.path)
        return True
    return False


def _cd(belief: Belief, words: list[str]) -> bool:
    if len(words) > 1 or (words and words[0].startswith("-")):
        raise Unfollowed("cd")
    place = find(belief, words[0] if words else HOME, slash=True)
    if place.kind == "unknown":
        raise Unfollowed(place.path)
    if place.kind != "folder":
        return False
    if place.mode & 0o100 == 0:
        raise Unfollowed(place.path)
    belief.cwd = place.path
    return True


def _mkdir(belief: Belief, words: list[str]) -> bool | None:
    parents = words[:1] == ["-p"]
    done: bool | None = True
    for word in words[parents:]:
        if word.startswith("-"):
            raise Unfollowed(word)
        place = find(belief, word, slash=True)
        if _elsewhere(belief, place):
            done = None
            continue
        if place.kind == "unknown":
            raise Unfollowed(word)
        if place.kind == "none" and parents:
            done = _make_all(belief, place.path) and done
        elif place.kind == "none" and place.has_parent:
            belief.put(place.path, {"type": "folder", "mode": "755"})
        elif not parents or place.kind != "folder":
            done = False
    return done if len(words) > parents else False


def _make_all(belief: Belief, path: str) -> bool:
    """`mkdir -p` where nothing is yet."""
    missing = [path]
    while (place := find(belief, posixpath.dirname(missing[-1]))).kind == "none":
        missing.append(place.path)
    if place.kind != "folder":
        return False
    for part in reversed(missing):
        belief.put(part, {"type": "folder", "mode": "755"})
    return True


def _touch(belief: Belief, words: list[str]) -> bool | None:
    done: bool | None = bool(words)
    for word in words:
        if word.startswith("-"):
            raise Unfollowed(word)
        place = find(belief, word)
        if place.kind == "none" or belongs_elsewhere(place.path):
            result = _write(belief, word, b"", False, True)
            done = done if result else result
        elif place.kind == "unknown":
            raise Unfollowed(word)
    return done


def _rm(belief: Belief, words: list[str]) -> bool | None:
    options = [word for word in words if word.startswith("-")]
    if any(option not in ("-f", "-r", "-rf", "-fr", "-R") for option in options):
        raise Unfollowed("rm")
    recursive = any("r" in option.lower() for option in options)
    forced = any("f" in option for option in options)
    done: bool | None = len(options) < len(words) or forced
    for word in words:
        if word.startswith("-"):
            continue
        place = find_link(belief, word)
        if _elsewhere(belief, place):
            done = None
            continue
        if place.kind == "unknown" or not belief.may_go(place.path):
            raise Unfollowed(word)
        if place.kind == "file" and not forced and place.mode & 0o200 == 0:
            raise Unfollowed("rm asks")
        if place.kind == "folder" and recursive and not belief.is_open_below(place.path):
            raise Unfollowed(word)
        if place.kind != "none" and (recursive or place.kind != "folder"):
            belief.put(place.path, None)
        elif place.kind != "none" or not forced:
            done = False
    return done


def _transfer(belief: Belief, words: list[str], *, keep: bool) -> bool | None:
    if len(words) != 2 or any(word.startswith("-") for word in words):
        raise Unfollowed("cp" if keep else "mv")
    source, target = find(belief, words[0]), find(belief, words[1], slash=True)
    if source.kind == "none":
        return False
    if source.kind != "file" or source.mode & 0o600 != 0o600:
        raise Unfollowed(source.path)
    if _elsewhere(belief, target):
        if not keep:
            raise Unfollowed(target.path)
        return None
    if target.kind == "folder":
        target = find(belief, posixpath.join(target.path, posixpath.basename(source.path)))
        if target.kind == "folder":
            raise Unfollowed(target.path)
    elif words[1].endswith("/"):
        raise Unfollowed(words[1])
    if target.kind == "unknown" or (target.kind == "file" and target.mode & 0o600 != 0o600):
        raise Unfollowed(target.path)
    if target.path == source.path or not target.has_parent:
        return False
    _place_copy(belief, source, target, keep=keep)
    if not keep:
        belief.put(source.path, None)
    return True


def _place_copy(belief: Belief, source: Place, target: Place, *, keep: bool) -> None:
    mode = source.mode
    if keep:
        mode = target.mode if target.kind == "file" else source.mode & 0o777 & ~UMASK
    if source.data is None:
        belief.blur(target.path, mode, lines=source.lines)
    else:
        belief.put(target.path, {"type": "file", "mode": f"{mode:o}", "data": source.data})


def _chmod(belief: Belief, words: list[str]) -> bool:
    if len(words) < 2:
        raise Unfollowed("chmod")
    done = True
    for word in words[1:]:
        place = find(belief, word, slash=True)
        if place.kind == "unknown":
            raise Unfollowed(word)
        if place.kind == "none":
            done = False
            continue
        mode = mode_of(words[0], place.mode)
        if mode & (0o700 if place.kind == "folder" else 0o400) != (0o700 if place.kind == "folder" else 0o400):
            raise Unfollowed("chmod")
        if place.data is None and place.kind == "file":
            belief.blur(place.path, mode, lines=place.lines)
        else:
            belief.files[place.path] = {**(belief.files[place.path] or {}), "mode": f"{mode:o}"}
    return done


def _ln(belief: Belief, words: list[str]) -> bool:
    if len(words) != 3 or words[0] != "-s" or any(word.startswith("-") for word in words[1:]):
        raise Unfollowed("ln")
    place = find(belief, words[2])
    if place.kind in ("unknown", "folder") or not safe_link(place.path, words[1]):
        raise Unfollowed("ln")
    if place.kind == "file" or not place.has_parent:
        return False
    belief.put(place.path, {"type": "link", "target": words[1]})
    return True


def safe_link(path: str, target: str) -> bool:
    """Whether a link leads to no device, so that programs which only read come to an end."""
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return "/../" not in re.sub(r"^(\.\./)+", "", target) and any(f"{whole}/".startswith(f"{w}/") for w in WRITABLE)


_Effect = Callable[["Belief", list[str]], bool | None]
_EFFECTS: dict[str, _Effect] = {
    "cd": _cd,
    "mkdir": _mkdir,
    "touch": _touch,
    "rm": _rm,
    "cp": lambda belief, words: _transfer(belief, words, keep=True),
    "mv": lambda belief, words: _transfer(belief, words, keep=False),
    "chmod": _chmod,
    "ln": _ln,
}

__all__ = ["Unfollowed", "changes_meaning", "follow", "safe_link"]
