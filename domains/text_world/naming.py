"""Names and numbers of entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator


def bits(mask: int) -> Iterator[int]:
    """Positions of the set bits of `mask`, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def stem(entity: str) -> str:
    """Class name by which an id is called: what stands before the first `_bar_`, with the suffix of a basin."""
    return entity.split("_bar_", 1)[0] + ("basin" if "basin" in entity else "")


def number_names(ids: Iterable[str]) -> dict[str, str]:
    """Readable names, e.g. `cabinet 2`, for entity ids.

    Within a class the first id in sorted order gets the highest number and the last one gets 1: the order in which
    ALFWorld's Demangler (alfworld/agents/utils/misc.py) hands out its numbers. Ids without `_bar_` stay as they are.
    """
    ordered = sorted(ids)
    left = Counter(stem(entity) for entity in ordered if "_bar_" in entity)
    names = {}
    for entity in ordered:
        if "_bar_" in entity:
            kind = stem(entity)
            names[entity] = f"{kind} {left[kind]}"
            left[kind] -= 1
        else:
            names[entity] = entity
    return names
