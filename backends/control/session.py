"""`ControlledSession`: an episode with faults to come."""

from __future__ import annotations

from agentworld_envs.backends.control.schedule import Schedule
from agentworld_envs.interface import Action, Control, Session, Verdict


class ControlledSession(Session):
    """An episode, and which of its faults are due. Verdicts are the inner session's: a fault changes what the agent
    sees, never how it is judged."""

    def __init__(self, inner: Session, control: Control) -> None:
        """Args: inner: as its backend opened it. control: decides, with the episode's seed and task, what goes wrong.

        Raises:
            ConfigError: the backend takes no instructions, and there are some.
        """
        super().__init__(inner.domain, inner.task, inner.seed)
        self.inner = inner
        self.observation, self.sandbox, self.failure = inner.observation, inner.sandbox, inner.failure
        self.control = control
        self.schedule = Schedule(control.plan(inner.seed, inner.task), inner.seed, inner.task)
        self.history: list[tuple[Action, str]] = []
        """What the agent did and saw."""
        self.injected = 0
        """Faults that have hit so far."""
        self.whole: tuple[str, str] | None = None
        """The latest command with the data of its answer; `None` when something was to go wrong with it."""
        always = "\n".join(instruction.text for instruction in control.instruction if instruction.always)
        if always and inner.failure is None:
            inner.instruct(episode=always)

    @property
    def previous(self) -> str | None:
        """The data of the latest answer."""
        return self.data(*self.history[-1]) if self.history else None

    def data(self, action: Action, observation: str) -> str:
        """The part of an answer that faults are about."""
        start, end = self.domain.fault_span(self.task, action, observation)
        return observation[start:end]

    def verdict(self) -> Verdict:
        return self.inner.verdict()

    def final(self, steps: int) -> Verdict:
        return self.inner.final(steps)

    def commands(self) -> list[str]:
        return self.inner.commands()

    def fork(self, inner: Session) -> ControlledSession:
        """An independent session on the fork of the inner one, with the same faults to come."""
        twin = ControlledSession.__new__(ControlledSession)
        twin.__dict__.update(self.__dict__)
        twin.inner, twin.schedule = inner, self.schedule.fork()
        twin.history = list(self.history)
        return twin
