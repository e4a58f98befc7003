"""Reading a page: in chunks, or only what bears on a goal. Extractive and deterministic, no model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from agentworld_envs.domains.search.engine.words import query_words, telling, terms

PART: Final = 6000
EVIDENCE: Final = 1200
_SCANNED: Final = 400_000
"""Characters of a page in which evidence is looked for."""
_PASSAGE: Final = 600
_WORTH: Final = 0.25
"""Passages worth less than this part of the best one are left out,"""
_BEST: Final = 0.7
"""and the summary takes none that is worth less than this part of it."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[^\W_a-z])|(?<=[\u3002\uff01\uff1f])")
_ABBREVIATION: Final = re.compile(r"(?:\b[A-Z]|\b(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|No|vs|ca|Jr|Sr|Inc|Ltd|Co))\.$")
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")
_DASHES: Final = re.compile(r":?-+:?")
_HEADING: Final = re.compile(r"#{1,6}\s+(.*)")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a page says of a goal."""

    passages: tuple[str, ...]
    """Sentences, list items and table rows in the order of the page, each as it stands there; a row under its
    table's header. Empty when nothing bears on the goal."""
    summary: str
    """The best of them, one to three, as one text; empty without passages."""


def parts(text: str, size: int = PART) -> list[str]:
    """A page in parts of at most `size` characters, that end at a paragraph, a line, a sentence or a word.

    Joined, they are the text. An empty text is one empty part.

    Raises:
        ValueError: `size` is not positive.
    """
    if size <= 0:
        raise ValueError(f"The size of a part must be positive, got {size}.")
    found, start = [], 0
    while len(text) - start > size:
        end = start + size
        for mark in ("\n\n", "\n", ". ", " "):
            at = text.rfind(mark, start + size // 2, end)
            if at >= 0:
                end = at + len(mark)
                break
        found.append(text[start:end])
        start = end
    found.append(text[start:])
    return found


def evidence(text: str, goal: str, limit: int = EVIDENCE, *, title: str = "") -> Evidence:
    """The passages of a page that share most with a goal.

    A passage is worth the sum of the weights of the goal's terms that it has; a term weighs more the fewer passages
    have it (inverse passage frequency), and words under the same heading count a little. Ties go to the first.

    Args:
        text: the page, Markdown.
        goal: what is looked for, in words.
        limit: most characters of all passages together; the best one is always given, cut to the limit if need be.
        title: of the page; a table of two columns with it at its head is about the page, row by row.
    """
    wanted = set(telling(query_words(goal)))
    passages = _passages(text[:_SCANNED])
    shared = [wanted.intersection(terms(passage.text)) for passage in passages]
    counts: dict[str, int] = {}
    for one in shared:
        for term in one:
            counts[term] = counts.get(term, 0) + 1
    weights = {term: 1.0 / (1.0 + counts[term] / 4.0) + 0.5 for term in counts}
    scored = []
    for number, (passage, found) in enumerate(zip(passages, shared, strict=True)):
        if found:
            under = wanted.intersection(terms(passage.heading)) - found if passage.heading else set()
            score = sum(sorted(weights[term] for term in found))
            score += 0.5 * sum(sorted(weights.get(term, 0.5) for term in under))
            scored.append((-round(score, 6), number))
    scored.sort()
    chosen: dict[int, float] = {}
    used = 0
    for negative, number in scored:
        cost = len(passages[number].text)
        if not chosen or (used + cost <= limit and -negative >= _WORTH * -scored[0][0]):
            chosen[number] = -negative
            used += cost
    best = [number for number, score in chosen.items() if score >= _BEST * -scored[0][0]][:3]
    summary = " ".join(_flat(passages[number].text, title) for number in sorted(best))
    return Evidence(tuple(passages[number].text[:limit] for number in sorted(chosen)), summary[:limit])


@dataclass(frozen=True, slots=True)
class _Passage:
    text: str
    heading: str


def _passages(text: str) -> list[_Passage]:
    """The sentences, list items and table rows of a page."""
    found: list[_Passage] = []
    heading, header = "", ""
    prose: list[str] = []
    lines = text.split("\n")

    def flush() -> None:
        if prose:
            found.extend(_Passage(sentence, heading) for sentence in sentences(" ".join(prose)))
            prose.clear()

    for number, line in enumerate(lines):
        stripped = line.strip()
        title = _HEADING.match(stripped)
        if title is not None:
            flush()
            heading, header = title[1], ""
        elif not stripped:
            flush()
            header = ""
        elif stripped.startswith("|") or _is_rule(stripped):
            flush()
            if _is_rule(stripped):
                continue
            if number + 1 < len(lines) and "|" in lines[number + 1] and _is_rule(lines[number + 1].strip()):
                header = stripped
            else:
                found.append(_Passage(f"{header}\n{stripped}" if header else stripped, heading))
        elif _ITEM.match(line):
            flush()
            found.append(_Passage(stripped[:_PASSAGE], heading))
        else:
            prose.append(stripped)
    flush()
    return found


def _is_rule(line: str) -> bool:
    """Whether a line is only dashes: a rule, or what stands under the header of a table."""
    if line[:1] not in ("|", ":", "-"):
        return False
    cells = [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
    return "--" in cells[0] and all(_DASHES.fullmatch(cell) for cell in cells)


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph. Initials and common abbreviations end none; overlong ones are cut at words."""
    found: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        piece = text[start : match.start()]
        if _ABBREVIATION.search(piece[-8:]):
            continue
        found.append((piece + match[0].rstrip()).strip())
        start = match.end()
    found.append(text[start:].strip())
    return [part.strip() for sentence in found if sentence for part in parts(sentence, _PASSAGE) if part.strip()]


def _flat(text: str, title: str) -> str:
    """A passage within running text: a table row as `header: cell` pairs, of an infobox `key of title: value`."""
    header, newline, row = text.partition("\n")
    if not newline:
        return _ITEM.sub("", text, count=1) if _ITEM.match(text) else text
    names, cells = cells_of(header), cells_of(row)
    if len(names) != len(cells):
        return row
    if title and len(names) == 2 and names[1] == title:
        return f"{cells[0]} of {title}: {cells[1]}."
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=True)) + "."


def cells_of(row: str) -> list[str]:
    """The cells of a Markdown table row."""
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]
