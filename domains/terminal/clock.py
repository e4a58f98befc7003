"""`Clock`: one fixed instant in place of every time stamp that the real clock left in an observation.

Nothing unprivileged can give a process another wall clock, so it is the text that is made the same from run to run:
whatever names a moment between the start of this process and now, in one of the usual forms, names `NOW` instead.
Older and later time stamps, which come from the task's own files, are left alone. The number of the device that `stat`
shows, which the kernel counts up, is made the same, too, and what `ps` shows of start, time and size of processes.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

NOW = datetime(2026, 1, 5, 9, 0, 0, tzinfo=UTC)
"""What the clock of a terminal world always shows."""
_SLACK = timedelta(seconds=2)

_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_DAYS = "Mon|Tue|Wed|Thu|Fri|Sat|Sun"
_ISO = re.compile(r"(?<!\d)(\d{4}-\d\d-\d\d)([T ])(\d\d:\d\d)(:\d\d)?([.,]\d{1,9})?(?!\d)")
_DATE = re.compile(
    rf"\b({_DAYS}),? (?:(\d\d?|[ ]\d) ({_MONTHS})|({_MONTHS}) ([ ]?\d\d?)),? (?:(\d{{4}}) )?(\d\d:\d\d:\d\d)"
    rf"( [AP]M)?(?: (UTC|GMT|\+0000))?(?: (\d{{4}}))?"
)
_LS = re.compile(rf"\b({_MONTHS}) ([ ]?\d\d?) (\d\d:\d\d)(?!:?\d)")
_START = r"\d\d:\d\d|\w{3}\d\d"
_PS_EF = re.compile(rf"(?m)^(\S+ +\d+ +\d+)( +\d+) (?:{_START})( \S+ +)\d\d:\d\d:\d\d(?= )")
_PS_AUX = re.compile(rf"(?m)^(\S+ +\d+ +)\d+\.\d( +\d+\.\d +\d+)( +\d+)( \S+ +\S+ +)(?:{_START})( +)\d+:\d\d(?= )")
_EPOCH = re.compile(r"(?<![\d.])(\d{10})(\.\d{1,9})?(?![\d])")
_DEVICE = re.compile(r"\bDevice: (?:\d+,\d+|[0-9a-f]+h/\d+d)(?=\s)")


_FIRST = time.time()
"""Warm sandboxes are older than the episodes that are played in them, but never older than this process."""


class Clock:
    """Knows since when time stamps are those of an episode."""

    def __init__(self, started: float = _FIRST) -> None:
        """Args: started: seconds since 1970; when this process first asked for the time, by default."""
        self._started = datetime.fromtimestamp(started, UTC)

    def settle(self, text: str, now: float | None = None) -> str:
        """`text` with every moment of this episode replaced by `NOW`.

        Args:
            text: an observation.
            now: seconds since 1970; the real time when not given.
        """
        if not any(character.isdigit() for character in text):
            return text
        first = self._started - _SLACK
        last = datetime.fromtimestamp(time.time() if now is None else now, UTC) + _SLACK
        text = _ISO.sub(lambda match: _iso(match, first, last), text)
        text = _DATE.sub(lambda match: _date(match, first, last), text)
        text = _LS.sub(lambda match: _ls(match, first, last), text)
        text = _DEVICE.sub("Device: 0,1", text)
        text = _PS_EF.sub(lambda m: f"{m[1]}{0:>{len(m[2])}} {NOW:%H:%M}{m[3]}00:00:00", text)
        text = _PS_AUX.sub(lambda m: f"{m[1]}0.0{m[2]}{0:>{len(m[3])}}{m[4]}{NOW:%H:%M}{m[5]}0:00", text)
        return _EPOCH.sub(lambda match: _epoch(match, first, last), text)


def mask(text: str) -> str:
    """`text` without all that `settle` may replace, whatever moments it names, to compare what it leaves alone."""
    for pattern in (_ISO, _DATE, _LS, _DEVICE, _PS_EF, _PS_AUX, _EPOCH):
        text = pattern.sub("\0", text)
    return text


def _within(moment: datetime, first: datetime, last: datetime, resolution: timedelta) -> bool:
    return first - resolution < moment <= last


def _iso(match: re.Match[str], first: datetime, last: datetime) -> str:
    day, between, clock, seconds, fraction = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{seconds or ':00'}+00:00")
    except ValueError:
        return match[0]
    if not _within(moment, first, last, timedelta(seconds=0 if seconds else 60)):
        return match[0]
    digits = f"{fraction[0]}{'0' * (len(fraction) - 1)}" if fraction else ""
    return f"{NOW:%Y-%m-%d}{between}{NOW:%H:%M}{':00' if seconds else ''}{digits}"


def _date(match: re.Match[str], first: datetime, last: datetime) -> str:
    _, day_a, month_a, month_b, day_b, year_a, clock, half, _, year_b = match.groups()
    year = year_a or year_b or str(last.year)
    text = f"{year} {month_a or month_b} {(day_a or day_b).strip()} {clock}{half or ''}"
    try:
        moment = datetime.strptime(text, f"%Y %b %d {'%I' if half else '%H'}:%M:%S{' %p' if half else ''}")
    except ValueError:
        return match[0]
    if not _within(moment.replace(tzinfo=UTC), first, last, timedelta(0)):
        return match[0]
    shown = match[0]
    shown = shown.replace(clock, f"{NOW:%I:%M:%S}" if half else f"{NOW:%H:%M:%S}").replace(match[1], f"{NOW:%a}", 1)
    day = day_a or day_b
    shown = shown.replace(f"{day} {month_a}", f"{NOW.day:>{len(day)}} {NOW:%b}") if day_a else shown
    shown = shown.replace(f"{month_b} {day}", f"{NOW:%b} {NOW.day:>{len(day)}}") if day_b else shown
    if half:
        shown = shown.replace(half, f" {NOW:%p}")
    return shown.replace(year, f"{NOW:%Y}") if year_a or year_b else shown


def _ls(match: re.Match[str], first: datetime, last: datetime) -> str:
    month, day, clock = match.groups()
    for year in {first.year, last.year}:
        try:
            moment = datetime.strptime(f"{year} {month} {day.strip()} {clock}", "%Y %b %d %H:%M").replace(tzinfo=UTC)
        except ValueError:
            continue
        if _within(moment, first, last, timedelta(seconds=60)):
            return f"{NOW:%b} {NOW.day:>{len(day)}} {NOW:%H:%M}"
    return match[0]


def _epoch(match: re.Match[str], first: datetime, last: datetime) -> str:
    if not first.timestamp() <= int(match[1]) <= last.timestamp():
        return match[0]
    return f"{int(NOW.timestamp())}{'.' + '0' * (len(match[2]) - 1) if match[2] else ''}"
