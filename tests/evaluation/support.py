"""A simulator and a judge for the tests: a real HTTP server that answers both, and notes what it is asked."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from aiohttp import web
from world_model.server import Stub, completion, error, serving

from agentworld_envs.backends.world_model.codec import OPEN, wrap


def digest(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def evaluation(scores: Any) -> str:
    return f"<final_evaluation>\n```json\n{json.dumps({'scores': scores})}\n```\n</final_evaluation>"


def simulated(body: dict[str, Any]) -> str | web.Response:
    """An answer that depends on the question alone; some are bad, one kind each."""
    last = body["messages"][-1]["content"]
    number = digest(json.dumps(body["messages"])) % 12
    text = f"observation {digest(last) % 97}"
    return {
        0: text,
        1: f"{wrap('draft')}\nNo.\n{wrap(text)}",
        2: f"{OPEN}\n{text}",
        3: "<think>only thinking",
        4: "",
        5: completion(f"{OPEN}\n{text}", finish_reason="length"),
        6: completion(wrap(text), reasoning_content="thinking"),
    }.get(number, wrap(text))


def judged(body: dict[str, Any]) -> str | web.Response:
    """A judgement that depends on the case alone; some need another try, some never come."""
    case = body["messages"][-1]["content"]
    number = digest(case) % 10
    scores = {
        name: 1 + (digest(case) >> shift) % 5
        for shift, name in enumerate(("format", "factuality", "consistency", "realism", "quality"))
    }
    if number == 0:
        return "I like it."
    if number == 1:
        return error(400, {"error": {"message": "no"}})
    if number == 2 and body["seed"] % 2:
        return "<final_evaluation>{"
    if number == 3:
        return f"```json\n{json.dumps({'scores': {name: f'{value}/5' for name, value in scores.items()}})}\n```"
    return evaluation(scores)


async def both(stub: Stub, body: dict[str, Any]) -> web.StreamResponse:
    """Judges when it is asked by a judge's prompt, simulates otherwise."""
    await asyncio.sleep(stub.latency_s)
    answer = judged(body) if "# Current Turn:" in body["messages"][-1]["content"] else simulated(body)
    return completion(answer) if isinstance(answer, str) else answer


def main() -> None:
    """Serve from a process of its own, for a client that is killed: writes its URL to the given file."""
    with serving(both, latency_s=float(sys.argv[2])) as stub:
        Path(sys.argv[1]).write_text(stub.model)
        while True:
            time.sleep(1)


if __name__ == "__main__":
    main()
