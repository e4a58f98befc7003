"""`facts_of`: what an answer of the game asserts, whoever gave it."""

from __future__ import annotations

import re
from typing import Any

from agentworld_envs.domains.text_world.wording import NOTHING

_NAME = r"[a-z]+ [0-9]{1,4}"
_CONTENTS = re.compile(
    rf"(?:On the (?P<on>{_NAME}), you see|The (?P<open>{_NAME}) is open\. In it, you see) (?P<items>[^.]{{1,4000}})\."
    rf"|The (?P<shut>{_NAME}) is closed\."
)
_FACING = re.compile(r"You are facing the (?P<facing>[^.]{1,4000})\. Next to it, you see (?P<floor>[^.]{1,4000})\.")
_ROOM = re.compile(r"You are in the middle of a room\. Looking quickly around you, you see (?P<seen>[^.]{1,4000})\.")
_DONE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("arrived at", re.compile(rf"You arrive at ({_NAME})\.")),
    ("opened", re.compile(rf"You open the ({_NAME})\.")),
    ("closed", re.compile(rf"You close the ({_NAME})\.")),
    ("picked up", re.compile(rf"You pick up the ({_NAME}) from the ({_NAME})\.")),
    ("put", re.compile(rf"You (?:put|move) the ({_NAME}) (?:in/on|to) the ({_NAME})\.")),
    ("turned on", re.compile(rf"You turn on the ({_NAME})\.")),
    ("sliced", re.compile(rf"You sliced the ({_NAME}) with the ({_NAME})\.")),
    ("heated", re.compile(rf"You heat the ({_NAME}) using the ({_NAME})\.")),
    ("cooled", re.compile(rf"You cool the ({_NAME}) using the ({_NAME})\.")),
    ("cleaned", re.compile(rf"You clean the ({_NAME}) using the ({_NAME})\.")),
)
_HELD = re.compile(rf"You are carrying: a ({_NAME})\.")
_LOOK = re.compile(
    rf"This is a (?P<how>[a-z ]{{1,40}}?) ?(?P<what>{_NAME})\.(?: In it, you see (?P<inner>[^.]{{1,4000}})\.)?"
    rf"|There's nothing special about (?P<plain>{_NAME})\.|This (?P<lamp>{_NAME}) is on\."
)
_ITEM = re.compile(rf"(?:a )?({_NAME})")


def facts_of(observation: str) -> dict[str, Any]:
    """Facts by name; whatever is not the game's own wording asserts nothing.

    `nothing happens`: true. One for what was done (`arrived at`: where, `picked up`: what, `from`: where, ...). One
    for a door (`fridge 1`: open or closed). One for every thing that is listed (`mug 1 on desk 1`: true) and one for
    how many (`listed on desk 1`: 3), so that a missing and an invented thing can be told apart. `holding`, and what an
    object that is looked at is like.
    """
    text = observation.strip()
    if text == NOTHING:
        return {"nothing happens": True}
    facts: dict[str, Any] = {}
    for verb, pattern in _DONE:
        match = pattern.match(text)
        if match is not None:
            facts[verb] = match[1]
            if pattern.groups == 2:
                facts["from" if verb == "picked up" else "with or at"] = match[2]
            text = text[match.end() :].strip()
            break
    for match in _CONTENTS.finditer(text):
        _contents(facts, match)
    for match in _FACING.finditer(text):
        _list(facts, "faced", match["facing"])
        _list(facts, "on the floor", match["floor"])
    for match in _ROOM.finditer(text):
        _list(facts, "in the room", match["seen"])
    held = _HELD.match(text)
    if held is not None:
        facts["holding"] = held[1]
    elif text.startswith("You are not carrying anything."):
        facts["holding"] = None
    _inspected(facts, text)
    return facts


def _contents(facts: dict[str, Any], match: re.Match[str]) -> None:
    if match["shut"]:
        facts[match["shut"]] = "closed"
        return
    name = match["on"] or match["open"]
    if match["open"]:
        facts[name] = "open"
    _list(facts, f"on {name}", match["items"])


def _list(facts: dict[str, Any], where: str, text: str) -> None:
    """A list like `a mug 1, and a pen 2`, or `nothing`; a list in other words asserts nothing."""
    parts = [] if text == "nothing" else re.split(r", and |, ", text)
    names = [match[1] for part in parts if (match := _ITEM.fullmatch(part)) is not None]
    if len(names) != len(parts):
        return
    facts[f"listed {where}"] = len(names)
    facts.update({f"{name} {where}": True for name in names})


def _inspected(facts: dict[str, Any], text: str) -> None:
    match = _LOOK.match(text)
    if match is None:
        return
    if match["plain"]:
        facts[f"state of {match['plain']}"] = "nothing special"
    elif match["lamp"]:
        facts[f"state of {match['lamp']}"] = "on"
    else:
        facts[f"state of {match['what']}"] = match["how"]
        if match["inner"]:
            _list(facts, f"in {match['what']}", match["inner"])
