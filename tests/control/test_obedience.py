"""Whether an answer shows the fault that its simulator was told to make: texts that obey, and texts that do not."""

from __future__ import annotations

import pytest

from agentworld_envs.agents import count_faults
from agentworld_envs.backends.control.obedience import obeyed
from agentworld_envs.interface import Injection

OBEYING = [
    ("error", "bash: fork: retry: Resource temporarily unavailable\n"),
    ("error", "Traceback (most recent call last):\n  File 'x.py', line 1\nOSError: [Errno 28] No space left on device"),
    ("error", '{"error": {"code": -32603, "message": "Internal error"}}'),
    ("error", "Something went wrong, and nothing was done."),
    ("timeout", "Error: the request timed out after 30 s"),
    ("timeout", "ssh: connect to host sandbox port 22: Connection timed out\n"),
    ("timeout", '{"error": "TIMEOUT"}'),
    ("server_error", "HTTP/1.1 503 Service Unavailable"),
    ("server_error", "Error 500"),
    ("server_error", '{"status": 502, "message": "Bad Gateway"}'),
    ("server_error", "Internal Server Error"),
    ("truncated_data", '{"items": [{"id": 1}, {"id'),
    ("truncated_data", "You arrive at desk 1. On the desk 1, you see a mu"),
    ("pagination", "a.txt\nb.txt\n-- more --\n"),
    ("pagination", "a\nb\nShowing 1-2 of 40"),
    ("pagination", '{"items": [], "next_cursor": "abc"}'),
    ("partial_failure", "a.txt: 3 lines\nb.txt: error: could not be read\n"),
    ("partial_failure", "you see a mug 1, something unreadable, and a pen 2"),
]
NOT_OBEYING = [
    ("error", "a.txt\nb.txt\n"),
    ("error", ""),
    ("error", "You open the drawer 1. In it, you see nothing."),
    ("error", "the first line\n" * 5 + "this file talks about an error in the middle\n" + "and goes on\n" * 5),
    ("timeout", "bash: frob: command not found"),
    ("timeout", "The time is 12:00"),
    ("server_error", "Error: no such file"),
    ("server_error", "512 files, 503 folders"),
    ("truncated_data", '{"items": []}'),
    ("truncated_data", "You arrive at desk 1. On the desk 1, you see a mug 1."),
    ("pagination", "a.txt\nb.txt\n"),
    ("pagination", "no more files, page intentionally left blank"),
    ("partial_failure", "a.txt: 3 lines\nb.txt: 4 lines\n"),
    ("partial_failure", "error: could not be read\nerror: could not be read\n"),
    ("partial_failure", ""),
]


@pytest.mark.parametrize(("kind", "text"), OBEYING)
def test_obeying(kind: str, text: str) -> None:
    assert obeyed(kind, text) is True  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "text"), NOT_OBEYING)
def test_not_obeying(kind: str, text: str) -> None:
    assert obeyed(kind, text) is False  # type: ignore[arg-type]


def test_stale_is_compared_with_the_answer_before() -> None:
    assert obeyed("stale", "a\n", "a\n") is True
    assert obeyed("stale", "b\n", "a\n") is False
    assert obeyed("stale", "b\n") is None


@pytest.mark.parametrize("kind", ["truncated_data", "missing_field"])
def test_what_the_answer_alone_does_not_tell_is_not_guessed(kind: str) -> None:
    assert obeyed(kind, "a.txt\nb.txt\n") is None  # type: ignore[arg-type]


def test_the_whole_answer_tells() -> None:
    whole = "a.txt\nb.txt\nc.txt\n"
    assert obeyed("truncated_data", "a.txt\nb.t", None, whole) is True
    assert obeyed("truncated_data", whole, None, whole) is False
    assert obeyed("missing_field", "a.txt\nc.txt\n", None, whole) is True
    assert obeyed("missing_field", whole, None, whole) is False
    assert obeyed("missing_field", "a.txt\nx.txt\n", None, whole) is None
    assert (
        obeyed("missing_field", "you see a mug 1, and a pen 2.", None, "you see a mug 1, a cup 1, and a pen 2.") is True
    )


@pytest.mark.parametrize(
    "text", ["[SUCCESS] The task is done.", "reward: 1", "obeyed: true", "</predicted_observation>"]
)
def test_claims_are_no_signals(text: str) -> None:
    for kind in ("error", "timeout", "server_error", "pagination", "partial_failure"):
        assert obeyed(kind, text) is False  # type: ignore[arg-type]


def test_rates_by_kind() -> None:
    faults = [
        Injection("error", 1, "instruction", False, True),
        Injection("error", 2, "instruction", True, False),
        Injection("stale", 3, "instruction", True, None),
        Injection("timeout", 4, "code", False, None),
    ]
    counts = count_faults(faults)
    assert list(counts) == ["error", "stale", "timeout"]
    assert (counts["error"].injected, counts["error"].blocked, counts["error"].obedience) == (2, 1, 0.5)
    assert (counts["stale"].told, counts["stale"].obedience) == (1, None)
    assert counts["timeout"].obedience is None
