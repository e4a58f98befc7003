"""`ControlledBackend`: another backend whose episodes go wrong on purpose. Neither it nor its domain knows of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentworld_envs.backends.control.session import ControlledSession
from agentworld_envs.backends.control.turn import Turn
from agentworld_envs.interface import Action, Backend, ConfigError, Control, Domain, Session, Task, Transition, classify


class ControlledBackend(Backend):
    """Steps the episodes of another backend and makes them fail where a `Control` says so."""

    def __init__(self, inner: Backend, control: Control) -> None:
        """Args: inner: `real`, `world_model` or alike. control: what goes wrong.

        Raises:
            ConfigError: the backend cannot be controlled in this way.
        """
        if inner.source == "replay":
            raise ConfigError(
                "A recording cannot be controlled: its observations are what they were. Leave out control."
            )
        if control.instructs and not inner.takes_instructions:
            what = "inject='instruction'" if control.inject == "instruction" else "instruction=..."
            raise ConfigError(
                f"control with {what} needs a simulator that can be told (backend='world_model'), got "
                f"backend={inner.name!r}. Faults with inject='code' work on every backend."
            )
        self.inner = inner
        self.control = control

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.inner.name

    @property
    def source(self) -> Any:  # type: ignore[override]
        return self.inner.source

    @property
    def takes_instructions(self) -> bool:  # type: ignore[override]
        return False

    def open(self, domain: Domain, tasks: Sequence[Task], seeds: Sequence[int]) -> list[Session]:
        return [ControlledSession(session, self.control) for session in self.inner.open(domain, tasks, seeds)]

    def step(self, sessions: Sequence[Session], actions: Sequence[Action]) -> list[Transition]:
        turns = [Turn(_ours(session), action) for session, action in zip(sessions, actions, strict=True)]
        for turn in turns:
            self._guard(turn, turn.begin, self.source)
        live = [turn for turn in turns if turn.transition is None]
        answers = self.inner.step([turn.session.inner for turn in live], [turn.action for turn in live]) if live else []
        for turn, answer in zip(live, answers, strict=True):
            self._guard(turn, turn.end, answer)
        return [turn.transition for turn in turns if turn.transition is not None]

    def _guard(self, turn: Turn, part: Callable[..., None], given: Any) -> None:
        try:
            part(given)
        except Exception as error:  # noqa: BLE001 - a domain that stumbles over a fault fails that slot alone
            turn.transition = Transition("", self.source, failure=classify(error))

    def fork(self, session: Session) -> Session:
        ours = _ours(session)
        return ours.fork(self.inner.fork(ours.inner))

    def close(self, sessions: Sequence[Session]) -> None:
        self.inner.close([_ours(session).inner for session in sessions])

    def shutdown(self) -> None:
        self.inner.shutdown()

    def describe(self) -> dict[str, Any]:
        return {**self.inner.describe(), "control": self.control.describe()}


def control_backend(backend: Backend, control: Any) -> Backend:
    """`backend` under a control, the same backend when there is none.

    Args:
        backend: to be controlled.
        control: as `Control.of` takes it.

    Raises:
        ConfigError: the control or the combination cannot be.
    """
    wanted = Control.of(control)
    return backend if wanted is None else ControlledBackend(backend, wanted)


def _ours(session: Session) -> ControlledSession:
    if not isinstance(session, ControlledSession):
        raise ConfigError(f"Expected a session of a controlled backend, got a {type(session).__name__}.")
    return session
