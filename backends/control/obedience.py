"""`obeyed`: whether a world model that was told to fail did so. Code that looks for signals; it asks no model.

As the controllability axis of the Qwen-AgentWorld report (appendix C): a condition was added, does the answer show it?
"""

from __future__ import annotations

import json
import re

from agentworld_envs.interface.fault import FaultKind

_ERROR = re.compile(
    r"\b(?:errors?|exception|traceback|fail(?:ed|ure|s)?|unavailable|denied|refused|timed? ?-?out)\b"
    r"|\b(?:could not|cannot|unable to|not respond|not available|went wrong|crash)",
    re.IGNORECASE,
)
_TIMEOUT = re.compile(r"\b(?:timed?[ -]?out|deadline|took too long|no (?:answer|response))\b|ETIMEDOUT", re.IGNORECASE)
_SERVER = re.compile(
    r"\b5\d\d\b(?=\W+(?:[a-z]+ )?(?:internal|server|bad|service|gateway|error|unavailable))"
    r"|(?:error|status|http|code)\W+5\d\d\b"
    r"|internal server error|bad gateway|service (?:temporarily )?unavailable|gateway time-?out",
    re.IGNORECASE,
)
_SIGNALS: dict[FaultKind, re.Pattern[str]] = {"error": _ERROR, "timeout": _TIMEOUT, "server_error": _SERVER}
_MOST_LINES = 12
"""A message of failure is not longer; what is longer only mentions errors."""
_PAGED = re.compile(
    r"-- ?more ?--|\bpage \d+ (?:of|/) \d+|\bnext[ _](?:page|cursor)\b|\bhas_more\b|\(\d+ more\b"
    r"|\b\d+ more (?:lines|items|results|entries)\b"
    r"|\b(?:showing|lines|items|results) \d+ ?(?:-|to|\u2013) ?\d+ of \d+",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[A-Z][a-z' ]* [a-z]")


def obeyed(kind: FaultKind, body: str, previous: str | None = None, whole: str | None = None) -> bool | None:
    """Whether an answer shows a fault.

    Args:
        kind: what was to go wrong.
        body: the data of the answer.
        previous: that of the answer before, `None` at the first one.
        whole: that of the answer to the same action right before, when nothing was to go wrong; `None` without one.

    Returns:
        `None` where the answer alone does not tell.
    """
    if kind in _SIGNALS:
        return _fails(body, _SIGNALS[kind])
    if kind == "stale":
        return None if previous is None else body.strip() == previous.strip()
    if kind == "pagination":
        return _PAGED.search(body) is not None
    if kind == "partial_failure":
        return _is_partial(body)
    return _is_less(kind, body, whole)


def _fails(body: str, signal: re.Pattern[str]) -> bool:
    """Whether the answer is a message of failure: a short text that says so in its first or last line."""
    lines = [line for line in body.splitlines() if line.strip()]
    return 0 < len(lines) <= _MOST_LINES and any(signal.search(line) for line in (lines[0], lines[-1]))


def _is_partial(body: str) -> bool:
    """Some parts failed, others did not."""
    parts = [part for part in re.split(r"\n|[,;]\s", body) if part.strip()]
    failed = sum(_ERROR.search(part) is not None or "unreadable" in part for part in parts)
    return 0 < failed < len(parts)


def _is_less(kind: FaultKind, body: str, whole: str | None) -> bool | None:
    """Whether something is missing: seen against the whole answer, else by its form, else not to be told."""
    now = body.strip()
    if whole is not None and whole.strip():
        full = whole.strip()
        if now == full:
            return False
        if kind == "truncated_data" and full.startswith(now):
            return True
        if kind == "missing_field" and _is_part(re.split(r"[\n,]", now), re.split(r"[\n,]", full)):
            return True
    if kind == "missing_field" or not now:
        return None
    if now[0] in "{[":
        try:
            json.loads(now)
        except (ValueError, RecursionError):
            return True
        return False
    if "\n" not in now and _SENTENCE.match(now):
        return now[-1] not in ".!?:\"')"
    return None


def _is_part(fewer: list[str], more: list[str]) -> bool:
    """Whether a list is another one with entries left out."""
    rest = iter(entry.strip().removeprefix("and ") for entry in more)
    return len(fewer) < len(more) and all(entry.strip().removeprefix("and ") in rest for entry in fewer)
