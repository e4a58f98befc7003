"""`EpisodeRunner`: the rules of an episode, batch first. Both environments are thin faces of it.

For every step: parse, let the domain refuse what is malformed in any state, step the backend once for all others,
judge, end what has ended, book the cost, record.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentworld_envs.episode import Episode, StepResult, UnopenedSession, clip
from agentworld_envs.interface import (
    Action,
    Backend,
    ConfigError,
    Domain,
    EpisodeView,
    Failure,
    JudgeError,
    Judgement,
    RewardModel,
    Session,
    Task,
    TaskSource,
    Transition,
    Usage,
    Verdict,
    classify,
)
from agentworld_envs.interface.machines import Machines
from agentworld_envs.ledger import LINE_OF_SOURCE
from agentworld_envs.parsing import ActionParser, Rejection
from agentworld_envs.selection import choose_task
from agentworld_envs.trajectories import TrajectoryWriter

logger = logging.getLogger(__name__)

MAX_PARSERS = 256
"""Tool sets whose compiled parser is kept: tasks of one domain often share theirs, but need not."""


@dataclass(slots=True)
class Turn:
    """One step of one live episode, while it is being made."""

    episode: Episode
    text: Any
    """What the agent wrote."""
    action: Action | None = None
    """What reached the backend; `None` when the text was rejected or refused."""
    transition: Transition | None = None
    reward: float = 0.0


class EpisodeRunner:
    """Opens, steps, forks and closes episodes of one domain on one backend."""

    def __init__(
        self,
        domain: Domain,
        backend: Backend,
        reward: RewardModel,
        tasks: TaskSource,
        *,
        max_steps: int | None = None,
        writer: TrajectoryWriter | None = None,
        machines: Machines | None = None,
        owns_backend: bool = True,
        owns_reward: bool = True,
    ) -> None:
        """Put the parts together.

        Args:
            max_steps: step limit of an episode, `None` for each task's own.
            writer: records every episode; closed with the last user.
            machines: the domain's sandboxes, when they are to be closed with the last user.
            owns_backend: whether to shut the backend down with the last user.
            owns_reward: whether to close the reward model with the last user.
        """
        self.domain = domain
        self.backend = backend
        self.reward = reward
        self.tasks = tasks
        self.max_steps = max_steps
        self.writer = writer
        self._machines = machines
        self._owns_backend = owns_backend
        self._owns_reward = owns_reward
        self._users = 1
        self._warned = False
        self._parsers: dict[str, ActionParser] = {}

    # -- life of an episode ----------------------------------------------------------------------------------------

    def start(self, seeds: Sequence[int], options: Sequence[Mapping[str, Any]]) -> list[Episode]:
        """Start one episode per seed. One that cannot be opened carries its failure and ends at its first step.

        Args:
            seeds: of the episodes; each decides its task, unless its options name one.
            options: what `reset(options=...)` was given for that episode, see `choose_task`.

        Raises:
            ConfigError: unknown option or task, or tools that no action can be parsed for.
        """
        started = time.perf_counter()
        chosen = [self._choose(seed, wanted) for seed, wanted in zip(seeds, options, strict=True)]
        readable = [index for index, task in enumerate(chosen) if isinstance(task, Task)]
        opened = self.backend.open(self.domain, [chosen[i] for i in readable], [seeds[i] for i in readable])
        sessions = dict(zip(readable, opened, strict=True))
        seconds = (time.perf_counter() - started) / max(len(chosen), 1)
        episodes = []
        try:
            for index, (seed, task) in enumerate(zip(seeds, chosen, strict=True)):
                session = sessions[index] if isinstance(task, Task) else task
                episode = self._episode(session, seed)
                episode.ledger.add(0, LINE_OF_SOURCE[self.backend.source], Usage(seconds=seconds))
                if self.writer is not None:
                    self.writer.reset(episode, backend=self._describe(session), reward=self.reward.name)
                episodes.append(episode)
        except BaseException:
            self.backend.close(opened)
            raise
        return episodes

    def _describe(self, session: Session) -> dict[str, Any]:
        """The backend in a recording, with the root file system that the episode ran on."""
        machines = self.domain.machines
        if not session.sandbox or machines is None:
            return self.backend.describe()
        return {**self.backend.describe(), "sandbox": machines.describe()}

    def _choose(self, seed: int, options: Mapping[str, Any]) -> Any:
        """The task, or a session that says why there is none."""
        try:
            return choose_task(self.domain, self.tasks, seed, options)
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - a broken task must not stop the other slots
            name = str(options.get("task_id") or f"{self.tasks.name}, seed {seed}")
            placeholder = Task(id=name, domain=self.domain.name, instruction="")
            return UnopenedSession(self.domain, placeholder, seed, classify(error))

    def _episode(self, session: Session, seed: int) -> Episode:
        limit = self.max_steps if self.max_steps is not None else session.task.max_steps
        parser, instructions = None, ""
        if session.failure is None:
            try:
                parser = self._parser(session.task)
                told = session.task
                if limit != told.max_steps:  # who is told the limit is told the one that holds
                    told = told.model_copy(update={"max_steps": limit})
                instructions = self.domain.instructions(told)
            except ConfigError:
                raise
            except Exception as error:  # noqa: BLE001 - tools that cannot be offered fail their own task
                self.backend.close([session])
                session = UnopenedSession(self.domain, session.task, seed, classify(error))
        return Episode(session, parser, self.backend.name, self.backend.source, limit, instructions)

    def step(self, episodes: Sequence[Episode], actions: Sequence[Any]) -> list[StepResult]:
        """Advance every episode by one action; same order. Never raises on what an agent wrote.

        Episodes that are over stay as they are: same observation and flags, reward 0.
        """
        turns = [Turn(e, text) for e, text in zip(episodes, actions, strict=True) if not e.over]
        for turn in turns:
            self._understand(turn)
        self._advance([turn for turn in turns if turn.action is not None])
        self._judge([turn for turn in turns if turn.transition is not None and turn.episode.failure is None])
        for turn in turns:
            if not turn.episode.over and turn.episode.step_count >= turn.episode.max_steps:
                turn.episode.truncated = True
        self._finish([turn for turn in turns if turn.episode.over and turn.episode.failure is None])
        rewards = {id(turn.episode): turn.reward for turn in turns}
        results = [episode.result(rewards.get(id(episode), 0.0)) for episode in episodes]
        if self.writer is not None:
            written = {id(turn.episode): turn for turn in turns}
            for episode, result in zip(episodes, results, strict=True):
                if id(episode) in written:
                    turn = written[id(episode)]
                    self.writer.step(episode, turn.text, turn.action, turn.transition, result)
        return results

    def fork(self, episode: Episode) -> Episode:
        """An independent episode in the same state. It appears in the recording with its first own step."""
        session = episode.session
        twin = episode.fork(session if isinstance(session, UnopenedSession) else self.backend.fork(session))
        twin.origin = (episode.record_id, episode.step_count) if episode.record_id is not None else episode.origin
        return twin

    def abandon(self, episodes: Sequence[Episode], failure: Failure) -> None:
        """End episodes that cannot go on for a reason outside of the environment (the agent's own model failed)."""
        for episode in episodes:
            if not episode.over:
                self._fail(Turn(episode, ""), failure)

    def close(self, episodes: Sequence[Episode]) -> None:
        """Release episodes. Idempotent."""
        if self.reward.at_end and not self._warned and any(e.step_count and not e.over for e in episodes):
            self._warned = True
            logger.warning(
                "An episode was left before its end, so that its reward (reward=%r is given at the end) was never "
                "determined. Limit episodes with max_steps=..., not with max_episode_steps or TimeLimit, of which the "
                "environment does not know.",
                self.reward.name,
            )
        self.backend.close([e.session for e in episodes if not isinstance(e.session, UnopenedSession)])
        if self.writer is not None:
            for episode in episodes:
                self.writer.close_episode(episode)

    def acquire(self) -> EpisodeRunner:
        """Count one more user (a fork shares the runner of its parent)."""
        self._users += 1
        return self

    def release(self) -> None:
        """Count one user less; the last one shuts everything down."""
        self._users -= 1
        if self._users == 0:
            if self._owns_reward:
                self.reward.close()
            if self._owns_backend:
                self.backend.shutdown()
            if self._machines is not None:
                self._machines.close()
            if self.writer is not None:
                self.writer.close()

    # -- the parts of a step ---------------------------------------------------------------------------------------

    def _parser(self, task: Task) -> ActionParser:
        tools = self.domain.tools(task)
        key = repr(tools)
        if key not in self._parsers:
            if len(self._parsers) >= MAX_PARSERS:
                self._parsers.clear()
            self._parsers[key] = ActionParser(
                tools,
                self.domain.default_tool,
                multiline=self.domain.multiline,
                answer_tool=self.domain.answer_tool,
            )
        return self._parsers[key]

    def _understand(self, turn: Turn) -> None:
        """Parse; what no environment would look at gets its answer here and does not reach the backend."""
        episode = turn.episode
        episode.step_count += 1
        if episode.session.failure is not None:  # it could not even be opened
            episode.truncated = True
            return
        assert episode.parser is not None, "only a failed session has no parser"
        parsed = episode.parser.parse(turn.text)
        if isinstance(parsed, Rejection):
            episode.action_valid = False
            episode.command = parsed.command
            episode.observation = parsed.observation
            return
        episode.command = parsed.command
        try:
            refusal = self.domain.refuse(episode.task, parsed)
        except Exception as error:  # noqa: BLE001 - a domain that stumbles over an action fails that slot alone
            self._fail(turn, classify(error))
            return
        episode.action_valid = refusal is None
        if refusal is None:
            turn.action = parsed
        else:
            episode.observation = clip(refusal)

    def _advance(self, turns: Sequence[Turn]) -> None:
        """One step of the backend for all turns."""
        if not turns:
            return
        started = time.perf_counter()
        sessions = [turn.episode.session for turn in turns]
        actions = [turn.action for turn in turns if turn.action is not None]
        try:
            transitions = self.backend.step(sessions, actions)
            if len(transitions) != len(turns):
                raise RuntimeError(f"{self.backend.name} returned {len(transitions)} transitions for {len(turns)}.")
        except Exception as error:  # noqa: BLE001 - a backend that breaks its contract fails these slots, not the run
            failure = classify(error)
            transitions = [Transition("", self.backend.source, failure=failure) for _ in turns]
        seconds = (time.perf_counter() - started) / len(turns)
        for turn, action, transition in zip(turns, actions, transitions, strict=True):
            turn.transition = transition
            episode = turn.episode
            usage = transition.usage if transition.usage is not None else Usage(seconds=seconds)
            episode.ledger.add(episode.step_count, LINE_OF_SOURCE[transition.source], usage, transition.fault)
            for source, spent in transition.other_usage:
                episode.ledger.add(episode.step_count, LINE_OF_SOURCE[source], spent)
            episode.source = transition.source
            if transition.observation or transition.failure is None:
                episode.observation = clip(transition.observation)
            if transition.failure is not None:
                self._fail(turn, transition.failure)
                continue
            if transition.executed:
                episode.transcript.append((action, transition.observation))
            episode.terminated = transition.terminated

    def _judge(self, turns: Sequence[Turn]) -> None:
        """Score the new state; a verdict that is done ends the episode."""
        for turn, judgement in self._judgements(turns, lambda views, _: self.reward.step(views)):
            if self._score(turn, judgement) and judgement.verdict.done:
                turn.episode.terminated = True

    def _finish(self, turns: Sequence[Turn]) -> None:
        """Score the end of an episode."""
        for turn, judgement in self._judgements(turns, self.reward.final):
            self._score(turn, judgement)

    def _judgements(
        self,
        turns: Sequence[Turn],
        ask: Callable[[Sequence[EpisodeView], Sequence[Judgement]], list[Judgement]],
    ) -> list[tuple[Turn, Judgement]]:
        """Ask a reward model about all turns at once; when that raises, one by one, so that only the culprit fails."""
        if not turns:
            return []
        views = [EpisodeView(turn.episode.session, turn.episode.transcript, turn.episode.step_count) for turn in turns]
        latest = [Judgement(Verdict(turn.episode.score, turn.episode.success)) for turn in turns]
        try:
            return list(zip(turns, ask(views, latest), strict=True))
        except Exception as error:  # noqa: BLE001 - a reward that cannot be determined is a failure, never a 0
            if len(turns) > 1:
                return [pair for turn in turns for pair in self._judgements([turn], ask)]
            return [(turns[0], Judgement(latest[0].verdict, classify(error)))]

    def _score(self, turn: Turn, judgement: Judgement) -> bool:
        """Book a judgement; returns whether it holds."""
        episode, verdict = turn.episode, judgement.verdict
        if judgement.usage is not None:
            episode.ledger.add(episode.step_count, "judge", judgement.usage)
        failure = judgement.failure
        if failure is None and not _sound(verdict):
            failure = classify(JudgeError(f"Expected a score in [0, 1], got {verdict!r:.200} ({self.reward.name})."))
        if failure is not None:
            self._fail(turn, failure)
            return False
        turn.reward += float(verdict.score - episode.score)
        episode.score = float(verdict.score)
        episode.success = bool(verdict.success)
        return True

    @staticmethod
    def _fail(turn: Turn, failure: Failure) -> None:
        """A failure is not a reward: the episode is truncated, and no reward of it may be learned from."""
        episode = turn.episode
        turn.reward = 0.0
        episode.failure = failure
        episode.reward_valid = False
        episode.terminated = False
        episode.truncated = True


def _sound(verdict: Any) -> bool:
    """Whether a domain or a reward model really gave a verdict; theirs is not always type-checked code."""
    return isinstance(verdict, Verdict) and isinstance(verdict.score, int | float) and 0.0 <= verdict.score <= 1.0
