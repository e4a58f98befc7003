"""SWE: tool calls of two families of coding agents in, their answers out (Qwen-AgentWorld report, SWE domain)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from agentworld_envs.backends.world_model.codecs.base import Call, Reader
from agentworld_envs.backends.world_model.codecs.mcp import JSONCallCodec, read_json_answer

CLAUDE_CODE: Final = frozenset(
    [
        *("Bash", "BashOutput", "Edit", "ExitPlanMode", "Glob", "Grep", "KillShell", "LS", "MultiEdit", "NotebookEdit"),
        *("Read", "Task", "TodoWrite", "WebFetch", "WebSearch", "Write"),
    ]
)
QWEN_CODE: Final = frozenset(
    [
        *("edit", "glob", "grep_search", "list_directory", "ls", "read_file", "read_many_files", "replace"),
        *("run_shell_command", "save_memory", "search_file_content", "todo_write", "web_fetch", "write_file"),
    ]
)
FIELDS: Final = (
    "Command",
    "Directory",
    "Output",
    "Result",
    "Stdout",
    "Stderr",
    "Error",
    "Exit Code",
    "Signal",
    "Background PIDs",
    "Process Group PGID",
)
"""Fields of the shell envelope of the Gemini and Qwen command lines, each at the start of a line."""
NONE: Final = "(none)"

_NUMBERED: Final = re.compile(r"( *)(\d+)(→|\t)(.*)")
_FIELD: Final = re.compile(rf"^({'|'.join(FIELDS)}):", re.MULTILINE)
_LISTING: Final = re.compile(r"Directory listing for (.*):")
_FOLDER: Final = "[DIR] "
_EXIT: Final = re.compile(r"Exit code (\d+)")


def family(call: Call) -> str:
    """`claude_code`, `qwen_code`, or empty for a tool of neither family."""
    if call.name in CLAUDE_CODE:
        return "claude_code"
    return "qwen_code" if call.name in QWEN_CODE else ""


@dataclass(frozen=True, slots=True)
class FileView:
    """Numbered lines as `cat -n` and `Read` print them, with what stands around them."""

    form: ClassVar[str] = "file_view"
    lines: tuple[tuple[int, str], ...]
    """Number and text."""
    mark: str = "→"
    """Between number and text: an arrow or a tab."""
    width: int = 6
    """Of the number, filled with spaces at the left."""
    lead: str = ""
    """What comes before, such as `The file x has been updated. ...`."""
    tail: str = ""
    """What comes behind, such as a reminder to the agent."""

    def render(self) -> str:
        body = "\n".join(f"{number:>{self.width}}{self.mark}{text}" for number, text in self.lines)
        return f"{self.lead}{body}{self.tail}"


@dataclass(frozen=True, slots=True)
class ShellResult:
    """`Command:`, `Directory:`, `Output:`, ... of `run_shell_command`."""

    form: ClassVar[str] = "shell"
    fields: tuple[tuple[str, str], ...]
    """Name and text, in order; the text is what stands behind the colon up to the next field."""

    def field(self, name: str) -> str:
        """A field without the space around it; empty when it is not there or says that there is none."""
        text = next((text.strip() for key, text in self.fields if key == name), "")
        return "" if text == NONE else text

    @property
    def exit_code(self) -> int | None:
        text = self.field("Exit Code")
        return int(text) if re.fullmatch(r"-?\d{1,9}", text) else None

    def render(self) -> str:
        return "\n".join(f"{name}:{text}" for name, text in self.fields)


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """`Directory listing for PATH:`, then `[DIR] name` or a file's name a line."""

    form: ClassVar[str] = "listing"
    path: str
    entries: tuple[tuple[str, bool], ...]
    """Name, and whether it is a folder."""

    def render(self) -> str:
        lines = [f"{_FOLDER if folder else ''}{name}" for name, folder in self.entries]
        return "\n".join([f"Directory listing for {self.path}:", *lines])


@dataclass(frozen=True, slots=True)
class FailedCommand:
    """`Exit code N` and what the command printed: `Bash` when a command fails."""

    form: ClassVar[str] = "exit_code"
    exit_code: int
    output: str

    def render(self) -> str:
        return f"Exit code {self.exit_code}{self.output}"


def read_file_view(text: str) -> FileView | None:
    """Numbered lines in one piece; everything before and behind is kept beside them."""
    lines = text.split("\n")
    matches = [_NUMBERED.fullmatch(line) for line in lines]
    start = next((index for index, match in enumerate(matches) if match), -1)
    if start < 0:
        return None
    first = matches[start]
    assert first is not None, "the index was chosen by it"
    mark, width = first[3], len(first[1]) + len(first[2])
    numbered: list[tuple[int, str]] = []
    for match in matches[start:]:
        if match is None or match[3] != mark or len(match[2]) > 9:
            break
        numbered.append((int(match[2]), match[4]))
    stop = start + len(numbered)
    if not numbered:
        return None
    lead = "".join(f"{line}\n" for line in lines[:start])
    tail = "".join(f"\n{line}" for line in lines[stop:])
    return FileView(tuple(numbered), mark, width, lead, tail)


def read_shell(text: str) -> ShellResult | None:
    """A shell envelope: it begins with a field. A field's name counts once: output may have such lines, too."""
    fields: list[tuple[str, int, int]] = []
    for match in _FIELD.finditer(text):
        # The envelope's own order tells its fields from lines of the output that look like them.
        if not fields or FIELDS.index(match[1]) > FIELDS.index(fields[-1][0]):
            fields.append((match[1], match.start(), match.end()))
    if len(fields) < 2 or fields[0][1] != 0:
        return None
    ends = [start - 1 for _, start, _ in fields[1:]] + [len(text)]
    return ShellResult(tuple((name, text[end:stop]) for (name, _, end), stop in zip(fields, ends, strict=True)))


def read_listing(text: str) -> DirectoryListing | None:
    """A folder's contents."""
    head, *lines = text.split("\n")
    match = _LISTING.fullmatch(head)
    if match is None or not lines:
        return None
    entries = tuple((line.removeprefix(_FOLDER), line.startswith(_FOLDER)) for line in lines)
    return DirectoryListing(match[1], entries)


def read_failed_command(text: str) -> FailedCommand | None:
    """The answer to a command that failed."""
    match = _EXIT.match(text)
    if match is None or len(match[1]) > 9 or text[match.end() : match.end() + 1] not in ("", "\n"):
        return None
    return FailedCommand(int(match[1]), text[match.end() :])


class SWECodec(JSONCallCodec):
    """Tool calls whose `arguments` are often JSON in a string."""

    name = "swe"
    forms = ("json_string", "json", "json_list", "json_string_list")

    def readers(self) -> Sequence[Reader]:
        return (read_shell, read_listing, read_failed_command, read_file_view, read_json_answer)
