"""One instant for every time stamp of an episode."""

from __future__ import annotations

import os
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentworld_envs.domains.terminal.clock import Clock

START = datetime(2027, 11, 30, 16, 23, 58, tzinfo=UTC).timestamp()
END = START + 70


@pytest.mark.parametrize(
    ("shown", "settled"),
    [
        ("Tue Nov 30 16:24:05 UTC 2027", "Mon Jan  5 09:00:00 UTC 2026"),
        ("Tue, 30 Nov 2027 16:24:05 +0000", "Mon,  5 Jan 2026 09:00:00 +0000"),
        ("2027-11-30T16:24:05+00:00", "2026-01-05T09:00:00+00:00"),
        ("2027-11-30 16:24:05.123456789 +0000", "2026-01-05 09:00:00.000000000 +0000"),
        ("2027-11-30 16:24", "2026-01-05 09:00"),
        ("-rw-r--r-- 1 agent agent 5 Nov 30 16:24 a", "-rw-r--r-- 1 agent agent 5 Jan  5 09:00 a"),
        ("-rw-r--r-- 1 agent agent 5 May 14  2024 a", "-rw-r--r-- 1 agent agent 5 May 14  2024 a"),
        (f"{int(START) + 5}", "1767603600"),
        (f"{int(START) + 5}.1234", "1767603600.0000"),
        ("2027-11-30 15:24:05", "2027-11-30 15:24:05"),
        ("Nov 29 16:24:05 host sshd", "Nov 29 16:24:05 host sshd"),
        (
            "agent        12       1  7 16:24 pts/0    00:00:01 bash",
            "agent        12       1  0 09:00 pts/0    00:00:00 bash",
        ),
        (
            "agent     1  0.3  0.1 12345  9876 ?   Ss   16:24   0:01 python3",
            "agent     1  0.0  0.1 12345     0 ?   Ss   09:00   0:00 python3",
        ),
        ("meet at 16:24 in room 5", "meet at 16:24 in room 5"),
        ("1234567890 99999999999 2.1796056638", "1234567890 99999999999 2.1796056638"),
        ("", ""),
    ],
)
def test_forms(shown: str, settled: str) -> None:
    assert Clock(START).settle(shown, END) == settled


def test_what_programs_print_now(tmp_path: Path) -> None:
    """Whatever the date is today."""
    clock = Clock(time.time() - 1)
    script = "date; date -R; date -Iseconds; date +%s; touch x; ls -l x; stat x | grep -v Birth; ls --full-time x"
    env = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    shown = subprocess.run(
        ["bash", "-c", script], cwd=str(tmp_path), env=env, capture_output=True, text=True, check=True
    )
    text = clock.settle(shown.stdout)
    now = datetime.now(UTC)
    for form in ("%Y-%m-%d %H", "%Y-%m-%dT%H", "%b %e %H:%M", "%d %b %Y"):
        assert f"{now:{form}}" not in text
    assert text.count("09:00") >= 6
