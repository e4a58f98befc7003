"""The Porter stemmer: English words without their endings."""

from __future__ import annotations

from typing import Final

_STEP_2: Final = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("logi", "log"),
)  # fmt: skip
_STEP_3: Final = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4: Final = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize",
    "al", "er", "ic", "ou",
)  # fmt: skip


def stem(word: str) -> str:
    """The stem of a lower-case word: "connections" and "connected" give "connect".

    Words that are short or not made of the letters a to z are their own stem. (M. F. Porter, "An algorithm for suffix
    stripping", Program 14(3), 1980, with the author's two later changes: `bli` and `logi` in step 2.)
    """
    if len(word) <= 2 or not (word.isascii() and word.isalpha()):
        return word
    for step in (_plurals, _participles, _final_y):
        word = step(word)
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    return _final_e(_endings(word))


def _consonants(word: str) -> str:
    """`c` for each consonant and `v` for each vowel; `y` is a vowel after a consonant."""
    kinds = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and kinds.endswith("c"))
        kinds += "v" if vowel else "c"
    return kinds


def _measure(word: str) -> int:
    """How often consonants follow vowels: m in [C](VC)^m[V]."""
    return _consonants(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _consonants(word)


def _ends_double(word: str) -> bool:
    return len(word) >= 2 and word[-1] == word[-2] and _consonants(word)[-1] == "c"


def _ends_cvc(word: str) -> bool:
    return _consonants(word).endswith("cvc") and word[-1] not in "wxy"


def _plurals(word: str) -> str:
    if word.endswith("sses") or word.endswith("ies"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _participles(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and _has_vowel(word[: -len(ending)]):
            return _restored(word[: -len(ending)])
        if word.endswith(ending):
            break
    return word


def _restored(word: str) -> str:
    """What is left of a participle, as a verb: "hopp" is "hop", "fil" is "file"."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _ends_double(word) and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_cvc(word) else word


def _final_y(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and _has_vowel(word[:-1]) else word


def _replaced(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, new in endings:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + new if _measure(rest) > 0 else word
    return word


def _endings(word: str) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if _measure(rest) > 1 and (ending != "ion" or rest.endswith(("s", "t"))):
                return rest
            return word
    return word


def _final_e(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _ends_cvc(rest)):
            word = rest
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word
