"""`OpenAIEngine`: any OpenAI-compatible server, a whole wave of requests at once."""

from __future__ import annotations

import asyncio
import errno
import importlib.util
import json
import os
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from agentworld_envs.backends.world_model.engines.base import Completion, Engine, GenerationRequest, Sampling
from agentworld_envs.backends.world_model.engines.keys import request_key
from agentworld_envs.backends.world_model.engines.loop import BackgroundLoop
from agentworld_envs.backends.world_model.engines.openai_protocol import (
    MAX_STOPS,
    RETRIED,
    cut,
    read_completion,
    refusal,
    request_body,
)
from agentworld_envs.backends.world_model.validation import checked
from agentworld_envs.interface import (
    ConfigError,
    MissingExtraError,
    ProviderError,
    ProviderTimeout,
    Usage,
    classify,
)

FORM: Final = "openai:URL#MODEL, e.g. openai:http://127.0.0.1:8000/v1#Qwen/Qwen-AgentWorld-35B-A3B"
MAX_BODY: Final = 64 * 2**20
"""Longest response in bytes that is read."""
KEEP_S: Final = 4.0
"""How long an idle connection is kept. vLLM and SGLang hang up after 5 s; a request on such a connection is lost."""


class OpenAIOptions(BaseModel):
    """How a server is spoken to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    concurrency: int = Field(default=256, ge=1)
    """Requests in flight at most; more wait their turn. vLLM's own scheduler takes 256 by default."""
    retries: int = Field(default=5, ge=0)
    """How often a request is made again after 408, 409, 425, 429, 5xx or a broken connection."""
    backoff_s: float = Field(default=0.5, ge=0)
    """First pause before a retry in seconds; doubles every time. `Retry-After` overrides it."""
    max_backoff_s: float = Field(default=30.0, ge=0)
    """Longest pause of our own choice in seconds."""
    connect_s: float = Field(default=10.0, gt=0)
    """Seconds in which a connection has to be there."""
    extensions: bool = True
    """Send the fields of vLLM and SGLang (`top_k`, continuing a prefill). Off for OpenAI, which refuses them."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """OpenAI's reasoning models want `max_completion_tokens`."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable with the key; `EMPTY` is sent when it is not set. Keys are never logged or recorded."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Further fields of every request, e.g. `{"chat_template_kwargs": {"enable_thinking": false}}`; part of the
    revision, and so of every cassette key."""


@dataclass(slots=True)
class _Flight:
    """One request that is being made, and for how many."""

    task: asyncio.Task[Completion]
    waiting: int = 0


@dataclass(slots=True)
class _Trace:
    """What has happened to a request so far, for the message when its time is up."""

    retries: int = 0
    last: Exception | None = None


@dataclass(slots=True)
class _Connection:
    """What lives and dies with one event loop."""

    loop: asyncio.AbstractEventLoop
    session: Any
    slots: asyncio.Semaphore
    flights: dict[bytes, _Flight] = field(default_factory=dict)


class OpenAIEngine(Engine):
    """A client for one model on one server.

    All requests of a `generate` are in flight together on one background event loop, with reused connections. Each has
    its own deadline, over queue, retries and answer. Identical requests in flight are made once: whoever joins gets the
    same answer with one cache hit and no tokens.

    Args:
        url: root of the API, e.g. `http://127.0.0.1:8000/v1`.
        name: the served model.
        revision: which weights; part of every cassette key.
        options: see `OpenAIOptions`.
    """

    def __init__(self, url: str, name: str, revision: str = "", options: OpenAIOptions | None = None) -> None:
        self.options = options or OpenAIOptions()
        self.name = name
        # The same served model is the same model on any host and port, so that a cassette can travel.
        self.model = f"openai:{name}"
        extra = json.dumps(self.options.extra_body, sort_keys=True) if self.options.extra_body else ""
        self.revision = f"{revision}+{extra}" if extra else revision
        self._url = url.rstrip("/") + "/chat/completions"
        self._parts = parts = urlsplit(self._url)
        self._shown_url = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
        self._loop = BackgroundLoop("agentworld-openai")
        self._open: list[_Connection] = []
        """The one connection, once there is one."""
        # Many users never call `close`; aiohttp would complain of that when the program ends.
        weakref.finalize(self, _release, self._loop, self._open)

    @classmethod
    def parse(cls, text: str, revision: str, options: Mapping[str, Any]) -> OpenAIEngine:
        """Make the engine of `URL#MODEL`.

        Raises:
            ConfigError: the text or an option is wrong.
        """
        url, mark, name = text.partition("#")
        parts = urlsplit(url)
        if not mark or not name or parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"Malformed model 'openai:{text}': expected {FORM}.")
        return cls(url, name, revision, checked(OpenAIOptions, "option of the openai engine", options))

    def check(self) -> None:
        if importlib.util.find_spec("aiohttp") is None:
            raise _missing()

    def check_sampling(self, sampling: Sampling) -> None:
        """Any adapter may be there: only the server knows what it serves."""

    def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        try:
            self.check()
        except ConfigError as error:
            return [Completion(failure=classify(error)) for _ in requests]
        return self._loop.run(self._wave(requests)) if requests else []

    def close(self) -> None:
        _release(self._loop, self._open)
        self._loop.close()

    async def _wave(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        # Decided on the loop's own thread: several callers may be the first one, and a forked child has another loop.
        if not self._open or self._open[0].loop is not asyncio.get_running_loop():
            self._open[:] = [self._connect()]
        connection = self._open[0]
        return list(await asyncio.gather(*(self._answer(connection, request) for request in requests)))

    def _connect(self) -> _Connection:
        import aiohttp

        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_S),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.options.connect_s),
        )
        slots = asyncio.Semaphore(self.options.concurrency)
        return _Connection(asyncio.get_running_loop(), session, slots)

    async def _answer(self, connection: _Connection, request: GenerationRequest) -> Completion:
        """One slot: its own request, or the one that is already being made. Never raises."""
        started, trace = time.monotonic(), _Trace()
        key = request_key(self.model, self.revision, request)
        flight = connection.flights.get(key)
        joined = flight is not None
        if flight is None:
            flight = _Flight(asyncio.create_task(self._make(connection, request, key, trace)))
            connection.flights[key] = flight
        flight.waiting += 1
        try:
            async with asyncio.timeout(request.deadline_s):
                answer = await asyncio.shield(flight.task)
        except TimeoutError:
            usage = Usage(retries=trace.retries, seconds=time.monotonic() - started)
            return Completion(usage=usage, failure=classify(_cut(request, trace)))
        finally:
            flight.waiting -= 1
            # Each waiter has its own deadline; the request itself ends when nobody is left who wants the answer.
            # It is off the list at once: nobody may join what has landed or is being cancelled.
            if not flight.waiting or flight.task.done():
                flight.task.cancel()
                if connection.flights.get(key) is flight:
                    del connection.flights[key]
        seconds = time.monotonic() - started
        if joined:
            return replace(answer, usage=Usage(cache_hits=1, seconds=seconds))
        return replace(answer, usage=replace(answer.usage, retries=trace.retries, seconds=seconds))

    async def _make(self, connection: _Connection, request: GenerationRequest, key: bytes, trace: _Trace) -> Completion:
        end = time.monotonic() + request.deadline_s
        try:
            while True:
                try:
                    return await self._post(connection, request)
                except _Again as again:
                    trace.last = again.error
                    pause = self._pause(again, key, trace.retries)
                    if trace.retries >= self.options.retries or time.monotonic() + pause >= end:
                        raise again.error from None
                trace.retries += 1
                await asyncio.sleep(pause)
        except Exception as error:  # noqa: BLE001 - whatever a server provokes is the failure of its own slot
            return Completion(failure=classify(error))

    def _pause(self, again: _Again, key: bytes, retries: int) -> float:
        """Seconds before the next try, a pure function of the request and of how often it was made."""
        if again.retry_after is not None:
            return again.retry_after
        limit: float = min(self.options.max_backoff_s, self.options.backoff_s * 2**retries)
        # Between a half and the whole, so that the slots of a wave do not come back all at once.
        return limit * (0.5 + key[retries % len(key)] / 510)

    async def _post(self, connection: _Connection, request: GenerationRequest) -> Completion:
        """One attempt.

        Raises:
            _Again: worth another one. AgentWorldError: not worth it.
        """
        import aiohttp

        options = self.options
        body = request_body(
            request,
            self.name,
            extensions=options.extensions,
            max_tokens_field=options.max_tokens_field,
            extra=options.extra_body,
        )
        key = os.environ.get(options.api_key_env, "")
        # Credentials in the URL are sent as basic authentication instead.
        headers = {} if self._parts.username else {"Authorization": f"Bearer {key or 'EMPTY'}"}
        try:
            async with (
                connection.slots,
                # A redirect could carry the key to another host.
                connection.session.post(self._url, json=body, headers=headers, allow_redirects=False) as response,
            ):
                raw = await _read(response)
                if response.status == 200:
                    try:
                        completion = read_completion(raw, prefilled=bool(request.sampling.prefill))
                        return cut(completion, request.sampling.stop[MAX_STOPS:])
                    except ProviderError as garbage:  # a proxy's page, say: the next try may reach the server
                        raise _Again(garbage, None) from garbage
                # Some servers quote the key that they refuse.
                raw = raw.replace(key.encode(), b"***") if key else raw
                error = refusal(response.status, raw, self._shown_url)
                if response.status in RETRIED or response.status >= 500:
                    raise _Again(error, _retry_after(response.headers.get("Retry-After")))
                raise error
        except (aiohttp.ClientError, OSError) as error:
            # ClientError covers refused, reset and dropped connections; OSError what the system says itself.
            reason = str(error) or type(error).__name__
            hint = "Is the server running there?"
            if getattr(error, "errno", None) == errno.EMFILE:
                hint = f"Raise the limit of open files (ulimit -n) or lower concurrency={options.concurrency}."
            raise _Again(ProviderError(f"Cannot talk to {self._shown_url}: {reason}. {hint}"), None) from error


class _Again(Exception):
    """A request that may succeed when it is made again."""

    def __init__(self, error: Exception, retry_after: float | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after = retry_after


def _missing() -> MissingExtraError:
    return MissingExtraError(
        "The openai engine needs aiohttp, which is not installed. Run: pip install 'agentworld-envs[openai]'"
    )


def _cut(request: GenerationRequest, trace: _Trace) -> ProviderTimeout:
    last = f"; before that: {trace.last}" if trace.last else ""
    return ProviderTimeout(
        f"No answer within {request.deadline_s:g} s ({trace.retries} retries{last}). Raise deadline_s, or lower "
        "sampling.max_tokens or the number of environments."
    )


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait; dates, which model servers do not send, and nonsense are ignored."""
    try:
        return None if value is None else min(max(float(value), 0.0), 86400.0)
    except ValueError:
        return None


async def _read(response: Any) -> bytes:
    """The body, unless it is longer than any completion could be."""
    chunks, size = [], 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > MAX_BODY:
            raise ProviderError(f"The server's answer is longer than {MAX_BODY} bytes.")
        chunks.append(chunk)
    return b"".join(chunks)


def _release(loop: BackgroundLoop, connections: list[_Connection]) -> None:
    """Close what is open in this process. Idempotent."""
    if connections and not loop.fresh:
        loop.drop(_close(connections[0]))
    connections.clear()


async def _close(connection: _Connection) -> None:
    flights = list(connection.flights.values())
    for flight in flights:
        flight.task.cancel()
    await asyncio.gather(*(flight.task for flight in flights), return_exceptions=True)
    await connection.session.close()
