"""`parse_number`: what number a text is, with its unit; `same_number`: whether that is the right one."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from agentworld_envs.domains.search.answers.normal import fold
from agentworld_envs.domains.search.answers.units import convert, says_more, unit_name

LONGEST = 160
"""Characters; a longer text is no number."""
_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_UNDER_100 = {word: number for number, word in enumerate(_SMALL)} | _TENS
NUMBER_WORDS = frozenset(_UNDER_100)
SCALES = {
    "hundred": 1e2,
    "hundreds": 1e2,
    "thousand": 1e3,
    "thousands": 1e3,
    "lakh": 1e5,
    "million": 1e6,
    "millions": 1e6,
    "mn": 1e6,
    "mio": 1e6,
    "crore": 1e7,
    "billion": 1e9,
    "billions": 1e9,
    "bn": 1e9,
    "trillion": 1e12,
    "trillions": 1e12,
    "tn": 1e12,
    "dozen": 12.0,
    "dozens": 12.0,
}
_LETTERS = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
"""Scales that stand right behind the digits, in this case: `5 m` are metres."""
_NO_UNIT = frozenset({"or", "and", "to", "not", "but", "plus", "minus", "times", "maybe", "versus", "vs", "through"})
_ABOUT = re.compile(r"\A(?:about|approximately|approx\.?|around|roughly|circa|ca\.?|nearly|almost|~|≈|some)\s*")
_NUMERAL = re.compile(
    r"(?P<sign>[+-]?)\s?(?P<digits>\d[\d.,' _]*\d|\d|[.,]\d+)"
    r"(?:\s?(?:e|[x\u00d7*]\s?10\s?(?:\^|\*\*)?)\s?(?P<power>[+-]?\d{1,3})(?![\d.]))?"
    r"(?:\s?/\s?(?P<under>\d{1,9}))?(?P<ordinal>(?:st|nd|rd|th)\b)?",
)
_GROUPED = re.compile(r"\d{1,3}([,.' _])\d{3}(?:\1\d{3})*")
_INDIAN = re.compile(r"\d{1,2}(?:,\d{2})*,\d{3}")
_MONEY = re.compile(r"\A(?P<sign>[+-]?)\s?(?P<unit>[$€£¥₹₩]|(?:us|usd|eur|gbp|jpy|chf|cad|aud|inr)\b\s?[$€£¥₹]?)\s?")
_BEHIND = re.compile(r"(?:[%°$€£¥₹₩]|[^\W\d_])(?:[^\W\d_]|[\s.'/%$°-]|[a-z]\^?[23]\b)*")
"""A unit, in symbols or words; areas and volumes end in 2 and 3."""
_TWICE = re.compile(r"(.*\S)\s*\(([^()]*)\)")
_RAISED = re.compile(r"(?<=\d)[\u2070\u00b9\u00b2\u00b3\u2074-\u207b]+")
_FRACTION = re.compile(r"(\d)\s*([\u00bc-\u00be\u2150-\u215e])")
_POWER = re.compile(r"(?<![\d.x\u00d7*])(?<![x\u00d7*] )10\^([+-]?\d{1,3})(?!\d)")
_MIXED = re.compile(r"(?P<sign>[+-]?)(?P<whole>\d{1,9})[ -](?P<over>\d{1,3})/(?P<under>[1-9]\d{0,2})(?!\d)")
_SIGNS = {0x2212: "-", 0x207B: "-", 0x2044: "/"}
"""Signs that look like, and mean, ASCII ones."""


class Quantity(NamedTuple):
    """A number as it was written."""

    value: float
    unit: str
    """As `unit_name` gives it; empty when there is none."""


def parse_number(text: str) -> Quantity | None:
    """The number that a whole text is: digits, or words up to the trillions, with a scale and a unit, or `None`.

    `1,234` is read in the English way, as is `1.234`; a comma is a decimal point where it cannot separate thousands.
    Something in brackets behind it has to be the same number (`12 km (7.5 mi)`). NaN, infinity, ranges and several
    numbers are not a number.
    """
    if len(text) > LONGEST:
        return None
    raw = " ".join(text.translate(_SIGNS).split()).rstrip(".!")
    if twice := _TWICE.fullmatch(raw):
        first, second = parse_number(twice[1]), parse_number(twice[2])
        return first if first and second and _agree(first, second) else None
    raw = _FRACTION.sub(r"\1 \2", _RAISED.sub(lambda match: "^" + match[0], raw))
    plain = " ".join(fold(raw).translate(_SIGNS).split())
    plain = _POWER.sub(r"1e\1", _ABOUT.sub("", plain))
    unit, sign = "", 1.0
    if money := _MONEY.match(plain):
        unit, sign = unit_name(money["unit"]), -1.0 if money["sign"] == "-" else 1.0
        plain = plain[money.end() :]
    if mixed := _MIXED.match(plain):
        value = float(mixed["whole"]) + int(mixed["over"]) / int(mixed["under"])
        return _finish(-sign * value if mixed["sign"] == "-" else sign * value, plain[mixed.end() :], unit)
    match = _NUMERAL.match(plain)
    if match is None:
        spoken = _words(plain)
        return None if spoken is None else _finish(sign * spoken[0], spoken[1], unit)
    parsed, rest = _digits(match), plain[match.end() :]
    if parsed is None:
        return None
    letter = re.search(r"\d([kKMBT])(?![A-Za-z])", raw)
    if letter and rest[:1] == letter[1].lower() and not rest[1:2].isalnum():
        parsed, rest = parsed * _LETTERS[letter[1]], rest[1:]
    return _finish(sign * parsed, rest, unit)


def same_number(given: Quantity, value: float, tolerance: float, unit: str | None) -> bool:
    """Whether a number is the right one.

    Args:
        given: what was answered. Without a unit it is taken to be in the right one.
        value, unit: the right one. With a unit, another or an unknown one is wrong, unless it measures the same and the
            value is converted. Without a unit, any will do; a percentage is right as it stands (`10%` for 10) and as
            hundredths (`10%` for 0.1), as nobody knows which was meant.
        tolerance: relative.
    """
    found: float | None = given.value
    if unit is not None and given.unit:
        found = convert(given.value, given.unit, unit_name(unit))
    elif unit is None and given.unit == "%" and close(given.value / 100, value, tolerance):
        return True
    return found is not None and close(found, value, tolerance)


def close(given: float, right: float, tolerance: float) -> bool:
    """Whether two finite numbers are the same but for a relative tolerance, and for what floating point loses."""
    return math.isfinite(given) and abs(given - right) <= tolerance * abs(right) + 1e-9 * max(1.0, abs(right)) * (
        1.0 if abs(right) >= 1e-6 else abs(right)
    )


def _agree(first: Quantity, second: Quantity) -> bool:
    """Whether two ways to say a number are about the same: rounded, or in another unit."""
    value = convert(second.value, second.unit, first.unit) if first.unit and second.unit else second.value
    return value is not None and close(value, first.value, 0.05)


def _finish(value: float, rest: str, unit: str) -> Quantity | None:
    """Scale words and the unit behind a number; `None` when something else is there."""
    words = rest.split()
    while words and words[0].strip(".,-") in SCALES:
        value *= SCALES[words.pop(0).strip(".,-")]
    if words and words[0] == "of":
        words = words[1:]
    behind = " ".join(words)
    if behind:
        if not _BEHIND.fullmatch(behind):
            return None
        if unit and unit_name(behind) != unit:
            return None
        spoken = set(re.split(r"[\s-]+", behind))
        if len(words) > 6 or says_more(behind) or spoken & (_NO_UNIT | _UNDER_100.keys() | SCALES.keys()):
            return None
        unit = unit or unit_name(behind)
    return Quantity(value, unit) if math.isfinite(value) else None


def _digits(match: re.Match[str]) -> float | None:
    digits = match["digits"]
    value = _decimal(digits)
    if value is None:
        return None
    try:
        if match["power"]:
            value *= 10.0 ** int(match["power"])
    except OverflowError:
        return None
    if match["under"]:
        if not int(match["under"]):
            return None
        value /= int(match["under"])
    return -value if match["sign"] == "-" else value


def _decimal(digits: str) -> float | None:
    """Digits with separators as a number, read in the only way that is possible or in the English one."""
    if _INDIAN.fullmatch(digits) and not digits.startswith("0"):
        return float(digits.replace(",", ""))
    for point, group in ((".", ",' _"), (",", ".' _")):
        whole, _, fraction = digits.rpartition(point) if digits.count(point) == 1 else (digits, "", "")
        if (
            point == ","
            and fraction
            and len(fraction) == 3
            and whole.isdigit()
            and 0 < len(whole) <= 3
            and whole != "0"
        ):
            continue
        grouped = _GROUPED.fullmatch(whole)
        if grouped and grouped[1] in group and not whole.startswith("0"):
            whole = whole.replace(grouped[1], "")
        if (whole.isdigit() or (not whole and fraction)) and (fraction.isdigit() or not fraction):
            return float(f"{whole or 0}.{fraction or 0}")
    return None


def _words(text: str) -> tuple[float, str] | None:
    """A number in words at the beginning of a text, and what is behind it."""
    words = text.replace("-", " ").split()
    sign = 1.0
    if words and words[0] in ("minus", "negative"):
        sign, words = -1.0, words[1:]
    if len(words) > 1 and words[0] in ("a", "an") and words[1] in SCALES:
        words = ["one", *words[1:]]
    total = group = 0.0
    last, used = "", 0
    for place, word in enumerate(words):
        if word in _UNDER_100:
            number = _UNDER_100[word]
            if last == "small" or (last == "ten" and not 0 < number < 10):
                return None
            group += number
            last = "ten" if word in _TENS else "small"
        elif word in ("hundred", "dozen") and last in ("small", "ten"):
            group, last = group * SCALES[word], "hundred"
        elif word in SCALES and last:
            total, group, last = total + group * SCALES[word], 0.0, "scale"
        elif not (word == "and" and last in ("hundred", "scale") and words[place + 1 : place + 2]):
            break
        used = place + 1
    if not last or words[used - 1] == "and":
        return None
    return sign * (total + group), " ".join(words[used:])
