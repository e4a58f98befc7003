"""`Brief`: what `task.initial_state` and `task.verifier` of this domain hold, checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentworld_envs.domains.search.engine.urls import BadURL, canonical
from agentworld_envs.domains.search.places import LIBRARY, Place
from agentworld_envs.domains.search.tasks import DEFAULT_SIZE
from agentworld_envs.domains.search.writings import writings
from agentworld_envs.interface import ConfigError, Task, TaskError

SHORTEST_WITHHELD = 3
"""Characters. Shorter answers are in every snippet by chance."""


def place_of(task: Task) -> Place:
    """Where a task is played.

    A fictional world, `{"world": {"seed": 5, "size": "small"}}`; an index, `{"index": FOLDER}`; or paragraphs of a
    file, `{"index": {"contexts": FILE}}`; the latter two with a `"digest"` where the task is to be played with these
    pages only.

    Raises:
        TaskError: none of these is named, it cannot be opened, or it is another index than the task was made for.
    """
    world, index = task.initial_state.get("world"), task.initial_state.get("index")
    try:
        if isinstance(world, Mapping) and index is None:
            seed, size = world.get("seed"), world.get("size", DEFAULT_SIZE)
            if isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0 and isinstance(size, str):
                return LIBRARY.fiction(seed, size)
        elif isinstance(index, str) and world is None:
            return _as_made(task, LIBRARY.corpus(Path(index)))
        elif isinstance(index, Mapping) and isinstance(index.get("contexts"), str) and world is None:
            return _as_made(task, LIBRARY.contexts(Path(index["contexts"])))
    except ConfigError as error:
        raise TaskError(f"Task {task.id!r} cannot be opened: {error}{_moved(task)}") from error
    raise TaskError(
        f"Task {task.id!r}: expected initial_state to have 'world' (an object with 'seed', a whole number, and "
        f"'size') or 'index' (the folder of an index), got {str(task.initial_state)[:200]}."
    )


def _as_made(task: Task, place: Place) -> Place:
    digest = task.initial_state.get("digest")
    if digest is not None and digest != place.digest:
        index = task.initial_state["index"]
        what, why = ("index", "it was built again, of other pages or by another engine")
        if not isinstance(index, str):
            index, what, why = index["contexts"], "paragraphs", "the file has changed"
        raise TaskError(
            f"Task {task.id!r} was made for the {what} {digest!r}, and what is in {index!r} is {place.digest!r}: {why}."
            " Open the questions anew."
        )
    return place


def _moved(task: Task) -> str:
    """What to do when there is nothing where a task looks for its pages."""
    index = task.initial_state.get("index")
    place = index.get("contexts") if isinstance(index, Mapping) else index
    if not isinstance(place, str) or Path(place).expanduser().exists():
        return ""
    digest, kind = task.initial_state.get("digest"), "file of questions" if isinstance(index, Mapping) else "index"
    made = f" The task was made for the {kind} with the digest {digest!r}." if digest else ""
    return f"{made} If it has moved, put it back or make a link to it at that place: ln -s NEW_PLACE {place}"


def mask_of(task: Task) -> frozenset[str]:
    """Canonical addresses of the pages that are hidden in this task.

    Raises:
        TaskError: they are no list of addresses.
    """
    mask = task.initial_state.get("mask", [])
    if not isinstance(mask, list | tuple) or not all(isinstance(url, str) for url in mask):
        raise TaskError(f"Task {task.id!r}: expected 'mask' to be a list of addresses, got {str(mask)[:100]}.")
    try:
        return frozenset(canonical(url) for url in mask)
    except BadURL as error:
        raise TaskError(f"Task {task.id!r}: its mask has something that is no address: {error}") from error


def withheld_of(task: Task) -> tuple[str, ...]:
    """Texts that no snippet of this task may show: the answer in all its usual writings, over a user's corpus.

    Pages of fictional worlds say themselves what they withhold, whatever is asked, so that nobody can tell by the gaps
    what the question is about.
    """
    if "world" in task.initial_state:
        return ()
    found = (text for item in writings(answer_spec(task)) for text in item)
    return tuple(dict.fromkeys(text for text in found if len(text) >= SHORTEST_WITHHELD))


def answer_spec(task: Task) -> Mapping[str, Any]:
    """What the right answer is.

    Raises:
        TaskError: the task has none.
    """
    spec = task.verifier.get("answer")
    if not isinstance(spec, Mapping):
        raise TaskError(f"Task {task.id!r}: `verifier` needs 'answer', an answer spec; found {sorted(task.verifier)}.")
    return spec
