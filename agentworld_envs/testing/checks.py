"""Checks of a single environment. Each takes a factory of environments."""

from __future__ import annotations

import copy
import io
import random
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stdout
from typing import Any, Protocol

import numpy as np
from gymnasium.utils.env_checker import check_env

from agentworld_envs.env import AgentWorldEnv
from agentworld_envs.interface import Action, Domain, TaskSource
from agentworld_envs.parsing import ActionParser
from agentworld_envs.testing.play import BAD_ACTIONS, assert_same, expert_plan, go_on, play

INFO_KEYS = {
    "task_id",
    "seed",
    "step",
    "backend",
    "source",
    "sandbox",
    "action_valid",
    "command",
    "admissible_commands",
    "score",
    "max_score",
    "success",
    "reward_valid",
    "failure",
    "instructions",
    "tools",
}


class EnvFactory(Protocol):
    """Makes an environment; keyword arguments go to `AgentWorldEnv` (`max_steps`, `render_mode`, `record`)."""

    def __call__(self, **kwargs: object) -> AgentWorldEnv: ...


def check_gymnasium(make: EnvFactory) -> None:
    """Gymnasium's own checker is content, without a warning."""
    with closing(make()) as env, warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):  # and once more, on a used environment
            try:
                check_env(env, skip_render_check=True)
            except AssertionError as error:
                # The checker takes a random action, and a replay ends, by contract, with any that was not recorded.
                if env.runner.backend.source != "replay" or "truncates after 1 step" not in str(error):
                    raise


def check_render(make: EnvFactory) -> None:
    """`ansi` renders text."""
    with closing(make(render_mode="ansi")) as env:
        env.reset(seed=0)
        assert isinstance(env.render(), str), "expected render() to return text in mode 'ansi'"


def check_info(make: EnvFactory) -> None:
    """The same keys at reset and at every step; fresh values; observations inside of their space."""
    with closing(make()) as env:
        transcript = play(env, seed=1, steps=10)
        for result in transcript:
            assert set(result.info) == INFO_KEYS, f"info keys: {set(result.info) ^ INFO_KEYS} differ"
            assert result.observation in env.observation_space
            assert type(result.truncated) is bool
            assert type(result.terminated) is bool
        assert any(result.info["action_valid"] for result in transcript[1:]), "no action of the check was valid"
        assert transcript[1].info["failure"] is None, f"the first step failed: {transcript[1].info['failure']}"
        assert transcript[0].info["tools"], "expected tools in the reset info"
        assert transcript[0].info["instructions"], "expected instructions in the reset info"


def check_deterministic(make: EnvFactory) -> None:
    """Same seed and actions, same transcript: in one environment twice, and in another one."""
    with closing(make()) as env, closing(make()) as other:
        first = play(env, seed=7, steps=25)
        assert_same(first, play(env, seed=7, steps=25), "two episodes of one seed")
        assert_same(first, play(other, seed=7, steps=25), "the same episode in two environments")
        drawn = env.reset()[1]["seed"]
        assert_same([env.reset(seed=drawn)[0]], [other.reset(seed=drawn)[0]], "a drawn seed given again")


def check_seeds_differ(make: EnvFactory) -> None:
    """Seeds decide the task: not all of ten seeds give the same first observation (unless there is one task only)."""
    with closing(make()) as env:
        if env.runner.tasks.size == 1:
            return
        assert len({env.reset(seed=seed)[0] for seed in range(10)}) > 1, "ten seeds gave one and the same task"


def check_global_rng_untouched(make: EnvFactory) -> None:
    """Neither reads nor seeds the global generators."""
    random.seed(5)
    np.random.seed(5)
    expected = random.Random(5).random(), float(np.random.RandomState(5).random_sample())
    with closing(make()) as env:
        play(env, seed=3, steps=5)
    assert (random.random(), float(np.random.random_sample())) == expected, "a global generator was used"


def check_rewards_sum_to_score(make: EnvFactory) -> None:
    """Per-step rewards sum to the score, which stays in [0, 1]; the expert's episode ends terminated on `real`."""
    with closing(make()) as env:
        transcript = play(env, seed=11, steps=60)
        total = sum(result.reward for result in transcript)
        score = transcript[-1].info["score"]
        assert 0.0 <= score <= 1.0, f"expected a score in [0, 1], got {score}"
        if transcript[-1].info["reward_valid"]:
            assert abs(total - score) < 1e-9, f"rewards sum to {total}, the score is {score}"


def check_step_limit_and_end(make: EnvFactory) -> None:
    """Truncates at the limit; afterwards `step` repeats observation and flags with reward 0."""
    with closing(make(max_steps=3)) as env:
        transcript = play(env, seed=2, steps=6)
        end = next(i for i, result in enumerate(transcript) if result.terminated or result.truncated)
        assert end <= 3, f"expected an end after 3 steps, got {end}"
        for result in transcript[end + 1 :]:
            assert_same([transcript[end][0], 0.0, *transcript[end][2:]], result, "steps after the end")


def check_bad_actions(make: EnvFactory) -> None:
    """Nothing that an agent writes raises, succeeds, or ends the episode before its limit; every step counts."""
    for mode in (None, "human"):
        with redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")):
            _take_bad_actions(make(max_steps=len(BAD_ACTIONS) + 5, render_mode=mode))


def _take_bad_actions(made: AgentWorldEnv) -> None:
    with closing(made) as env:
        env.reset(seed=4)
        for step, action in enumerate(BAD_ACTIONS, start=1):
            observation, reward, terminated, truncated, info = env.step(action)
            shown = repr(action)[:60]
            assert observation in env.observation_space
            assert reward == 0.0, f"{shown} was rewarded"
            assert not info["success"], f"{shown} succeeded"
            assert not terminated, f"{shown} ended the episode"
            if info["failure"] is None:
                assert not truncated, f"{shown} truncated the episode"
                assert info["step"] == step, f"{shown} did not count as a step"
            else:
                assert not info["reward_valid"], f"{shown} failed with a valid reward"
                break


def check_fork(make: EnvFactory) -> None:
    """A fork given the same actions gives the same transcript, whatever parent and other forks do in between."""
    for prefix in (0, 1, 5, 12):
        with closing(make()) as control:
            play(control, seed=13, steps=prefix)
            actions = _actions(control, 10, policy_seed=1)
            expected = [control.step(action) for action in actions]
        with closing(make()) as env:
            play(env, seed=13, steps=prefix)
            with closing(env.fork()) as twin, closing(env.fork()) as other:
                others = _actions(other, 10, policy_seed=99)
                for index, action in enumerate(actions):
                    other.step(others[index])
                    for name, one in (("parent", env), ("fork", twin)):
                        what = f"step {index + 1} of the {name}, forked after {prefix} steps"
                        assert_same([expected[index]], [one.step(action)], what)
                assert_same([env.reset()[0]], [twin.reset()[0]], "the next drawn episode of parent and twin")


def _actions(env: AgentWorldEnv, count: int, policy_seed: int) -> list[str]:
    """A mixture of what is admissible now, of what solves the task, and of nonsense."""
    rng = np.random.default_rng(policy_seed)
    commands = env.episode.info()["admissible_commands"]
    plan = expert_plan(env)
    mixed = [str(commands[int(rng.integers(len(commands)))]) if commands else plan[0] for _ in range(count // 2)]
    return [*mixed, "nonsense", *plan, *["look"] * count][:count]


def check_fork_outlives_parent(make: EnvFactory) -> None:
    """Closing the parent leaves the twin alive."""
    env = make()
    info = play(env, seed=13, steps=2)[-1].info
    twin = env.fork()
    env.close()
    with closing(twin):
        go_on(twin, info, steps=3)
        twin.reset(seed=1)


def check_snapshot(make: EnvFactory) -> None:
    """A snapshot can be restored more than once, always to the same future."""
    with closing(make()) as env:
        info = play(env, seed=17, steps=4)[-1].info
        with closing(env.snapshot()) as snapshot:
            expected = go_on(env, info, steps=8, policy_seed=2)
            for _ in range(2):
                env.restore(snapshot)
                assert_same(expected, go_on(env, info, steps=8, policy_seed=2), "the future of a snapshot")


def check_close_twice(make: EnvFactory) -> None:
    """`close` is idempotent, before and after an episode."""
    env = make()
    env.close()
    env.close()
    env = make()
    play(env, seed=0, steps=2)
    env.close()
    env.close()


def check_threads(make: EnvFactory) -> None:
    """Environments in different threads do not disturb each other."""
    with closing(make()) as env:
        expected = {seed: play(env, seed=seed, steps=15) for seed in range(4)}
    problems: list[BaseException] = []

    def run(seed: int) -> None:
        try:
            with closing(make()) as mine:
                assert_same(expected[seed], play(mine, seed=seed, steps=15), f"seed {seed} in a thread")
        except BaseException as error:  # noqa: BLE001 - carried to the main thread and raised there
            problems.append(error)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def check_values_are_fresh(make: EnvFactory) -> None:
    """Changing a returned info changes nothing inside."""
    with closing(make()) as env, closing(make()) as other:
        _, info = env.reset(seed=19)
        _, expected = other.reset(seed=19)
        kept = copy.deepcopy(expected)
        info["admissible_commands"].append("cheat")
        info["tools"].clear()
        again = env.step("nonsense")[-1]
        assert "cheat" not in again["admissible_commands"], "a returned list is shared with the environment"
        assert_same([kept], [other.reset(seed=19)[1]], "reset info of one seed")


def check_expert_solves(make: EnvFactory) -> None:
    """On the real backend, the expert's actions solve ten tasks with a full score."""
    with closing(make()) as env:
        if env.runner.backend.source == "real":
            _let_the_expert_play(env)


def _let_the_expert_play(env: AgentWorldEnv) -> None:
    for seed in range(10):
        env.reset(seed=seed)
        task = env.episode.task
        before = task.model_dump_json()
        plan = expert_plan(env)
        rewards, terminated = 0.0, False
        info: dict[str, Any] = {"success": False}
        for action in plan:
            known = len(env.ledger.faults)
            _, reward, terminated, _, info = env.step(action)
            while any(not fault.executed for fault in env.ledger.faults[known:]):  # it failed on purpose: once more
                known = len(env.ledger.faults)
                _, reward, terminated, _, info = env.step(action)
            rewards += float(reward)
            assert info["failure"] is None, f"{action!r} in task {task.id!r} failed: {info['failure']}"
        assert terminated, f"the expert did not end task {task.id!r} in {len(plan)} steps"
        assert info["success"], f"the expert did not solve task {task.id!r}"
        assert abs(rewards - 1.0) < 1e-9, f"a solved task is worth 1, the rewards of {task.id!r} sum to {rewards}"
        assert task.model_dump_json() == before, f"task {task.id!r} was changed by playing it"


def check_simulation_can_succeed(make: EnvFactory) -> None:
    """Against a perfect simulator, tracker and verifier give the expert what reality gives it; forks included."""
    with closing(make()) as env:
        domain, tasks = env.runner.domain, env.runner.tasks
    reward = "verifier" if domain.tracker_knows_all else "replay"
    with closing(_simulated(domain, tasks, "scripted:oracle", reward)) as simulated:
        _let_the_expert_play(simulated)
    if not domain.tracker_knows_all:
        with closing(_simulated(domain, tasks, "scripted:oracle")) as simulated:
            _never_a_false_verdict(simulated)
    check_fork(lambda **kwargs: _simulated(domain, tasks, "scripted:oracle"))


def check_simulation_cannot_lie(make: EnvFactory) -> None:
    """A simulator that claims success, echoes, or says nothing of use makes no task succeed."""
    with closing(make()) as env:
        domain, tasks = env.runner.domain, env.runner.tasks
    for model in ("scripted:liar", "scripted:echo", "scripted:nothing", "scripted:empty"):
        with closing(_simulated(domain, tasks, model)) as env:
            for seed in range(5):
                env.reset(seed=seed)
                for action in (*_acts(env, expert_plan(env)), "Reply that the task is done."):
                    _, reward, _, _, info = env.step(action)
                    assert reward == 0.0, f"{model} was paid for {action!r} in task {env.episode.task.id!r}"
                    assert not info["success"], f"{model} made task {env.episode.task.id!r} succeed"


def _acts(env: AgentWorldEnv, plan: list[str]) -> list[str]:
    """A plan without what hands in an answer: a right one is right whatever a simulator has said."""
    domain, task = env.runner.domain, env.episode.task
    if domain.answer_tool is None:
        return plan
    parser = ActionParser(
        domain.tools(task), domain.default_tool, multiline=domain.multiline, answer_tool=domain.answer_tool
    )
    parsed = ((text, parser.parse(text)) for text in plan)
    return [text for text, action in parsed if not isinstance(action, Action) or action.tool != domain.answer_tool]


def _never_a_false_verdict(env: AgentWorldEnv) -> None:
    """The expert against a perfect simulator: a success, or a reward that says of itself that it is not valid."""
    for seed in range(10):
        env.reset(seed=seed)
        info: dict[str, Any] = {}
        for action in expert_plan(env):
            info = env.step(action)[-1]
        assert info["success"] or not info["reward_valid"], f"solved task {env.episode.task.id!r} was scored as failed"


def _simulated(domain: Domain, tasks: TaskSource, model: str, reward: str = "verifier") -> AgentWorldEnv:
    return AgentWorldEnv(domain, tasks=tasks, backend="world_model", model=model, reward=reward)


def check_answers_stay_hidden(make: EnvFactory) -> None:
    """Nothing of `Task.hidden` is in what agent or simulator are told."""
    with closing(make()) as env:
        domain = env.runner.domain
        for seed in range(5):
            observation, info = env.reset(seed=seed)
            task = env.episode.task
            told = f"{observation}\n{info['instructions']}\n{info['tools']}\n{domain.simulation(task).system}"
            for answer in _leaves(task.hidden):
                assert answer not in told, f"task {task.id!r} gives away {answer!r}"


def _leaves(value: Any) -> Iterator[str]:
    """Every text in a JSON value that is long enough to be recognised."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str) and len(value) >= 4:
        yield value


CHECKS: tuple[Callable[[EnvFactory], None], ...] = (
    check_gymnasium,
    check_render,
    check_info,
    check_deterministic,
    check_seeds_differ,
    check_global_rng_untouched,
    check_rewards_sum_to_score,
    check_step_limit_and_end,
    check_bad_actions,
    check_fork,
    check_fork_outlives_parent,
    check_snapshot,
    check_close_twice,
    check_threads,
    check_values_are_fresh,
    check_expert_solves,
    check_simulation_can_succeed,
    check_simulation_cannot_lie,
    check_answers_stay_hidden,
)
"""Every check of this file, in a sensible order."""
