"""Tokens of the text world's small model: one for each named thing, one for each fixed phrase, and single characters.

Every text of the game is losslessly a sequence of them, as long as it is ASCII; prompts lose `; `. Phrases make
prompts and answers short: an answer such as `You arrive at shelf 2. On the shelf 2, you see nothing.` has six tokens.
"""

from __future__ import annotations

import re
from typing import Any, Final

from agentworld_envs.backends.world_model.codec import PREFILL
from agentworld_envs.domains.text_world.vocabulary import LAMPS, PLACES, ROOMS
from agentworld_envs.domains.text_world.wording import NOTHING, WELCOME, help_text

PAD, UNKNOWN, END, USER, ASSISTANT = SPECIAL = ("<|pad|>", "<|unk|>", "<|end|>", "<|user|>", "<|assistant|>")
"""Control tokens, numbered from 0 in this order."""

BETWEEN: Final = "; "
"""What stands between the names of a list in a prompt. The tokenizer drops it, so that names are neighbours: finding
the next one of a list is then one look at what stood behind the last one, which small models learn first."""
HIGHEST: Final = 40
"""Things with a number up to this are one token; those beyond are written with single digits."""

_RARE: Final = (
    "bathtub",
    "blinds",
    "boots",
    "cart",
    "chair",
    "coffeemachine",
    "curtains",
    "eggcracked",
    "footstool",
    "handtowelholder",
    "houseplant",
    "laundryhamperlid",
    "lightswitch",
    "mirror",
    "painting",
    "paintinghanger",
    "poster",
    "scrubbrush",
    "showerdoor",
    "showerglass",
    "showerhead",
    "sink",
    "stoveknob",
    "toaster",
    "window",
)
"""Classes of recorded games that generated rooms do not have."""

# What prompts are made of: the layout of `recall` and of the compact prompt.
_PROMPT: Final = (
    "agent: at ",
    "no receptacle",
    "\nholding: ",
    "nothing",
    "\nplacing is worded: move X to Y",
    "\nplacing is worded: put X in/on Y",
    ": here, ",
    ": elsewhere, ",
    ": out of reach, ",
    "closed",
    "open",
    "no door",
    ", can clean",
    ", can heat",
    ", can cool",
    ": in ",
    ", in ",
    " (here)",
    " (elsewhere)",
    ": held",
    ": at this spot",
    ": not at this spot",
    ", at this spot",
    ", not at this spot",
    ", can be picked up",
    ", cleanable",
    ", heatable",
    ", coolable",
    ", sliceable",
    ", has a switch",
    ", can slice",
    ", is clean",
    ", is hot",
    ", is cool",
    ", is sliced",
    ", is switched on",
    ", fits in/on ",
    ", does not fit in/on ",
    ": does not exist",
    "\nin ",
    ": nothing",
    ": ",
    "\ntaken from here before: ",
    " (at this spot)",
    " (not at this spot)",
    ", ",
    "\nAction: ",
    "go to ",
    "open ",
    "close ",
    "take ",
    " from ",
    "move ",
    " to ",
    "put ",
    " in/on ",
    "examine ",
    "use ",
    "heat ",
    "clean ",
    "cool ",
    "slice ",
    " with ",
    "look",
    "inventory",
    "help",
    "and ",
)
# What answers are made of.
_ANSWER: Final = (
    "You arrive at ",
    ". On the ",
    "On the ",
    ", you see a ",
    ", you see nothing.",
    ", a ",
    ", and a ",
    ".",
    ". The ",
    "The ",
    " is closed.",
    " is open. In it, you see a ",
    " is open. In it, you see nothing.",
    "You open the ",
    "You close the ",
    "You pick up the ",
    " from the ",
    "You put the ",
    " in/on the ",
    "You move the ",
    " to the ",
    "You turn on the ",
    "You sliced the ",
    " with the ",
    "You heat the ",
    "You clean the ",
    "You cool the ",
    " using the ",
    "This is a normal ",
    ". In it, you see a ",
    ". In it, you see nothing.",
    "This is a hot ",
    "This is a clean ",
    "This is a cold ",
    "This is a cool ",
    "This is a hot and clean ",
    "This is a cool and clean ",
    "This is a sliced ",
    "This is a hot sliced ",
    "This is a clean sliced ",
    "This is a cool sliced ",
    "This is a hot and clean sliced ",
    "This is a cool and clean sliced ",
    "This is a cold sliced ",
    "This ",
    " is on.",
    "There's nothing special about ",
    "You are facing the ",
    ", and ",
    ". Next to it, you see a ",
    ". Next to it, you see nothing.",
    "You are carrying: a ",
    "You are not carrying anything.",
    "You are in the middle of a room. Looking quickly around you, you see ",
    "nothing.",
    "a ",
    "Your task is to: ",
)


def classes() -> list[str]:
    """Every class of things that has tokens, sorted."""
    known = {*PLACES, *LAMPS, *_RARE}
    known.update(place for places in PLACES.values() for place in places)
    known.update(place for room in ROOMS.values() for place in room.receptacles)
    return sorted(known)


def vocabulary() -> list[str]:
    """All tokens by number."""
    kinds = classes()
    phrases = {*_PROMPT, *_ANSWER, PREFILL, NOTHING, WELCOME, help_text(), help_text(uses_put=True)}
    characters = [chr(code) for code in (9, 10, *range(32, 127))]
    words = sorted(phrases | set(kinds) - set(characters))
    names = [f"{kind} {number}" for kind in kinds for number in range(1, HIGHEST + 1)]
    return list(dict.fromkeys([*SPECIAL, *characters, *words, *names]))


def pattern() -> str:
    """The regular expression that cuts a text into tokens: the longest phrase or name first, then any character."""
    kinds = sorted(classes(), key=lambda kind: (-len(kind), kind))
    fixed = {*_PROMPT, *_ANSWER, PREFILL, NOTHING, WELCOME, help_text(), help_text(uses_put=True)}
    phrases = sorted(fixed, key=lambda phrase: (-len(phrase), phrase))
    tens = HIGHEST // 10
    number = f"(?:{HIGHEST}|[1-{tens - 1}][0-9]|[1-9])(?![0-9])"
    name = f"(?:{'|'.join(kinds)}) {number}"
    return "|".join([name, *(_escape(phrase) for phrase in phrases), *kinds, r"[\s\S]"])


def _escape(text: str) -> str:
    # Python escapes more than Oniguruma needs, but nothing that means another thing there.
    return re.escape(text).replace("\\\n", "\\n").replace("\\ ", " ").replace("\\-", "-")


def tokenizer_json() -> dict[str, Any]:
    """The content of `tokenizer.json`, as the `tokenizers` package reads it."""
    words = vocabulary()
    added = [
        {
            "id": i,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for i, token in enumerate(SPECIAL)
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": "Replace", "pattern": {"String": BETWEEN}, "content": ""},
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": pattern()},
            "behavior": "Isolated",
            "invert": False,
        },
        "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(words)}, "unk_token": UNKNOWN},
    }
