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
    "g": ("mass", 1e-3, "gram grams gramme grammes"),
    "t": ("mass", 1e3, "tonne tonnes metric_ton metric_tons"),
    "lb": ("mass", 0.45359237, "lbs pound pounds"),
    "s": ("time", 1.0, "sec secs second seconds"),
    "min": ("time", 60.0, "mins minute minutes"),
    "h": ("time", 3600.0, "hr hrs hour hours"),
    "day": ("time", 86400.0, "days"),
    "week": ("time", 604800.0, "weeks"),
    "month": ("months", 1.0, "months"),
    "year": ("months", 12.0, "years yr yrs"),
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
}
_NAMES = {other.replace("_", " "): name for name, (_, _, others) in _UNITS.items() for other in (name, *others.split())}


def unit_name(text: str) -> str:
    """One name for all ways to write a unit; of an unknown one, its words without a plural `s` at the end."""
    plain = re.sub(r"[\s-]+", " ", text.strip().lower().strip(".()")).strip()
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
