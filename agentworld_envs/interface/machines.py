"""Where sandboxes come from: a `Provider` makes them on one kind of machinery, `Machines` hand them to worlds."""

from __future__ import annotations

import abc
from types import TracebackType
from typing import Any, Self

from agentworld_envs.interface.sandbox import Sandbox
from agentworld_envs.interface.sandbox_facts import Bound, Usability


class Provider(abc.ABC):
    """Makes sandboxes of one configuration. May be used from several threads, but not in a forked child."""

    @abc.abstractmethod
    def probe(self) -> Usability:
        """Whether this kind works here: tries it. Never raises."""

    @abc.abstractmethod
    def bounds(self) -> list[Bound]:
        """How each limit is kept on this machine. Raises SandboxError when the kind is not usable."""

    @abc.abstractmethod
    def describe(self) -> dict[str, Any]:
        """What the sandboxes are made of, for the record of an episode: `kind`, `root` (what the root file system is)
        and `digest` (changes with its contents). Raises SandboxError when it cannot be told."""

    @abc.abstractmethod
    def start(self) -> Sandbox:
        """A new sandbox.

        Raises:
            SandboxError: the machine failed; the message says what to do.
        """

    @abc.abstractmethod
    def shutdown(self) -> None:
        """End all sandboxes and forget all snapshots. Shutting down twice does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()


class Machines(abc.ABC):
    """Where worlds take their sandboxes from. May be used from several threads."""

    @abc.abstractmethod
    def take(self) -> Sandbox:
        """A new sandbox; the caller closes it.

        Raises:
            SandboxError: none can be had; the message says what to do.
        """

    @property
    @abc.abstractmethod
    def kind(self) -> str:
        """`namespace`, `docker` or `local`; chosen at the first call. Raises SandboxError when none is usable."""

    @abc.abstractmethod
    def describe(self) -> dict[str, Any]:
        """What a recording has to know of them: kind, root and its digest, limits. JSON. Raises SandboxError."""

    @abc.abstractmethod
    def acquire(self) -> Self:
        """Count one more user, who closes it, too. They may be used again after all users have closed them."""

    @abc.abstractmethod
    def close(self) -> None:
        """Count one user less; with the last one, what was kept ready ends."""
