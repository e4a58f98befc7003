"""Crontab lines: what they mean on a given day. Nothing here looks at a clock."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_SHORT = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *"}
CANON = r"""
import json, re, sys
names = dict(zip("jan feb mar apr may jun jul aug sep oct nov dec".split(), range(1, 13)))
names.update(zip("sun mon tue wed thu fri sat".split(), range(7)))
limits = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]
def number(word):
    return names[word.lower()] if word.lower() in names else int(word)
def values(field, low, high):
    found = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        if span == "*":
            a, b = low, high
        else:
            a = number(first)
            b = number(last) if dash else (high if step else a)
        found.update(range(a, b + 1, int(step or 1)))
    return sorted({v % 7 for v in found} if high == 6 else found)
rows = []
for line in open(sys.argv[1]):
    line = line.strip()
    if not line or line.startswith("#"):
        continue
    if re.match(r"\w+\s*=", line):
        rows.append(line)
        continue
    words = line.split(None, 5)
    try:
        rows.append([values(field, *limit) for field, limit in zip(words[:5], limits)] + [words[5]])
    except (ValueError, IndexError):
        rows.append(line)
print(json.dumps(rows))
"""
"""Prints what the lines of a crontab mean, however they are written. Argument: its path."""
READER = r"""cat > /tmp/tab.py <<'END'
import datetime, re
MON = 'jan feb mar apr may jun jul aug sep oct nov dec'.split()
DOW = 'sun mon tue wed thu fri sat'.split()
AT = {'@hourly': '0 * * * *', '@daily': '0 0 * * *', '@weekly': '0 0 * * 0', '@monthly': '0 0 1 * *'}
def num(w, i):
    w = w.lower()
    if i == 3 and w in MON: return MON.index(w) + 1
    if i == 4 and w in DOW: return DOW.index(w)
    return int(w)
def hit(f, v, i):
    for p in f.split(','):
        r, _, s = p.partition('/')
        a, _, b = r.partition('-')
        lo, hi = ((0, 0, 1, 1, 0)[i], (59, 23, 31, 12, 7)[i]) if r == '*' else (num(a, i), num(b or a, i))
        for x in ([v, 7] if i == 4 and v == 0 else [v]):
            if lo <= x <= hi and (x - lo) % int(s or 1) == 0: return True
    return False
def good(fs):
    try:
        for i, f in enumerate(fs):
            for p in f.split(','):
                m = re.match(r'^(\*|[a-zA-Z0-9]+(-[a-zA-Z0-9]+)?)(/[1-9][0-9]*)?$', p)
                if not m: return False
                if m[1] != '*':
                    a, _, b = m[1].partition('-')
                    lo, hi = num(a, i), num(b or a, i)
                    if not (0, 0, 1, 1, 0)[i] <= lo <= hi <= (59, 23, 31, 12, 7)[i]: return False
    except ValueError:
        return False
    return True
def read(path='/workspace/crontab'):
    out = []
    for line in open(path):
        line = line.strip()
        if line.startswith('@'):
            k, _, c = line.partition(' ')
            line = AT.get(k, '?') + ' ' + c.strip()
        w = line.split(None, 5)
        if line[:1] != '#' and not re.match(r'\w+\s*=', line) and len(w) == 6 and good(w[:5]):
            out.append((w[5].split()[0].split('/')[-1][:-3], w[:5]))
    return out
def due(fs, t):
    d, w = hit(fs[2], t.day, 2), hit(fs[4], t.isoweekday() % 7, 4)
    return hit(fs[3], t.month, 3) and (d or w if fs[2] != '*' and fs[4] != '*' else d and w)
def times(fs, first, days):
    start = datetime.datetime.fromisoformat(first)
    clock = [(h, m) for h in range(24) if hit(fs[1], h, 1) for m in range(60) if hit(fs[0], m, 0)]
    some = [start + datetime.timedelta(days=n) for n in range(days)]
    return [t.replace(hour=h, minute=m) for t in some if due(fs, t) for h, m in clock]
END"""
"""Command of solutions: a module that reads a crontab in its own way, so that the answers here are not its echo."""


class Line(NamedTuple):
    """One job."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday."""
    either: bool
    """Whether both kinds of days are given, so that a day that fits one of them will do."""
    command: str

    @property
    def name(self) -> str:
        """The command's file name without its ending."""
        return self.command.split()[0].rpartition("/")[2].removesuffix(".sh")

    def on(self, day: date) -> list[datetime]:
        """Its runs on a day."""
        fits, fits_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        if day.month not in self.months or not ((fits or fits_week) if self.either else (fits and fits_week)):
            return []
        times = (time(hour, minute) for hour in sorted(self.hours) for minute in sorted(self.minutes))
        return [datetime.combine(day, when) for when in times]


def parse(text: str) -> Line | None:
    """A job, or `None` for all other lines: comments, settings, lines that make no sense."""
    words = text.split(None, 5)
    if words and words[0] in _SHORT:
        words = text.split(None, 1)
        words = [*_SHORT[words[0]].split(), *words[1:]]
    if len(words) < 6 or text.lstrip().startswith("#") or re.match(r"\s*\w+\s*=", text):
        return None
    try:
        sets = [_expand(word, *limits) for word, limits in zip(words, _LIMITS, strict=False)]
    except ValueError:
        return None
    week = frozenset(value % 7 for value in sets[4])
    either = words[2] != "*" and words[4] != "*"
    return Line(sets[0], sets[1], sets[2], sets[3], week, either, words[5])


def _expand(field: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        match = re.fullmatch(r"(?:(\*)|(\w+)(?:-(\w+))?)(?:/(\d+))?", part)
        if match is None:
            raise ValueError(part)
        star, first, last, step = match.groups()
        begin = low if star else _number(first, high)
        end = high if star else _number(last or first, high)
        if not low <= begin <= end <= high or step == "0" or (step and not star and not last):
            raise ValueError(part)
        found.update(range(begin, end + 1, int(step or 1)))
    return frozenset(found)


def _number(word: str, high: int) -> int:
    names = {12: _MONTHS, 7: _DAYS}.get(high, ())
    if word.lower() in names:
        return names.index(word.lower()) + (high == 12)
    return int(word)


def jobs(lines: Iterable[str]) -> list[Line]:
    """The jobs of a crontab, in its order."""
    return [job for job in map(parse, lines) if job is not None]


def runs(job: Line, first: date, last: date) -> list[datetime]:
    """Runs of a job from a day to another, both included."""
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return [when for day in days for when in job.on(day)]


def canonical(lines: Sequence[str]) -> str:
    """What `CANON` prints for a crontab of good jobs, settings and comments."""
    rows: list[object] = []
    for line in lines:
        job = parse(line)
        if job is not None:
            rows.append([*(sorted(values) for values in job[:5]), job.command])
        elif line.strip() and not line.lstrip().startswith("#"):
            rows.append(line.strip())
    return json.dumps(rows)
