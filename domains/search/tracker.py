"""`SearchTracker`: what a simulated episode has shown: notes, the answer, and the pages that were opened."""

from __future__ import annotations

from agentworld_envs.domains.search.calls import Call, Find, Open, Remember, Submit, bad_url, read
from agentworld_envs.domains.search.contradictions import contradictions, views
from agentworld_envs.domains.search.engine.urls import BadURL, canonical
from agentworld_envs.domains.search.framing import frame_of
from agentworld_envs.domains.search.reading import read_results
from agentworld_envs.domains.search.recall import recall
from agentworld_envs.domains.search.rendering import RULE, not_found, one_line, visit_error
from agentworld_envs.domains.search.state import HANDED_IN, SearchState
from agentworld_envs.domains.search.world import SearchWorld
from agentworld_envs.interface import Action, Evidence, Frame, Tracker

_Key = tuple[object, ...]


class SearchTracker(Tracker):
    """Notes and answer are code's own; searches and pages are the simulator's, and stay as they were shown.

    A page is known by its canonical address with the goal or the part for which it was opened, a search by its
    queries. What was answered once in the layout of the tools is answered again from here, so that a page that is
    opened twice says the same (knowlet and others had to add such a cache to their simulated webs). A page that was
    denied stays so under every spelling of its address. What was in no layout (an error, say) is asked for again.
    """

    def __init__(self, world: SearchWorld) -> None:
        """Args: world: of the task, for its pages and its mask; nobody acts in it."""
        self._world = world
        self._state = SearchState()
        self._kept: dict[_Key, str] = {}
        self._shown: dict[str, str] = {}
        self._missing: set[_Key] = set()
        """Keys of pages that were denied. What is said of them repeats the address as it was written."""

    def answer(self, action: Action) -> str | None:
        call = read(action)
        if isinstance(call, Submit):
            return HANDED_IN
        if isinstance(call, Remember):
            return self._state.memory.fork().apply(call)
        texts = [self._kept.get(key) for key in _keys(call)]
        if isinstance(call, Open):
            texts = [text or self._denied(call, url) for text, url in zip(texts, call.urls, strict=True)]
        known = [text for text in texts if text is not None]
        return f"\n{RULE}\n".join(known) if len(known) == len(texts) else None

    def frame(self, action: Action) -> Frame | None:
        call = read(action)
        return frame_of(self._world, call) if isinstance(call, Find | Open) else None

    def observe(self, action: Action, observation: str) -> None:
        call = read(action)
        self._state.apply(call)
        if isinstance(call, Find):
            self._observe_results(call, observation)
        elif isinstance(call, Open):
            self._observe_pages(call, observation)

    def evidence(self) -> Evidence:
        return self._state.evidence()

    def recall(self, action: Action, limit: int) -> str:
        """Matching pages without their facts for a search, the database's slice for a visit; see `recall`."""
        call = read(action)
        return recall(self._world, call, self._shown, limit) if isinstance(call, Find | Open) else ""

    def contradictions(self, action: Action, observation: str) -> list[str]:
        call = read(action)
        if not isinstance(call, Find | Open):
            return []
        return contradictions(self._world, call, observation, self._shown)

    def fork(self) -> SearchTracker:
        twin = SearchTracker(self._world)
        twin._state, twin._kept, twin._shown = self._state.fork(), dict(self._kept), dict(self._shown)
        twin._missing = set(self._missing)
        return twin

    @property
    def ended(self) -> bool:
        return self._state.answer is not None

    def _observe_results(self, call: Find, observation: str) -> None:
        results = read_results(observation, call.layout)
        if results is None:
            return
        self._kept.setdefault(_keys(call)[0], observation)
        for result in results:
            if bad_url(result.url) is None:
                self._show(canonical(result.url), result.title)

    def _observe_pages(self, call: Open, observation: str) -> None:
        seen = dict(views(call, observation))
        blocks = [observation] if call.layout == "qwen" else observation.split(f"\n{RULE}\n")
        if len(blocks) == len(call.urls):
            for key, url, block in zip(_keys(call), call.urls, blocks, strict=True):
                if _name(url) not in seen or key in self._missing:
                    continue
                if seen[_name(url)] is not None:
                    self._kept.setdefault(key, block)
                elif key not in self._kept:
                    self._missing.add(key)
        for url, title in seen.items():
            if title is not None:
                self._show(url, title)

    def _denied(self, call: Open, url: str) -> str | None:
        """What is said of a page that was denied before, in the spelling of now."""
        if _key(call, url) not in self._missing:
            return None
        return not_found(url) if call.layout == "qwen" else visit_error(url, not_found(url))

    def _show(self, url: str, title: str) -> None:
        if url not in self._world.masked:
            self._shown.setdefault(url, one_line(title))


def _keys(call: Call) -> list[_Key]:
    """Under which names the parts of an answer are kept."""
    if isinstance(call, Find):
        return [("find", call.layout, tuple(one_line(query) for query in call.queries))]
    if isinstance(call, Open):
        return [_key(call, url) for url in call.urls]
    return []


def _key(call: Open, url: str) -> _Key:
    return ("open", call.layout, _name(url), call.goal, call.part)


def _name(url: str) -> str:
    try:
        return canonical(url)
    except BadURL:
        return url
