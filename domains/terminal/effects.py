"""`follow`: the certain effects of simple shell commands on a `Belief`.

It knows a small part of the shell: words and quotes, `&&`, `;` and line breaks, pipes of programs that only read,
redirections to a file, here-documents, `cd`, `export`, `mkdir`, `touch`, `rm`, `cp`, `mv`, `chmod`, `ln -s`. All else
is not followed; whoever calls then has to forget what it believed.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentworld_envs.domains.terminal.belief import Belief

READERS = frozenset(
    """
    awk basename cat column comm cut date df diff dirname du echo env expr false fgrep egrep file fold free grep head
    hostname id join jq ls md5sum nl od paste printenv printf ps pwd readlink realpath rev seq sha256sum sleep sort
    stat strings tac tail test tr tree true type uname uniq wc which whoami xxd
    """.split()  # noqa: SIM905 - forty quoted words are harder to read
)
"""Programs that change nothing with the options that are accepted here."""
_WRITING = re.compile(r"(?s).*\b(system|getline|print\s*>|printf[^|]*>)|.*[>|]")
_HEREDOC = re.compile(r"(?s)cat\s*(>>?)\s*(\S+)\s*<<\s*(['\"])(\w+)\3\n(.*\n)?\4\s*")
_ASSIGNMENT = re.compile(r"(?:export )?([A-Za-z_]\w*)=([\w./:@%+,-]*)")
_ACTIVE = re.compile(r"[$`*?\[\](){}!#&|<>;~\\]|^-$")


class Unfollowed(Exception):
    """The effects of a command are not certain."""


def follow(belief: Belief, command: str) -> None:
    """Apply what a command does. Raises Unfollowed when it is not certain; the belief may then be half changed."""
    command = command.strip()
    heredoc = _HEREDOC.fullmatch(command)
    if heredoc is not None:
        _write(belief, heredoc[2], (heredoc[5] or "").encode(), append=heredoc[1] == ">>")
        return
    for line in command.split("\n"):
        if line.strip() and not line.lstrip().startswith("#"):
            done: bool | None = True
            for needs_success, words in _commands(line):
                if not needs_success or done is True:
                    done = _simple(belief, words)
                elif done is None:
                    _check_harmless(words)


def _commands(line: str) -> list[tuple[bool, list[str]]]:
    """The commands of a line: whether each runs only if the one before succeeded, and its words."""
    if re.search(r"\d[<>]", line):  # a descriptor is redirected, or it looks like that
        raise Unfollowed(line)
    lexer = shlex.shlex(line, posix=False, punctuation_chars="&|;<>()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError as error:
        raise Unfollowed(str(error)) from error
    found: list[tuple[bool, list[str]]] = [(False, [])]
    for token in tokens:
        if token in ("&&", ";"):
            found.append((token == "&&", []))
        else:
            found[-1][1].append(token)
    return [(needs, words) for needs, words in found if words]


def _check_harmless(words: list[str]) -> None:
    """Raise Unfollowed where it matters whether a command runs."""
    if ">" in words or ">>" in words:
        raise Unfollowed(" ".join(words))
    stages: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    for stage in stages:
        _check_reader(stage)


def _plain(word: str) -> str:
    """A word without its quotes. Raises Unfollowed when the shell would make something else of it."""
    if len(word) >= 2 and word[0] == word[-1] == "'" and "'" not in word[1:-1]:
        return word[1:-1]
    if len(word) >= 2 and word[0] == word[-1] == '"' and not re.search(r'["$`\\!]', word[1:-1]):
        return word[1:-1]
    if "'" in word or '"' in word or _ACTIVE.search(word):
        raise Unfollowed(word)
    return word


def _simple(belief: Belief, words: list[str]) -> bool | None:
    """Apply one command or pipe. Gives whether it succeeds, `None` when only a shell would know."""
    stages: list[list[str]] = [[]]
    target, append = None, False
    for index, word in enumerate(words):
        if word == "|":
            stages.append([])
        elif word in (">", ">>"):
            if index != len(words) - 2:
                raise Unfollowed(word)
            target, append = _plain(words[-1]), word == ">>"
            break
        elif word == "<":
            raise Unfollowed(word)
        else:
            stages[-1].append(word)
    first = stages[0]
    if len(stages) == 1 and target is None and first and first[0] in _EFFECTS:
        return _EFFECTS[first[0]](belief, [_plain(word) for word in first[1:]])
    match = _ASSIGNMENT.fullmatch(" ".join(first))
    if len(stages) == 1 and target is None and match is not None:
        belief.variables[match[1]] = match[2]
        return True
    for stage in stages:
        _check_reader(stage)
    if target is not None and not _write(belief, target, _printed(stages), append=append):
        return False
    return {"echo": True, "true": True, "false": False}.get(first[0]) if len(stages) == 1 else None


def _check_reader(stage: list[str]) -> None:
    if not stage or stage[0] not in READERS:
        raise Unfollowed(" ".join(stage))
    for word in stage[1:]:
        if "$(" in word or "`" in word or re.search(r"[<>&;|]", re.sub(r"'[^']*'", "", word)):
            raise Unfollowed(word)
        if stage[0] == "awk" and _WRITING.match(word):
            raise Unfollowed(word)
        if stage[0] in ("sort", "tree", "xxd", "uniq", "env", "date") and stage[0] != "sort" and len(stage) > 2:
            raise Unfollowed(word)
        if stage[0] == "sort" and word.startswith(("-o", "--output", "--compress")):
            raise Unfollowed(word)


def _printed(stages: list[list[str]]) -> bytes | None:
    """What a pipe prints, `None` when only a shell would know."""
    if len(stages) > 1 or stages[0][0] not in ("echo", "printf"):
        return None
    try:
        words = [_plain(word) for word in stages[0][1:]]
    except Unfollowed:
        return None
    if stages[0][0] == "echo":
        return None if words[:1] and words[0].startswith("-") else (" ".join(words) + "\n").encode()
    if len(words) != 1 or "%" in words[0]:
        return None
    return words[0].replace("\\n", "\n").encode() if "\\" not in words[0].replace("\\n", "") else None


def resolve(belief: Belief, word: str) -> str:
    """The absolute path that a word means. Raises Unfollowed when a link may lead elsewhere."""
    word = re.sub(r"^~(?=/|$)", "/home/agent", word)
    if not word.startswith("/") and belief.cwd is None:
        raise Unfollowed(word)
    path = posixpath.normpath(posixpath.join(belief.cwd or "/", word))
    parts = path.split("/")
    for count in range(2, len(parts) + 1):  # what lies behind a link is somewhere else
        known, entry = belief.look("/".join(parts[:count]))
        if entry is not None and entry["type"] == "link":
            raise Unfollowed(word)
        if not known and count < len(parts):
            raise Unfollowed(word)
    return path


def _write(belief: Belief, word: str, data: bytes | None, *, append: bool) -> bool:
    """Write a file, of unknown contents when `data` is `None`. Gives whether that is possible."""
    path = resolve(belief, word)
    known, entry = belief.look(path)
    parent_known, parent = belief.look(posixpath.dirname(path))
    if not parent_known:
        raise Unfollowed(word)
    if parent is None or parent["type"] != "folder" or (entry is not None and entry["type"] == "folder"):
        return False
    if append:
        old = b"" if known and entry is None else (entry or {}).get("data")
        data = old + data if isinstance(old, bytes) and data is not None else None
    if data is None:
        belief.forget(path)
    else:
        belief.put(path, {"type": "file", "mode": (entry or {}).get("mode", "644"), "data": data})
    return True


def _cd(belief: Belief, words: list[str]) -> bool:
    if len(words) > 1 or words[:1] == ["-"]:
        raise Unfollowed("cd")
    path = resolve(belief, words[0]) if words else "/home/agent"
    known, entry = belief.look(path)
    if not known or (entry is None and not path.startswith(("/workspace/", "/home/agent/"))):
        raise Unfollowed(path)
    if entry is None or entry["type"] != "folder":
        return False
    belief.cwd = path
    return True


def _mkdir(belief: Belief, words: list[str]) -> bool:
    parents = words[:1] == ["-p"]
    done = True
    for word in words[parents:]:
        if word.startswith("-"):
            raise Unfollowed(word)
        path = resolve(belief, word)
        known, entry = belief.look(path)
        parent_known, parent = belief.look(posixpath.dirname(path))
        if not known or not parent_known or (parents and _blocked(belief, path)):
            raise Unfollowed(word)
        if entry is None and (parents or (parent is not None and parent["type"] == "folder")):
            belief.add_parents(path)
            belief.put(path, {"type": "folder", "mode": "755"})
        elif not parents or entry is None or entry["type"] != "folder":
            done = False
    return done


def _blocked(belief: Belief, path: str) -> bool:
    """Whether a file is where a folder above a path would have to be."""
    while (path := posixpath.dirname(path)) not in ("/", ""):
        known, entry = belief.look(path)
        if not known or (entry is not None and entry["type"] != "folder"):
            return True
    return False


def _touch(belief: Belief, words: list[str]) -> bool:
    done = True
    for word in words:
        if word.startswith("-"):
            raise Unfollowed(word)
        known, entry = belief.look(resolve(belief, word))
        if not known:
            raise Unfollowed(word)
        if entry is None:
            done = _write(belief, word, b"", append=False) and done
    return done


def _rm(belief: Belief, words: list[str]) -> bool:
    options = [word for word in words if word.startswith("-")]
    if any(option not in ("-f", "-r", "-rf", "-fr", "-R") for option in options):
        raise Unfollowed("rm")
    recursive = any("r" in option.lower() for option in options)
    forced = any("f" in option for option in options)
    done = True
    for word in words:
        if word.startswith("-"):
            continue
        if belief.cwd is None and not word.startswith("/"):
            raise Unfollowed(word)
        path = posixpath.normpath(posixpath.join(belief.cwd or "/", word))
        resolve(belief, posixpath.dirname(path))
        known, entry = belief.look(path)
        if not known or word.endswith(("/", ".")) or f"{belief.cwd}/".startswith(path + "/"):
            raise Unfollowed(word)
        if entry is not None and (recursive or entry["type"] != "folder"):
            belief.put(path, None)
        elif entry is not None or not forced:
            done = False
    return done


def _transfer(belief: Belief, words: list[str], *, keep: bool) -> bool:
    if len(words) != 2 or any(word.startswith("-") for word in words):
        raise Unfollowed("cp" if keep else "mv")
    source, target = (resolve(belief, word) for word in words)
    known, entry = belief.look(source)
    target_known, there = belief.look(target)
    if not known or not target_known or (entry is not None and entry["type"] != "file"):
        raise Unfollowed(source)
    if entry is None or source == target:
        return False
    if there is not None and there["type"] == "folder":
        target = posixpath.join(target, posixpath.basename(source))
        target_known, there = belief.look(target)
        if not target_known or (there is not None and there["type"] != "file") or target == source:
            raise Unfollowed(target)
    elif words[1].endswith("/"):
        return False
    parent_known, parent = belief.look(posixpath.dirname(target))
    if not parent_known:
        raise Unfollowed(target)
    if parent is None or parent["type"] != "folder":
        return False
    belief.put(target, {**entry, "mode": there["mode"]} if keep and there is not None else entry)
    if not keep:
        belief.put(source, None)
    return True


def _chmod(belief: Belief, words: list[str]) -> bool:
    if len(words) < 2 or not re.fullmatch(r"[0-7]{3,4}", words[0]):
        raise Unfollowed("chmod")
    done = True
    for word in words[1:]:
        path = resolve(belief, word)
        known, entry = belief.look(path)
        if not known or (entry is not None and entry["type"] == "folder"):
            raise Unfollowed(word)
        if entry is None:
            done = False
        else:
            belief.files[path] = {**entry, "mode": words[0]}
    return done


def _ln(belief: Belief, words: list[str]) -> bool:
    if len(words) != 3 or words[0] != "-s":
        raise Unfollowed("ln")
    path = resolve(belief, words[2])
    known, entry = belief.look(path)
    parent = belief.look(posixpath.dirname(path))[1]
    if not known or (entry is not None and entry["type"] == "folder") or parent is None or words[2].endswith("/"):
        raise Unfollowed("ln")
    if entry is not None or parent["type"] != "folder":
        return False
    belief.put(path, {"type": "link", "target": words[1]})
    return True


_Effect = Callable[["Belief", list[str]], bool]
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
