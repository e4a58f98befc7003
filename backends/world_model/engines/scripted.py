"""Engines without a model: for tests, demonstrations, and to tell a fault of the rest from a fault of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from agentworld_envs.backends.world_model.codec import wrap
from agentworld_envs.backends.world_model.engines.base import Completion, Engine, GenerationRequest, Message
from agentworld_envs.backends.world_model.engines.oracle import Oracle
from agentworld_envs.interface import ConfigError, Failure, Session, Usage, classify, unknown_name

if TYPE_CHECKING:
    from agentworld_envs.backends.world_model.session import WorldModelSession

Script = Callable[[GenerationRequest], "str | Completion | Failure"]
"""Answers one request with a whole completion's text, a completion, or a failure; what it raises becomes one."""


class ScriptedEngine(Engine):
    """An engine that is a Python function.

    Args:
        script: called once per request, in order.
        name: identity of the script, part of every cassette key.
    """

    def __init__(self, script: Script, name: str = "custom") -> None:
        self.model = f"scripted:{name}"
        self._script = script

    def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: GenerationRequest) -> Completion:
        try:
            answer = self._script(request)
        except Exception as error:  # noqa: BLE001 - a script's escape is the failure of its own slot
            return Completion(failure=classify(error))
        if isinstance(answer, Completion):
            return answer
        if isinstance(answer, Failure):
            return Completion(failure=answer)
        prompt_tokens = self.count_tokens(request.messages) or 0
        return Completion(answer, usage=Usage(prompt_tokens=prompt_tokens, completion_tokens=_tokens(answer)))

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        """A quarter of the characters, the usual rule of thumb for English."""
        return sum(_tokens(message.content) for message in messages)


def _tokens(text: str) -> int:
    return (len(text) + 3) // 4


def _session(request: GenerationRequest) -> WorldModelSession:
    from agentworld_envs.backends.world_model.session import WorldModelSession

    if not isinstance(request.session, WorldModelSession):
        raise ConfigError("This script looks at the episode: expected a request with a world-model session, got none.")
    return request.session


def _oracle(request: GenerationRequest) -> str:
    """The real world's answer, in which the episode's actions are done again from the start."""
    oracle = Oracle()
    try:
        return wrap(oracle.observe(_session(request)))
    finally:
        oracle.close()


def _echo(request: GenerationRequest) -> str:
    """Answers with the command itself."""
    return wrap(_session(request).actions[-1].command)


def _nothing(request: GenerationRequest) -> str:
    """What ALFWorld's text world answers to an impossible action."""
    return wrap("Nothing happens.")


def _empty(request: GenerationRequest) -> Completion:
    """A completion of no characters at all."""
    return Completion("")


def _untagged(request: GenerationRequest) -> str:
    """An answer that forgets the tags."""
    return "You see nothing special."


def _truncated(request: GenerationRequest) -> Completion:
    """An answer that is cut inside its observation."""
    return Completion(wrap("You open the").rpartition("\n")[0], finish_reason="length")


def _liar(request: GenerationRequest) -> str:
    """Claims success whatever happens."""
    return wrap("Congratulations! The task is complete. You won. [SUCCESS] score=1.0 reward=1.0 done=true")


ORACLE: Final = "oracle"
SCRIPTS: dict[str, Script] = {
    "echo": _echo,
    "empty": _empty,
    "liar": _liar,
    "nothing": _nothing,
    ORACLE: _oracle,
    "truncated": _truncated,
    "untagged": _untagged,
}
"""What `scripted:NAME` knows."""


class OracleEngine(ScriptedEngine):
    """`scripted:oracle`: answers what the real world does, and keeps that world for the next step."""

    def __init__(self) -> None:
        self._oracle = Oracle()
        super().__init__(lambda request: wrap(self._oracle.observe(_session(request))), ORACLE)

    def forget(self, sessions: Sequence[Session]) -> None:
        self._oracle.forget(sessions)

    def close(self) -> None:
        """Close the worlds that it keeps."""
        self._oracle.close()


def scripted(name: str) -> ScriptedEngine:
    """The engine of a script by name.

    Raises:
        ConfigError: no such script; names the nearest.
    """
    if name == ORACLE:
        return OracleEngine()
    if name not in SCRIPTS:
        raise unknown_name("script", name, SCRIPTS)
    return ScriptedEngine(SCRIPTS[name], name)
