"""`agentworld doctor`: what works here, and what to type where it does not."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.text import Text

from agentworld_envs import __version__
from agentworld_envs.backends import BACKENDS
from agentworld_envs.backends.sandbox import SharedMachines, sandbox_config
from agentworld_envs.backends.sandbox.machines import PREFERENCE, probe
from agentworld_envs.backends.sandbox.proofs import Proof, prove
from agentworld_envs.backends.world_model.engines import FORMS, build_engine
from agentworld_envs.cli.console import plain_table, say, stdout
from agentworld_envs.cli.probes import extras, reach, torch_devices
from agentworld_envs.domains import DOMAINS, load_domain

NEEDS = {"replay": "with a recording: replay:FILE", "world_model": "with a model, see the engines"}
"""What a backend cannot do without."""

STYLES = {"ok": "green", "missing": "yellow", "problem": "red", "-": "dim"}


class Finding(NamedTuple):
    """One line of the report."""

    what: str
    status: str
    """`ok`, `missing` (optional), `problem` (asked for, or always needed) or `-` (for information)."""
    detail: str


def doctor(
    model: Annotated[str | None, typer.Option(help="Also check this model string; contacts openai servers.")] = None,
) -> None:
    """Report what is installed and usable. Exit code 1 when something needed, or the given model, does not work."""
    parts: list[Callable[[], list[Finding]]] = [_python, _sandboxes, _domains, _backends, _extras, _hardware]
    findings = [finding for part in parts for finding in _guarded(part)]
    if model is not None:
        findings += _guarded(lambda: _model(model))
    console = stdout()
    table = plain_table("what", "status", "detail")
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for finding in findings:
        style = STYLES[finding.status]
        table.add_row(finding.what, Text(finding.status, style=style), finding.detail)
    console.print(table)
    problems = [finding for finding in findings if finding.status == "problem"]
    if problems:
        say(console, f"\n{len(problems)} problem{'s' if len(problems) > 1 else ''}, see above.", style="red")
        raise typer.Exit(1)
    say(console, "\nNo problems. What is missing is optional.")


def _guarded(part: Callable[[], list[Finding]]) -> list[Finding]:
    """A doctor reports what it stumbles over."""
    try:
        return part()
    except Exception as error:  # noqa: BLE001 - the report has to come out whatever is broken
        name = getattr(part, "__name__", "check").strip("_<>")
        return [Finding(name, "problem", f"{type(error).__name__}: {error}")]


def _python() -> list[Finding]:
    found = [
        Finding("Python", "ok", f"{platform.python_version()} ({sys.executable})"),
        Finding("agentworld-envs", "ok", __version__),
    ]
    for name in ("gymnasium", "numpy", "pydantic"):
        found.append(Finding(name, "ok", importlib.metadata.version(name)))
    return found


def _domains() -> list[Finding]:
    found = []
    for name in DOMAINS:
        try:
            domain = load_domain(name)
            if domain.needs_sandbox:
                domain.machines = SharedMachines(**domain.sandbox_settings)
            task = domain.tasks()[0]
            world = domain.world(task)
            try:
                world.reset()
            finally:
                world.close()
                if domain.machines is not None:
                    domain.machines.close()
        except Exception as error:  # noqa: BLE001 - one broken domain must not hide the others
            found.append(Finding(f"domain {name}", "problem", f"{type(error).__name__}: {error}"))
        else:
            found.append(Finding(f"domain {name}", "ok", f"opened task {task.id}"))
    data = os.environ.get("ALFWORLD_DATA")
    if not data:
        found.append(
            Finding("$ALFWORLD_DATA", "missing", "not set; only the task set alfworld needs it (alfworld-download)")
        )
    elif not Path(data).is_dir():
        found.append(Finding("$ALFWORLD_DATA", "problem", f"{data} is not a folder; run alfworld-download"))
    else:
        found.append(Finding("$ALFWORLD_DATA", "ok", data))
    return found


def _sandboxes() -> list[Finding]:
    """What can be started, and every bound of it: tried, not only read off."""
    found: list[Finding] = []
    chosen = ""
    for kind in PREFERENCE:
        config = sandbox_config(kind)
        usability = probe(config)
        if not usability.usable:
            found.append(Finding(f"sandbox {kind}", "missing", f"{usability.why} {usability.what_to_do}"))
            continue
        use = "" if chosen else " Used unless sandbox=... says otherwise."
        chosen = chosen or kind
        found.append(Finding(f"sandbox {kind}", "ok", usability.why + use))
        found += [_bound(kind, proof) for proof in prove(config)]
    if not chosen:
        found.append(Finding("sandboxes", "problem", "no kind works here: domains that need one (terminal) cannot run"))
    return found


def _bound(kind: str, proof: Proof) -> Finding:
    name, how = f"  {kind} {proof.bound.name}", proof.bound.how
    if not proof.bound.kept:
        return Finding(name, "missing", f"not kept: {how}")
    if proof.held is None:
        return Finding(name, "ok", f"{how} (cannot be tried from inside)")
    return Finding(name, "ok" if proof.held else "problem", f"{how}. Tried: {proof.seen}")


def _backends() -> list[Finding]:
    found = []
    for name in BACKENDS:
        found.append(Finding(f"backend {name}", "ok", NEEDS.get(name, "")))
    samples = {
        "bundled": "bundled:text_world",
        "openai": "openai:http://127.0.0.1:8000/v1#MODEL",
        # A hub id, because the folder of a local model would have to exist.
        "transformers": "transformers:HuggingFaceTB/SmolLM2-135M-Instruct",
        "vllm": "vllm:Qwen/Qwen-AgentWorld-35B-A3B",
        "scripted": "scripted:oracle",
    }
    for scheme, form in FORMS.items():
        try:
            if scheme in samples:
                build_engine(samples[scheme]).check()
        except Exception as error:  # noqa: BLE001 - an engine whose packages are broken is a finding
            found.append(Finding(f"engine {scheme}", "missing", str(error)))
        else:
            found.append(Finding(f"engine {scheme}", "ok", form))
    return found


def _extras() -> list[Finding]:
    found = []
    for extra in extras():
        if extra.problems:
            detail = f"pip install 'agentworld-envs[{extra.name}]'   ({', '.join(extra.problems)})"
            found.append(Finding(f"extra {extra.name}", "missing", detail))
        else:
            found.append(Finding(f"extra {extra.name}", "ok", ", ".join(extra.installed)))
    return found


def _hardware() -> list[Finding]:
    found = [Finding("CPU", "-", f"{os.cpu_count()} cores, {platform.machine()}")]
    version, devices = torch_devices()
    if version is None:
        found.append(Finding("torch", "missing", "pip install 'agentworld-envs[transformers]'"))
    else:
        found.append(Finding("torch", "ok", f"{version}, {devices or 'no CUDA device: models run on the CPU'}"))
    return found


def _model(model: str) -> list[Finding]:
    name = f"model {model}"
    try:
        build_engine(model).check()
    except Exception as error:  # noqa: BLE001 - whatever a model string leads to is a finding
        return [Finding(name, "problem", str(error))]
    if not model.strip().startswith("openai:"):
        return [Finding(name, "ok", "can be loaded; nothing was loaded now")]
    problem, detail = reach(model)
    return [Finding(name, "problem" if problem else "ok", detail)]
