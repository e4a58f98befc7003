"""Batched world-model stepping: against a server that takes 200 ms a call, and on a real model under vLLM.

    python benchmarks/world_model.py [--delay 0.2] [--steps 5] [--vllm FOLDER] [--json FILE]

The server is a stub in its own process: it waits and answers, so what is measured is the client. Goals: 64
environments step in less than 2 x one call; with one slot that hangs, the other 63 results come back at the deadline.

With `--vllm`, a model as safetensors (`agentworld_envs.demo_model.save_as_safetensors` makes one), 1, 8 and 32
environments are stepped on it as one vector environment, with a thread per environment, and in a loop: see
`world_model_vllm.py`. Goals at 32: 8 x the loop, 1.2 x the threads, and less than 5 % of the time in this package.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import time
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import gymnasium as gym

import agentworld_envs
from agentworld_envs.backends.world_model import Sampling, WorldModelConfig

ENV_ID = "AgentWorld/TextWorld-v0"
HANG = "shelf 1"
"""The stub never answers a request whose last message names this."""


def serve(pipe: Connection, delay: float) -> None:
    """Run the stub until it is killed; sends its port through `pipe`."""
    from aiohttp import web

    content = "<predicted_observation>\nNothing happens.\n</predicted_observation>"
    usage = {"prompt_tokens": 900, "completion_tokens": 12}

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        hangs = f"examine {HANG}" in body["messages"][-1]["content"]
        await asyncio.sleep(3_600 if hangs else delay)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        return web.json_response({"choices": [choice], "usage": usage})

    async def main() -> None:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=2_048)
        await site.start()
        pipe.send(site._server.sockets[0].getsockname()[1])  # type: ignore[union-attr]
        await asyncio.Event().wait()

    asyncio.run(main())


def measure(url: str, num_envs: int, steps: int) -> float:
    """Median seconds of one vector step."""
    config = WorldModelConfig(model=f"openai:{url}#stub", engine_options={"concurrency": 4_096})
    with closing(gym.make_vec(ENV_ID, num_envs=num_envs, backend=config)) as env:
        env.reset(seed=0)
        durations = []
        for step in range(steps + 1):  # the first one opens the connections
            started = time.perf_counter()
            *_, infos = env.step([("look", "inventory")[step % 2]] * num_envs)
            durations.append(time.perf_counter() - started)
            assert infos["reward_valid"].all()
    return statistics.median(durations[1:])


def hang(url: str, deadline: float) -> tuple[float, int, int]:
    """Seconds of a step of 64 slots of which one hangs, results that came back, slots that failed."""
    config = WorldModelConfig(model=f"openai:{url}#stub", deadline_s=deadline, sampling=Sampling(max_tokens=64))
    with closing(gym.make_vec(ENV_ID, num_envs=64, backend=config)) as env:
        env.reset(seed=0)
        env.step(["look"] * 64)
        started = time.perf_counter()
        *_, infos = env.step([f"examine {HANG}"] + ["inventory"] * 63)
        seconds = time.perf_counter() - started
    failed = [failure.kind for failure in infos["failure"] if failure is not None]
    assert failed == ["provider_timeout"], failed
    return seconds, int(infos["reward_valid"].sum()), len(failed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.2)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--vllm", metavar="FOLDER", help="also measure a real model, with vLLM in this process")
    parser.add_argument("--only-vllm", action="store_true", help="leave the server out")
    parser.add_argument("--vllm-steps", type=int, default=3, help="timed steps each way (%(default)s)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 8, 32], help="environments (%(default)s)")
    parser.add_argument("--tokens", type=int, default=24, help="of each answer (%(default)s)")
    parser.add_argument("--cpu-threads", type=int, help="threads of the model")
    parser.add_argument("--json", type=Path, help="where to write the figures of vLLM")
    arguments = parser.parse_args()
    if not arguments.only_vllm:
        against_a_server(arguments.delay, arguments.steps)
    if arguments.vllm:
        import world_model_vllm

        world_model_vllm.run(
            arguments.vllm,
            arguments.sizes,
            arguments.vllm_steps,
            arguments.tokens,
            arguments.cpu_threads,
            arguments.json,
        )


def against_a_server(delay: float, steps: int) -> None:
    """The client alone."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there, delay), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{here.recv()}/v1"
    print(f"agentworld-envs {agentworld_envs.__version__}, one call takes {delay * 1e3:.0f} ms")
    one = measure(url, 1, steps)
    for num_envs in (1, 64, 256, 1_000):
        seconds = one if num_envs == 1 else measure(url, num_envs, steps)
        ratio = seconds / one
        rate = num_envs / seconds
        print(f"{num_envs:5} envs {seconds * 1e3:8.1f} ms a step = {ratio:5.2f} x one env {rate:8.0f} env-steps/s")
    deadline = 5 * delay
    seconds, answered, failed = hang(url, deadline)
    print(f"one slot of 64 hangs, deadline {deadline:.1f} s: {answered} answered, {failed} cut, {seconds:.2f} s in all")
    server.kill()


if __name__ == "__main__":
    main()
