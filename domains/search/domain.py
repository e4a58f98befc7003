"""`Search`: the domain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentworld_envs.domains.search.answers import score
from agentworld_envs.domains.search.briefing import answer_spec, mask_of, place_of, withheld_of
from agentworld_envs.domains.search.calls import Malformed, read
from agentworld_envs.domains.search.expert import plan
from agentworld_envs.domains.search.facts import facts_of
from agentworld_envs.domains.search.faults import fault_text
from agentworld_envs.domains.search.simulation import brief, wire
from agentworld_envs.domains.search.tasks import LEVELS, SPLITS, Choice, GeneratedTasks
from agentworld_envs.domains.search.tools import tool_schemas
from agentworld_envs.domains.search.tracker import SearchTracker
from agentworld_envs.domains.search.world import SearchWorld
from agentworld_envs.interface import (
    Action,
    ConfigError,
    Domain,
    Evidence,
    SimulationSpec,
    Task,
    TaskError,
    TaskSource,
    Verdict,
    World,
    unknown_name,
)
from agentworld_envs.interface.fault import ExplicitKind

_RULES = """\
You answer a question by searching a web of your own: its pages can be searched and read here and nowhere else, and \
what you know of the world does not help. One action per turn, a JSON tool call such as \
{"name": "web_search", "arguments": {"query": "..."}}; bare text is a query for web_search.
- web_search (query or queries) and search (query: a list) find pages. Snippets say what a page is about, seldom what \
you need to know: open it.
- web_extractor (url, and perhaps goal) and visit (url: a list, goal) read pages. Long pages come in parts: ask for \
the next one with part.
- Pages may be out of date or contradict each other; the newest dated statement holds.
- dict_memory (operation: add, update, retrieve, remove, retrieve_all, remove_all; dict or key_list) keeps notes.
- answer (answer) hands in the answer and ends the episode; <answer>...</answer> does the same. There is one try. \
Write the answer alone: a name, a number, a date (YYYY-MM-DD), yes or no; several items as a JSON list; a table as a \
JSON list of objects."""


class Search(Domain):
    """Questions to be answered from pages that can only be reached by searching: those of fictional worlds, which no
    model can know by heart, or those of a corpus of the user's own.

    `task.initial_state` names a world or an index and what is masked in it (see `briefing`), `task.verifier["answer"]`
    is an answer spec (see `answers`). A world model plays the search engine and its pages; notes, the answer, and
    everything that was shown once are kept by code.
    """

    name = "search"
    default_tool = "web_search"
    answer_tool = "answer"
    verbs = False
    told_by_turn = True
    task_sets = (*SPLITS, *(f"{SPLITS[0]}@{level}" for level in LEVELS))

    def tasks(self, name: str | None = None) -> TaskSource:
        """A task source. Pure and cheap: a world is built when its first task is asked for.

        Args:
            name: `SPLIT[@LEVELS][:SIZE][+masked][+worlds=N]` for questions about fictional worlds, without end:
                `train` (default) or `valid`, which have different worlds; levels 1 to 3, all in turn by default
                (`train@1,2`); size of the worlds: `tiny`, `small` (default), `medium` or `large`; `+masked` hides the
                pages that tell the answer directly, so that it has to be found where it is told in passing; with
                `+worlds=N` there are no more than N different worlds, so that they are soon all built. For example
                `valid@3:large+masked`. Or `PATH?index=FOLDER`: questions from a file (see `datasets`) over the
                corpus that is indexed in a folder.

        Raises:
            ConfigError: no such set, level, size, option or path; or a path without questions or without an index.
        """
        name = name or SPLITS[0]
        choice = Choice.of(name)
        if choice is not None:
            return GeneratedTasks(choice)
        path = Path(name.partition("?")[0]).expanduser()
        if "?" in name or path.exists():
            return _from_path(name, path)
        raise unknown_name("task set or path", name, self.task_sets)

    def tools(self, task: Task) -> list[dict[str, Any]]:
        return tool_schemas()

    def instructions(self, task: Task) -> str:
        return _RULES

    def world(self, task: Task) -> SearchWorld:
        answer_spec(task)
        return SearchWorld(place_of(task), task.instruction, mask_of(task), withheld_of(task))

    def simulation(self, task: Task) -> SimulationSpec:
        return brief(task.instruction)

    def tracker(self, task: Task) -> SearchTracker:
        return SearchTracker(self.world(task))

    def verify(self, task: Task, evidence: Evidence) -> Verdict:
        """The score of the answer that was handed in; 0 before there is one. An empty answer is a wrong one."""
        answer = evidence.get("answer")
        if not isinstance(answer, str):
            return Verdict(0.0, False)
        scored = score(answer_spec(task), answer)
        return Verdict(scored.score, scored.correct, done=True)

    def facts(self, task: Task, action: Action, observation: str) -> dict[str, Any]:
        try:
            return facts_of(read(action), observation)
        except Malformed:
            return {}

    def explain(self, task: Task, evidence: Evidence) -> list[str]:
        answer = evidence.get("answer")
        counts = f"{evidence.get('queries', 0)} queries, {evidence.get('visits', 0)} visits"
        if not isinstance(answer, str):
            return [f"No answer was handed in; {counts}."]
        scored = score(answer_spec(task), answer)
        judged = "right" if scored.correct else "WRONG"
        detail = ", ".join(f"{key} {value}" for key, value in scored.detail.items())
        return [f"{judged}: {answer[:300]!r} scores {scored.score:.3f} ({detail}); {counts}"]

    def support(self, task: Task, world: World) -> tuple[bool, list[str]] | None:
        from agentworld_envs.domains.search.support import support_of

        return support_of(task, world) if isinstance(world, SearchWorld) else None

    def expert(self, task: Task, world: World) -> Sequence[str]:
        """Searches, visits and the answer, found in a fork of `world` through the same tools.

        Raises:
            TaskError: the task has nothing that an expert could go by, or it cannot be solved from here.
        """
        if not isinstance(world, SearchWorld):
            raise TaskError(f"The expert of search works in its own world; got a {type(world).__name__}.")
        return plan(task, world)

    def wire(self, task: Task, action: Action) -> str:
        return wire(action)

    def refuse(self, task: Task, action: Action) -> str | None:
        try:
            read(action)
        except Malformed as error:
            return str(error)
        return None

    def fault_text(
        self, task: Task, action: Action, kind: ExplicitKind, history: Sequence[tuple[Action, str]]
    ) -> str | None:
        return fault_text(action, kind)


def _from_path(name: str, path: Path) -> TaskSource:
    """The tasks of a file of questions."""
    if path.is_dir():
        raise ConfigError(
            f"{str(path)!r} is a folder of pages, and has no questions. Give the file of the questions and this index: "
            f"QUESTIONS.jsonl?index={path}."
        )
    from agentworld_envs.domains.search.datasets.tasks import DatasetTasks

    return DatasetTasks.parse(name)
