"""`Driver`: one thread that steps one vLLM engine for everybody who waits for answers of it."""

from __future__ import annotations

import gc
import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agentworld_envs.interface import AgentWorldError, ProviderError

logger = logging.getLogger(__name__)

JOIN_S: Final = 30.0
"""How long `close` waits for the engine to come back from what it is doing."""


@dataclass(slots=True, eq=False)
class Flight:
    """One generation that is being made, and for how many."""

    key: bytes
    prompt: list[int]
    params: Any
    """vLLM's `SamplingParams`."""
    lora: Any = None
    """vLLM's `LoRARequest`, `None` for the model itself."""
    waiting: int = 0
    done: threading.Event = field(default_factory=threading.Event)
    output: Any = None
    """vLLM's `RequestOutput`, once `done` and without `error`."""
    error: Exception | None = None


class Driver:
    """Steps an engine on its own thread for as long as somebody waits.

    vLLM's own `generate` blocks until the last answer is there. Here each caller waits for its own answers only and
    leaves at its deadline; generations that nobody waits for any more are aborted. Callers in different threads share
    the batch: whatever has arrived by then takes part in the next step.
    """

    def __init__(self, load: Callable[[], Any], name: str) -> None:
        """Load the engine and start.

        Args:
            load: makes vLLM's `LLMEngine`; called on the driver's thread, which is also the one that uses it.
            name: of the model, for the thread and for messages.

        Raises:
            Exception: whatever `load` raises.
        """
        self.name = name
        self.engine: Any = None
        """vLLM's `LLMEngine`."""
        self.context_tokens = 0
        """Longest prompt and answer together."""
        self._load = load
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._flights: dict[bytes, Flight] = {}
        self._incoming: list[Flight] = []
        self._unwanted: list[Flight] = []
        self._closing = False
        self._count = 0
        self._loaded = threading.Event()
        self._load_error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=f"agentworld-vllm-{name}", daemon=True)
        self._thread.start()
        self._loaded.wait()
        if self._load_error is not None:
            raise self._load_error

    @property
    def usable(self) -> bool:
        """Whether it takes new work: it was neither closed nor broken by an earlier step."""
        return not self._closing and self._thread.is_alive()

    def submit(self, flights: Sequence[Flight]) -> list[tuple[Flight, bool]]:
        """Start generations together, so that they are in the same batch. Whoever submits has to `leave` each.

        Args:
            flights: what is wanted. One whose key is being made already is not started: that one is joined.

        Returns:
            Per flight, in order: the one to wait for, and whether it was joined.

        Raises:
            ProviderError: the engine was closed meanwhile.
        """
        taken = []
        with self._changed:
            if not self.usable:
                raise ProviderError(f"{self.name} was closed while it was asked.")
            for wanted in flights:
                flight = self._flights.setdefault(wanted.key, wanted)
                if flight is wanted and not flight.waiting:
                    self._incoming.append(flight)
                    taken.append((flight, False))
                else:
                    taken.append((flight, True))
                flight.waiting += 1
            self._changed.notify_all()
        return taken

    def leave(self, flight: Flight) -> None:
        """Wait no longer. The generation ends when nobody is left who wants it."""
        with self._changed:
            flight.waiting -= 1
            if not flight.waiting and not flight.done.is_set():
                # Nobody may join what is being aborted.
                if self._flights.get(flight.key) is flight:
                    del self._flights[flight.key]
                self._unwanted.append(flight)
                self._changed.notify_all()

    def close(self) -> None:
        """Stop, fail what is under way, and free the model. Idempotent; does nothing in a forked child."""
        if self._pid != os.getpid():
            return
        with self._changed:
            self._closing = True
            self._fail(ProviderError(f"{self.name} was closed."))
            self._changed.notify_all()
        if threading.current_thread() is self._thread:  # the garbage collector may run anywhere
            return
        self._thread.join(JOIN_S)
        if self._thread.is_alive():
            logger.warning("%s does not come back from its last step; its memory is not freed.", self.name)

    # -- the driver's thread ---------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self.engine = self._load()
            self.context_tokens = int(self.engine.model_config.max_model_len)
        except Exception as error:  # noqa: BLE001 - raised again where the driver was made
            self._load_error = error
            return
        finally:
            self._loaded.set()
        try:
            self._serve()
        except Exception as error:  # noqa: BLE001 - an engine that breaks fails those who wait for it
            logger.warning("%s broke down and will be loaded again: %s: %s", self.name, type(error).__name__, error)
            with self._changed:
                self._closing = True
                self._fail(ProviderError(f"{self.name} broke down: {type(error).__name__}: {error}"))
        finally:
            self._shut_down()

    def _serve(self) -> None:
        running: dict[str, Flight] = {}
        names: dict[Flight, str] = {}
        while True:
            with self._changed:
                while not (self._incoming or self._unwanted or running or self._closing):
                    self._changed.wait()
                if self._closing:
                    return
                incoming, self._incoming = self._incoming, []
                unwanted, self._unwanted = self._unwanted, []
            for flight in incoming:
                try:
                    name = self._start(flight)
                except Exception as error:  # noqa: BLE001 - what cannot be started is the failure of its own slot
                    self._land(flight, error=error)
                else:
                    running[name], names[flight] = flight, name
            if aborted := [names.pop(flight) for flight in unwanted if flight in names]:
                for name in aborted:
                    del running[name]
                self.engine.abort_request(aborted)
            if running:
                for output in self.engine.step():
                    if output.finished and (landed := running.pop(output.request_id, None)) is not None:
                        del names[landed]
                        self._land(landed, output=output)

    def _start(self, flight: Flight) -> str:
        self._count += 1
        name = f"agentworld-{self._count}"
        prompt = {"prompt_token_ids": flight.prompt}
        self.engine.add_request(name, prompt, flight.params, lora_request=flight.lora)
        return name

    def _land(self, flight: Flight, output: Any = None, error: Exception | None = None) -> None:
        with self._changed:
            flight.output, flight.error = output, error
            flight.done.set()
            if self._flights.get(flight.key) is flight:
                del self._flights[flight.key]

    def _fail(self, error: AgentWorldError) -> None:
        """Everybody who waits gets `error`; for whoever holds the lock."""
        for flight in self._flights.values():
            flight.error = error
            flight.done.set()
        self._flights.clear()
        self._incoming.clear()

    def _shut_down(self) -> None:
        engine, self.engine = self.engine, None
        try:
            engine.engine_core.shutdown()
        except Exception:  # the program goes on, but whoever runs it should know
            logger.warning("%s did not shut down cleanly.", self.name, exc_info=True)
        del engine
        gc.collect()
