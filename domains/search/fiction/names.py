"""`Names`: what things are called in a fictional world; nothing real is called so."""

from __future__ import annotations

from agentworld_envs.domains.search.fiction import lexicon
from agentworld_envs.domains.search.fiction.draw import Draw

_HEADS = (
    "brel", "vard", "osk", "tamr", "quil", "nerv", "halv", "drosk", "ilm", "keth", "morv", "pelz", "sarn", "thal",
    "ulv", "wend", "zelm", "ardr", "calth", "fenr", "gonth", "jorv", "lirr", "rynd", "skav", "trem", "yarl", "ekr",
    "orl", "umb", "istr", "velk", "dorr", "farn", "grel", "hesk", "krin", "lom", "mirr", "nolv", "prav", "rusk",
    "solv", "turv", "vesp", "wilk", "zand", "blost", "chev", "delv",
)  # fmt: skip
_NOTHING = ("",)
_VOWELS = ("a", "e", "i", "o", "u")
_MIDDLES = (
    "av", "el", "in", "or", "um", "at", "ed", "is", "ov", "ur", "an", "ek", "il", "om", "us", "ar", "em", "id", "ol",
    "ut", "ath", "esk", "ist", "olm", "und",
)  # fmt: skip
_PLACE_TAILS = (
    "mont", "wick", "stow", "thorpe", "holm", "mere", "fell", "haven", "gate", "combe", "ridge", "ness", "brook",
    "march", "well", "moor",
)  # fmt: skip
_GIVEN_TAILS = ("axa", "aith", "eth", "oune", "issa", "ira", "uel", "andre", "ora", "imir", "enna", "ovan")
_FAMILY_TAILS = (
    "sk", "rran", "ndry", "vane", "ckett", "lder", "mmer", "nquist", "rrow", "thorn", "ssel", "zzo", "rdine", "bright",
)  # fmt: skip
_ROOT_TAILS = ("on", "ath", "is", "or", "eth", "um", "ane", "iver", "os", "ey", "ond", "ix")
_REGION_TAILS = ("ia", "land", "mark", "shire")
_TWINS = {"d": "t", "t": "d", "k": "q", "q": "k", "v": "w", "z": "s", "s": "z", "n": "m", "m": "n", "r": "l", "l": "r"}
_TRIES = 200


class Names:
    """The names of one world, each given once.

    Names are built of syllables that read like English and are no English; within a world no two things share an
    invented word, but for family and given names. A test compares every word that can be built, and all names of a
    thousand worlds, with lists of real countries, cities, people and companies.
    """

    def __init__(self, draw: Draw, people: int) -> None:
        """Args: draw: of this world. people: how many will be named, which decides how many share a family name."""
        self._draw = draw
        self._words: set[str] = set()
        self._used: set[str] = set()
        pool = max(8, int((2 * people) ** 0.5) + 4)
        self._given = [self._word(_NOTHING, _GIVEN_TAILS) for _ in range(pool)]
        self._family = [self._word(_VOWELS, _FAMILY_TAILS) for _ in range(2 * pool)]

    def _word(self, joints: tuple[str, ...], tails: tuple[str, ...]) -> str:
        draw = self._draw
        for attempt in range(_TRIES):
            # Large worlds run out of short words: after some tries, another syllable.
            joint = draw.pick(joints) if attempt < 4 else draw.pick(_MIDDLES) + draw.pick(joints)
            word = (draw.pick(_HEADS) + joint + draw.pick(tails)).capitalize()
            if word not in self._words:
                self._words.add(word)
                return word
        raise AssertionError("the syllables are used up")

    def _twin(self, word: str) -> str | None:
        """The same word but for one letter (`Brelmont`, `Brelmond`), `None` when there is none left."""
        for position in range(len(word) - 1, 2, -1):
            other = _TWINS.get(word[position])
            twin = word[:position] + other + word[position + 1 :] if other else word
            if twin not in self._words:
                self._words.add(twin)
                return twin
        return None

    def host(self) -> str:
        """A word for the names of this world's hosts."""
        return self._word(_MIDDLES, _ROOT_TAILS).lower()

    def give(self, kind: str) -> tuple[str, str]:
        """A new name and the noun for what has it, such as `("Brelmont Institute", "institute")`."""
        draw = self._draw
        while True:
            noun = draw.pick(lexicon.NOUNS[kind])
            if kind == "person":
                name = f"{draw.pick(self._given)} {draw.pick(self._family)}"
            elif kind == "town":
                name = self._word(_VOWELS, _PLACE_TAILS)
            elif kind == "region":
                name = self._word(_MIDDLES, _ROOT_TAILS) + draw.pick(_REGION_TAILS)
            else:
                name = lexicon.named(kind, self._word(_MIDDLES, _ROOT_TAILS), noun, draw)
            if name not in self._used:
                self._used.add(name)
                return name, noun

    def near(self, name: str) -> str | None:
        """A new name that differs from a given one by one letter of one invented word."""
        words = name.split()
        for position in self._draw.shuffled(range(len(words))):
            if words[position].lower() in lexicon.GENERIC:
                continue
            twin = self._twin(words[position])
            if twin is None:
                continue
            result = " ".join((*words[:position], twin, *words[position + 1 :]))
            if result not in self._used:
                self._used.add(result)
                return result
        return None

    def alias(self, kind: str) -> str:
        """Another name for something, of invented words only."""
        if kind == "person":
            return f"{self._word(_NOTHING, _GIVEN_TAILS)} {self._word(_VOWELS, _FAMILY_TAILS)}"
        return self._word(_MIDDLES, _ROOT_TAILS)


def vocabulary() -> set[str]:
    """Every word that is built without the further syllable that large worlds need, in lower case."""
    shapes = (
        (_VOWELS, _PLACE_TAILS),
        (_NOTHING, _GIVEN_TAILS),
        (_VOWELS, _FAMILY_TAILS),
        (_MIDDLES, _ROOT_TAILS),
        (_MIDDLES, tuple(tail + end for tail in _ROOT_TAILS for end in _REGION_TAILS)),
    )
    return {head + joint + tail for joints, tails in shapes for head in _HEADS for joint in joints for tail in tails}
