"""`follow`: the certain effects of simple shell commands on a `Belief`.

It knows a small part of the shell: words and quotes, `&&`, `;` and line breaks, pipes of programs that only read,
redirections to a file, here-documents, `cd`, `export`, `mkdir`, `touch`, `rm`, `cp`, `mv`, `chmod`, `ln -s`. All else
is not followed; whoever calls then has to forget what it believed.
"""

from __future__ import annotations

import posixpath
import re
import shlex
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
            for words in _commands(line):
                _simple(belief, words)


def _commands(line: str) -> list[list[str]]:
    """Words of the commands of a line, operators as words of their own."""
    lexer = shlex.shlex(line, posix=False, punctuation_chars="&|;<>()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError as error:
        raise Unfollowed(str(error)) from error
    found: list[list[str]] = [[]]
    for token in tokens:
        if token in ("&&", ";"):
            found.append([])
        else:
            found[-1].append(token)
    return [words for words in found if words]


def _plain(word: str) -> str:
    """A word without its quotes. Raises Unfollowed when the shell would make something else of it."""
    if len(word) >= 2 and word[0] == word[-1] == "'" and "'" not in word[1:-1]:
        return word[1:-1]
    if len(word) >= 2 and word[0] == word[-1] == '"' and not re.search(r'["$`\\!]', word[1:-1]):
        return word[1:-1]
    if "'" in word or '"' in word or _ACTIVE.search(word):
        raise Unfollowed(word)
    return word


def _simple(belief: Belief, words: list[str]) -> None:
    stages: list[list[str]] = [[]]
    target, append = None, False
    index = 0
    while index < len(words):
        word = words[index]
        if word == "|":
            stages.append([])
        elif word in (">", ">>"):
            if index + 1 != len(words) - 1:
                raise Unfollowed(word)
            target, append = _plain(words[index + 1]), word == ">>"
            index += 1
        elif word in ("<", "2"):
            raise Unfollowed(word)
        else:
            stages[-1].append(word)
        index += 1
    name = stages[0][0] if stages[0] else ""
    if len(stages) == 1 and target is None and name in _EFFECTS:
        _EFFECTS[name](belief, [_plain(word) for word in stages[0][1:]])
        return
    if len(stages) == 1 and target is None and _ASSIGNMENT.fullmatch(" ".join(stages[0])):
        match = _ASSIGNMENT.fullmatch(" ".join(stages[0]))
        assert match is not None
        belief.variables[match[1]] = match[2]
        return
    for stage in stages:
        _check_reader(stage)
    if target is not None:
        _write(belief, target, _printed(stages), append=append)


def _check_reader(stage: list[str]) -> None:
    if not stage or stage[0] not in READERS:
        raise Unfollowed(" ".join(stage))
    for word in stage[1:]:
        if "$(" in word or "`" in word or re.search(r"[<>&;]", re.sub(r"'[^']*'", "", word)):
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


def _path(belief: Belief, word: str) -> str:
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


def _write(belief: Belief, word: str, data: bytes | None, *, append: bool) -> None:
    path = _path(belief, word)
    known, entry = belief.look(path)
    parent_known, parent = belief.look(posixpath.dirname(path))
    if not parent_known:
        raise Unfollowed(word)
    if parent is None or parent["type"] != "folder" or (entry is not None and entry["type"] == "folder"):
        return  # an error message, and nothing happens
    if append:
        old = b"" if known and entry is None else (entry or {}).get("data")
        data = old + data if isinstance(old, bytes) and data is not None else None
    if data is None:
        belief.forget(path)
    else:
        belief.put(path, {"type": "file", "mode": (entry or {}).get("mode", "644"), "data": data})


def _cd(belief: Belief, words: list[str]) -> None:
    if len(words) > 1 or words[:1] == ["-"]:
        raise Unfollowed("cd")
    path = _path(belief, words[0]) if words else "/home/agent"
    known, entry = belief.look(path)
    if not known or (entry is None and not path.startswith(("/workspace", "/home/agent"))):
        raise Unfollowed(path)
    if entry is not None and entry["type"] == "folder":
        belief.cwd = path


def _mkdir(belief: Belief, words: list[str]) -> None:
    parents = words[:1] == ["-p"]
    for word in words[parents:]:
        if word.startswith("-"):
            raise Unfollowed(word)
        path = _path(belief, word)
        known, entry = belief.look(path)
        parent_known, parent = belief.look(posixpath.dirname(path))
        if not known or not (parent_known or parents):
            raise Unfollowed(word)
        if entry is None and (parents or (parent is not None and parent["type"] == "folder")):
            belief.add_parents(path)
            belief.put(path, {"type": "folder", "mode": "755"})


def _touch(belief: Belief, words: list[str]) -> None:
    for word in words:
        if word.startswith("-"):
            raise Unfollowed(word)
        known, entry = belief.look(_path(belief, word))
        if known and entry is None:
            _write(belief, word, b"", append=False)


def _rm(belief: Belief, words: list[str]) -> None:
    options = [word for word in words if word.startswith("-")]
    if any(option not in ("-f", "-r", "-rf", "-fr", "-R") for option in options):
        raise Unfollowed("rm")
    recursive = any("r" in option.lower() for option in options)
    for word in words:
        if not word.startswith("-"):
            path = posixpath.normpath(posixpath.join(belief.cwd or "", word))
            _path(belief, posixpath.dirname(path) or "/")
            known, entry = belief.look(path)
            if not known:
                raise Unfollowed(word)
            if entry is not None and (recursive or entry["type"] != "folder"):
                belief.put(path, None)


def _transfer(belief: Belief, words: list[str], *, keep: bool) -> None:
    if len(words) != 2 or any(word.startswith("-") for word in words):
        raise Unfollowed("cp" if keep else "mv")
    source, target = (_path(belief, word) for word in words)
    known, entry = belief.look(source)
    target_known, there = belief.look(target)
    if not known or not target_known or (entry is not None and entry["type"] != "file"):
        raise Unfollowed(source)
    if entry is None or source == target:
        return
    if there is not None and there["type"] == "folder":
        target = posixpath.join(target, posixpath.basename(source))
        if not belief.look(target)[0]:
            raise Unfollowed(target)
    elif words[1].endswith("/"):
        return
    parent_known, parent = belief.look(posixpath.dirname(target))
    if not parent_known:
        raise Unfollowed(target)
    if parent is None or parent["type"] != "folder":
        return
    old = belief.look(target)[1]
    belief.put(target, {**entry, "mode": old.get("mode", "644")} if keep and old is not None else entry)
    if not keep:
        belief.put(source, None)


def _chmod(belief: Belief, words: list[str]) -> None:
    if len(words) < 2 or not re.fullmatch(r"[0-7]{3,4}", words[0]):
        raise Unfollowed("chmod")
    for word in words[1:]:
        path = _path(belief, word)
        known, entry = belief.look(path)
        if not known:
            raise Unfollowed(word)
        if entry is not None:
            belief.files[path] = {**entry, "mode": words[0]}


def _ln(belief: Belief, words: list[str]) -> None:
    if len(words) != 3 or words[0] != "-s":
        raise Unfollowed("ln")
    path = _path(belief, words[2])
    known, entry = belief.look(path)
    parent = belief.look(posixpath.dirname(path))[1]
    if not known or (entry is not None and entry["type"] == "folder") or parent is None:
        raise Unfollowed("ln")
    if entry is None:
        belief.put(path, {"type": "link", "target": words[1]})


_EFFECTS = {
    "cd": _cd,
    "mkdir": _mkdir,
    "touch": _touch,
    "rm": _rm,
    "cp": lambda belief, words: _transfer(belief, words, keep=True),
    "mv": lambda belief, words: _transfer(belief, words, keep=False),
    "chmod": _chmod,
    "ln": _ln,
}
