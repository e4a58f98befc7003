"""Dates and numbers, as pages write them."""

from __future__ import annotations

import re
from typing import Final

from agentworld_envs.agents.searcher_words import MONTHS

_MONTH: Final = "|".join(f"{month}|{month[:3]}\\.?" if len(month) > 3 else month for month in MONTHS)
_DAY: Final = r"\d{1,2}"
DATE: Final = re.compile(
    r"\b(?P<iso>\d{3,4}-\d\d(?:-\d\d)?)\b"
    rf"|\b(?P<d1>{_DAY})(?:st|nd|rd|th)? (?:of )?(?P<m1>{_MONTH}),? (?P<y1>\d{{3,4}})\b"
    rf"|\b(?P<m2>{_MONTH}) (?P<d2>{_DAY})(?:st|nd|rd|th)?,? (?P<y2>\d{{3,4}})\b"
    rf"|\b(?P<m3>{_MONTH}),? (?P<y3>\d{{3,4}})\b"
)
YEAR: Final = re.compile(r"(?<![\d.,-])(1\d{3}|2\d{3})(?![\d,]*\d|\.\d)")
NUMBER: Final = re.compile(
    r"(?<![\w.,-])[-\u2212]?(?:\d{1,3}(?:[,\u00a0\u202f]\d{3})+|\d+)(?:\.\d+)?"
    r"(?:\s*(?:thousand|million|billion|trillion)\b)?(?!\d|st\b|nd\b|rd\b|th\b)"
)
_SCALES: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}


def iso_date(text: str) -> str:
    """The first date of a text in ISO 8601, as exact as it is written; empty when there is none."""
    match = DATE.search(text)
    if match is None:
        alone = YEAR.search(text)
        return alone[1] if alone else ""
    if match["iso"]:
        return match["iso"]
    year, month = match["y1"] or match["y2"] or match["y3"], match["m1"] or match["m2"] or match["m3"]
    day = match["d1"] or match["d2"]
    iso = f"{int(year):04d}-{_month(month):02d}"
    return f"{iso}-{int(day):02d}" if day else iso


def _month(name: str) -> int:
    return next(i for i, month in enumerate(MONTHS, start=1) if month.startswith(name[:3]))


def number(text: str) -> float | None:
    """The first number of a text, its scale word included, `None` when there is none."""
    match = NUMBER.search(text)
    if match is None:
        return None
    digits = re.sub(r"[^\d.\u2212-]", "", match[0]).replace("\u2212", "-")
    scale = next((value for word, value in _SCALES.items() if match[0].endswith(word)), 1.0)
    return float(digits) * scale
