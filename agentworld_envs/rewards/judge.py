"""`reward="judge:MODEL"`: a language model says whether the answer that was handed in means the right one.

LiteResearcher's reward (papers, section on the reward): binary, 0 without an answer. Unlike there, a judge that fails
is a failure of the episode, and never a reward by other means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files

from agentworld_envs.backends.world_model.cassette import CassetteConfig, CassetteEngine
from agentworld_envs.backends.world_model.codec import defuse, fence
from agentworld_envs.backends.world_model.engines import (
    Completion,
    Engine,
    GenerationRequest,
    Message,
    Sampling,
    build_engine,
)
from agentworld_envs.backends.world_model.engines.keys import attempt_seed
from agentworld_envs.interface import (
    ConfigError,
    Domain,
    EpisodeView,
    Failure,
    JudgeError,
    Judgement,
    RewardModel,
    Usage,
    Verdict,
    classify,
)
from agentworld_envs.parsing import strip_reasoning

LONGEST = 4000
"""Characters of an answer that a judge is shown."""
SAMPLING = Sampling(temperature=0.0, top_p=1.0, top_k=0, max_tokens=2048)
_CASE = """\
# Question
{question}

# Reference answer
{reference}

# Answer that was handed in
{answer}

The code word is {word}. Does the answer that was handed in mean the same as the reference? End with `{word}: right` \
or `{word}: wrong`."""


@dataclass(slots=True)
class _Case:
    """One answer to be judged."""

    view: EpisodeView
    question: str
    reference: str
    answer: str
    attempts: int = 0
    verdict: bool | None = None
    failure: Failure | None = None
    usage: Usage = field(default_factory=Usage)

    @property
    def word(self) -> str:
        """What the verdict begins with. An answer cannot hold it: it depends on the reference and the seed."""
        seed = self.view.session.seed
        return "V" + sha256(f"{seed}\n{self.reference}\n{self.question}".encode("utf-8", "replace")).hexdigest()[:8]


class JudgeReward(RewardModel):
    """Scores 0 until the episode ends, then 1 when the answer is right and 0 when it is not.

    What the domain's own code finds right is right without asking. The judge is shown question, reference and answer,
    no observation and no thought of the agent. An answer that it does not give a verdict on, that is cut off, and a
    model that fails, are asked again with another seed; then the reward is undetermined: a `JudgeError`.
    """

    name = "judge"
    at_end = True

    def __init__(
        self,
        model: str | Engine,
        *,
        sampling: Sampling = SAMPLING,
        cassette: str | None = None,
        retries: int = 2,
        seed: int = 0,
        deadline_s: float = 300.0,
    ) -> None:
        """Load and contact nothing yet.

        Args:
            model: a model string, as for a world model, or an engine, which stays its giver's to close.
            sampling: how verdicts are drawn; greedy by default.
            cassette: `FILE`, `record:FILE` or `replay-or-fail:FILE`: the judge's answers.
            retries: how often a case is asked again (>= 0).
            seed: of the judge (>= 0), mixed with the episode's.
            deadline_s: seconds that one verdict may take.

        Raises:
            ConfigError: a malformed model string, or a number out of range.
            MissingExtraError: the engine's package is not installed.
        """
        if retries < 0 or seed < 0 or deadline_s <= 0:
            raise ConfigError(
                f"Expected retries and seed of at least 0 and a deadline, got {retries}, {seed}, {deadline_s}."
            )
        self._owned = isinstance(model, str)
        engine = build_engine(model) if isinstance(model, str) else model
        self.engine: Engine = CassetteEngine(engine, CassetteConfig.parse(cassette)) if cassette is not None else engine
        self.engine.check()
        self.engine.check_sampling(sampling)
        self._sampling, self._retries, self._seed, self._deadline_s = sampling, retries, seed, deadline_s

    def check(self, domain: Domain) -> None:
        if domain.answer_tool is None:
            raise ConfigError(
                f"A judge compares answers, and in the domain {domain.name!r} none is handed in. Use reward='verifier'."
            )

    def step(self, episodes: Sequence[EpisodeView]) -> list[Judgement]:
        return [Judgement(Verdict(0.0, False, view.session.verdict().done)) for view in episodes]

    def final(self, episodes: Sequence[EpisodeView], latest: Sequence[Judgement]) -> list[Judgement]:
        prepared = [self._prepare(view) for view in episodes]
        self._ask([one for one in prepared if isinstance(one, _Case)])
        return [one if isinstance(one, Judgement) else self._judgement(one) for one in prepared]

    def close(self) -> None:
        if self._owned:
            self.engine.close()

    def _prepare(self, view: EpisodeView) -> _Case | Judgement:
        """What has to be asked, or the judgement that needs no asking."""
        domain, task = view.session.domain, view.session.task
        answer = _answer(view)
        if answer is None or not answer.strip():
            return Judgement(Verdict(0.0, False))
        if view.session.final(view.steps).success:
            return Judgement(Verdict(1.0, True))
        reference = domain.reference(task)
        if reference is None:
            error = JudgeError(f"The task {task.id!r} has no answer that a judge could compare with.")
            return Judgement(Verdict(0.0, False), classify(error)._replace(retryable=False))
        return _Case(view, task.instruction, reference, answer)

    def _ask(self, cases: Sequence[_Case]) -> None:
        """Ask until every case has a verdict, or its tries are spent: one wave per try."""
        left = list(cases)
        for attempt in range(self._retries + 1):
            if not left:
                return
            completions = self.engine.answer([self._request(case, attempt) for case in left])
            for case, completion in zip(left, completions, strict=True):
                _take(case, completion)
            left = [c for c in left if c.verdict is None and (c.failure is None or c.failure.retryable)]

    def _request(self, case: _Case, attempt: int) -> GenerationRequest:
        shown = case.answer
        if len(shown) > LONGEST:
            shown = f"{shown[:LONGEST]}\n[{len(case.answer) - LONGEST} more characters are not shown]"
        text = _CASE.format(
            question=fence(case.question, "text"),
            reference=fence(case.reference, "text"),
            answer=fence(shown, "text"),
            word=case.word,
        )
        return GenerationRequest(
            messages=(Message("system", _system()), Message("user", defuse(text))),
            sampling=self._sampling,
            seed=attempt_seed(case.view.session.seed, case.view.steps, 1000 * self._seed + attempt),
            deadline_s=self._deadline_s,
            prompt_version=_version(),
        )

    @staticmethod
    def _judgement(case: _Case) -> Judgement:
        if case.verdict is not None:
            return Judgement(Verdict(float(case.verdict), case.verdict), usage=case.usage)
        why = case.failure.message if case.failure is not None else "its answers ended in no verdict"
        failure = classify(JudgeError(f"The judge was asked {case.attempts} times and did not decide: {why}"))
        return Judgement(Verdict(0.0, False), failure, case.usage)


def _take(case: _Case, completion: Completion) -> None:
    case.attempts += 1
    case.usage.add(completion.usage)
    case.failure = completion.failure
    if completion.failure is None and completion.finish_reason != "length":
        text = strip_reasoning(completion.text)
        if not completion.text.strip() and completion.finish_reason == "stop":
            # Some servers put an answer without any thinking into the reasoning channel.
            text = strip_reasoning(completion.reasoning)
        case.verdict = read_verdict(text, case.word)


def read_verdict(text: str, word: str) -> bool | None:
    """The verdict that is the last line which is not empty; `None` means that there is none.

    Who weighs both verdicts, or breaks off, has not decided. So a verdict within a sentence does not count.
    """
    last = text.strip().rpartition("\n")[2]
    found = re.fullmatch(rf"\W{{0,8}}{re.escape(word)}\W{{0,8}}(right|wrong)\W{{0,8}}", last, re.IGNORECASE)
    return found[1].lower() == "right" if found else None


def _answer(view: EpisodeView) -> str | None:
    """What the agent handed in last; `None` when it handed in nothing."""
    tool = view.session.domain.answer_tool
    for action, _ in reversed(view.transcript):
        if action.tool == tool:
            return str(next(iter(action.arguments.values()), ""))
    return None


@cache
def _system() -> str:
    return files(__package__).joinpath("prompts", "answer_judge.txt").read_text(encoding="utf-8").strip()


@cache
def _version() -> str:
    return "answer-judge-" + sha256(f"{_CASE}\n{_system()}".encode()).hexdigest()[:12]
