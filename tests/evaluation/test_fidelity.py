"""The measurement: known errors give the known numbers, whatever is played at a time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from evaluation.shadowing import Erring

from agentworld_envs import ConfigError
from agentworld_envs.agents import ExpertAgent, LLMAgent, RandomAgent
from agentworld_envs.backends.world_model import WorldModelConfig, config
from agentworld_envs.evaluation.fidelity import Fidelity
from agentworld_envs.evaluation.fidelity_numbers import agreement, mode_report
from agentworld_envs.evaluation.fidelity_report import FidelityReport, Rate
from agentworld_envs.evaluation.shadow_episodes import ScoredEpisode, ScoredStep, SideOutcome, verb_of
from agentworld_envs.interface import Action, Failure
from agentworld_envs.testing import CounterDomain


@pytest.fixture
def erring(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Simulators by name: `scripted:NAME` errs by the function, or is the engine, that the dictionary has for it."""
    simulators: dict[str, Any] = {}
    original = config.build_engine

    def build(model: str, *rest: Any) -> Any:
        chosen = simulators.get(model.partition(":")[2])
        if chosen is None:
            return original(model, *rest)
        return chosen if isinstance(chosen, Erring) else Erring(chosen)

    monkeypatch.setattr(config, "build_engine", build)
    return simulators


def measure(*models: str | WorldModelConfig, **arguments: Any) -> FidelityReport:
    given = {"domain": CounterDomain(), "agent": ExpertAgent(), "episodes": 10, **arguments}
    return Fidelity(given.pop("domain"), models, given.pop("agent"), **given).run()


def test_a_perfect_simulator_has_full_scores_everywhere() -> None:
    report = measure("scripted:oracle", domain="text_world", max_steps=15)
    [model] = report.models
    for mode in model.modes.values():
        for name in ("exact", "edit", "token_f1", "facts"):
            assert mode.scores[name].mean == mode.scores[name].low == mode.scores[name].high == 1.0
        assert mode.scores["facts_invented"].mean == 0.0
        assert mode.contradicting.mean == 0.0
        assert (mode.failed, mode.absent, mode.beyond, mode.unscored, mode.parted) == (0, 0, 0, 0, {})
        assert mode.answered == mode.steps > 40
        assert mode.first_difference.mean is None
    assert model.success.agreement.rate == 1.0
    assert model.success.deceived.count == model.success.missed.count == 0
    assert model.success.real.count == model.success.simulated.count == model.success.replay.count > 0
    assert (model.success.undetermined, model.success.failed) == (0, 0)


def test_known_errors_give_known_numbers(erring: dict[str, Any]) -> None:
    """Every third answer is wrong in one word, every fourth is none."""

    def change(true: str, turn: int, command: str) -> str | Failure:
        if turn % 4 == 0:
            return Failure("provider", "The server is down.", True)
        return true.replace("shows", "has") if turn % 3 == 0 else true

    erring["thirds"] = change
    report = measure("scripted:thirds", modes=["teacher_forced"], seed=3)
    mode = report.models[0].modes["teacher_forced"]
    turns = [step.step for run in mode.runs for step in run.steps]
    failed = [turn for turn in turns if turn % 4 == 0]
    answered = [turn for turn in turns if turn % 4]
    wrong = [turn for turn in answered if turn % 3 == 0]
    assert len(failed) > 5
    assert len(wrong) > 5
    assert (mode.steps, mode.failed, mode.answered) == (len(turns), len(failed), len(answered))
    assert mode.failures == {"provider": len(failed)}
    assert mode.scores["exact"].mean == pytest.approx(1 - len(wrong) / len(answered))
    assert mode.with_failures["exact"].mean == pytest.approx((len(answered) - len(wrong)) / len(turns))
    assert mode.scores["token_f1"].mean == pytest.approx(1 - len(wrong) * (1 / 5) / len(answered))
    assert "facts" not in mode.scores
    by_step = {point.step: point.scores for point in mode.by_step}
    assert {turn: scores["exact"].mean for turn, scores in by_step.items() if scores} == {
        turn: float(turn % 3 != 0) for turn in sorted(set(answered))
    }
    assert mode.by_verb.keys() == {"add"}
    assert mode.first_difference.mean == 3.0
    assert mode.format["tag_found"].mean == pytest.approx(len(answered) / len(turns))
    success = report.models[0].success
    assert (success.real.count, success.simulated.n) == (10, 0)


def test_drift_errors_add_up_only_when_running_free(erring: dict[str, Any]) -> None:
    """A simulator that copies the form of the previous answer: one slip stays in its history."""

    def slip(true: str, turn: int, command: str) -> str:
        return true.replace("counter", "Counter") if turn == 2 else true

    class Copying(Erring):
        def _say(self, request: Any) -> Any:
            said = super()._say(request)
            slipped = any("Counter" in turn.observation for turn in request.session.history)
            return said.replace("counter", "Counter") if slipped else said

    erring["slip"] = Copying(slip)
    report = measure("scripted:slip", modes=["teacher_forced", "free_running"], episodes=6, seed=20, max_steps=8)
    modes = report.models[0].modes
    exact = {
        mode: [point.scores["exact"].mean for point in modes[mode].by_step if point.step <= 4][:4] for mode in modes
    }
    assert exact == {"teacher_forced": [1.0, 0.0, 1.0, 1.0], "free_running": [1.0, 0.0, 0.0, 0.0]}


def test_deceived_and_missed_are_told_apart(erring: dict[str, Any]) -> None:
    """A simulator that adds one more than it is told to makes the agent stop early, one that adds nothing, never."""

    class Optimist(CounterDomain):
        """Its tracker believes every number that it reads."""

        def tracker(self, task: Any) -> Any:
            made = super().tracker(task)

            def observe(action: Any, observation: str) -> None:
                made.state.value = int(observation.rstrip(".").rsplit(" ", 1)[1])  # type: ignore[attr-defined]

            made.observe = observe  # type: ignore[method-assign]
            made.fork = lambda: made  # type: ignore[method-assign]
            return made

    def high(true: str, turn: int, command: str) -> str:
        return f"The counter shows {turn + 1}."

    def low(true: str, turn: int, command: str) -> str:
        return "The counter shows 0."

    erring.update(high=high, low=low)
    targets = [CounterDomain.task(target) for target in (3, 4, 5)]
    report = measure(
        "scripted:high", "scripted:low", domain=Optimist(), tasks=targets, modes=["free_running"], max_steps=7
    )
    high_success, low_success = (model.success for model in report.models)
    assert (high_success.simulated.count, high_success.replay.count, high_success.deceived.count) == (10, 0, 10)
    assert (low_success.simulated.count, low_success.replay.count, low_success.missed.count) == (0, 10, 10)
    assert high_success.agreement.count == low_success.agreement.count == 0
    beyond = report.models[1].modes["free_running"]
    assert beyond.beyond > 0
    assert beyond.parted == {"real decided": 10}


def test_results_do_not_depend_on_how_many_are_played_at_a_time(erring: dict[str, Any]) -> None:
    erring["odd"] = lambda true, turn, command: true if turn % 2 else "?"
    found = [
        measure("scripted:odd", agent=RandomAgent(1), domain="text_world", episodes=7, max_steps=6, num_envs=slots)
        for slots in (1, 4, 9)
    ]
    bare = [
        [
            [{**run.model_dump(), "simulator": None} for run in mode.runs]
            for model in one.models
            for mode in model.modes.values()
        ]
        for one in found
    ]
    assert bare[0] == bare[1] == bare[2]
    scores = [one.models[0].modes["teacher_forced"].scores for one in found]
    assert scores[0] == scores[1] == scores[2]


@pytest.mark.parametrize("script", ["untagged", "truncated", "empty"])
def test_a_simulator_that_always_fails(script: str) -> None:
    report = measure(f"scripted:{script}", episodes=4)
    forced, free = (report.models[0].modes[mode] for mode in ("teacher_forced", "free_running"))
    assert forced.failed == forced.steps
    assert forced.scores == {}
    assert forced.with_failures["exact"].mean == 0.0
    assert free.failed == free.episodes == 4
    assert free.failures == {"simulator_malformed": 4}
    success = report.models[0].success
    assert (success.real.count, success.failed, success.simulated.n, success.deceived.n) == (4, 4, 0, 0)


def test_a_liar_has_no_success() -> None:
    report = measure("scripted:liar", domain="text_world", episodes=4, max_steps=12)
    success = report.models[0].success
    assert success.real.count > 0
    assert (success.simulated.count, success.deceived.count) == (0, 0)


def test_an_agent_that_fails_is_neither_right_nor_wrong() -> None:
    report = measure("scripted:oracle", agent=LLMAgent("scripted:nothing"), episodes=3, max_steps=2)
    mode = report.models[0].modes["teacher_forced"]
    assert (mode.episodes, mode.answered) == (3, 0)  # the counter refuses what it says
    with pytest.raises(ConfigError):
        LLMAgent("scripted:none")


def test_verdicts_that_are_not_determined_are_counted_apart() -> None:
    def run(simulated: str, real: str, told: bool, true: bool) -> ScoredEpisode:
        return ScoredEpisode(
            index=0,
            task_id="t",
            seed=0,
            steps=[],
            real=SideOutcome(status=real, success=true),  # type: ignore[arg-type]
            simulated=SideOutcome(status=simulated, success=told),  # type: ignore[arg-type]
            first_difference=None,
            parting=None,
            failure=None,
        )

    free = [
        run("determined", "determined", True, True),
        run("determined", "determined", True, False),
        run("determined", "determined", False, True),
        run("determined", "determined", False, False),
        run("undetermined", "determined", False, True),
        run("failed", "determined", False, True),
        run("determined", "failed", True, False),
    ]
    found = agreement(free[:4], free)
    assert (found.real.count, found.real.n) == (2, 4)
    assert (found.simulated.count, found.simulated.n) == (3, 5)
    assert (found.replay.count, found.replay.n) == (4, 6)
    assert [(r.count, r.n) for r in (found.agreement, found.deceived, found.missed)] == [(2, 4), (1, 4), (1, 4)]
    assert (found.undetermined, found.failed) == (1, 2)
    assert Rate.of(0, 0).rate is None


def test_intervals_are_by_episode_and_seeded() -> None:
    """Twenty equal steps of one episode say as little as one."""

    def episode(index: int, exact: float, steps: int) -> ScoredEpisode:
        made = [
            ScoredStep(step=n + 1, verb="x", status="answered", scores={"exact": exact}, tag_found=True)
            for n in range(steps)
        ]
        outcome = SideOutcome(status="determined")
        return ScoredEpisode(
            index=index,
            task_id="t",
            seed=index,
            steps=made,
            real=outcome,
            simulated=outcome,
            first_difference=None,
            parting=None,
            failure=None,
        )

    few = mode_report("teacher_forced", [episode(n, float(n % 2), 20) for n in range(6)], seed=1)
    again = mode_report("teacher_forced", [episode(n, float(n % 2), 20) for n in range(6)], seed=1)
    assert few == again
    exact = few.scores["exact"]
    assert exact.low is not None
    assert exact.high is not None
    assert exact.mean == 0.5
    assert exact.low < 0.2 < 0.8 < exact.high
    assert (exact.steps, exact.episodes) == (120, 6)
    assert few.by_step[0].scores["exact"].episodes == 6
    alone = mode_report("teacher_forced", [episode(0, 1.0, 20)]).scores["exact"]
    assert (alone.mean, alone.low, alone.high) == (1.0, None, None)
    assert mode_report("teacher_forced", []).scores == {}


def test_the_report_is_json_and_comes_back() -> None:
    report = measure("scripted:oracle", "scripted:nothing", episodes=2)
    data = json.loads(report.to_json())
    assert [model["label"] for model in data["models"]] == ["scripted:oracle", "scripted:nothing"]
    assert FidelityReport.model_validate_json(report.to_json()) == report


def test_labels() -> None:
    same = WorldModelConfig(model="scripted:oracle", tracked_state=True)
    report = measure("scripted:oracle", same, episodes=1, modes=["teacher_forced"])
    assert [model.label for model in report.models] == ["scripted:oracle (1)", "scripted:oracle (2)"]


@pytest.mark.parametrize(
    ("command", "tool", "verb"),
    [
        ("go to desk 1", "command", "go"),
        ("LANG=C /usr/bin/sort -n x | uniq", "command", "sort"),
        ("./run.sh", "command", "run.sh"),
        ("[]", "command", "[]"),
        ('[{"keystrokes": "x"}]', "command", "keystrokes"),
        ("{ echo; }", "command", "other"),
        ("", "command", "other"),
        ('{"name": "search"}', "search", "search"),
        ("x" * 100, "command", "x" * 24),
    ],
)
def test_kinds_of_commands(command: str, tool: str, verb: str) -> None:
    assert verb_of(Action(tool, {}, command), "command") == verb
    assert verb_of(Action(tool, {}, command), "command", verbs=False) == tool


@pytest.mark.parametrize(
    ("models", "arguments", "message"),
    [
        ([], {}, "at least one model"),
        (["scripted:oracle"], {"episodes": 0}, "episodes >= 1"),
        (["scripted:oracle"], {"modes": []}, "got none"),
        (["scripted:oracle"], {"modes": ["open_loop"]}, "got open_loop"),
        (["scripted:oracle", "scripted:orcle"], {}, "Did you mean 'oracle'"),
    ],
)
def test_wrong_use_is_told_before_anything_is_played(models: Any, arguments: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Fidelity(CounterDomain(), models, ExpertAgent(), **arguments)
