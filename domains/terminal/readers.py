"""`check_reader`: programs that surely change nothing, with the options with which that is so, and what they print."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, NamedTuple

from agentworld_envs.domains.terminal.words import Unfollowed, Word

if TYPE_CHECKING:
    from agentworld_envs.domains.terminal.belief import Belief


class Reader(NamedTuple):
    """How a program may be called."""

    flags: str = ""
    """Letters of options without a value."""
    valued: str = ""
    """Letters of options with a value."""
    long: tuple[str, ...] = ()
    """Long options, as they have to be written; with `=` at the end where they have a value."""
    needs: int | None = None
    """It reads standard input unless it is given more operands than this; `None`: it never does."""
    most: int = 99
    """Operands."""
    lines: bool = False
    """What it prints ends with a line break, whatever it reads."""


_COLOR = ("--color", "--color=always", "--color=auto", "--color=never")
_GREP = Reader("EFGPivwxclLnqsHhorRbay0123456789", "emABC", ("--include=", "--exclude=", *_COLOR), 1, lines=True)
_SUM = Reader("bt", needs=0, lines=True)
READERS: dict[str, Reader] = {
    "awk": Reader("", "Fv", (), 1),
    "basename": Reader("a", "s", lines=True),
    "cat": Reader("AbeEnstTuv", needs=0),
    "column": Reader("t", "s", needs=0),
    "comm": Reader("123", needs=0),
    "cut": Reader("s", "bcdf", ("--complement", "--output-delimiter="), 0, lines=True),
    "date": Reader("uR", "d", ("--date=", "--utc", "--iso-8601"), lines=True),
    "df": Reader("hkTaiP", lines=True),
    "diff": Reader("qruNbBwiasy", "U", ("--brief",)),
    "dirname": Reader(lines=True),
    "du": Reader("shackbm", "d", ("--max-depth=",), lines=True),
    "egrep": _GREP,
    "env": Reader(most=0),
    "fgrep": _GREP,
    "file": Reader("bhiL", "", ("--brief", "--mime-type"), lines=True),
    "fold": Reader("sb", "w", needs=0),
    "free": Reader("hmgbk", lines=True),
    "grep": _GREP,
    "head": Reader("qv", "nc", ("--lines=", "--bytes="), 0),
    "hostname": Reader(most=0, lines=True),
    "id": Reader("ungGr", lines=True),
    "join": Reader("i", "12tjaevo", (), 0),
    "jq": Reader("rcnsSMej", "", ("--raw-output", "--compact-output"), 1),
    "ls": Reader("1AaBbCcdFGghHiklLmNnopqQRrSstUuvXx", "I", (*_COLOR, "--full-time"), lines=True),
    "md5sum": _SUM,
    "nl": Reader("", "bnswv", needs=0),
    "od": Reader("bcdxsv", "AtNj", needs=0),
    "paste": Reader("s", "d", needs=0),
    "printenv": Reader(),
    "ps": Reader("aefuxlAjw", "opC", ("--no-headers",)),
    "pwd": Reader("LP", lines=True),
    "readlink": Reader("femn"),
    "realpath": Reader("emsq", lines=True),
    "rev": Reader(needs=0),
    "seq": Reader("w", "s", lines=True),
    "sha1sum": _SUM,
    "sha256sum": _SUM,
    "sort": Reader("nrbdfghiMsuVcC", "kt", ("--reverse", "--unique", "--numeric-sort", "--key="), 0, lines=True),
    "stat": Reader("Lt", "c", ("--format=", "--printf=")),
    "strings": Reader("a", "n", needs=0),
    "tac": Reader(needs=0),
    "tail": Reader("qv", "nc", ("--lines=", "--bytes="), 0),
    "tr": Reader("cdsCt", needs=99),
    "tree": Reader("adfipsuh", "LPI"),
    "type": Reader("tap"),
    "uname": Reader("asnrvmpio", lines=True),
    "uniq": Reader("cdui", "fsw", ("--count", "--repeated", "--unique"), 0, most=1, lines=True),
    "wc": Reader("lwcmL", "", ("--lines", "--words", "--bytes", "--chars"), 0, lines=True),
    "which": Reader("a", lines=True),
    "whoami": Reader(most=0, lines=True),
    "xxd": Reader("pub", "lcsg", needs=0, most=1),
}
"""Of `echo`, `printf`, `sleep`, `test` and `[` more is known, see below."""
_FOREIGN = re.compile(r"/(?:$|(?:bin|boot|dev|lib\w*|media|mnt|opt|proc|root|run|sbin|snap|srv|sys|usr|var)(?:/|$))")
"""Places where reading may never end."""
_AWK = re.compile(r"[>|@]|system|getline|while|\bdo\b|func|ARG|\bfor\b(?! *\(\w+ in \w+\))|close|fflush")
_JQ = re.compile(r"repeat|while|until|recurse|\.\.|range|def|input|limit|first|last|loc|debug|stderr|env|@sh")
_FORMAT = re.compile(r"(?:[^%]|%[-+ 0]?\d{0,3}(?:\.\d{1,3})?[sdfxXouceEgGi%b])*")
_TESTS = frozenset("-e -f -d -r -w -x -s -L -h -n -z -eq -ne -lt -le -gt -ge -nt -ot = == != ! -a -o".split())  # noqa: SIM905
_SECONDS = re.compile(r"[0-4](?:\.\d{1,3})?|0?\.\d{1,3}")


def check_reader(belief: Belief, stage: list[Word], *, typed: bool, fed: bool) -> None:
    """Check that a program changes nothing and ends soon.

    Args:
        belief: what is known of the machine.
        stage: the program and its arguments.
        typed: it runs in a terminal, where it would take what is typed next if it read standard input.
        fed: its standard input is something else than that.

    Raises:
        Unfollowed: it may change something, or not end.
    """
    if not stage or stage[0].quoted or stage[0].active or stage[0].glob:
        raise Unfollowed("a program that is not known")
    name, words = stage[0].text, stage[1:]
    if name in ("echo", "true", "false", ":"):
        if any(word.glob for word in words) and typed:
            raise Unfollowed(name)
    elif name == "printf":
        if not words or words[0].plain.startswith("-") or not _FORMAT.fullmatch(words[0].plain):
            raise Unfollowed(name)
    elif name in ("test", "["):
        if name == "[" and (not words or words[-1].quoted or words[-1].plain != "]"):
            raise Unfollowed(name)
        if any(word.plain.startswith("-") and word.plain not in _TESTS for word in words):
            raise Unfollowed(name)
    elif name == "sleep":
        if typed or len(words) != 1 or not _SECONDS.fullmatch(words[0].plain):
            raise Unfollowed(name)
    elif name in READERS:
        _check_call(belief, name, words, typed=typed and not fed)
    else:
        raise Unfollowed(name)


def _check_call(belief: Belief, name: str, words: list[Word], *, typed: bool) -> None:
    operands = operands_of(name, words, READERS[name])
    reader = READERS[name]
    if len(operands) > reader.most or leads_away(belief, "."):
        raise Unfollowed(name)
    for word in operands:
        _check_operand(belief, word, typed=typed)
    texts = [word.text for word in operands]
    if name == "awk" and (not texts or any(_AWK.search(word.text) for word in words)):
        raise Unfollowed(name)
    if name == "jq" and any(_JQ.search(text) for text in texts[:1]):
        raise Unfollowed(name)
    if name == "seq" and not all(re.fullmatch(r"\d{1,6}", text) for text in texts):
        raise Unfollowed(name)
    if name == "date" and not all(text.startswith("+") for text in texts):
        raise Unfollowed(name)
    if typed and (name == "awk" and any("=" in text for text in texts[1:])):
        raise Unfollowed(name)
    if typed and reader.needs is not None:
        given = len(operands)
        if name.endswith("grep") and any(re.match(r"-\w*e", word.text) for word in words):
            raise Unfollowed(name)
        if given <= reader.needs:
            raise Unfollowed(f"{name} reads what is typed")


def operands_of(name: str, words: list[Word], reader: Reader) -> list[Word]:
    """The words that are no options. Raises Unfollowed where an option is not known to be harmless."""
    operands: list[Word] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.active:
            raise Unfollowed(word.text)
        text = word.text
        if not text.startswith("-") or text == "-":
            operands.append(word)
            continue
        if word.glob or text == "--":
            raise Unfollowed(text)
        if text.startswith("--"):
            if text not in reader.long and not any(o.endswith("=") and text.startswith(o) for o in reader.long):
                raise Unfollowed(text)
        elif name not in ("head", "tail") or not re.fullmatch(r"-\d{1,6}", text):
            for index, letter in enumerate(text[1:], 2):
                if letter in reader.valued:
                    if index == len(text):
                        if not rest:
                            raise Unfollowed(text)
                        rest.pop(0).plain  # noqa: B018 - raises where it is not known
                    break
                if letter not in reader.flags:
                    raise Unfollowed(text)
    return operands


def _check_operand(belief: Belief, word: Word, *, typed: bool) -> None:
    text = word.text
    if text == "-" and typed:
        raise Unfollowed("standard input")
    if word.glob:
        names = None if belief.cwd is None else belief.names_below(belief.cwd)
        if ".." in text or (text[0] in "*?" and (names is None or any("/-" in name for name in names))):
            raise Unfollowed(text)
        if text.startswith("/") and not text.startswith(("/workspace/", "/home/agent/", "/app/")):
            raise Unfollowed(text)
    if leads_away(belief, text):
        raise Unfollowed(text)


def leads_away(belief: Belief, text: str) -> bool:
    """Whether a path may lead to a device or to very many files. (No known link does, see `effects`.)"""
    if belief.cwd is None and not text.startswith("/"):
        return ".." in text.split("/")
    path = posixpath.normpath(posixpath.join(belief.cwd or "/", text)).replace("//", "/")
    return path != "/dev/null" and _FOREIGN.match(path) is not None


def printed(stages: list[list[Word]], document: bytes | None) -> bytes | None:
    """What a pipe prints, `None` when only a shell would know."""
    if len(stages) > 1:
        return None
    name, words = stages[0][0].text, stages[0][1:]
    if any(word.active or word.glob for word in words):
        return None
    texts = [word.text for word in words]
    if name in ("true", "false", ":"):
        return b""
    if name == "echo":
        end = "\n"
        if texts[:1] == ["-n"]:
            texts, end = texts[1:], ""
        return None if texts[:1] and texts[0].startswith("-") else (" ".join(texts) + end).encode()
    if name == "printf":
        return _formatted(texts)
    if name == "cat" and not texts:
        return document
    return None


def _formatted(texts: list[str]) -> bytes | None:
    if not texts:
        return None
    if texts[0] == "%s\\n" and len(texts) > 1:
        return "".join(text + "\n" for text in texts[1:]).encode()
    if len(texts) != 1 or "%" in texts[0]:
        return None
    found = texts[0].replace("\\n", "\n")
    return found.encode() if "\\" not in found else None


def prints_lines(stages: list[list[Word]]) -> bool:
    """Whether what a pipe prints surely ends with a line break, if it prints anything."""
    name, texts = stages[-1][0].text, [word.text for word in stages[-1][1:]]
    if name == "awk":
        return not any("printf" in text or "RS" in text for text in texts)
    return name in READERS and READERS[name].lines
