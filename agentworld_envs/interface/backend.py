"""`Backend`: where the next observation comes from. Batch first: a single environment is a batch of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from agentworld_envs.interface.action import Action
from agentworld_envs.interface.domain import Domain
from agentworld_envs.interface.errors import ConfigError, Failure
from agentworld_envs.interface.task import Task, TaskSource
from agentworld_envs.interface.transition import Source, Transition, Verdict


class Session(ABC):
    """One episode on one backend."""

    def __init__(self, domain: Domain, task: Task, seed: int) -> None:
        """Args: domain, task: what is played. seed: seed of everything random in this episode (>= 0)."""
        self.domain = domain
        self.task = task
        self.seed = seed
        self.observation = ""
        """First observation."""
        self.sandbox = ""
        """Kind of the sandbox that its observations come from (`namespace`, `docker`, `local`); empty without one."""
        self.failure: Failure | None = None
        """Set when the episode could not be opened; it must not be stepped then."""

    @abstractmethod
    def verdict(self) -> Verdict:
        """The domain's verdict on what this session has seen so far."""

    def final(self, steps: int) -> Verdict:
        """The verdict on the whole episode.

        Args:
            steps: steps that the episode took, those included whose action never reached the backend.
        """
        return self.verdict()

    def commands(self) -> list[str]:
        """Admissible commands as far as this backend knows, a fresh list."""
        return []

    def instruct(self, *, episode: str = "", turn: str = "", blocks: Callable[[str], bool] | None = None) -> None:
        """Tell a simulator how to behave, on backends that take instructions.

        Args:
            episode: for the whole episode; given once, before the first step.
            turn: for the next step only.
            blocks: says of the next observation whether its action was kept from being executed.

        Raises:
            ConfigError: this backend takes none.
        """
        raise ConfigError(f"Only a simulator can be instructed, not a {type(self).__name__}.")


class Backend(ABC):
    """Runs sessions of any domain. Sessions are independent: one that is slow or fails never holds the others."""

    name: ClassVar[str]
    """What a user types."""
    source: ClassVar[Source]
    """What `info["source"]` says of its observations."""
    takes_instructions: ClassVar[bool] = False
    """Whether its sessions can be told how to behave (`Session.instruct`)."""

    @abstractmethod
    def open(self, domain: Domain, tasks: Sequence[Task], seeds: Sequence[int]) -> list[Session]:
        """Start one session per task. A session that cannot be opened carries its `failure`; nothing is raised."""

    @abstractmethod
    def step(self, sessions: Sequence[Session], actions: Sequence[Action]) -> list[Transition]:
        """Advance every session by one action; same order, same length. Failures are on the transitions."""

    @abstractmethod
    def fork(self, session: Session) -> Session:
        """An independent session in the same state."""

    @abstractmethod
    def close(self, sessions: Sequence[Session]) -> None:
        """Release sessions. Idempotent. What goes wrong is logged: it must not keep the next episode from starting."""

    def tasks(self) -> TaskSource | None:
        """Tasks that this backend brings along (a recording does), `None` to use the domain's."""
        return None

    def shutdown(self) -> None:  # noqa: B027 - most backends hold nothing
        """Release what the backend itself holds. Idempotent; sessions must have been closed."""

    def describe(self) -> dict[str, Any]:
        """What a recording has to know to be understood later: model, revision, sandbox. JSON, no secrets."""
        return {"name": self.name}
