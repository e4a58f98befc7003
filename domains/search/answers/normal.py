"""`normalise`: the form in which two texts are compared; `unwrap`: an answer without what is put around answers."""

from __future__ import annotations

import re
import unicodedata

_ARTICLES = frozenset({"a", "an", "the"})
_PLAIN_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th", "ŋ": "n", "ħ": "h"}
)
"""Letters of Latin script that Unicode does not take apart."""
_NOTHING = frozenset("'.`\"\u00b4\u02bc\u02bb\u2018\u2019\u201b\u2032\u201c\u201d\u201e")
"""Left out without a gap: `U.S.` is `us`, `O'Neill` is `oneill`."""
_KEPT = frozenset("#%@")
"""Punctuation that tells names apart: `C#` is not `C`."""
_DROPPED_SYMBOLS = frozenset("~^|<>=\\")
_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_FENCE = re.compile(r"\A```[\w+-]*[ \t]*\n(.*?)\n?```\Z", re.DOTALL)
_BOXED = re.compile(r"\A\$*\\boxed\{([^{}]*)\}\$*\Z")
_LEAD = re.compile(
    r"\A[*_#\s]*(?:(?:the|my)\s+)?(?:final\s+)?answer\b[*_\s]*(?::|\bis\b:?)[*_\s]*(?=\S)", re.IGNORECASE
)
_QUOTES = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "«": "»", "„": "\u201c", "`": "`", "「": "」"}


def fold(text: str) -> str:
    """Compatibility forms, case, accents of Latin, Greek and Cyrillic letters, and digits of all scripts made one.

    Control characters are gaps; invisible ones and unpaired surrogates are left out.
    """
    if text.isascii():
        return "".join(char if char >= " " else " " for char in text.lower())
    kept = []
    for char in unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold()):
        if "\u0300" <= char <= "\u036f":
            continue
        category = unicodedata.category(char)
        if category == "Nd":
            kept.append(str(unicodedata.decimal(char)))
        elif category in ("Cc", "Zl", "Zp", "Zs"):
            kept.append(" ")
        elif category not in ("Cf", "Cs", "Co"):
            kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_PLAIN_LETTERS)


def normalise(text: str) -> str:
    """A text without case, punctuation, articles, accents and doubled gaps (SQuAD, evaluation script), in any script.

    Beyond SQuAD: what joins words (hyphens, slashes, commas) is a gap and not nothing, `&` is `and`, and neither the
    point within a number nor its sign is punctuation. A text of nothing but articles or punctuation keeps them.
    """
    folded = _GROUPS.sub(lambda match: match[0].replace(",", ""), fold(text)).replace("&", " and ")
    chars = []
    for place, char in enumerate(folded):
        if char.isalnum() or char.isspace() or char in _KEPT:
            chars.append(char)
            continue
        before = folded[place - 1] if place else " "
        after = folded[place + 1] if place + 1 < len(folded) else " "
        if char == "." and before.isdigit() and after.isdigit():
            chars.append(char)
        elif char in "-\u2212" and after.isdigit() and before.isspace():
            chars.append("-")
        elif char in _NOTHING:
            continue
        elif unicodedata.category(char) in ("Sm", "Sc", "So", "Mn", "Mc") and char not in _DROPPED_SYMBOLS:
            chars.append(char)
        else:
            chars.append(" ")
    words = "".join(chars).split()
    meaning = [word for word in words if word not in _ARTICLES]
    return " ".join(meaning or words) or " ".join(folded.split())


def unwrap(text: str) -> str:
    r"""An answer without code fence, `\boxed{}`, `The answer is`, emphasis, quotes and a full stop around it."""
    text = text.strip()
    if fence := _FENCE.match(text):
        text = fence[1].strip()
    if boxed := _BOXED.match(text):
        text = boxed[1].strip()
    text = _LEAD.sub("", text, count=1).strip()
    for mark in ("**", "__", "*", "_"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            inner = text[len(mark) : -len(mark)]
            if mark not in inner:
                text = inner.strip()
    if len(text) > 2 and _QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1] and text[-1] not in text[1:-1]:
        text = text[1:-1].strip()
    return text
