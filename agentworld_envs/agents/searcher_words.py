"""Words: tokens, stems and proper names, as far as a searcher without a model can tell them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_TOKEN: Final = re.compile(r"\w+(?:[-'\u2019.]\w+)*", re.UNICODE)
_LONGEST: Final = 60

_STOP: Final = (
    "a an the of in on at by to for from with and or as that which who whom whose what when where how why is was are"
    " were be been being did does do has have had it its this these those there their his her he she they them than"
    " into over under between among above mainly all every each any both either one only also not no most more less"
    " least please give name list find tell answer question exact exactly according many much called named following"
    " i you we us me my our can could will would should may might must if then so such some other same whole"
)
STOP: Final = frozenset(_STOP.split())
_AUXILIARY: Final = (
    "is was are were be did does do has have had who what which when where how can could will would list name give find"
    " tell please"
)
AUXILIARY: Final = frozenset(_AUXILIARY.split())
_SAME: Final = (
    "birth born birthplace birthday birthdate native",
    "death die died",
    "found founded founding foundation founder founders established establish establishment inception",
    "write wrote written author authors writer penned",
    "create created creator creators maker makers made make makes manufacturer",
    "design designed designer designers designs",
    "direct directed director directors",
    "compose composed composer",
    "paint painted painter",
    "build built builder",
    "plan planned planner",
    "lead leads led leader head heads headed chief run runs chair chaired",
    "locate located location lies lie stands situated based headquarters headquartered seat",
    "population inhabitants inhabitant people census",
    "residence live lives lived resides reside resident residents home",
    "open opened opening inaugurated opens venue host hosted hosts held",
    "launch launched launches sold introduced",
    "marry married spouse wife husband",
    "publish published publication publisher appeared released release",
    "employ employed employer employs employees employee staff workforce work worked working payroll",
    "win won winner winners awarded award prize",
    "elevation altitude metres metre meters sea",
    "area extent surface size cover covers covered kilometres",
    "weight weigh weighs weighed grams heavy heavier heaviest light lighter lightest",
    "cost costs price priced cheap cheaper cheapest expensive dear",
    "height tall high",
    "length long",
    "attendance visitors attendees attended attend",
    "study studied educated education alma",
    "profession occupation job trade",
    "organise organised organiser organizer organized",
    "own owned owner owns",
    "charter chartered",
    "twin twinned twins",
    "setting set plot",
    "subject about topic theme",
    "material materials",
    "old age aged",
)
"""Words that ask for the same thing, in ordinary English."""
_GENERIC: Final = (
    "year date day month place city town village person man woman country region company organisation organization"
    " institution thing book number total name title"
)
_NAME_LINK: Final = frozenset({"of", "for", "the", "de", "la", "le", "von", "van", "da", "del", "der"})
_OPENING: Final = (
    "according once before after during since until while although though today now however both born founded"
    " monday tuesday wednesday thursday friday saturday sunday"
)
_OPENERS: Final = STOP | _NAME_LINK | frozenset(_OPENING.split())
_ARTICLES: Final = frozenset({"a", "an", "the"})
_QUOTED: Final = re.compile(
    r"[\"\u201c\u00ab]([^\"\u201c\u201d\u00ab\u00bb\n]{2,80})[\"\u201d\u00bb]"
    r"|(?<!\w)['\u2018]([^'\u2018\u2019\n]{2,80})['\u2019](?!\w)"
)

MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text."""

    text: str
    stem: str
    start: int
    """Where it begins in the text."""
    capital: bool
    possessive: bool = False
    """Whether it ends in 's."""

    @property
    def stop(self) -> bool:
        """Whether it carries no meaning of its own."""
        return self.text.lower() in STOP

    @property
    def auxiliary(self) -> bool:
        """Whether it opens a question or joins its subject to the rest."""
        return self.text.lower() in AUXILIARY

    @property
    def generic(self) -> bool:
        """Whether it says what sort of thing is asked for, rather than what is asked."""
        return self.stem in GENERIC


_ENDINGS: Final = (("ations", 4), ("ation", 4), ("ings", 4), ("ing", 4), ("ies", 3), ("ed", 3), ("es", 4), ("s", 3))
"""Endings that are cut off, with the letters that have to stay."""


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A crude English stem; words that ask for the same thing share one. Other scripts stay as they are."""
    lower = word.lower().strip("'\u2019.")
    if lower in _SYNONYMS:
        return _SYNONYMS[lower]
    for ending, least in (
        ("ations", 4),
        ("ation", 4),
        ("ings", 4),
        ("ing", 4),
        ("ies", 3),
        ("ed", 3),
        ("es", 4),
        ("s", 3),
    ):
        if lower.endswith(ending) and len(lower) - len(ending) >= least and not lower.endswith("ss"):
            lower = lower[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    return _SYNONYMS.get(lower, lower.rstrip("e") if len(lower) > 4 else lower)


def synonyms(word: str) -> list[str]:
    """Other words that ask for the same thing."""
    group = next((group for group in _SAME if word.lower() in group.split()), "")
    return [other for other in group.split() if other != word.lower()]


_SYNONYMS: Final[dict[str, str]] = {word: group.split()[0] for group in _SAME for word in group.split()}
GENERIC: Final = frozenset(stem(word) for word in _GENERIC.split())
PLACES: Final = frozenset({"place", "city", "town", "village", "region", "island", "port", stem("country")})
PERSONS: Final = frozenset({"person", "man", "woman"})


@lru_cache(maxsize=1 << 14)
def words_of(text: str) -> tuple[Word, ...]:
    """The words of a text, in order."""
    found = []
    for match in _TOKEN.finditer(text):
        token = match[0][:_LONGEST]
        possessive = token.endswith(("'s", "\u2019s"))
        bare = token[:-2] if possessive else token
        found.append(Word(bare, stem(bare), match.start(), bare[:1].isupper(), possessive))
    return tuple(found)


def stems_of(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning."""
    return frozenset(word.stem for word in words_of(text) if not word.stop)


@lru_cache(maxsize=1 << 14)
def names_in(text: str) -> tuple[str, ...]:
    """Proper names and quoted titles, in order of appearance, each once.

    A capital letter makes a name, except of a common word that opens a sentence.
    """
    spans = [(m.start(), m.end(), m[1] or m[2]) for m in _QUOTED.finditer(text)]
    covered = [(start, end) for start, end, _ in spans]
    run: list[Word] = []
    for word in words_of(text):
        quoted = any(start <= word.start < end for start, end in covered)
        joined = bool(run) and _joined(text, run[-1], word)
        if not quoted and word.capital and not word.text.isdigit() and (run or _begins(text, word)):
            if run and not joined:
                spans.append(_span(text, run))
                run = []
            run.append(word)
            if word.possessive:
                spans.append(_span(text, run))
                run = []
        elif run and not quoted and joined and word.text.lower() in _NAME_LINK:
            run.append(word)
        elif run:
            spans.append(_span(text, run))
            run = []
    if run:
        spans.append(_span(text, run))
    return tuple(dict.fromkeys(name for _, _, name in sorted(spans) if name))


def _joined(text: str, before: Word, word: Word) -> bool:
    """Whether nothing but a blank (or an initial's dot) stands between two words."""
    between = text[before.start + len(before.text) : word.start]
    return between in (" ", ". ", "-") and not (between == ". " and len(before.text) > 1)


def _begins(text: str, word: Word) -> bool:
    """Whether a name may begin with a word: not with a common one, unless an article stands before a capital."""
    common = word.text.lower()
    if common in _ARTICLES:
        return text[word.start + len(word.text) + 1 : word.start + len(word.text) + 2].isupper()
    return common not in _OPENERS


def _span(text: str, run: list[Word]) -> tuple[int, int, str]:
    """A name without the small words at its end."""
    kept = list(run)
    while kept and not kept[-1].capital:
        kept.pop()
    if not kept:
        return run[0].start, run[0].start, ""
    end = kept[-1].start + len(kept[-1].text)
    return kept[0].start, end, text[kept[0].start : end]
