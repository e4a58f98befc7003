"""`Slot`: one session's share of one vector step, from the request to the transition."""

from __future__ import annotations

from typing import Any

from agentworld_envs.backends.world_model.codec import OPEN, Prediction, parse_prediction
from agentworld_envs.backends.world_model.context import Prompt
from agentworld_envs.backends.world_model.engines.base import Completion, GenerationRequest, Sampling
from agentworld_envs.backends.world_model.engines.keys import attempt_seed
from agentworld_envs.backends.world_model.session import WorldModelSession
from agentworld_envs.interface import Action, Failure, Frame, MalformedPrediction, Transition, Usage, classify


class Slot:
    """Collects what one session's step costs and how it ends. Whatever goes wrong in it stays in it."""

    def __init__(self, session: WorldModelSession, action: Action) -> None:
        self.session = session
        self.action = action
        self.prompt: Prompt | None = None
        self.transition: Transition | None = None
        """Set when this slot is done."""
        self._usage = Usage()
        self._recorded: Usage | None = None
        self._tries = 0
        self._finish_reason = ""
        self._prediction: Prediction | None = None
        self._frame: Frame | None = None
        self._contradictions: tuple[str, ...] = ()
        self._contradicted: tuple[str, Prediction, str] | None = None

    def set_frame(self) -> None:
        """Ask the domain what is certain around the answer, for a model whose turn is begun for it."""
        told = bool(self.session.turn_instruction)  # then nothing is
        if self.session.tracker is not None and not told:
            self._frame = self.session.tracker.frame(self.action)

    def request(self, sampling: Sampling, prompt_version: str, attempt: int, deadline_s: float) -> GenerationRequest:
        """What to ask at this attempt (0-based); only the seed differs between attempts."""
        assert self.prompt is not None, "the slot's prompt has to be built before it asks"
        if self._frame is not None:
            framed = {"prefill": sampling.prefill + self._frame.lead, "stop": (*sampling.stop, self._frame.stop)}
            sampling = sampling.model_copy(update=framed)
        return GenerationRequest(
            messages=self.prompt.messages,
            sampling=sampling,
            seed=attempt_seed(self.session.seed, len(self.session.history), attempt),
            deadline_s=deadline_s,
            prompt_version=prompt_version,
            session=self.session,
        )

    def take(self, completion: Completion, prefill: str, *, retry_contradiction: bool = False) -> None:
        """Book one answer. The slot is done unless the answer is no prediction, which is worth another try.

        Args:
            completion: the answer.
            prefill: what it was begun with.
            retry_contradiction: whether an answer against the tracked state is worth another try, once.
        """
        self._tries += 1
        self._usage.add(completion.usage)
        if completion.recorded is not None:
            self._recorded = self._recorded or Usage()
            self._recorded.add(completion.recorded)
        self._finish_reason = completion.finish_reason
        if completion.failure is not None:
            if self._contradicted is not None:
                self.give_up()
            else:
                self.fail(completion.failure)
            return
        frame = self._frame
        try:
            begun = prefill + frame.lead if frame is not None else prefill
            self._prediction = parse_prediction(completion.text, completion.reasoning, begun, completion.finish_reason)
            if self._prediction.problem is None:
                text = self._prediction.text
                text = text if frame is None or self._prediction.tag_closed else _ended(text, frame)
                self._check(text)
                told = bool(self.session.turn_instruction)  # then what is not so may be what was asked for
                if self._contradictions and retry_contradiction and not told and self._contradicted is None:
                    self._contradicted = (text, self._prediction, completion.finish_reason)
                else:
                    self._succeed(text)
        except Exception as error:  # noqa: BLE001 - the domain's tracker failed on this episode, not on the others
            self.fail(classify(error))

    def _check(self, text: str) -> None:
        tracker = self.session.tracker
        self._contradictions = () if tracker is None else tuple(tracker.contradictions(self.action, text))

    def know(self) -> None:
        """Finish without the model where the domain's code is certain of the answer."""
        tracker = self.session.tracker
        answer = None if tracker is None else tracker.answer(self.action)
        if answer is not None:
            self._succeed(answer)

    def _succeed(self, observation: str) -> None:
        self.session.advance(self.action, observation)
        tracker = self.session.tracker
        self.transition = Transition(
            observation=observation,
            source="world_model",
            terminated=tracker is not None and tracker.ended,
            usage=self._total(),
            flags=self._flags(),
        )

    def fail(self, failure: Failure) -> None:
        """End this slot without an observation."""
        self.transition = Transition(
            observation="", source="world_model", failure=failure, usage=self._total(), flags=self._flags()
        )

    def give_up(self) -> None:
        """End this slot because its tries or its time are spent."""
        if self._contradicted is not None:  # the other tries gave no prediction at all
            text, self._prediction, self._finish_reason = self._contradicted
            try:
                self._check(text)
                self._succeed(text)
            except Exception as stumble:  # noqa: BLE001 - as in `take`
                self.fail(classify(stumble))
            return
        problem = "no answer" if self._prediction is None else self._prediction.problem
        tries = "1 try" if self._tries == 1 else f"{self._tries} tries"
        hint = (
            "Raise WorldModelConfig(sampling=Sampling(max_tokens=...))."
            if self._finish_reason == "length"
            else f"Expected one {OPEN} block; check the model's chat template, or use WorldModelConfig(prefill=True)."
        )
        error = MalformedPrediction(f"The world model gave no observation in {tries}; lastly {problem}. {hint}")
        self.fail(classify(error))

    def _total(self) -> Usage:
        total = Usage(retries=max(0, self._tries - 1))
        total.add(self._usage)
        return total

    def _flags(self) -> dict[str, Any]:
        """The same keys for every transition, plain values."""
        prediction, recorded = self._prediction, self._recorded
        return {
            "tag_found": prediction is not None and prediction.tag_found,
            "tag_closed": prediction is not None and prediction.tag_closed,
            "empty": prediction is None or prediction.empty,
            "finish_reason": self._finish_reason,
            "reasoning_chars": 0 if prediction is None else len(prediction.reasoning),
            "retries": max(0, self._tries - 1),
            "contradictions": list(self._contradictions),
            "context_trimmed": 0 if self.prompt is None else self.prompt.dropped,
            "recorded_prompt_tokens": 0 if recorded is None else recorded.prompt_tokens,
            "recorded_completion_tokens": 0 if recorded is None else recorded.completion_tokens,
            "recorded_reasoning_tokens": 0 if recorded is None else recorded.reasoning_tokens,
            "recorded_cost": 0.0 if recorded is None else recorded.cost,
        }


def _ended(text: str, frame: Frame) -> str:
    """An observation whose end the model left to code."""
    gap = "" if text.endswith("\n") else "\n"
    return f"{text}{gap}{frame.tail}"
