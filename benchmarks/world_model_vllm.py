"""Simulated text worlds on a real model under vLLM: one batch a step against a loop and against a thread per env.

Used by `world_model.py`. All three ways ask the same engine in this process, for the same episodes, and each answer has
the same number of tokens, so that the work is the same. In the way of threads, each one steps an environment of its
own; their requests join whatever batch is under way, as on a server. The prefix cache is emptied before each way, and
one step that is not timed fills it.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium as gym

from agentworld_envs import AgentWorldEnv
from agentworld_envs.backends.world_model import (
    Completion,
    Engine,
    GenerationRequest,
    Sampling,
    WorldModelBackend,
    WorldModelConfig,
    build_engine,
)

ENV_ID = "AgentWorld/TextWorld-v0"
ACTIONS = ("look", "inventory")
WAYS = ("vector", "threads", "loop")
LOOPED = 8
"""Environments that a loop steps at most: one after the other, more of them are not slower each."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One way at one number of environments."""

    way: str
    num_envs: int
    env_steps_per_s: float
    seconds_per_step: float
    """Of all environments; the median over the timed steps."""
    cpu_s_per_step: float
    """Processor seconds of the whole process: with a model on the CPU, what is left when other programs disturb."""
    outside_share: float
    """Part of `seconds_per_step` that is not spent in vLLM's own steps: environments, prompts, tokenising, waiting."""
    layer_share: float
    """Part of `cpu_s_per_step` that the calling thread takes: environments, prompts, tokenising. vLLM has its own."""


class FixedLength(Engine):
    """The engine with answers that all have `max_tokens` tokens, and with a stopwatch on vLLM's own steps."""

    def __init__(self, engine: Any) -> None:
        self.inner = engine
        self.model = engine.model
        self.busy_s = 0.0
        self._driver: Any = None

    def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        # No stop string may end one sooner, and being cut is what is wanted.
        endless = [replace(r, sampling=r.sampling.model_copy(update={"stop": ()})) for r in requests]
        return [replace(answer, finish_reason="stop") for answer in self.inner.generate(endless)]

    def open(self) -> None:
        """Load the model and start the watch."""
        self._driver = self.inner._model().driver()
        step = self._driver.engine.step

        def timed() -> Any:
            started = time.perf_counter()
            try:
                return step()
            finally:
                self.busy_s += time.perf_counter() - started

        self._driver.engine.step = timed

    def clear(self) -> None:
        """Empty the prefix cache. Only while nobody asks."""
        self._driver.engine.reset_prefix_cache()


class Bench:
    """The three ways over one engine."""

    def __init__(self, engine: FixedLength, config: WorldModelConfig, steps: int) -> None:
        self.engine, self.config, self.steps = engine, config, steps

    def measure(self, way: str, num_envs: int) -> Figure:
        """Time `way`, one of `WAYS`, after one step that is not timed."""
        self.engine.clear()
        stepped = min(num_envs, LOOPED) if way == "loop" else num_envs
        with ExitStack() as stack:
            step = self._vector(stack, num_envs) if way == "vector" else self._singles(stack, stepped, way)
            durations, processor, outside, layer = [], [], [], []
            for _ in range(self.steps):
                busy, cpu, own, started = (
                    self.engine.busy_s,
                    time.process_time(),
                    time.thread_time(),
                    time.perf_counter(),
                )
                step()
                wall = time.perf_counter() - started
                durations.append(wall * num_envs / stepped)
                processor.append((time.process_time() - cpu) * num_envs / stepped)
                layer.append((time.thread_time() - own) / (time.process_time() - cpu))
                outside.append(1 - (self.engine.busy_s - busy) / wall)
        seconds = statistics.median(durations)
        cpu_s, *shares = map(statistics.median, (processor, outside, layer))
        return Figure(way, num_envs, num_envs / seconds, seconds, cpu_s, *shares)

    def _backend(self) -> WorldModelBackend:
        return WorldModelBackend(self.engine, self.config)

    def _vector(self, stack: ExitStack, num_envs: int) -> Callable[[], None]:
        env = stack.enter_context(closing(gym.make_vec(ENV_ID, num_envs=num_envs, backend=self._backend())))
        env.reset(seed=0)
        count = 0

        def step() -> None:
            nonlocal count
            *_, infos = env.step([ACTIONS[count % len(ACTIONS)]] * num_envs)
            count += 1
            assert infos["failure"].tolist() == [None] * num_envs, infos["failure"]

        step()
        return step

    def _singles(self, stack: ExitStack, num_envs: int, way: str) -> Callable[[], None]:
        envs: list[AgentWorldEnv] = []
        for seed in range(num_envs):
            env = stack.enter_context(closing(gym.make(ENV_ID, backend=self._backend()).unwrapped))
            assert isinstance(env, AgentWorldEnv)
            env.reset(seed=seed)
            envs.append(env)
        counts = [0] * num_envs
        problems: list[Any] = []

        def one(slot: int) -> None:
            info = envs[slot].step(ACTIONS[counts[slot] % len(ACTIONS)])[-1]
            counts[slot] += 1
            problems.extend([info["failure"]] if info["failure"] else [])

        def loop() -> None:
            for slot in range(num_envs):
                one(slot)
            assert not problems, problems

        def threads() -> None:
            running = [threading.Thread(target=one, args=(slot,)) for slot in range(num_envs)]
            for thread in running:
                thread.start()
            for thread in running:
                thread.join()
            assert not problems, problems

        threads()  # the quicker one, because this step is not timed
        return loop if way == "loop" else threads


def show(figure: Figure, vector: Figure) -> None:
    """One line of the table."""
    shares = (figure.layer_share, figure.outside_share)
    layer, outside = ("-", "-") if figure.way == "threads" else (f"{share:.1%}" for share in shares)
    ratio = f"{vector.env_steps_per_s / figure.env_steps_per_s:.2f} x as fast"
    ratio += f" ({figure.cpu_s_per_step / vector.cpu_s_per_step:.2f} x by CPU time)"
    ratio = "" if figure is vector else ratio
    line = f"{figure.num_envs:5} {figure.way:8} {figure.env_steps_per_s:12.2f} {figure.seconds_per_step:9.2f}"
    print(
        f"{line} {figure.cpu_s_per_step:7.2f} {layer:>6} {outside:>13}   {ratio}",
        flush=True,
    )


def run(
    model_dir: str, sizes: Sequence[int], steps: int, tokens: int, cpu_threads: int | None, out: Path | None
) -> None:
    """Measure, print the table, and write it as JSON to `out`."""
    options = {
        "max_model_len": 4096,
        "enforce_eager": True,
        "cpu_threads": cpu_threads,
        "sampling_args": {"ignore_eos": True},
        "engine_args": {"block_size": 32},
    }
    config = WorldModelConfig(
        model=f"vllm:{model_dir}",
        prefill=True,
        # It asks for thinking, for which a prefilled answer leaves no room.
        suffix=False,
        sampling=Sampling(max_tokens=tokens),
        deadline_s=3_600,
    )
    inner = build_engine(config.model, options=options)
    engine = FixedLength(inner)
    with closing(inner):
        started = time.perf_counter()
        engine.open()
        print(f"{config.model} loaded in {time.perf_counter() - started:.0f} s; {tokens} tokens an answer")
        head = f"{'envs':>5} {'way':8} {'env-steps/s':>12} {'s a step':>9} {'CPU s':>7} {'layer':>6}"
        print(f"{head} {'outside vLLM':>13}   vector env is")
        bench, figures = Bench(engine, config, steps), []
        for num_envs in sizes:
            for way in WAYS:
                figure = bench.measure(way, num_envs)
                figures.append(figure)
                vector = figure if way == "vector" else figures[-1 - WAYS.index(way)]
                show(figure, vector)
    if out is not None:
        settings = {"model": config.model, "tokens": tokens, "steps": steps, "cpu_threads": cpu_threads}
        out.write_text(json.dumps({**settings, "figures": [asdict(figure) for figure in figures]}, indent=2))
