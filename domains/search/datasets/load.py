"""`load_questions`: the questions of a file, whatever public set it is of."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from agentworld_envs.domains.search.answers import read_spec
from agentworld_envs.domains.search.datasets.multihop import (
    is_hotpot,
    is_musique,
    is_two_wiki,
    read_hotpot,
    read_musique,
)
from agentworld_envs.domains.search.datasets.plain import is_plain, read_plain
from agentworld_envs.domains.search.datasets.row import BadRow, QuestionRow, sound
from agentworld_envs.domains.search.datasets.rows_text import rows_of
from agentworld_envs.domains.search.datasets.wide import is_wide, read_wide
from agentworld_envs.interface import ConfigError, TaskError

logger = logging.getLogger(__name__)

Reader = Callable[[Mapping[str, Any]], list[QuestionRow]]


class Problem(NamedTuple):
    """A row that was left out."""

    line: int
    """Where it begins in the file (1-based)."""
    reason: str


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A file of questions."""

    format: str
    """`hotpotqa`, `2wikimultihopqa`, `musique`, `widesearch` or `plain`."""
    rows: tuple[QuestionRow, ...]
    """At least one."""
    problems: tuple[Problem, ...]
    """What was left out, in the order of the file."""


def load_questions(path: str | os.PathLike[str]) -> list[QuestionRow]:
    """The questions of a file; rows that are broken are left out and logged with their lines. See `read_questions`.

    Raises:
        ConfigError: it cannot be read, or holds no question.
    """
    return list(read_questions(path).rows)


def read_questions(path: str | os.PathLike[str]) -> QuestionSet:
    """Read a file of HotpotQA or 2WikiMultihopQA (JSON), MuSiQue, WideSearch or plain rows (JSON lines or an array).

    Which set it is shows in the first row that is any; all others are read in the same way.

    Raises:
        ConfigError: it cannot be read, or holds no question; says what was expected and what was found.
    """
    rows: list[QuestionRow] = []
    problems: list[Problem] = []
    known: dict[str, int] = {}
    name, reader = "", None
    for line, row, problem in rows_of(path):
        if row is None:
            problems.append(Problem(line, problem))
            continue
        if reader is None:
            name, reader = _recognise(row, Path(path).parent)
        if reader is None:
            problems.append(Problem(line, f"not recognised, its fields are {', '.join(map(ascii, list(row)[:12]))}"))
            continue
        try:
            made = reader(row)
            for part, question in enumerate(made):
                own = sound(question.id) or f"row-{line:06d}" + (f"-{part}" if len(made) > 1 else "")
                if own in known:
                    raise BadRow(f"its id {own!r} is that of line {known[own]}")
                read_spec(question.answer)
                known[own] = line
                rows.append(replace(question, id=own, line=line))
        except (BadRow, TaskError) as error:
            problems.append(Problem(line, str(error)))
        except (TypeError, ValueError, KeyError, RecursionError) as error:
            problems.append(Problem(line, f"{type(error).__name__}: {error}"))
    if not rows:
        seen = "; ".join(f"line {line}: {reason[:200]}" for line, reason in problems[:3]) or "an empty file"
        raise ConfigError(
            f"No question in {path}. Expected rows of HotpotQA, 2WikiMultihopQA, MuSiQue or WideSearch, or objects "
            f"with 'question' and 'answer', as JSON lines or a JSON array; found {seen}."
        )
    if problems:
        shown = "; ".join(f"line {line}: {reason[:200]}" for line, reason in problems[:5])
        logger.warning("%s: %d of %d rows are left out: %s", path, len(problems), len(problems) + len(rows), shown)
    return QuestionSet(name, tuple(rows), tuple(problems))


def _recognise(row: Mapping[str, Any], folder: Path) -> tuple[str, Reader | None]:
    if is_two_wiki(row):
        return "2wikimultihopqa", read_hotpot
    if is_hotpot(row):
        return "hotpotqa", read_hotpot
    if is_musique(row):
        return "musique", read_musique
    if is_wide(row):
        return "widesearch", lambda one: read_wide(one, folder) if is_wide(one) else _refuse()
    return ("plain", read_plain) if is_plain(row) else ("", None)


def _refuse() -> list[QuestionRow]:
    raise BadRow("no query or no evaluation")
