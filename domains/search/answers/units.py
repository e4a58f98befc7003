"""`unit_name`: one name for each unit of measure; `convert`: a value in another unit of the same kind."""

from __future__ import annotations

import re

_UNITS: dict[str, tuple[str, float, str]] = {
    # name: (what is measured, size in the first unit of it, other names)
    "m": ("length", 1.0, "metre metres meter meters"),
    "km": ("length", 1e3, "kilometre kilometres kilometer kilometers kms"),
    "cm": ("length", 1e-2, "centimetre centimetres centimeter centimeters"),
    "mm": ("length", 1e-3, "millimetre millimetres millimeter millimeters"),
    "mi": ("length", 1609.344, "mile miles"),
    "ft": ("length", 0.3048, "foot feet"),
    "in": ("length", 0.0254, "inch inches"),
    "yd": ("length", 0.9144, "yard yards"),
    "kg": ("mass", 1.0, "kilogram kilograms kilogramme kilogrammes kgs kilo kilos"),
    "g": ("mass", 1e-3, "gram grams gramme grammes gr gms"),
    "mg": ("mass", 1e-6, "milligram milligrams"),
    "t": ("mass", 1e3, "tonne tonnes metric_ton metric_tons"),
    "lb": ("mass", 0.45359237, "lbs pound pounds"),
    "s": ("time", 1.0, "sec secs second seconds"),
    "min": ("time", 60.0, "mins minute minutes"),
    "h": ("time", 3600.0, "hr hrs hour hours"),
    "day": ("time", 86400.0, "days"),
    "week": ("time", 604800.0, "weeks"),
    "month": ("months", 1.0, "months"),
    "year": ("months", 12.0, "years yr yrs calendar_years"),
    "m2": ("area", 1.0, "m² m^2 sq_m square_metre square_metres square_meter square_meters"),
    "ha": ("area", 1e4, "hectare hectares"),
    "km2": ("area", 1e6, "km² km^2 sq_km square_kilometre square_kilometres square_kilometer square_kilometers"),
    "mi2": ("area", 2589988.110336, "mi² mi^2 sq_mi square_mile square_miles"),
    "%": ("share", 1.0, "percent per_cent pct percentage"),
    "usd": ("usd", 1.0, "$ us$ us us_$ dollar dollars us_dollar us_dollars"),
    "eur": ("eur", 1.0, "€ euro euros"),
    "gbp": ("gbp", 1.0, "£ pound_sterling pounds_sterling"),
    "jpy": ("jpy", 1.0, "¥ yen"),
    "inr": ("inr", 1.0, "₹ rupee rupees"),
    "crown": ("crowns", 1.0, "crowns kr krs"),
    "person": ("people", 1.0, "persons people individual individuals"),
    "inhabitant": ("people", 1.0, "inhabitants resident residents citizen citizens"),
    "employee": ("people", 1.0, "employees staff staff_member staff_members worker workers"),
    "visitor": ("people", 1.0, "visitors guest guests attendee attendees spectator spectators"),
    "page": ("pages", 1.0, "pages pp"),
    "letter": ("letters", 1.0, "letters letters_kept kept_letters surviving_letters"),
    "work": ("works", 1.0, "works book books"),
}
_NAMES = {other.replace("_", " "): name for name, (_, _, others) in _UNITS.items() for other in (name, *others.split())}
_ADDED = re.compile(
    r"\b(?:different|distinct|unique|altogether|in total|in all|total|overall|the|asl|amsl"
    r"|above (?:the |mean )?sea(?: level)?)(?!\w)"
)
"""What is said beside a unit and changes nothing."""
_NO_UNIT = re.compile(
    r"\w*(?:hundred|thousand|[mb]illion|trillion)ths?|(?:halve|third|quarter|fourth|fifth|sixth|seventh|eighth|ninth"
    r"|tenth|twelfth|twentieth)s|negative|wrong|incorrect|untrue|no|never|none|unknown|unsure|perhaps|possibly|than"
    r"|below|less|more|fewer|squared|cubed|factorial|if|except|unless|without|either|neither|nor|however|actually"
)
"""Words behind a number that are no unit: with them it is another number, or none that was meant."""
_NO_UNIT_AT_LAST = re.compile(
    r"half|third|quarter|fourth|fifth|sixth|seventh|eighth|ninth|tenth|percentile|false|invalid|right|correct|positive"
    r"|above|under|over|short|higher|lower|least|most|off|out|pm|am|bc|bce|ad|ce"
)
"""The like, where no other word follows: `5 short`, but not `5 short stories`."""


def says_more(text: str) -> bool:
    """Whether words behind a number are not only its unit, but change the number or take it back."""
    words = re.split(r"[\s-]+", _ADDED.sub(" ", text).strip(" .-"))
    return any(map(_NO_UNIT.fullmatch, words)) or _NO_UNIT_AT_LAST.fullmatch(words[-1]) is not None


def unit_name(text: str) -> str:
    """One name for all ways to write a unit; of an unknown one, its words without a plural `s` at the end."""
    plain = re.sub(r"[\s-]+", " ", text.lower().replace(".", "").strip(" ()"))
    plain = " ".join(_ADDED.sub(" ", plain).split())
    if plain in _NAMES:
        return _NAMES[plain]
    if len(plain) > 3 and plain.endswith("s") and not plain.endswith("ss"):
        plain = plain[:-1]
    return _NAMES.get(plain, plain)


def convert(value: float, unit: str, wanted: str) -> float | None:
    """A value in another unit, or `None` when the two measure different things.

    Args:
        value: in `unit`.
        unit, wanted: as `unit_name` gives them.
    """
    if unit == wanted:
        return value
    here, there = _UNITS.get(unit), _UNITS.get(wanted)
    if here is None or there is None or here[0] != there[0]:
        return None
    return value * here[1] / there[1]
