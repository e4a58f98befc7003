"""`SearchWorld`: the real dynamics: an index that never changes, and what the agent did so far."""

from __future__ import annotations

from collections.abc import Sequence

from agentworld_envs.domains.search.calls import Call, Find, Malformed, Open, bad_url, read
from agentworld_envs.domains.search.engine.extract import evidence, parts
from agentworld_envs.domains.search.engine.urls import canonical
from agentworld_envs.domains.search.pages import Hit, Page
from agentworld_envs.domains.search.places import Place
from agentworld_envs.domains.search.rendering import (
    RESULTS_PER_QUERY,
    RULE,
    not_found,
    render_goal,
    render_part,
    render_results,
    render_search,
    render_visit,
    visit_error,
)
from agentworld_envs.domains.search.state import SearchState
from agentworld_envs.interface import Action, Evidence, World

PART_CHARACTERS = 6_000
"""Of one part of a whole page."""


class SearchWorld(World):
    """No process, no random choice, no clock. `fork` copies the notes and nothing else."""

    def __init__(self, place: Place, question: str, masked: frozenset[str], withheld: Sequence[str] = ()) -> None:
        """Begin.

        Args:
            place: what is searched, shared with other episodes.
            question: the task.
            masked: canonical addresses that neither a search nor a visit shows (LiteResearcher, source masking; its
                release masks the search alone, so that an address that is guessed can still be read).
            withheld: texts that no snippet shows unless the query has them, beside those of each page.
        """
        self.place = place
        self.masked = masked
        self.state = SearchState()
        self._question = question
        self.withheld = tuple(withheld)

    def reset(self) -> str:
        return self._question

    def act(self, action: Action) -> str:
        try:
            call = read(action)
        except Malformed as error:  # what `Search.refuse` says before
            return str(error)
        said = self.state.apply(call)
        return said if said is not None else self.look(call)

    def look(self, call: Call) -> str:
        """What a search or a visit shows. It does not depend on what was done before."""
        if isinstance(call, Find):
            found = [(query, self._search(query)) for query in call.queries]
            return render_results(found) if call.layout == "qwen" else render_search(found)
        assert isinstance(call, Open)
        if call.layout == "qwen":
            return self._extract(call)
        return f"\n{RULE}\n".join(self._visit(url, call.goal) for url in call.urls)

    def page(self, url: str) -> Page | None:
        """The page at an address in any form; `None` when there is none or it is masked.

        Raises:
            BadURL: it is no address.
        """
        name = canonical(url)
        return None if name in self.masked else self.place.index.page(name)

    def evidence(self) -> Evidence:
        return self.state.evidence()

    def fork(self) -> SearchWorld:
        twin = SearchWorld(self.place, self._question, self.masked, self.withheld)
        twin.state = self.state.fork()
        return twin

    @property
    def ended(self) -> bool:
        return self.state.answer is not None

    def _search(self, query: str) -> list[Hit]:
        return self.place.index.search(query, RESULTS_PER_QUERY, masked=self.masked, withheld=self.withheld)

    def _extract(self, call: Open) -> str:
        [url] = call.urls
        page = self.page(url)
        if page is None:
            return not_found(url)
        if call.goal:
            return render_goal(page, evidence(page.text, call.goal).passages)
        return render_part(page, parts(page.text, PART_CHARACTERS), call.part)

    def _visit(self, url: str, goal: str) -> str:
        problem = bad_url(url)
        if problem is not None:
            return visit_error(url, problem)
        page = self.page(url)
        if page is None:
            return visit_error(url, not_found(url))
        found = evidence(page.text, goal, title=page.title)
        return render_visit(page, goal, found.passages, found.summary)
