"""A model server on localhost: the one thing in these tests that is not real. It speaks HTTP and counts."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

Handler = Callable[["Stub", dict[str, Any]], Awaitable[web.StreamResponse]]


def completion(text: str, **message: Any) -> web.Response:
    finish = message.pop("finish_reason", "stop")
    usage = message.pop("usage", {"prompt_tokens": 100, "completion_tokens": 20})
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
    return web.json_response({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage})


async def friendly(stub: Stub, body: dict[str, Any]) -> web.StreamResponse:
    """Answers like a good world model, after the stub's latency."""
    await asyncio.sleep(stub.latency_s)
    return completion(f"<predicted_observation>\nseed {body['seed']}\n</predicted_observation>")


class Stub:
    """What the server has seen."""

    def __init__(self, handler: Handler, latency_s: float) -> None:
        self.handler = handler
        self.latency_s = latency_s
        self.port = 0
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.peers: set[Any] = set()
        self.in_flight = 0
        self.most_in_flight = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def model(self) -> str:
        return f"openai:{self.url}#stub-model"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self.peers.add(request.transport.get_extra_info("peername") if request.transport else None)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self.handler(self, body)
        finally:
            self.in_flight -= 1


@contextmanager
def serving(handler: Handler = friendly, latency_s: float = 0.0) -> Iterator[Stub]:
    """Run the server on its own thread for the length of the block."""
    stub = Stub(handler, latency_s)
    loop = asyncio.new_event_loop()
    started, done = threading.Event(), asyncio.Event()

    async def main() -> None:
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/v1/chat/completions", stub.handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
        await site.start()
        stub.port = runner.addresses[0][1]
        started.set()
        await done.wait()
        await runner.cleanup()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield stub
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(10)
        loop.close()


def error(status: int, body: Any = None, **headers: str) -> web.Response:
    text = body if isinstance(body, str) else json.dumps(body or {"error": {"message": "no"}})
    return web.Response(status=status, text=text, headers={k.replace("_", "-"): v for k, v in headers.items()})
