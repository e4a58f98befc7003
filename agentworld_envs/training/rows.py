"""`WorldModelRows`: recordings as examples for a world model, in the layout in which it is asked at inference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from agentworld_envs.backends.world_model import Message, WorldModelBackend, WorldModelConfig, WorldModelSession
from agentworld_envs.backends.world_model.codec import defuse, wrap
from agentworld_envs.domains import load_domain
from agentworld_envs.interface import Action, ConfigError, Domain, Failed, Injection, classify
from agentworld_envs.training.filters import Filters
from agentworld_envs.training.masking import MaskClass, classify_turn, digest, keeps, measure
from agentworld_envs.training.report import DataReport
from agentworld_envs.training.row import Row, RowUnit, single
from agentworld_envs.trajectories import StepLine, Trajectory


@dataclass(frozen=True, slots=True)
class RowSettings:
    """How recordings become rows."""

    unit: RowUnit = "turn"
    mask: bool = True
    """World model only: draw by class which turns are learned (see `masking`)."""
    seed: int = 0
    """Of that draw (>= 0)."""
    tracked_state: bool = False
    """World model only: as `WorldModelConfig.tracked_state`; use it for both or for neither."""
    state_characters: int | None = None
    """As `WorldModelConfig.state_characters`."""
    filters: Filters = field(default_factory=Filters)

    def __post_init__(self) -> None:
        """Raises: ConfigError: an unknown unit, or a negative seed."""
        if self.unit not in ("turn", "trajectory"):
            raise ConfigError(f"Expected rows to be 'turn' or 'trajectory', got {self.unit!r}.")
        if self.seed < 0:
            raise ConfigError(f"Expected the seed of the rows to be at least 0, got {self.seed}.")


@dataclass(slots=True)
class _Target:
    """A turn with all that its row needs."""

    line: StepLine
    prompt: tuple[Message, ...]
    kind: MaskClass
    source: str
    weight: float = 0.0


class WorldModelRows:
    """Turns episodes into rows. System: the world-model prompt; user: actions; assistant: observations.

    The prompt of a turn is built by the world-model backend itself, so that it is what a model is asked at inference.
    The answer stands in `<predicted_observation>` tags. Chat control tokens in it are broken with a space, as the
    backend does in the history: a trainer's tokeniser would take them for real ones.

    A row of a turn (`unit="turn"`) is one question and its answer. A row of an episode (`unit="trajectory"`) is the
    question of its last learned turn with all its history, where each earlier observation has a weight of its own; they
    are in the layout of turns that are over, without tags.
    """

    def __init__(self, settings: RowSettings | None = None, domain: Domain | None = None) -> None:
        """Args: settings: default: `RowSettings()`. domain: default: the recorded one, by name."""
        self.settings = settings or RowSettings()
        self._domain = domain
        self._domains: dict[str, Domain] = {}
        # Nothing is generated: the backend only builds prompts.
        config = WorldModelConfig.of(
            model="scripted:empty",
            tracked_state=self.settings.tracked_state,
            state_characters=self.settings.state_characters,
        )
        self._backend = WorldModelBackend(config.engine(), config)

    def build(self, trajectory: Trajectory, report: DataReport) -> Iterator[Row]:
        """The rows of one episode, in order of their turns. What is left out is counted in `report`."""
        reason: str | None = self.settings.filters.episode(trajectory)
        targets: list[_Target] = []
        if reason is None:
            try:
                targets = self._targets(trajectory, report)
            except ConfigError:
                raise
            except Exception as error:  # noqa: BLE001 - a task that no simulator can be told of is no data
                reason = f"not_simulable:{classify(error).kind}"
        if reason is not None:
            report.drop_episode(reason, len(trajectory.steps))
            return
        report.episodes += 1
        report.turns += len(trajectory.steps)
        report.turns_dropped["rejected"] += len(trajectory.steps) - len(targets)
        self._weigh(trajectory, targets, report)
        learned = [target for target in targets if target.weight]
        if self.settings.unit == "turn":
            for target in learned:
                yield self._row_of_turn(trajectory, target)
        elif learned:
            yield self._row_of_episode(trajectory, targets[: targets.index(learned[-1]) + 1])

    def _targets(self, trajectory: Trajectory, report: DataReport) -> list[_Target]:
        """Every turn that reached the environment, with the question that a model would have been asked."""
        reset = trajectory.reset
        session = self._backend.open(self._domain_of(trajectory), [reset.task], [reset.seed])[0]
        assert isinstance(session, WorldModelSession)
        if session.failure is not None:
            raise Failed(session.failure)
        history, targets = [reset.observation], []
        for line in trajectory.steps:
            if not line.tool:
                continue
            action = Action(line.tool, line.arguments, line.command)
            history.append(line.command)
            kind = classify_turn(measure(line.observation, history))
            source = digest(reset.domain, reset.task.id, line.step, line.command, line.observation)
            by_code = session.tracker is not None and session.tracker.answer(action) is not None
            prompt = () if by_code else self._backend.prompt(session, action).messages
            targets.append(_Target(line, prompt, kind, source))
            fault, tracker = Injection.recorded(line.flags), session.tracker
            if fault is not None and not fault.executed:
                session.tracker = None  # nothing happened that it could follow
            session.advance(action, line.observation)
            session.tracker = tracker
            history.append(line.observation)
        return targets

    def _domain_of(self, trajectory: Trajectory) -> Domain:
        name = trajectory.reset.domain
        if self._domain is not None:
            return self._domain
        if name not in self._domains:
            self._domains[name] = load_domain(name)
        return self._domains[name]

    def _weigh(self, trajectory: Trajectory, targets: list[_Target], report: DataReport) -> None:
        """Decide which turns are learned, and count all of them."""
        dropped = self.settings.filters.turns(trajectory)
        for target in targets:
            if target.line.step in dropped:
                report.turns_dropped[dropped[target.line.step]] += 1
            elif not target.prompt:  # no model is ever asked
                report.turns_dropped["answered_by_code"] += 1
            elif self.settings.mask and not keeps(target.kind, target.source, self.settings.seed):
                report.turns_masked[target.kind] += 1
            else:
                report.turns_kept[target.kind] += 1
                target.weight = 1.0

    def _row_of_turn(self, trajectory: Trajectory, target: _Target) -> Row:
        return single(
            (*target.prompt, _answer(target)),
            task_id=trajectory.reset.task.id,
            domain=trajectory.reset.domain,
            seed=trajectory.reset.seed,
            turn=target.line.step,
            mask_class=target.kind,
            source=target.source,
        )

    def _row_of_episode(self, trajectory: Trajectory, targets: list[_Target]) -> Row:
        last = targets[-1]
        messages = (*last.prompt, _answer(last))
        loss, kinds = [0.0] * len(messages), [""] * len(messages)
        answers = [index for index, message in enumerate(messages) if message.role == "assistant"]
        for index, target in zip(answers, targets, strict=True):
            loss[index], kinds[index] = target.weight, target.kind
        return Row(
            messages=messages,
            loss=tuple(loss),
            task_id=trajectory.reset.task.id,
            domain=trajectory.reset.domain,
            seed=trajectory.reset.seed,
            turn=last.line.step,
            mask_class=tuple(kinds),
            source=digest(*(target.source for target in targets)),
        )


def _answer(target: _Target) -> Message:
    return Message("assistant", wrap(defuse(target.line.observation)))
