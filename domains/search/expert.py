"""The expert: solves a task through the tools alone, in a fork of the world."""

from __future__ import annotations

import json
from typing import Any

from agentworld_envs.domains.search.calls import LONGEST_QUERY
from agentworld_envs.domains.search.pages import Hit
from agentworld_envs.domains.search.reading import page_body, page_title, read_results
from agentworld_envs.domains.search.rendering import one_line
from agentworld_envs.domains.search.world import SearchWorld
from agentworld_envs.interface import Action, Task, TaskError

_MOST_PARTS = 50


class Hands:
    """Calls the tools in a fork of a world and keeps what was called."""

    def __init__(self, world: SearchWorld) -> None:
        """Args: world: left as it is."""
        self._world = world.fork()
        self.done: list[str] = []
        """Actions so far, as text that the parser reads."""

    def search(self, query: str) -> list[Hit]:
        """The results of `web_search`, as it shows them."""
        shown = read_results(self._do("web_search", {"query": query}), "qwen") or []
        return [Hit(result.url, result.title, result.snippet, result.date) for result in shown]

    def visit(self, url: str) -> str | None:
        """The text of a page, of all its parts; `None` where there is none."""
        texts: list[str] = []
        while len(texts) < _MOST_PARTS:
            part = {} if not texts else {"part": len(texts) + 1}
            observation = self._do("web_extractor", {"url": url, **part})
            if page_title(observation) is None:
                return None
            text, _, parts = page_body(observation)
            texts.append(text)
            if len(texts) >= parts:
                break
        return "".join(texts)

    def answer(self, text: str) -> None:
        """Hand in the answer."""
        self._do("answer", {"answer": text})

    def _do(self, tool: str, arguments: dict[str, Any]) -> str:
        command = json.dumps({"name": tool, "arguments": arguments}, ensure_ascii=False)
        self.done.append(command)
        return self._world.act(Action(tool, arguments, command))


def plan(task: Task, world: SearchWorld) -> list[str]:
    """Actions that solve a task from the present state of `world`.

    In a fictional world the answer is worked out from what the pages say. Over a user's corpus it is known: the pages
    that are said to support it are searched for and opened, and it is handed in, whether they are masked or not.

    Raises:
        TaskError: the task lacks what the expert needs to know of the question.
    """
    hands = Hands(world)
    fiction = world.place.fiction
    if fiction is None:
        _open_supporting(task, hands)
        answer = task.hidden.get("answer")
        if not isinstance(answer, str):
            raise TaskError(f"Task {task.id!r}: the expert needs `hidden` to have 'answer', a text.")
        hands.answer(answer)
        return hands.done
    from agentworld_envs.domains.search.fiction.expert import solve

    number, level = task.hidden.get("number"), task.hidden.get("level")
    if not isinstance(number, int) or not isinstance(level, int):
        raise TaskError(f"Task {task.id!r}: the expert needs `hidden` to have 'number' and 'level' of the question.")
    steps = solve(fiction.question(number, level), hands.search, hands.visit).steps
    answers = [text for kind, text in steps if kind == "answer"]
    if not answers:
        raise TaskError(f"Task {task.id!r}: the expert found no answer.")
    hands.answer(answers[-1])
    return hands.done


def _open_supporting(task: Task, hands: Hands) -> None:
    titles = task.hidden.get("supporting", ())
    for title in dict.fromkeys(str(title) for title in titles if str(title).strip()):
        wanted = one_line(title)
        for hit in hands.search(wanted[:LONGEST_QUERY]):
            if one_line(hit.title) == wanted:
                hands.visit(hit.url)
                break
