"""`parse_date`: which dates a text may mean; `same_date`: whether that is the right one."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

from agentworld_envs.domains.search.answers.normal import fold

LONGEST = 80
"""Characters; a longer text is no date."""
_MONTHS = (
    ("january", "jan", "januar", "janvier", "enero", "gennaio", "janeiro"),
    ("february", "feb", "februar", "fevrier", "febrero", "febbraio", "fevereiro"),
    ("march", "mar", "marz", "maerz", "mars", "marzo", "marco"),
    ("april", "apr", "avril", "abril", "aprile"),
    ("may", "mai", "mayo", "maggio", "maio"),
    ("june", "jun", "juni", "juin", "junio", "giugno", "junho"),
    ("july", "jul", "juli", "juillet", "julio", "luglio", "julho"),
    ("august", "aug", "aout", "agosto"),
    ("september", "sep", "sept", "septembre", "septiembre", "settembre", "setembro"),
    ("october", "oct", "oktober", "okt", "octobre", "octubre", "ottobre", "outubro"),
    ("november", "nov", "novembre", "noviembre", "novembro"),
    ("december", "dec", "dezember", "dez", "decembre", "diciembre", "dicembre", "dezembro"),
)
_NUMBER = {name: number for number, names in enumerate(_MONTHS, 1) for name in names}
MONTHS = frozenset(_NUMBER)
"""Names of months, folded."""
_MONTH = f"(?P<name>{'|'.join(sorted(_NUMBER, key=len, reverse=True))})"
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?[,.]?\s+)?"
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th|er|\.)?"
_YEAR = r"(?P<y>\d{3,4})"
_LINK = r"(?:\s+of|\s+de|\s+del)?"
_TIME = r"(?:[t ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s?(?:z|[+-]\d{2}:?\d{2})?)?"
_FORMS = [
    re.compile(form)
    for form in (
        rf"{_YEAR}-(?P<m>\d{{1,2}})-(?P<d>\d{{1,2}}){_TIME}",
        rf"{_YEAR}[/.](?P<m>\d{{1,2}})[/.](?P<d>\d{{1,2}})",
        r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})",
        rf"{_YEAR}-(?P<m>\d{{2}})",
        rf"{_YEAR}[/.](?P<m>\d{{2}})",
        r"(?P<m>\d{1,2})[/.-](?P<y>\d{4})",
        _YEAR,
        rf"{_YEAR}\s?年(?:\s?(?P<m>\d{{1,2}})\s?月(?:\s?(?P<d>\d{{1,2}})\s?日)?)?",
        rf"{_WEEKDAY}(?:the\s+)?{_DAY}{_LINK}[\s-]*{_MONTH}\.?,?{_LINK}[\s-]*{_YEAR}",
        rf"{_WEEKDAY}{_MONTH}\.?\s+(?:the\s+)?{_DAY},?{_LINK}\s+{_YEAR}",
        rf"{_MONTH}\.?,?{_LINK}[\s-]+{_YEAR}",
        rf"{_YEAR}[\s,-]+{_MONTH}\.?(?:[\s-]+{_DAY})?",
    )
]
_DOTTED = re.compile(r"(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4})")
_EITHER = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4})")
_LEAD = re.compile(r"\A(?:(?:on|in|since|from|circa|ca?\.|year|the year|in the year|dated)\s+)+")
_ERA = re.compile(r"\A(?:ad\s+)|\s+(?:ad|a\.d\.|ce|c\.e\.)\Z")


class Day(NamedTuple):
    """A date as precise as it was given."""

    year: int
    month: int | None = None
    day: int | None = None


def parse_date(text: str) -> tuple[Day, ...]:
    """The dates that a whole text may mean: none, one, or two where day and month could change places (`3/4/1902`).

    Reads ISO 8601, English and six other European languages, and 年月日. Years have three or four digits and are of
    the common era; ranges and dates that no calendar has are no date.
    """
    if len(text) > LONGEST:
        return ()
    plain = " ".join(fold(text).replace("\u2010", "-").replace("\u2011", "-").split()).strip(".!()[] ")
    plain = _ERA.sub("", _LEAD.sub("", plain)).strip()
    for form in _FORMS:
        if match := form.fullmatch(plain):
            parts = match.groupdict()
            month = _NUMBER[parts["name"]] if parts.get("name") else int(parts["m"]) if parts.get("m") else None
            return _days(Day(int(parts["y"]), month, int(parts["d"]) if parts.get("d") else None))
    if match := _DOTTED.fullmatch(plain):
        return _days(Day(int(match["y"]), int(match["m"]), int(match["d"])))
    if match := _EITHER.fullmatch(plain):
        first, second, year = int(match[1]), int(match[2]), int(match[3])
        return tuple(dict.fromkeys(_days(Day(year, first, second)) + _days(Day(year, second, first))))
    return ()


def same_date(given: tuple[Day, ...], right: Day) -> bool:
    """Whether an answer is the right date, at least as precisely as that is known; all its meanings have to be."""
    known = [part for part in right if part is not None]
    return bool(given) and all(list(day[: len(known)]) == known for day in given)


def _days(day: Day) -> tuple[Day, ...]:
    try:
        date(day.year, day.month or 1, day.day or 1)
    except ValueError:
        return ()
    return (day,)
