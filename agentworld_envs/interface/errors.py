"""Errors by who can act on them, and the one place that turns an escape into a `Failure`.

Three rules:

1. What the *user* got wrong (a name, a path, a configuration) raises `ConfigError`, early, with what was
   expected, what was found and what to try.
2. What the *agent* got wrong never raises: it is an observation, and the step counts.
3. What the *machinery* got wrong (a sandbox, a simulator, a provider, a judge) becomes a `Failure` on the
   transition. A failure ends the episode as truncated with `info["reward_valid"] = False`: it is never a reward.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar, NamedTuple


class Failure(NamedTuple):
    """What went wrong outside the agent. Plain and immutable, so that it can live in `info` of a vector env.

    (A tuple and not a dict: Gymnasium's vector envs merge dicts key by key and cannot mix them with `None`.)
    """

    kind: str
    """Machine-readable cause, the `kind` of one of the error classes below."""
    message: str
    """One sentence for a person: expected, actual, what to do next."""
    retryable: bool
    """Whether the same step may well succeed when tried again."""


class AgentWorldError(Exception):
    """Base of every error of this package."""

    kind: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False


class ConfigError(AgentWorldError, ValueError):
    """The user asked for something that cannot be: raised at construction or at reset."""

    kind = "config"


class MissingExtraError(ConfigError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""

    kind = "missing_extra"


class TaskError(AgentWorldError):
    """A task cannot be opened: its data is broken or its game cannot be played."""

    kind = "task"


class SandboxError(AgentWorldError):
    """The machine behind the real backend failed."""

    kind = "sandbox"
    retryable = True


class SandboxDead(SandboxError):
    """The sandbox is gone, silent, or broke the protocol. Nothing more can be asked of it."""

    kind = "sandbox_dead"


class SessionLost(SandboxError):
    """The sandbox lives, but no shell can be started in it any more."""

    kind = "sandbox_session_lost"


class Tampered(SandboxError):
    """A command tried to forge its own result. Its shell was ended; the next command gets a new one."""

    kind = "sandbox_tampered"
    retryable = False


class SandboxRefused(SandboxError, OSError):
    """A file in the sandbox cannot be read or written: not there, not allowed, of the wrong kind, or too large."""

    kind = "sandbox_refused"
    retryable = False


class CommandTimeout(SandboxError, TimeoutError):
    """A command that had to finish did not do so in its time."""

    kind = "sandbox_command_timeout"

    def __init__(self, message: str, stdout: str = "", stderr: str = "") -> None:
        """Keep what the command had written until then."""
        super().__init__(message)
        self.stdout = stdout
        self.stderr = stderr


class ProviderError(AgentWorldError):
    """A model server failed: unreachable, refused the request, or broke the protocol."""

    kind = "provider"
    retryable = True


class ProviderTimeout(ProviderError, TimeoutError):
    """A request was cut at its deadline."""

    kind = "provider_timeout"


class ProviderOverloaded(ProviderError):
    """The server answered 429 or 5xx until the retries were spent."""

    kind = "provider_overloaded"


class ProviderRejected(ProviderError):
    """The server refused the request for good (4xx other than 408, 409, 425 and 429)."""

    kind = "provider_rejected"
    retryable = False


class CassetteMiss(ProviderError):
    """A cassette in mode `replay-or-fail` has no record of this request."""

    kind = "cassette_miss"
    retryable = False


class SimulatorError(AgentWorldError):
    """The world model answered, but not with an observation."""

    kind = "simulator"
    retryable = True


class MalformedPrediction(SimulatorError):
    """No observation tag, a tag that never closes, or an empty completion, also after the retries."""

    kind = "simulator_malformed"


class ContextOverflow(SimulatorError):
    """The episode no longer fits in the model's context."""

    kind = "context_overflow"
    retryable = False


class Failed(AgentWorldError):
    """Carries a failure that was determined elsewhere, for example in the recording that is being replayed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class JudgeError(AgentWorldError):
    """The reward could not be determined."""

    kind = "judge"
    retryable = True


class ReplayDivergence(AgentWorldError):
    """A recorded episode was stepped with an action that was not recorded there."""

    kind = "replay_divergence"


def classify(error: BaseException) -> Failure:
    """Turn any escape into a `Failure`. The only place that does so.

    Args:
        error: what was raised while opening, stepping or judging one episode.

    Returns:
        The failure; errors that are not ours are of kind `internal` (`timeout` for a `TimeoutError`).
    """
    if isinstance(error, Failed):
        return error.failure
    message = str(error) or type(error).__name__
    if isinstance(error, AgentWorldError):
        return Failure(error.kind, message, error.retryable)
    if isinstance(error, TimeoutError):
        return Failure("timeout", message, True)
    return Failure("internal", f"{type(error).__name__}: {message}", False)


def unknown_name(what: str, name: object, known: Iterable[str]) -> ConfigError:
    """A `ConfigError` for a name that does not exist, with the nearest ones that do.

    Args:
        what: the noun, e.g. `"backend"`.
        name: what the user wrote.
        known: every name that would have been right.
    """
    names = sorted(known)
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    if near:
        hint = f"Did you mean {' or '.join(map(repr, near))}?"
    else:
        hint = f"Known: {', '.join(names[:20]) or 'none'}."
    return ConfigError(f"Unknown {what} {name!r}. {hint}")
