"""`SearchState`: what an episode of search leaves behind, the same in the real world and in a simulated one."""

from __future__ import annotations

from typing import Any

from agentworld_envs.domains.search.calls import Call, Find, Open, Remember, Submit
from agentworld_envs.domains.search.memory import DictMemory

HANDED_IN = "The answer was handed in."


class SearchState:
    """Notes, counters, and the answer. Pages and index never change, so this is all there is."""

    def __init__(self) -> None:
        self.memory = DictMemory()
        self.answer: str | None = None
        """The last answer that was handed in."""
        self.queries = 0
        """Queries that were searched for; a call may have several."""
        self.visits = 0
        """Pages that were asked for; a call may name several."""

    def apply(self, call: Call) -> str | None:
        """Take note of one call.

        Returns:
            What the tool says where that depends on this state alone, else `None`.
        """
        if isinstance(call, Find):
            self.queries += len(call.queries)
        elif isinstance(call, Open):
            self.visits += len(call.urls)
        elif isinstance(call, Remember):
            return self.memory.apply(call)
        else:
            assert isinstance(call, Submit)
            self.answer = call.text
            return HANDED_IN
        return None

    def evidence(self) -> dict[str, Any]:
        """`answer` (`None` before there is one; an empty text is one), `queries`, `visits`."""
        return {"answer": self.answer, "queries": self.queries, "visits": self.visits}

    def fork(self) -> SearchState:
        """An independent state."""
        twin = SearchState()
        twin.memory, twin.answer = self.memory.fork(), self.answer
        twin.queries, twin.visits = self.queries, self.visits
        return twin
