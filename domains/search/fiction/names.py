"""`Names`: what things are called in a fictional world; nothing real is called so."""

from __future__ import annotations

from agentworld_envs.domains.search.fiction import lexicon
from agentworld_envs.domains.search.fiction.draw import Draw

_HEADS = (
    "brel", "dvar", "fjor", "glyn", "hroth", "jask", "kvel", "lozh", "mraz", "nyph", "oqua", "pryv", "quez", "rhov",
    "skree", "thwa", "umbra", "vrash", "wryl", "xand", "yssel", "zhar", "trusk", "bozh", "chuv", "drez", "ekka",
    "flosk", "gruv", "ivvar", "krov", "lurq", "mnel", "plaz", "shuv", "stroq", "tvel", "vlor", "zwen", "ghel",
)  # fmt: skip
_MIDDLES = (
    "ab", "ek", "ist", "ov", "ur", "az", "evv", "iz", "oth", "uk", "ag", "esh", "idd", "oph", "umm", "aq", "emb",
    "ilv", "orz", "usk", "avr", "ezz", "imp", "oxt", "ulf",
)  # fmt: skip
_PLACE_TAILS = ("ond", "ask", "ovar", "uth", "emoor", "iska", "owick", "arrow", "ivik", "undra", "essa", "omar")
_GIVEN_TAILS = ("a", "iq", "eth", "o", "unn", "ys", "imo", "era", "ax", "olf", "ilde", "emi")
_FAMILY_TAILS = ("ack", "endry", "osk", "uvian", "orne", "ezhin", "aquil", "iddle", "umber", "ovane", "isk", "alder")
_ROOT_TAILS = ("on", "ar", "ith", "um", "ane", "or", "esk", "ux", "il", "ont", "ath", "ev")
_TWINS = {"d": "t", "t": "d", "k": "q", "q": "k", "v": "w", "z": "s", "s": "z", "n": "m", "m": "n", "r": "l", "l": "r"}
_WORLD_TRIES = 200


class Names:
    """The names of one world, each given once.

    Names are built of syllables that occur together in no language; most invented words have three or four. A test
    compares those of a thousand worlds with lists of real countries, cities, people and companies.
    """

    def __init__(self, draw: Draw, people: int) -> None:
        """Args: draw: of this world. people: how many will be named, which decides how many share a family name."""
        self._draw = draw
        self._words: set[str] = set()
        self._used: set[str] = set()
        pool = max(8, int((2 * people) ** 0.5) + 4)
        self._given = [self._word(_GIVEN_TAILS) for _ in range(pool)]
        self._family = [self._word(_FAMILY_TAILS) for _ in range(2 * pool)]

    def _word(self, tails: tuple[str, ...]) -> str:
        draw = self._draw
        for attempt in range(_WORLD_TRIES):
            middle = draw.pick(_MIDDLES)
            # Large worlds run out of short words: after some tries, a further syllable.
            if attempt > 3 or draw.chance(0.2):
                middle += draw.pick(_MIDDLES)
            word = (draw.pick(_HEADS) + middle + draw.pick(tails)).capitalize()
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
        return self._word(_ROOT_TAILS).lower()

    def give(self, kind: str) -> tuple[str, str]:
        """A new name and the noun for what has it, such as `("Brelmont Institute", "institute")`."""
        draw = self._draw
        while True:
            noun = draw.pick(lexicon.NOUNS[kind])
            if kind == "person":
                name = f"{draw.pick(self._given)} {draw.pick(self._family)}"
            elif kind == "town":
                name = self._word(_PLACE_TAILS)
            elif kind == "region":
                name = self._word(_ROOT_TAILS) + draw.pick(("ia", "land", "mark"))
            else:
                name = lexicon.named(kind, self._word(_ROOT_TAILS), noun, draw)
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
        tails = _GIVEN_TAILS if kind == "person" else _ROOT_TAILS
        return f"{self._word(tails)} {self._word(_FAMILY_TAILS)}" if kind == "person" else self._word(tails)
