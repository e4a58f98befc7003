"""How well the bundled world model imitates the text world, on tasks that it was not trained on.

    python benchmarks/bundled.py [--tasks 200] [--model bundled:text_world] [--out FILE.json]

Half of the tasks are of `valid_unseen`, half of `valid_seen`. Each is played three times on a fixed list of commands:
the expert's, uniformly random ones that are possible in the real world, and `busy` ones, of which most do something
with things. Every prediction is compared with what the real world says to the same command.

- teacher-forced: the tracked state comes from the real observations.
- free-running: it comes from the model's own predictions; nothing real is ever fed back.
- success: the verdict on the simulated episode (same verifier, evidence of the tracker) against the real one.
  Deceived: the simulation says success, the real world does not.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym

from agentworld_envs.backends.world_model import GenerationRequest, Message, WorldModelBackend, WorldModelConfig
from agentworld_envs.backends.world_model.codec import PREFILL, parse_prediction, render_compact
from agentworld_envs.domains.text_world import TextWorld
from agentworld_envs.interface import Action, Task

DOMAIN = TextWorld()
STEPS, WAVE = 30, 64
GOALS = {"teacher-forced": 0.99, "free-running": 0.95, "agreement": 0.97, "deceived": 0.01, "steps/s": 100.0}


class Episode(NamedTuple):
    """One task with the commands that are played in it and what the real world says to them."""

    task: Task
    policy: str
    commands: list[str]
    observations: list[str]
    success: bool


def call(command: str) -> Action:
    return Action("command", {"command": command}, command)


def choose(rng: random.Random, commands: list[str], busy: bool) -> str:
    hands = [word for word in commands if word.split()[0] not in ("go", "help", "inventory", "look")]
    return rng.choice(hands if busy and hands and rng.random() < 0.6 else commands)


def episode(task: Task, policy: str, seed: int) -> Episode:
    world, rng = DOMAIN.world(task), random.Random(seed)
    world.reset()
    plan = list(DOMAIN.expert(task, world)) if policy == "expert" else None
    commands, observations = [], []
    for step in range(STEPS if plan is None else min(STEPS, len(plan))):
        command = choose(rng, world.commands(), policy == "busy") if plan is None else plan[step]
        commands.append(command)
        observations.append(world.act(call(command)))
    return Episode(task, policy, commands, observations, DOMAIN.verify(task, world.evidence()).success)


def episodes(count: int) -> list[Episode]:
    tasks = [DOMAIN.tasks(("valid_unseen", "valid_seen")[i % 2])[i // 2] for i in range(count)]
    return [
        episode(task, policy, 3 * i + j)
        for i, task in enumerate(tasks)
        for j, policy in enumerate(("expert", "random", "busy"))
    ]


class Score:
    """Right answers and answers by policy and by verb, and a few of the wrong ones."""

    def __init__(self) -> None:
        self.right: Counter[str] = Counter()
        self.total: Counter[str] = Counter()
        self.wrong: list[dict[str, str]] = []

    def add(self, policy: str, command: str, expected: str, actual: str) -> None:
        for key in ("all", policy, f"verb {command.split()[0]}"):
            self.right[key] += expected == actual
            self.total[key] += 1
        if expected != actual and len(self.wrong) < 40:
            self.wrong.append({"command": command, "expected": expected, "actual": actual})

    def rate(self, key: str = "all") -> float:
        return self.right[key] / max(1, self.total[key])

    def table(self) -> dict[str, Any]:
        return {key: [self.right[key], self.total[key], round(self.rate(key), 5)] for key in sorted(self.total)}


def teacher_forced(played: list[Episode], config: WorldModelConfig, tracked: bool) -> Score:
    """Every step on its own, with the true past."""
    score, engine = Score(), config.engine()
    questions: list[tuple[Episode, int, str]] = []
    for one in played:
        tracker = DOMAIN.tracker(one.task)
        for step, command in enumerate(one.commands):
            questions.append((one, step, render_compact(tracker.recall(call(command), 4000), command)))
            if tracked:
                tracker.observe(call(command), one.observations[step])
    questions.sort(key=lambda question: len(question[2]))
    for i in range(0, len(questions), 512):
        part = questions[i : i + 512]
        sampling = config.sampling.model_copy(update={"prefill": PREFILL})
        asked = [GenerationRequest((Message("user", text),), sampling) for _, _, text in part]
        for (one, step, _), completion in zip(part, engine.generate(asked), strict=True):
            text = parse_prediction(completion.text, "", sampling.prefill, completion.finish_reason).text
            score.add(one.policy, one.commands[step], one.observations[step], text)
    return score


def free_running(played: list[Episode], backend: WorldModelBackend) -> tuple[Score, dict[str, list[int]], list[float]]:
    """Whole episodes in the model's imagination.

    Returns:
        Scores of steps; verdicts by policy as counts (simulated success, real success); exact match by step.
    """
    score = Score()
    verdicts: dict[str, list[int]] = {}
    by_step = [[0, 0] for _ in range(STEPS)]
    for i in range(0, len(played), WAVE):
        wave = played[i : i + WAVE]
        sessions = backend.open(DOMAIN, [one.task for one in wave], [0] * len(wave))
        for step in range(STEPS):
            alive = [k for k, one in enumerate(wave) if step < len(one.commands) and sessions[k].failure is None]
            if not alive:
                break
            moves = backend.step([sessions[k] for k in alive], [call(wave[k].commands[step]) for k in alive])
            for k, move in zip(alive, moves, strict=True):
                one = wave[k]
                score.add(one.policy, one.commands[step], one.observations[step], move.observation)
                by_step[step][0] += one.observations[step] == move.observation
                by_step[step][1] += 1
        for one, session in zip(wave, sessions, strict=True):
            counts = verdicts.setdefault(one.policy, [0, 0, 0, 0])
            counts[2 * session.final(len(one.commands)).success + one.success] += 1
        backend.close(sessions)
    return score, verdicts, [right / max(1, total) for right, total in by_step]


def speed(model: str, seconds: float) -> float:
    """Steps per second of the vector environment with 32 episodes and random commands."""
    with closing(gym.make_vec("AgentWorld/TextWorld-v0", num_envs=32, backend="world_model", model=model)) as env:
        _, infos = env.reset(seed=0)
        rng, steps = random.Random(0), 0
        began = 0.0
        while not began or time.perf_counter() - began < seconds:
            commands = [rng.choice(row) if row else "look" for row in infos["admissible_commands"]]
            infos = env.step(commands)[4]
            if not began:  # the first step loads the model
                began = time.perf_counter()
            else:
                steps += 32
        return steps / (time.perf_counter() - began)


def measure(model: str, count: int, seconds: float) -> dict[str, Any]:
    played = episodes(count)
    report: dict[str, Any] = {"model": model, "tasks": count, "steps": sum(len(one.commands) for one in played)}
    report["steps/s"] = round(speed(model, seconds), 1)
    print(f"{count} tasks, {report['steps']} steps; {report['steps/s']} steps/s at batch 32", flush=True)
    for tracked in (True, False):
        config = WorldModelConfig.of(model=model, tracked_state=tracked)
        teacher = teacher_forced(played, config, tracked)
        with closing(_Closing(config.build())) as held:
            free, verdicts, by_step = free_running(played, held.backend)
        pairs = [sum(counts[i] for counts in verdicts.values()) for i in range(4)]
        total = sum(pairs)
        rows = {
            "teacher-forced": teacher.rate(),
            "free-running": free.rate(),
            "agreement": (pairs[0] + pairs[3]) / total,
            "deceived": pairs[2] / total,
        }
        report["tracked" if tracked else "untracked"] = {
            **{name: round(value, 5) for name, value in rows.items()},
            "teacher-forced by": teacher.table(),
            "free-running by": free.table(),
            "free-running by step": [round(value, 4) for value in by_step],
            "verdicts by policy (neither, only real, only simulated, both)": verdicts,
            "wrong": teacher.wrong,
        }
        show("with tracked state" if tracked else "without tracked state", rows, teacher, free, verdicts, tracked)
    return report


class _Closing:
    """A backend with the name that `closing` wants."""

    def __init__(self, backend: WorldModelBackend) -> None:
        self.backend = backend

    def close(self) -> None:
        self.backend.shutdown()


def show(title: str, rows: dict[str, float], teacher: Score, free: Score, verdicts: Any, goals: bool) -> None:
    print(f"\n{title}")
    for name, value in rows.items():
        goal = f"  goal {'<=' if name == 'deceived' else '>='} {100 * GOALS[name]:.0f} %" if goals else ""
        print(f"  {name:<16}{100 * value:7.2f} %{goal}")
    print(f"  {'':<16}{'steps':>7}  {'teacher-forced':>15}  {'free-running':>13}")
    for key in sorted(teacher.total):
        line = (
            f"  {key:<16}{teacher.total[key]:>7}  {100 * teacher.rate(key):>13.2f} %  {100 * free.rate(key):>11.2f} %"
        )
        print(line)
    for policy, (neither, real, simulated, both) in sorted(verdicts.items()):
        print(
            f"  {policy:<10} success in both {both}, in neither {neither}, only real {real}, only simulated {simulated}"
        )
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--model", default="bundled:text_world")
    parser.add_argument("--seconds", type=float, default=10.0, help="of the speed measurement")
    parser.add_argument("--out", type=Path, default=None, help="everything as JSON")
    chosen = parser.parse_args()
    report = measure(chosen.model, chosen.tasks, chosen.seconds)
    for row in report["tracked"]["wrong"][:5]:
        print(f"  {row['command']}\n    real      {row['expected']!r}\n    simulated {row['actual']!r}")
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
