"""`agentworld serve-model`: the right server command for a model, printed or started."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from types import FrameType
from typing import Annotated

import typer

from agentworld_envs.cli.console import say, stderr, stdout
from agentworld_envs.cli.server_command import PACKAGES, ServerCommand
from agentworld_envs.cli.server_process import POLL_S, ServerProcess
from agentworld_envs.interface import ConfigError, ProviderError


def serve_model(
    model: Annotated[str, typer.Argument(help="Hub id or folder, e.g. Qwen/Qwen-AgentWorld-35B-A3B.")],
    extra: Annotated[list[str] | None, typer.Argument(metavar="[-- ARGS]", help="Further arguments.")] = None,
    engine: Annotated[str, typer.Option(help="vllm or sglang.")] = "vllm",
    start: Annotated[bool, typer.Option("--start", help="Run it until Ctrl-C, and say when it is ready.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on; 127.0.0.1 is for this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    gpus: Annotated[int | None, typer.Option(min=1, help="GPUs to split the weights over.")] = None,
    max_model_len: Annotated[int | None, typer.Option(min=1, help="Context in tokens. Less needs less memory.")] = None,
    lora: Annotated[list[str] | None, typer.Option(metavar="NAME=PATH", help="An adapter to serve too.")] = None,
    cpu: Annotated[bool, typer.Option("--cpu", help="For the CPU build of the server.")] = False,
    python: Annotated[str, typer.Option(help="Interpreter of the environment that the server lives in.")] = "",
    wait: Annotated[float, typer.Option(min=1, help="Seconds until it has to be ready.")] = 1800.0,
) -> None:
    """Print (or, with --start, run) the server command for a world model, with the flags that it needs.

    The command goes to standard output, and with --start the model string to paste, once the server is ready. A started
    server ends with this command, also when that is killed, and with the process that called it.
    """
    command = ServerCommand.of(
        model,
        engine,
        lora or (),
        host=host,
        port=port,
        gpus=gpus,
        context=max_model_len,
        cpu=cpu,
        python=python,
        extra=tuple(extra or ()),
    )
    if not start:
        say(stdout(), str(command))
        say(stderr(), f"Then: model={command.model_string!r}{_adapters(command)}")
        return
    _check(command)
    say(stderr(), f"Starting: {command}")
    _run(command, wait)


def _adapters(command: ServerCommand) -> str:
    if not command.loras:
        return ""
    return f", and Sampling(adapter=...) for one of {', '.join(command.loras)}"


def _check(command: ServerCommand) -> None:
    """Raises: ConfigError: the interpreter does not exist or has no server."""
    package = PACKAGES[command.engine]
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    try:
        done = subprocess.run([command.interpreter, "-c", code], capture_output=True, check=False)
    except OSError as error:
        raise ConfigError(f"Cannot run {command.interpreter!r}: {error}. Give --python a working one.") from error
    if done.returncode:
        raise ConfigError(
            f"{command.interpreter} has no {package}. Install it there, or name with --python the interpreter of the "
            "environment that has it."
        )


def _run(command: ServerCommand, wait: float) -> None:
    parent = os.getppid()

    def wanted() -> bool:
        return os.getppid() == parent

    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        with ServerProcess(command.arguments, command.environment, command.url, command.name) as server:
            server.wait_until_ready(wait, wanted)
            say(stdout(), command.model_string)
            say(stderr(), f"Ready: model={command.model_string!r}{_adapters(command)}. Ctrl-C ends it.")
            while server.running and wanted():
                time.sleep(POLL_S)
            if not server.running:
                raise ProviderError("The server has ended by itself; see its log above.")
    except KeyboardInterrupt:
        say(stderr(), "The server has ended.")
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
