"""What things are: object and receptacle classes, what fits where, what can be done with what, and the kinds of rooms.

The tables state facts of the ALFWorld household (its object classes, `VAL_RECEPTACLE_OBJECTS` and
`VAL_ACTION_OBJECTS`), arranged per object class. Class names are lower-case, as in the game's texts.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_GROUPS: Final = {
    "tables": ("coffeetable", "countertop", "diningtable", "sidetable"),
    "seats": ("armchair", "ottoman", "sofa"),
}

# class: (affordances, places). Affordances: c cleanable, h heatable, f coolable (fridge), s sliceable.
_OBJECTS: Final[dict[str, tuple[str, str]]] = {
    "alarmclock": ("", "tables desk dresser shelf"),
    "apple": ("chfs", "tables fridge garbagecan microwave sinkbasin"),
    "applesliced": ("chf", "tables fridge garbagecan microwave sinkbasin"),
    "baseballbat": ("", "tables bed"),
    "basketball": ("", "tables seats bed desk dresser"),
    "book": ("", "tables seats bed cabinet desk drawer dresser shelf"),
    "bowl": ("cf", "tables cabinet desk dresser fridge microwave shelf sinkbasin"),
    "box": ("", "tables seats cabinet desk dresser shelf"),
    "bread": ("hfs", "tables fridge garbagecan microwave"),
    "breadsliced": ("hf", "tables fridge garbagecan microwave toaster"),
    "butterknife": ("c", "tables drawer sinkbasin"),
    "candle": ("", "tables cabinet cart desk drawer dresser shelf toilet"),
    "cd": ("", "tables cabinet desk drawer dresser garbagecan safe shelf"),
    "cellphone": ("", "tables seats bed desk drawer dresser safe shelf"),
    "cloth": (
        "c",
        "tables seats bathtubbasin cabinet cart desk drawer dresser garbagecan laundryhamper shelf sinkbasin toilet",
    ),
    "creditcard": ("", "tables seats desk drawer dresser safe shelf"),
    "cup": ("chf", "tables cabinet desk dresser fridge microwave shelf sinkbasin"),
    "dishsponge": ("c", "tables bathtubbasin cabinet cart drawer garbagecan shelf sinkbasin toilet"),
    "egg": ("chfs", "tables fridge garbagecan microwave sinkbasin"),
    "fork": ("c", "tables drawer sinkbasin"),
    "glassbottle": ("", "tables cabinet desk dresser fridge microwave shelf sinkbasin"),
    "handtowel": ("", "tables bathtubbasin cabinet cart drawer garbagecan handtowelholder shelf sinkbasin toilet"),
    "kettle": ("c", "tables cabinet shelf sinkbasin stoveburner"),
    "keychain": ("", "tables seats desk drawer dresser safe shelf"),
    "knife": ("c", "tables drawer sinkbasin"),
    "ladle": ("c", "tables cabinet drawer sinkbasin"),
    "laptop": ("", "tables seats bed desk dresser"),
    "lettuce": ("cfs", "tables fridge garbagecan sinkbasin"),
    "lettucesliced": ("cf", "tables fridge garbagecan sinkbasin"),
    "mug": ("chf", "tables cabinet cart coffeemachine desk dresser fridge microwave shelf sinkbasin"),
    "newspaper": ("", "tables seats bed cabinet desk drawer dresser garbagecan shelf toilet"),
    "pan": ("cf", "tables cabinet fridge sinkbasin stoveburner"),
    "papertowel": ("", "tables cart garbagecan shelf toilet"),
    "pen": ("", "tables desk drawer dresser garbagecan shelf"),
    "pencil": ("", "tables desk drawer dresser garbagecan shelf"),
    "peppershaker": ("", "tables cabinet drawer shelf"),
    "pillow": ("", "seats bed"),
    "plate": ("chf", "tables cabinet desk dresser fridge microwave shelf sinkbasin"),
    "plunger": ("", "cabinet cart"),
    "pot": ("cf", "tables cabinet fridge shelf sinkbasin stoveburner"),
    "potato": ("chfs", "tables fridge garbagecan microwave sinkbasin"),
    "potatosliced": ("chf", "tables fridge garbagecan microwave sinkbasin"),
    "remotecontrol": ("", "tables seats desk drawer dresser shelf"),
    "saltshaker": ("", "tables cabinet drawer shelf"),
    "soapbar": ("c", "tables bathtubbasin cabinet cart drawer garbagecan shelf sinkbasin toilet"),
    "soapbottle": ("", "tables cabinet cart desk drawer garbagecan shelf toilet"),
    "spatula": ("c", "tables drawer sinkbasin"),
    "spoon": ("c", "tables drawer sinkbasin"),
    "spraybottle": ("", "tables cabinet cart desk drawer dresser garbagecan shelf toilet"),
    "statue": ("", "tables cart desk dresser safe shelf"),
    "tennisracket": ("", "tables bed desk dresser"),
    "tissuebox": ("", "tables cabinet cart desk drawer dresser garbagecan shelf toilet tvstand"),
    "toiletpaper": ("", "tables cabinet cart desk drawer dresser garbagecan shelf toilet toiletpaperhanger"),
    "toiletpaperroll": ("", "tables cabinet cart desk drawer dresser garbagecan shelf toilet toiletpaperhanger"),
    "tomato": ("chfs", "tables fridge garbagecan microwave sinkbasin"),
    "tomatosliced": ("chf", "tables fridge garbagecan microwave sinkbasin"),
    "towel": ("", "towelholder"),
    "vase": ("", "tables cabinet cart desk dresser safe shelf"),
    "watch": ("", "tables desk drawer dresser safe shelf"),
    "wateringcan": ("", "tables cabinet desk drawer dresser shelf"),
    "winebottle": ("f", "tables cabinet desk dresser fridge garbagecan shelf"),
}

OPENABLE: Final = frozenset({"box", "cabinet", "drawer", "fridge", "microwave", "safe"})
"""Receptacle classes with a door, a lid or a slide."""
VESSELS: Final = frozenset({"bowl", "box", "cup", "mug", "pan", "plate", "pot"})
"""Object classes that can hold other objects."""
LAMPS: Final = frozenset({"desklamp", "floorlamp"})
"""Object classes with a switch. They cannot be picked up."""
LAMP_STANDS: Final = ("desk", "sidetable", "dresser", "shelf", "coffeetable", "diningtable")
"""Receptacle classes on which generated rooms stand a desk lamp, the most natural first."""
KNIVES: Final = frozenset({"butterknife", "knife"})
"""Object classes that slice."""
APPLIANCES: Final = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
"""Verb and the receptacle class that does it."""
PROPERTIES: Final = ("pickupable", "cleanable", "heatable", "coolable", "sliceable", "toggleable", "vessel")
"""Names of the properties that an object may have."""

_LETTERS: Final = {"c": "cleanable", "h": "heatable", "f": "coolable", "s": "sliceable"}


def _expand(places: str) -> frozenset[str]:
    return frozenset(place for word in places.split() for place in _GROUPS.get(word, (word,)))


PLACES: Final[dict[str, frozenset[str]]] = {name: _expand(places) for name, (_, places) in _OBJECTS.items()}
"""Receptacle classes that hold an object class."""


def _properties(name: str, letters: str) -> frozenset[str]:
    found = {"pickupable", *(_LETTERS[letter] for letter in letters)}
    return frozenset(found | {"vessel"} if name in VESSELS else found)


_PROPERTIES: Final = {name: _properties(name, letters) for name, (letters, _) in _OBJECTS.items()}


def properties(object_class: str) -> frozenset[str]:
    """Properties of an object class (a subset of `PROPERTIES`); none for a class that is not known."""
    if object_class in LAMPS:
        return frozenset({"toggleable"})
    return _PROPERTIES.get(object_class, frozenset())


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


class Room(NamedTuple):
    """One kind of room."""

    receptacles: dict[str, tuple[int, int]]
    """Receptacle class to the least and the greatest number of them, both inclusive."""
    objects: tuple[str, ...]
    """Object classes that are usually found there."""
    lamp: bool
    """Whether the room has a desk lamp."""


ROOMS: Final[dict[str, Room]] = {
    "kitchen": Room(
        {
            "cabinet": (4, 12),
            "coffeemachine": (1, 1),
            "countertop": (1, 3),
            "diningtable": (0, 1),
            "drawer": (2, 6),
            "fridge": (1, 1),
            "garbagecan": (1, 1),
            "microwave": (1, 1),
            "shelf": (0, 2),
            "sidetable": (0, 1),
            "sinkbasin": (1, 1),
            "stoveburner": (2, 4),
            "toaster": (1, 1),
        },
        _words(
            "apple bowl bread butterknife cup dishsponge egg fork glassbottle kettle knife ladle lettuce mug pan "
            "peppershaker plate pot potato saltshaker soapbottle spatula spoon tomato vase winebottle"
        ),
        False,
    ),
    "livingroom": Room(
        {
            "armchair": (0, 2),
            "cabinet": (0, 3),
            "coffeetable": (0, 1),
            "diningtable": (0, 1),
            "drawer": (0, 6),
            "dresser": (0, 1),
            "garbagecan": (1, 1),
            "ottoman": (0, 1),
            "safe": (0, 1),
            "shelf": (0, 4),
            "sidetable": (1, 3),
            "sofa": (1, 2),
            "tvstand": (0, 1),
        },
        _words(
            "book bowl box candle cellphone creditcard keychain laptop newspaper pen pencil pillow plate remotecontrol "
            "statue tissuebox vase watch wateringcan"
        ),
        True,
    ),
    "bedroom": Room(
        {
            "armchair": (0, 1),
            "bed": (1, 2),
            "cabinet": (0, 2),
            "desk": (1, 2),
            "drawer": (2, 8),
            "dresser": (0, 1),
            "garbagecan": (1, 1),
            "laundryhamper": (0, 1),
            "safe": (0, 1),
            "shelf": (0, 5),
            "sidetable": (0, 2),
        },
        _words(
            "alarmclock baseballbat basketball book bowl box cd cellphone cloth creditcard keychain laptop mug pen "
            "pencil pillow statue tennisracket tissuebox vase"
        ),
        True,
    ),
    "bathroom": Room(
        {
            "bathtubbasin": (0, 1),
            "cabinet": (0, 6),
            "cart": (0, 1),
            "countertop": (0, 2),
            "drawer": (0, 5),
            "garbagecan": (1, 1),
            "handtowelholder": (1, 2),
            "shelf": (0, 3),
            "sidetable": (0, 1),
            "sinkbasin": (1, 2),
            "toilet": (1, 1),
            "toiletpaperhanger": (1, 1),
            "towelholder": (1, 2),
        },
        _words(
            "candle cloth dishsponge handtowel papertowel plunger soapbar soapbottle spraybottle tissuebox toiletpaper "
            "toiletpaperroll towel"
        ),
        False,
    ),
}
"""The four kinds of rooms."""
