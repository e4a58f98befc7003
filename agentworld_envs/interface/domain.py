"""`Domain`: what may be asked, which actions exist, how success is checked, what a simulator must be told.

A domain knows nothing of backends. It hands out a `World` (the real dynamics) to whoever wants to run one, and a
`SimulationSpec` with a `Tracker` (what a simulated episode has shown so far) to whoever wants to imagine one. Both
yield *evidence* of the same shape, so that `verify` is one function for real and simulated episodes.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from agentworld_envs.interface.action import Action
from agentworld_envs.interface.fault import ExplicitKind
from agentworld_envs.interface.machines import Machines
from agentworld_envs.interface.task import Task, TaskSource
from agentworld_envs.interface.transition import Verdict

Evidence = Mapping[str, Any]
"""Structured facts about the state of an episode; its keys are the domain's own."""


class World(ABC):
    """The real dynamics of one episode."""

    @abstractmethod
    def reset(self) -> str:
        """Start (once) and return the first observation, which carries the task."""

    @abstractmethod
    def act(self, action: Action) -> str:
        """Execute one action and return what is new. A bad action is an observation, not an exception.

        Raises:
            SandboxError: the machine behind the world failed.
        """

    @abstractmethod
    def evidence(self) -> Evidence:
        """Facts for `Domain.verify`. May be a live view: read it before the next `act`."""

    def final_evidence(self) -> Evidence:
        """Facts for the verdict on the whole episode, asked for once, after the last action.

        Worlds whose facts cost time (a sandbox is frozen and looked at from outside) keep `evidence` cheap and gather
        them here. Default: `evidence`.

        Raises:
            SandboxError: the machine behind the world failed.
        """
        return self.evidence()

    @abstractmethod
    def fork(self) -> World:
        """An independent world in the same state."""

    def commands(self) -> list[str]:
        """Admissible commands, a fresh list, sorted; empty when the domain has no finite list."""
        return []

    @property
    def ended(self) -> bool:
        """Whether the world itself is over."""
        return False

    def close(self) -> None:  # noqa: B027 - most worlds hold nothing
        """Release what the world holds. Idempotent."""


class Frame(NamedTuple):
    """What code is certain of around an observation. It is written for models whose turn is begun for them."""

    lead: str
    """How the observation begins."""
    stop: str
    """Text that only comes after what the model has to say."""
    tail: str
    """What stands there instead, at the end of the observation."""


class Tracker(ABC):
    """What a simulated episode has *shown*: the evidence behind its score, derived by code from actions and answers.

    A tracker never trusts a sentence about success. It applies the effect of an action only when the answer is the
    domain's own acknowledgement of exactly that action.
    """

    @abstractmethod
    def observe(self, action: Action, observation: str) -> None:
        """Take note of one simulated turn."""

    @abstractmethod
    def evidence(self) -> Evidence:
        """Facts for `Domain.verify`, of the shape of `World.evidence`."""

    def final_evidence(self) -> Evidence:
        """As `World.final_evidence`: facts for the verdict on the whole episode."""
        return self.evidence()

    def answer(self, action: Action) -> str | None:
        """The observation where code knows it for certain, `None` where the simulator has to be asked.

        It is not asked then; `observe` is called with this answer.
        """
        return None

    def frame(self, action: Action) -> Frame | None:
        """What is certain around the observation of an action (the echo and the prompts of a terminal), if anything.

        Used with `WorldModelConfig(prefill=True)`, for models that cannot be trusted with it.
        """
        return None

    def recall(self, action: Action, limit: int) -> str:
        """What is so right before an action, as far as the action may touch it: for the simulator's prompt.

        It is what a simulator was told at the start, changed by what the episode has shown since; no answers, and
        nothing of the goal. Used with `WorldModelConfig(tracked_state=True)`, and where the domain is `told_by_turn`.
        Default: nothing.

        Args:
            action: what is done next.
            limit: most characters; what matters least is left out first.
        """
        return ""

    def contradictions(self, action: Action, observation: str) -> list[str]:
        """What an answer says against the state that the episode has established, a line each.

        Asked before `observe` takes the answer in; changes nothing. Only what code is certain of counts. Default: none.
        """
        return []

    @abstractmethod
    def fork(self) -> Tracker:
        """An independent tracker in the same state."""

    def commands(self) -> list[str]:
        """Commands that are admissible as far as the episode has shown; empty when there is no finite list."""
        return []

    @property
    def ended(self) -> bool:
        """Whether the agent ended the episode by its own act, as far as code can tell."""
        return False


@dataclass(frozen=True, slots=True)
class SimulationSpec:
    """All that a world model is told about an episode. Holds no answers."""

    system: str
    """System message: the world-model prompt with rules, wording and initial state."""
    first_observation: str
    """What `reset` returns; computed by code, not by the model."""
    prompt_version: str
    """Changes whenever the wording of `system` does; part of every cassette key."""
    state: str = ""
    """What the simulator is shown as the state before the first action; empty when `system` holds it all."""
    action_fence: str = "text"
    """Language of the fence around an action (`text`, `json`, ...)."""


class Domain(ABC):
    """One kind of environment."""

    name: ClassVar[str]
    """Short name, as in `Task.domain`."""
    default_tool: ClassVar[str]
    """Tool that bare text calls: the text fills its first parameter, the only one that it may require."""
    multiline: ClassVar[bool] = False
    """Whether a command of the default tool may have several lines. Bare text of several lines is refused then."""
    verbs: ClassVar[bool] = True
    """Whether the first word of bare text says what is done (`go to desk 1`, `ls -la`), so that tables tell actions
    apart by it; a query, say, has none."""
    task_sets: ClassVar[tuple[str, ...]]
    """Names that `tasks` accepts; the first is the default."""
    needs_sandbox: ClassVar[bool] = False
    """Whether its worlds run in sandboxes, which `machines` then has to give."""
    sandbox_kinds: ClassVar[tuple[str, ...]] = ("namespace", "docker", "local")
    """Kinds that its worlds can run in."""
    sandbox_settings: ClassVar[Mapping[str, Any]] = {}
    """What its sandboxes are like where the user names only a kind, or none: fields of `SandboxSettings`."""
    tracker_knows_all: ClassVar[bool] = True
    """Whether a tracker can follow everything that an agent may do. Where it cannot, the verdict on a simulated
    episode may be undetermined (`Verdict.determined`), and `reward="replay"` is the one to use."""
    answer_tool: ClassVar[str | None] = None
    """Tool by which the agent hands in what is checked, and ends the episode: its first parameter. The verdict then
    rests on the agent's own words, so that a right answer is right whatever a simulator has said before. `<answer>`
    tags call it, too."""
    told_by_turn: ClassVar[bool] = False
    """Whether `simulation` says nothing of what the world holds, because that is too much: what a simulator has to know
    is then always told right before an action (`Tracker.recall`), also without `tracked_state`."""
    default_model: ClassVar[str | None] = None
    """Model string that `backend="world_model"` takes where none is given; `None` when the user has to choose one."""
    machines: Machines | None = None
    """Where its worlds take sandboxes from. Set, and closed, by whoever built the domain."""

    @abstractmethod
    def tasks(self, name: str | None = None) -> TaskSource:
        """A task source by name, or from a path in the domain's public format.

        Args:
            name: one of `task_sets`, a path, or `None` for the default.

        Raises:
            ConfigError: no such set or path; names the nearest.
        """

    @abstractmethod
    def tools(self, task: Task) -> list[dict[str, Any]]:
        """JSON schemas of the tools in OpenAI's `{"type": "function", "function": {...}}` form, fresh on every call."""

    @abstractmethod
    def instructions(self, task: Task) -> str:
        """Rules for a system message: what the agent may do, in words."""

    @abstractmethod
    def world(self, task: Task) -> World:
        """The real dynamics of `task`, not yet reset.

        Raises:
            TaskError: the task's data is broken.
        """

    @abstractmethod
    def simulation(self, task: Task) -> SimulationSpec:
        """What a world model is told about `task`."""

    @abstractmethod
    def tracker(self, task: Task) -> Tracker:
        """An empty tracker for a simulated episode of `task`."""

    @abstractmethod
    def verify(self, task: Task, evidence: Evidence) -> Verdict:
        """Score an episode from its evidence. Pure."""

    def facts(self, task: Task, action: Action, observation: str) -> Mapping[str, Any]:
        """What an observation asserts, read from its text by code: name of a fact -> JSON value.

        Used to compare a simulated observation with the real one of the same action, fact by fact, where its wording
        does not matter. What code cannot read asserts nothing. Pure, and never part of a verdict. Default: no facts.
        """
        return {}

    def reference(self, task: Task) -> str | None:
        """The right answer in words, for a judge to compare with; `None` when a task has none.

        Default: `task.hidden["answer"]`, where there is one; as JSON when it is no text.
        """
        answer = task.hidden.get("answer")
        return answer if answer is None or isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

    def explain(self, task: Task, evidence: Evidence) -> list[str]:
        """A line for each thing that `verify` looks at, and what came of it: for those who write tasks."""
        return []

    def support(self, task: Task, world: World) -> tuple[bool, list[str]] | None:
        """Whether something other than the expert speaks for the answer of a task, with a line for each finding.

        For experts that know an answer instead of finding it: that they hand it in shows nothing. `None` (default): the
        expert finds it by itself.
        """
        return None

    @abstractmethod
    def expert(self, task: Task, world: World) -> Sequence[str]:
        """Actions that solve `task` from the present state of `world`, which is left untouched."""

    def wire(self, task: Task, action: Action) -> str:
        """How an action is written in a simulator's prompt. Default: its canonical command."""
        return action.command

    def refuse(self, task: Task, action: Action) -> str | None:
        """The observation for an action that is malformed in any state, else `None`.

        What the real environment would answer without looking at its state needs no simulator either: the same
        text is returned on every backend, and nothing of a malformed action reaches a model's prompt.
        """
        return None

    def fault_text(
        self, task: Task, action: Action, kind: ExplicitKind, history: Sequence[tuple[Action, str]]
    ) -> str | None:
        """The observation of an action that an injected fault (see `Control`) keeps from being executed.

        Args:
            task, action: what was to be done.
            kind: how it fails.
            history: earlier actions of the episode with their observations, as the agent saw them.

        Returns:
            What this environment would print; `None` where the action cannot fail, because it only declares the end.
        """
        return _FAULT_TEXTS[kind]

    def fault_span(self, task: Task, action: Action, observation: str) -> tuple[int, int]:
        """Where in an observation the data is that an injected fault may change: start and end (exclusive).

        What is outside stays as it is: the echo and the prompt of a terminal. Default: everything.
        """
        return 0, len(observation)


_FAULT_TEXTS: Mapping[ExplicitKind, str] = {
    "error": "Error: the environment could not do this because of an internal problem. Nothing was changed.",
    "timeout": "Error: the request timed out. Nothing was changed.",
    "server_error": "Error 503: service unavailable. Nothing was changed.",
}
