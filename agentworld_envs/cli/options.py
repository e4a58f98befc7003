"""Options that several commands share, and what they build."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from agentworld_envs import ENV_IDS, resolve_id
from agentworld_envs.domains import load_domain
from agentworld_envs.interface import ConfigError, Control

SIMULATOR = "World model (backend world_model)"

EnvId = Annotated[
    str, typer.Argument(metavar="ID", help="Environment: AgentWorld/TextWorld-v0, TextWorld or text_world.")
]
Backend = Annotated[str, typer.Option("--backend", "-b", help="real, world_model, shadow or replay:FILE.")]
Tasks = Annotated[str | None, typer.Option(help="Task set or path. Default: the first one of `agentworld list`.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the (first) episode; it decides task and randomness.")]
MaxSteps = Annotated[int | None, typer.Option(min=1, help="Step limit. Default: the task's own.")]
Reward = Annotated[
    str, typer.Option(help="Who decides success: verifier, replay (re-executes in the real world) or judge:MODEL.")
]
Sandbox = Annotated[
    str | None, typer.Option(help="namespace, docker or local, where the domain needs one. Default: the best here.")
]
Record = Annotated[Path | None, typer.Option("--record", "--out", help="Trajectory file (JSONL) to append to.")]

Model = Annotated[
    str | None,
    typer.Option(
        help="bundled:NAME, openai:URL#MODEL, vllm:PATH, transformers:PATH or scripted:NAME. Default: the domain's "
        "own, if any.",
        rich_help_panel=SIMULATOR,
    ),
]
Cassette = Annotated[
    str | None,
    typer.Option(help="FILE, record:FILE or replay-or-fail:FILE: the model's answers.", rich_help_panel=SIMULATOR),
]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Longest prediction in tokens.", rich_help_panel=SIMULATOR)]
Temperature = Annotated[float | None, typer.Option(min=0.0, help="0 is greedy.", rich_help_panel=SIMULATOR)]
Stop = Annotated[
    list[str] | None,
    typer.Option("--stop", help="Text that ends a prediction; may be given more than once.", rich_help_panel=SIMULATOR),
]
Prefill = Annotated[
    bool,
    typer.Option(
        "--prefill", help="Open the observation's tag for the model: for weak ones.", rich_help_panel=SIMULATOR
    ),
]

FAULTS = "Faults on purpose"
ControlLevel = Annotated[
    str | None,
    typer.Option("--control", help="E0 (none), E1 (explicit), E2 (implicit), E3 (mixed).", rich_help_panel=FAULTS),
]
Inject = Annotated[
    str, typer.Option(help="Who makes them: code, or instruction (told to the world model).", rich_help_panel=FAULTS)
]
FaultCount = Annotated[int, typer.Option(min=1, help="Faults of an episode.", rich_help_panel=FAULTS)]
FaultDuration = Annotated[int, typer.Option(min=1, help="Actions that each of them lasts.", rich_help_panel=FAULTS)]
Instruction = Annotated[
    str | None,
    typer.Option(help="Told to the world model in its system prompt, never to the agent.", rich_help_panel=FAULTS),
]


def control_of(level: str | None, inject: str, count: int, duration: int, instruction: str | None) -> Control | None:
    """The control of an environment, `None` when nothing is asked for.

    Raises:
        ConfigError: one that cannot be.
    """
    if level is None:
        if inject != "code":
            raise ConfigError(f"--inject {inject} is about faults: say which with --control, e.g. --control E1.")
        return None if instruction is None else Control(instruction=instruction)
    told = () if instruction is None else instruction
    return Control(level=level, inject=inject, fault_count=count, fault_duration=duration, instruction=told)


def domain_of(env_id: str) -> str:
    """Name of the domain behind an id or its short form.

    Raises:
        ConfigError: no such id; names the nearest.
    """
    return ENV_IDS[resolve_id(env_id)]


def simulator_settings(sampling: dict[str, Any], **switches: bool) -> dict[str, Any]:
    """Fields of `WorldModelConfig` that were asked for; the others are left to what a model recommends."""
    settings: dict[str, Any] = {name: True for name, on in switches.items() if on}
    return {**settings, "sampling": sampling} if sampling else settings


def backend_arguments(
    backend: str,
    *,
    domain: str,
    model: str | None,
    cassette: str | None,
    max_tokens: int | None,
    temperature: float | None,
    stop: list[str] | None,
    prefill: bool,
) -> dict[str, Any]:
    """`backend`, `model` and `cassette` for an environment. Settings of the world model go unused on other backends.

    Raises:
        ConfigError: a setting that cannot be.
    """
    sampling = {"max_tokens": max_tokens, "temperature": temperature, "stop": tuple(stop) if stop else None}
    sampling = {name: value for name, value in sampling.items() if value is not None}
    name, _, shown = backend.partition(":")
    if name not in ("shadow", "world_model") and model is not None:
        raise ConfigError(
            f"--model is for simulated worlds, and the backend is {backend!r}: add --backend world_model or shadow."
        )
    if name in ("shadow", "world_model") and model is None:
        model = load_domain(domain).default_model
    if name not in ("shadow", "world_model") or model is None or not (sampling or prefill):
        return {"backend": backend, "model": model, "cassette": cassette}
    from agentworld_envs.backends.world_model import WorldModelConfig

    config = WorldModelConfig.of(model=model, cassette=cassette, **simulator_settings(sampling, prefill=prefill))
    if name == "shadow":
        from agentworld_envs.backends.shadow import ShadowConfig

        return {"backend": ShadowConfig.of(world_model=config, show=shown or "real")}
    return {"backend": config}
