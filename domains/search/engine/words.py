"""Analysis: what of a text is indexed and looked up. One analysis for every engine, so that all find the same pages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from agentworld_envs.domains.search.engine.stem import stem

MAX_QUERY_CHARACTERS: Final = 20_000
MAX_QUERY_TERMS: Final = 64
"""Distinct terms. What is beyond these two is ignored, so that no query takes long."""
MAX_TERM: Final = 64
"""Characters. Longer words are cut, in pages and queries alike."""
MAX_CACHED: Final = 500_000

_STOP: Final = (
    "a about after all also an and any are as at be been before but by can could did do does for from had has have he "
    "her his how i if in into is it its me more most my no not of on or other our s she so some such t than that the "
    "their them then there these they this those to was we were what when where which while who whom whose why will "
    "with would you your"
)
STOP_WORDS: Final = frozenset(_STOP.split())
"""Words that tell little of a question. Indexed like all others; queries that have others do without them."""

_ASCII: Final = str.maketrans({chr(i): " " for i in range(128) if not chr(i).isalnum()})
# Signs that change a letter and not the word: accents, the points of Hebrew and Arabic, the Arabic stretch.
_ACCENTS: Final = re.compile(r"[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
# Vowel signs of the scripts of India and South-East Asia belong to the word, though they are no letters.
_SIGNS: Final = r"\u0900-\u0dff\u0e31\u0e34-\u0e4e\u0eb1-\u0ece\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u3005\u3099"
_WORD: Final = re.compile(rf"(?:[^\W_]|[{_SIGNS}])+")
# Scripts that put no space between words: their characters are indexed one by one and in pairs.
_UNSPACED: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)


class _Stems(dict[str, str]):
    """A memory of stems. Shared by threads: at worst a stem is computed twice."""

    def __missing__(self, word: str) -> str:
        if len(self) >= MAX_CACHED:
            self.clear()
        found = self[word] = stem(word[:MAX_TERM])
        return found


_STEMS: Final = _Stems()


def terms(text: str) -> list[str]:
    """The terms of a page, in order: lower case, without accents, English words stemmed.

    Chinese, Japanese, Korean, Thai and their like give each character and each pair of neighbours.
    """
    if text.isascii():
        return [_STEMS[word] for word in text.lower().translate(_ASCII).split()]
    return [_STEMS[gram] for word in _words(text) for gram in _grams(word, singles=True)]


def query_words(query: str) -> dict[str, str]:
    """Distinct terms of a query, in order, with the first word that each was made of. At most `MAX_QUERY_TERMS`."""
    found: dict[str, str] = {}
    text = query[:MAX_QUERY_CHARACTERS]
    words = text.lower().translate(_ASCII).split() if text.isascii() else _words(text)
    for word in words:
        for gram in (word,) if word.isascii() else _grams(word, singles=False):
            found.setdefault(_STEMS[gram], gram)
        if len(found) >= MAX_QUERY_TERMS:
            break
    return dict(list(found.items())[:MAX_QUERY_TERMS]) if len(found) > MAX_QUERY_TERMS else found


def telling(words: Mapping[str, str]) -> list[str]:
    """The terms of a query that are no stop words; all of them when there are only such."""
    return [term for term, word in words.items() if word not in STOP_WORDS] or list(words)


def folded(text: str) -> str:
    """Lower case without accents and compatibility forms; not of the same length as `text`."""
    if text.isascii():
        return text.lower()
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text.lower()))
    return unicodedata.normalize("NFC", plain)


def _words(text: str) -> list[str]:
    return _WORD.findall(folded(text))


def _grams(word: str, *, singles: bool) -> list[str]:
    """A word as terms: itself, and for scripts without spaces pairs of characters (with `singles`, each one, too)."""
    if word.isascii() or not _UNSPACED.search(word):
        return [word]
    found: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > end:
            found.append(word[end : run.start()])
        characters = run[0]
        if singles or len(characters) == 1:
            found += characters
        found += [characters[i : i + 2] for i in range(len(characters) - 1)]
        end = run.end()
    if end < len(word):
        found.append(word[end:])
    return found
