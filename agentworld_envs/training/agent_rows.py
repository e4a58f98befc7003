"""`AgentRows`: successful episodes as examples for an agent, in the layout in which `LLMAgent` asks its model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agentworld_envs.agents.llm import MAX_TURNS, chat, system_message
from agentworld_envs.backends.world_model import Message
from agentworld_envs.backends.world_model.codec import defuse
from agentworld_envs.domains import load_domain
from agentworld_envs.interface import Domain
from agentworld_envs.parsing import ActionParser, Rejection, strip_reasoning
from agentworld_envs.training.masking import digest
from agentworld_envs.training.report import DataReport
from agentworld_envs.training.row import NO_CLASS, Row, single
from agentworld_envs.training.rows import RowSettings
from agentworld_envs.trajectories import StepLine, Trajectory

Slips = Callable[[Trajectory, int], bool]
"""Whether the action of a step (1-based) was a slip and not the agent's choice."""


@dataclass(slots=True)
class _Turn:
    """One action of the agent."""

    line: StepLine
    answer: str
    """What the agent is taught to write."""
    why_not: str
    """Why it is not learned; empty when it is."""


class AgentRows:
    """Turns solved episodes into rows. System: rules and tools; user: observations; assistant: `<action>` tags.

    Actions that were rejected, that are part of a loop, or that were slips stay in the dialogue, since later actions
    answer to what came of them, but are not learned. A row of a turn shows the latest `MAX_TURNS` turns, as `LLMAgent`
    does; a row of an episode shows all.
    """

    def __init__(
        self, settings: RowSettings | None = None, domain: Domain | None = None, slips: Slips | None = None
    ) -> None:
        """Args: settings: the mask and the tracked state are not used. domain: default: the recorded one, by name.
        slips: which actions are not to be learned; default: none.
        """
        self.settings = settings or RowSettings()
        self._domain = domain
        self._slips = slips or (lambda trajectory, step: False)

    def build(self, trajectory: Trajectory, report: DataReport) -> Iterator[Row]:
        """The rows of one episode, in order of their turns. What is left out is counted in `report`."""
        reason: str | None = self.settings.filters.episode(trajectory)
        if reason is None and not trajectory.success:
            reason = "not_solved"
        if reason is not None:
            report.drop_episode(reason, len(trajectory.steps))
            return
        report.episodes += 1
        report.turns += len(trajectory.steps)
        turns = self._turns(trajectory)
        for turn in turns:
            if turn.why_not:
                report.turns_dropped[turn.why_not] += 1
            else:
                report.turns_kept[NO_CLASS] += 1
        learned = [index for index, turn in enumerate(turns) if not turn.why_not]
        if self.settings.unit == "turn":
            for index in learned:
                yield self._row(trajectory, turns, index, MAX_TURNS)
        elif learned:
            yield self._row_of_episode(trajectory, turns[: learned[-1] + 1])

    def _turns(self, trajectory: Trajectory) -> list[_Turn]:
        reset = trajectory.reset
        domain = self._domain or load_domain(reset.domain)
        parser = ActionParser(
            reset.tools, domain.default_tool, multiline=domain.multiline, answer_tool=domain.answer_tool
        )
        dropped = self.settings.filters.turns(trajectory)
        turns = []
        for line in trajectory.steps:
            why = str(dropped.get(line.step, ""))
            # What the observation is like is not what the agent wrote.
            why = "" if why in ("clipped", "fault") else why
            if not why and self._slips(trajectory, line.step):
                why = "slip"
            answer = f"<action>{line.command}</action>" if line.tool else strip_reasoning(line.action)
            if not why and not _means(answer, line, parser):
                why = "unwritable"
            turns.append(_Turn(line, answer, why))
        return turns

    def _row(self, trajectory: Trajectory, turns: list[_Turn], index: int, window: int) -> Row:
        """The row of turn `index` with the `window` turns before it."""
        reset, turn = trajectory.reset, turns[index]
        start = max(0, index - window)
        shown = [(past.answer, past.line.observation) for past in turns[start:index]]
        system = system_message({"instructions": reset.instructions, "tools": reset.tools})
        messages = [*chat(system, reset.observation, shown, start), Message("assistant", defuse(turn.answer))]
        return single(
            messages,
            task_id=reset.task.id,
            domain=reset.domain,
            seed=reset.seed,
            turn=turn.line.step,
            mask_class=NO_CLASS,
            source=_digest(trajectory, turn),
        )

    def _row_of_episode(self, trajectory: Trajectory, turns: list[_Turn]) -> Row:
        whole = self._row(trajectory, turns, len(turns) - 1, len(turns))
        loss, kinds = [0.0] * len(whole.messages), [""] * len(whole.messages)
        answers = [index for index, message in enumerate(whole.messages) if message.role == "assistant"]
        for index, turn in zip(answers, turns, strict=True):
            loss[index], kinds[index] = float(not turn.why_not), NO_CLASS
        return Row(
            messages=whole.messages,
            loss=tuple(loss),
            task_id=whole.task_id,
            domain=whole.domain,
            seed=whole.seed,
            turn=whole.turn,
            mask_class=tuple(kinds),
            source=digest(*(_digest(trajectory, turn) for turn in turns)),
        )


def _digest(trajectory: Trajectory, turn: _Turn) -> str:
    reset = trajectory.reset
    return digest(reset.domain, reset.task.id, turn.line.step, turn.answer, turn.line.observation)


def _means(answer: str, line: StepLine, parser: ActionParser) -> bool:
    """Whether the environment reads `answer`, as a tokeniser will give it back, as the recorded action."""
    parsed = parser.parse(defuse(answer))
    return not isinstance(parsed, Rejection) and (parsed.tool, dict(parsed.arguments)) == (line.tool, line.arguments)
