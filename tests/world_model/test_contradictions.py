"""Answers against what an episode has established: flagged, and asked again once where that is wanted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from world_model.toy import ToyDomain, ToyTracker, act, make_task

from agentworld_envs.backends.world_model import (
    Completion,
    GenerationRequest,
    ScriptedEngine,
    WorldModelBackend,
    WorldModelConfig,
)
from agentworld_envs.backends.world_model.codec import wrap
from agentworld_envs.interface import Action, ConfigError, Failure, Task, Tracker, Transition

GOOD, BAD, WORSE = "The counter shows 1.", "The counter shows 7.", "The counter shows 8."
DOWN = Failure("provider", "the server is down", True)


class Watching(ToyTracker):
    """Knows what the counter has to show."""

    def contradictions(self, action: Action, observation: str) -> list[str]:
        if self.task.initial_state.get("stumbles"):
            raise RuntimeError("no idea")
        expected = f"The counter shows {self.value + int(action.command.partition(' ')[2] or 0)}."
        return [] if observation == expected else [f"Expected {expected!r}, got {observation!r}."]

    def recall(self, action: Action, limit: int) -> str:
        return f"The counter is at {self.value}, before {action.command}."[:limit]

    def fork(self) -> Watching:
        return Watching(self.task, self.value, self.over)


class WatchedDomain(ToyDomain):
    def tracker(self, task: Task) -> Tracker:
        return Watching(task)


class Script:
    """Gives these answers, one per request."""

    def __init__(self, *answers: str | Completion | Failure) -> None:
        self.answers = list(answers)
        self.requests: list[GenerationRequest] = []

    def __call__(self, request: GenerationRequest) -> str | Completion | Failure:
        self.requests.append(request)
        answer = self.answers.pop(0)
        return wrap(answer) if isinstance(answer, str) else answer


def backend(script: Script, **fields: object) -> WorldModelBackend:
    config = WorldModelConfig.of(model="scripted:oracle", **{"retry_contradictions": True, **fields})
    return WorldModelBackend(ScriptedEngine(script), config)


def step(script: Script, commands: Sequence[str] = ("add 1",), **fields: object) -> Transition:
    """The last transition of an episode."""
    b = backend(script, **fields)
    (session,) = b.open(WatchedDomain(), [make_task(9)], [5])
    for command in commands:
        (transition,) = b.step([session], [act(command)])
    return transition


def test_a_contradiction_is_only_flagged_by_default() -> None:
    script = Script(BAD)
    transition = step(script, retry_contradictions=False)
    assert transition.observation == BAD
    assert transition.flags["contradictions"] == [f"Expected {GOOD!r}, got {BAD!r}."]
    assert transition.flags["retries"] == 0


def test_a_good_second_answer_is_taken() -> None:
    script = Script(BAD, GOOD)
    transition = step(script)
    assert (transition.observation, transition.failure) == (GOOD, None)
    assert transition.flags["contradictions"] == []
    assert transition.flags["retries"] == 1
    assert transition.usage is not None
    assert transition.usage.retries == 1
    first, second = script.requests
    assert first.messages == second.messages
    assert first.seed != second.seed


def test_a_second_contradiction_is_taken_as_it_is() -> None:
    transition = step(Script(BAD, WORSE))
    assert transition.observation == WORSE
    assert transition.flags["contradictions"] == [f"Expected {GOOD!r}, got {WORSE!r}."]
    assert transition.failure is None


@pytest.mark.parametrize(
    "second", [[DOWN], [Completion("no tag"), Completion("no tag")], [Completion(""), DOWN]], ids=str
)
def test_where_the_second_try_fails_the_first_answer_is_taken(second: list[Completion | Failure]) -> None:
    transition = step(Script(BAD, *second))
    assert (transition.observation, transition.failure) == (BAD, None)
    assert transition.flags["contradictions"] == [f"Expected {GOOD!r}, got {BAD!r}."]
    assert transition.flags["retries"] == len(second)


def test_a_malformed_answer_in_between_is_no_second_answer() -> None:
    transition = step(Script(BAD, Completion("no tag"), GOOD))
    assert transition.observation == GOOD
    assert transition.flags["retries"] == 2


def test_asking_again_needs_a_retry() -> None:
    with pytest.raises(ConfigError, match="needs max_retries of at least 1"):
        step(Script(BAD), max_retries=0)
    bundled = WorldModelConfig.of(model="bundled:text_world", retry_contradictions=True)
    assert bundled.max_retries > 0


def test_the_answer_that_is_kept_keeps_its_flags() -> None:
    cut = Completion("no tag", finish_reason="length")
    transition = step(Script(BAD, cut, cut))
    assert transition.observation == BAD
    flags = {name: transition.flags[name] for name in ("tag_found", "tag_closed", "finish_reason", "retries")}
    assert flags == {"tag_found": True, "tag_closed": True, "finish_reason": "stop", "retries": 2}


def test_a_frame_that_stumbles_is_the_failure_of_its_own_slot() -> None:
    class Framed(WatchedDomain):
        def tracker(self, task: Task) -> Tracker:
            tracker = Watching(task)
            if task.initial_state.get("unframed"):
                tracker.frame = lambda action: 1 / 0  # type: ignore[method-assign, return-value]
            return tracker

    b = backend(Script(GOOD), prefill=True)
    tasks = [make_task(9), make_task(9).model_copy(update={"initial_state": {"unframed": True}})]
    one, other = b.step(b.open(Framed(), tasks, [0, 1]), [act("add 1")] * 2)
    assert one.observation == GOOD
    assert other.failure is not None


def test_a_failure_first_is_a_failure() -> None:
    transition = step(Script(DOWN))
    assert transition.failure == DOWN


def test_others_of_the_batch_do_not_wait_for_a_second_answer() -> None:
    script = Script(BAD, GOOD, GOOD)
    b = backend(script)
    sessions = b.open(WatchedDomain(), [make_task(9)] * 2, [0, 1])
    transitions = b.step(sessions, [act("add 1")] * 2)
    assert [t.observation for t in transitions] == [GOOD, GOOD]
    assert [t.flags["retries"] for t in transitions] == [1, 0]


def test_the_evidence_follows_the_answer_that_was_taken() -> None:
    b = backend(Script(BAD, GOOD))
    (session,) = b.open(WatchedDomain(), [make_task(1)], [0])
    b.step([session], [act("add 1")])
    assert session.verdict().success


def test_a_tracker_that_stumbles_fails_its_own_slot() -> None:
    b = backend(Script(GOOD, GOOD))
    sessions = b.open(WatchedDomain(), [make_task(1, stumbles=True), make_task(1)], [0, 1])
    first, second = b.step(sessions, [act("add 1")] * 2)
    assert first.failure is not None
    assert second.failure is None


def test_the_tracked_state_is_in_the_last_user_message_only() -> None:
    script = Script(GOOD, "The counter shows 2.", "The counter shows 3.")
    step(script, ["add 1"] * 3, tracked_state=True, state_characters=40)
    for value, request in enumerate(script.requests):
        *earlier, last = request.messages
        assert last.content.startswith(
            f"### Turn {value + 1}\n**Current State:**\nThe counter is at {value}, before add 1."
        )
        assert all("is at" not in message.content for message in earlier)
    first, second, third = (request.messages[:-1] for request in script.requests)
    assert third[: len(second)] == second
    assert second[: len(first)] == first
