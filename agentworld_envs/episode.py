"""`Episode`: the state of one episode and its `info`, the same for the single and the vector environment."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from agentworld_envs.interface import Action, Domain, Failure, Session, Task, Verdict
from agentworld_envs.ledger import Ledger
from agentworld_envs.parsing import ActionParser

logger = logging.getLogger(__name__)

MAX_OBSERVATION_CHARS = 32_768
"""Longer observations are cut in the middle, with a marker that says how much is missing."""


class StepResult(NamedTuple):
    """Gymnasium's five values."""

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class UnopenedSession(Session):
    """Stands in for a session that no backend has: its task could not be read, or not be put before an agent."""

    def __init__(self, domain: Domain, task: Task, seed: int, failure: Failure) -> None:
        """Args: failure: why."""
        super().__init__(domain, task, seed)
        self.failure = failure

    def verdict(self) -> Verdict:
        return Verdict(0.0, False)


class Episode:
    """One episode: what is played, how far it is, and what to tell about it."""

    __slots__ = (
        "action_valid",
        "backend_name",
        "command",
        "failure",
        "instructions",
        "ledger",
        "max_steps",
        "observation",
        "origin",
        "parser",
        "record_id",
        "reward_valid",
        "score",
        "seed",
        "session",
        "source",
        "step_count",
        "success",
        "task",
        "terminated",
        "transcript",
        "truncated",
    )

    def __init__(
        self,
        session: Session,
        parser: ActionParser | None,
        backend_name: str,
        source: str,
        max_steps: int,
        instructions: str = "",
    ) -> None:
        """Begin.

        Args:
            session: freshly opened, or failed to.
            parser: of the task's tools; `None` only for a session that failed.
            max_steps: after which it is truncated.
            instructions: what the agent is told at reset.
        """
        self.session = session
        self.task: Task = session.task
        self.seed = session.seed
        self.parser = parser
        self.backend_name = backend_name
        self.source = source
        self.max_steps = max_steps
        self.instructions = instructions
        self.ledger = Ledger()
        self.transcript: list[tuple[Action, str]] = []
        """Actions that were executed, with their observations: neither those that never reached the backend nor those
        that an injected fault kept from being executed."""
        self.record_id: str | None = None
        """Name of this episode in the trajectory file, once it is being recorded."""
        self.origin: tuple[str, int] | None = None
        """For a fork that has no line in the file yet: the recorded episode and step that it continues."""
        self.observation = clip(session.observation)
        self.failure: Failure | None = session.failure
        self.reward_valid = session.failure is None
        self.step_count = 0
        self.score = 0.0
        self.success = False
        self.terminated = False
        self.truncated = False
        self.action_valid = True
        self.command = ""

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated

    def result(self, reward: float) -> StepResult:
        """The five values after a step."""
        return StepResult(self.observation, reward, self.terminated, self.truncated, self.info())

    def info(self, *, at_reset: bool = False) -> dict[str, Any]:
        """Gymnasium's `info`: the same keys at reset and at every step, fresh and deterministic values.

        `instructions` and `tools` are filled at reset and empty afterwards: they do not change within an episode,
        and forty tool schemas would be copied at every step otherwise.
        """
        session = self.session
        told = at_reset and session.failure is None
        return {
            "task_id": self.task.id,
            "seed": self.seed,
            "step": self.step_count,
            "backend": self.backend_name,
            "source": self.source,
            "sandbox": session.sandbox,
            "action_valid": self.action_valid,
            "command": self.command,
            "admissible_commands": self._commands(),
            "score": self.score,
            "max_score": 1.0,
            "success": self.success,
            "reward_valid": self.reward_valid,
            "failure": self.failure,
            "instructions": self.instructions if told else "",
            "tools": session.domain.tools(self.task) if told else [],
        }

    def _commands(self) -> list[str]:
        """The session's commands; none after a failure, when there may be nobody left to ask."""
        if self.failure is not None:
            return []
        try:
            return self.session.commands()
        except Exception:  # the step itself went well, and `info` is no place to fail
            logger.exception("The admissible commands of task %s could not be determined.", self.task.id)
            return []

    def fork(self, session: Session) -> Episode:
        """The same episode on a forked session."""
        twin = Episode.__new__(Episode)
        for name in Episode.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.session = session
        twin.ledger = self.ledger.copy()
        twin.transcript = list(self.transcript)
        twin.record_id = None
        return twin


def clip(observation: str) -> str:
    """Keep head and tail of an observation that is longer than the observation space allows."""
    if len(observation) <= MAX_OBSERVATION_CHARS:
        return observation
    keep = MAX_OBSERVATION_CHARS // 2 - 50
    missing = len(observation) - 2 * keep
    return f"{observation[:keep]}\n[... {missing} characters left out ...]\n{observation[-keep:]}"
