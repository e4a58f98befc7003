"""`prepare`: brings a fresh sandbox into the initial state of a task."""

from __future__ import annotations

import json
import shlex

from agentworld_envs.domains.terminal.evidence import PYTHON
from agentworld_envs.domains.terminal.inside import BUILD, READ, SETTLE
from agentworld_envs.domains.terminal.scenario import SETUP_EPOCH, WORKSPACE, InitialState
from agentworld_envs.interface import TaskError
from agentworld_envs.interface.sandbox import Sandbox
from agentworld_envs.interface.sandbox_facts import CommandResult

SETUP_SECONDS = 60.0
"""Of each setup command."""
_MOST_STDIN = 1_000_000
_ROOTS = ("/workspace", "/home/agent")
_ENV = {
    "GIT_AUTHOR_DATE": f"{SETUP_EPOCH} +0000",
    "GIT_COMMITTER_DATE": f"{SETUP_EPOCH} +0000",
    "GIT_CONFIG_NOSYSTEM": "1",
}
_JOB = "/tmp/.start.json"
_NEEDS_SECONDS = 30.0
_HAS = 'case $n in python:*) python3 -c "import ${n#python:}" 2>/dev/null;; *) command -v -- "$n" >/dev/null;; esac'


def prepare(sandbox: Sandbox, start: InitialState) -> None:
    """Write the files, run the setup, set all time stamps, start the services.

    Raises:
        TaskError: a program that the task needs is missing, or its setup does not work.
        SandboxError: the sandbox failed.
    """
    _check_needs(sandbox, start)
    files = {path: entry.model_dump(exclude_none=True, exclude={"mtime"}) for path, entry in start.files.items()}
    folders = [start.cwd, *start.folders]
    times = {path: entry.mtime for path, entry in start.files.items() if entry.mtime is not None}
    job: dict[str, object] = {"files": files, "folders": folders, "times": times, "roots": [*_ROOTS, start.cwd]}
    if not start.setup:
        _inside(sandbox, BUILD + SETTLE, job, "write its files")
    else:
        _inside(sandbox, BUILD, job, "write its files")
        env = {**start.env, **_ENV}
        for command in start.setup:
            result = sandbox.exec(["bash", "-ec", command], SETUP_SECONDS, env=env, cwd=start.cwd)
            _demand(result, f"run its setup command {command!r:.200}")
        _inside(sandbox, READ + SETTLE, job, "set its time stamps")
    for command in start.services:
        _demand(sandbox.run(_in_background(command), SETUP_SECONDS), f"start the process {command!r:.200}")
    if start.ready:
        shell = f'for p in {" ".join(map(shlex.quote, start.ready))}; do until [ -s "$p" ]; do sleep 0.01; done; done'
        _demand(sandbox.exec(["bash", "-c", shell], SETUP_SECONDS), f"wait for {', '.join(start.ready)}")
    commands = [f"export {name}={shlex.quote(value)}" for name, value in start.env.items()]
    if start.cwd != WORKSPACE or start.services:
        commands.append(f"cd {shlex.quote(start.cwd)}")
    if commands:
        _demand(sandbox.run("\n".join(commands), SETUP_SECONDS), f"enter {start.cwd}")


def _in_background(command: str) -> str:
    """As a daemon would be started: detached from the shell, which shall not list it as its own job."""
    return (
        f"cd /workspace && {{ setsid bash -c {shlex.quote('exec ' + command)} </dev/null >/dev/null 2>&1 & disown; }}"
    )


def _check_needs(sandbox: Sandbox, start: InitialState) -> None:
    if not start.needs:
        return
    names = " ".join(shlex.quote(name) for name in start.needs)
    shell = f"for n in {names}; do " + _HAS + " || echo $n; done"
    missing = sandbox.exec(["bash", "-c", shell], _NEEDS_SECONDS).stdout.split()
    if missing:
        raise TaskError(
            f"The task needs {', '.join(missing)}, which this sandbox does not have. Install it on this machine, or "
            "use a root file system that has it: `agentworld sandbox build`."
        )


def _inside(sandbox: Sandbox, program: str, job: dict[str, object], what: str) -> None:
    data = json.dumps({"epoch": SETUP_EPOCH, **job}).encode("utf-8", "surrogateescape")
    if len(data) <= _MOST_STDIN:
        result = sandbox.exec([*PYTHON, program], SETUP_SECONDS, stdin=data, cwd="/")
    else:
        sandbox.write(_JOB, data)
        shell = f'"$@" < {_JOB} && rm {_JOB}'
        result = sandbox.exec(["bash", "-c", shell, "start", *PYTHON, program], SETUP_SECONDS, cwd="/")
    _demand(result, what)


def _demand(result: CommandResult, what: str) -> None:
    if result.timed_out or result.exit_code != 0:
        why = "it ran out of time" if result.timed_out else (result.stderr or result.stdout).strip()[-500:]
        raise TaskError(f"The sandbox could not {what}: {why or f'exit code {result.exit_code}'}.")
