"""`read_script`: shell text as commands, as far as it means the same to every bash: words, quotes, pipes, redirections.

Whatever a shell would expand, or what looks unusual, is not read. It is better to know nothing than to know what is not
so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agentworld_envs.domains.terminal.wording import HOME

MOST_TEXT = 16_000
"""Characters of a script."""
_BARE = re.compile(r"[A-Za-z0-9_./:@%+,=^-]+")
_GLOB = re.compile(r"[*?]+")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|[?#])", re.ASCII)
_DOUBLE = re.compile(r'"([^"$`\\!]*)"')
_DOUBLE_ACTIVE = re.compile(r'"(?:[^"$`\\!]|\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|[?#]))*"', re.ASCII)
_QUIET = re.compile(r"2>(?:&1|[ \t]*/dev/null)(?=[ \t\n;|&]|$)")
_ALONE = re.compile(r"!(?=[ \t])|[\[\]](?=[ \t\n;]|$)")
_TILDE = re.compile(r"~(?=[/ \t\n;]|$)")


class Unfollowed(Exception):
    """The effects of a command are not certain."""


@dataclass(slots=True)
class Word:
    """One word of a command."""

    text: str = ""
    """Without quotes."""
    head: str = ""
    """The part before the first quote."""
    quoted: bool = False
    glob: bool = False
    """The shell would look for files of such names."""
    active: bool = False
    """A variable is in it, so that `text` is not what the program gets."""

    @property
    def plain(self) -> str:
        """What the program gets. Raises Unfollowed where only the shell knows."""
        if self.active or self.glob:
            raise Unfollowed(self.text)
        return self.text


@dataclass(slots=True)
class Command:
    """A pipe of programs with its redirections."""

    needs_success: bool
    """It runs only if the command before it succeeded."""
    stages: list[list[Word]] = field(default_factory=lambda: [[]])
    target: Word | None = None
    append: bool = False
    source: Word | None = None
    """A file as standard input."""
    document: bytes | None = None
    """A here-document as standard input."""

    @property
    def empty(self) -> bool:
        return self.stages == [[]] and self.target is None and not self.fed

    @property
    def fed(self) -> bool:
        """Whether standard input is redirected."""
        return self.source is not None or self.document is not None


def read_script(text: str) -> list[Command]:
    """The commands of a script, in order.

    Raises:
        Unfollowed: something in it is not surely understood.
    """
    if len(text) > MOST_TEXT or any((c < " " and c not in "\n\t") or "\x7f" <= c < "\xa0" for c in text):
        raise Unfollowed("unusual characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Unfollowed(str(error)) from error
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._done: list[Command] = []
        self._command = Command(False)
        self._word: Word | None = None
        self._expects = ""
        """`>`, `>>`, `<` or `<<` when the next word belongs to a redirection."""
        self._delimiter: Word | None = None
        self._goes_on = False
        """After `&&` or `|`: a command has to follow."""

    def read(self) -> list[Command]:
        while self._at < len(self._text):
            self._next()
        self._end_of_line()
        if self._goes_on:
            raise Unfollowed("unfinished")
        return self._done

    def _next(self) -> None:
        char = self._text[self._at]
        if char in " \t":
            self._end_word()
            self._at += 1
        elif char == "\n":
            self._at += 1
            self._end_of_line()
        elif char in ";&|<>":
            self._operator(char)
        elif self._word is None and char == "#":
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end
        elif self._word is None and (quiet := self._match(_QUIET)):
            if self._expects or not self._command.stages[-1]:
                raise Unfollowed(quiet)
        else:
            self._part(char)

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        return found[0]

    def _part(self, char: str) -> None:
        """One more part of a word."""
        fresh = self._word is None
        word = self._word or Word()
        if char == "'":
            end = self._text.find("'", self._at + 1)
            if end < 0:
                raise Unfollowed("a quote is not closed")
            word.text += self._text[self._at + 1 : end]
            word.quoted = True
            self._at = end + 1
        elif char == '"':
            if found := self._match(_DOUBLE):
                word.text += found[1:-1]
            elif found := self._match(_DOUBLE_ACTIVE):
                word.text += found[1:-1]
                word.active = True
            else:
                raise Unfollowed("an active quote")
            word.quoted = True
        else:
            if fresh and self._match(_TILDE):
                part = HOME
            elif (fresh and (found := self._match(_ALONE))) or (found := self._match(_BARE)):
                part = found
            elif found := self._match(_GLOB):
                part, word.glob = found, True
            elif found := self._match(_VARIABLE):
                part, word.active = found, True
            else:
                raise Unfollowed(char)
            word.text += part
            if not word.quoted and not word.active:
                word.head += part
        self._word = word

    def _operator(self, char: str) -> None:
        adjacent = self._word is not None and not self._word.quoted and self._word.text.isdigit()
        self._end_word()
        found = re.match(r"[;&|<>]+", self._text[self._at :])
        assert found is not None
        operator = found[0]
        self._at += len(operator)
        if self._expects:
            raise Unfollowed(operator)
        if char in "<>":
            if adjacent or operator not in (">", ">>", "<", "<<") or self._text[self._at : self._at + 1] in ("-", "("):
                raise Unfollowed(operator)
            self._expects = operator
        elif operator == "|":
            if not self._command.stages[-1] or self._command.target is not None:
                raise Unfollowed(operator)
            self._command.stages.append([])
            self._goes_on = True
        elif operator in (";", "&&") and not self._command.empty:
            self._end_command()
            self._command = Command(operator == "&&")
            self._goes_on = operator == "&&"
        else:
            raise Unfollowed(operator)

    def _end_word(self) -> None:
        word, self._word = self._word, None
        if word is None:
            return
        command, expects = self._command, self._expects
        self._expects = ""
        self._goes_on = False
        if expects in (">", ">>"):
            if command.target is not None:
                raise Unfollowed("several targets")
            command.target, command.append = word, expects == ">>"
        elif expects:
            if command.fed or self._delimiter is not None or len(command.stages) > 1:
                raise Unfollowed("several sources")
            if expects == "<":
                command.source = word
            else:
                self._delimiter = word
                command.document = b""
        else:
            command.stages[-1].append(word)

    def _end_command(self) -> None:
        command = self._command
        if not command.empty:
            if not command.stages[-1] and (len(command.stages) > 1 or command.fed):
                raise Unfollowed("an empty command")
            self._done.append(command)

    def _end_of_line(self) -> None:
        self._end_word()
        if self._expects:
            raise Unfollowed("unfinished")
        if self._delimiter is not None:
            self._read_document(self._delimiter)
            self._delimiter = None
        if not self._goes_on:
            self._end_command()
            self._command = Command(False)

    def _read_document(self, delimiter: Word) -> None:
        fed = [command for command in [*self._done, self._command] if command.document is not None]
        body: list[str] = []
        while True:
            if self._at >= len(self._text):
                raise Unfollowed("a here-document is not closed")
            end = self._text.find("\n", self._at)
            end = len(self._text) if end < 0 else end
            line = self._text[self._at : end]
            self._at = end + 1
            if line == delimiter.text and delimiter.text:
                break
            body.append(line + "\n")
        text = "".join(body)
        if delimiter.active or delimiter.glob or (not delimiter.quoted and re.search(r"[$`\\]", text)):
            raise Unfollowed("an active here-document")
        fed[-1].document = text.encode()
