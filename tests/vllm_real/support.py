"""The model under test, a server of it, and what runs on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from agentworld_envs.backends.world_model import GenerationRequest, Message, Sampling

MODEL = os.environ.get("AGENTWORLD_VLLM_MODEL", "")
"""Folder of SmolLM2-135M-Instruct as safetensors."""
READY_S = 600
CONTEXT = 2048
QUICK = Sampling(
    temperature=0.0, max_tokens=16, prefill="<predicted_observation>\nYou", stop=(" ", "\n", ".", ",", "'", "<", ":")
)
"""Valid predictions after a token or two: most tests are about everything but the text."""
RULES = "You are a text world. The agent is in a kitchen with a table, a fridge and a sink. " * 8


def ask(
    seed: int = 0, text: str = "I open the fridge.", deadline_s: float = 120.0, **sampling: Any
) -> GenerationRequest:
    """One request."""
    messages = (Message("system", RULES), Message("user", text))
    return GenerationRequest(messages, Sampling(**{"max_tokens": 6, **sampling}), seed, deadline_s)


PLAIN = ask(temperature=0.0)


class Server:
    """`agentworld serve-model --start` in a process of its own."""

    def __init__(self, adapter: Path, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "agentworld_envs.cli", "serve-model", MODEL, "--start", "--cpu"]
        command += ["--port", str(self.port), "--lora", f"loud={adapter}", "--max-model-len", str(CONTEXT)]
        command += ["--wait", str(READY_S), "--", "--dtype", "float32", "--block-size", "32"]
        self.log = log
        with log.open("wb") as sink:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=sink, env={**os.environ, "OMP_NUM_THREADS": "1"}, text=True
            )
        self._model = ""

    @property
    def model(self) -> str:
        """The model string, once the server is ready."""
        if not self._model:
            assert self.process.stdout is not None
            self._model = self.process.stdout.readline().strip()
            assert self._model, self.log.read_text()[-4000:]
        return self._model

    def processes(self) -> list[int]:
        """Everything that was started with it."""
        return [pid for pid in _pids() if self.process.pid in _ancestors(pid)]


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _ancestors(pid: int) -> set[int]:
    found: set[int] = set()
    while pid > 1 and pid not in found:
        found.add(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ProcessLookupError):
            break
    return found


def alive(pids: list[int]) -> list[int]:
    """Those that run, zombies not counted."""
    running = []
    for pid in pids:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                running.append(pid)
        except (OSError, ProcessLookupError):
            continue
    return running
