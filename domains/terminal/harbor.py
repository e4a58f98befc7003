"""Tasks in the formats of Harbor (Terminal-Bench 2) and Terminal-Bench 1, as far as they need no network.

Harbor: `task.toml`, `instruction.md`, `environment/Dockerfile`, `tests/test.sh`, `solution/solve.sh`; the tests write a
number into `/logs/verifier/reward.txt`. Terminal-Bench 1: `task.yaml`, `Dockerfile`, `run-tests.sh`, `tests/`,
`solution.sh`; solved when the tests exit with 0. (harborframework.com, "Task structure" and "Differences".)

The base image is not used: a sandbox runs on its own root, which has to have the programs that the Dockerfile would
install. Tests that fetch their own tools from the network are replaced by `python3 -m pytest` on their Python files.
Everything runs as an ordinary user. Tests are copied in only after the agent's machine has been frozen.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

from agentworld_envs.domains.terminal.checks import RunCheck
from agentworld_envs.domains.terminal.dockerfile import Recipe, Unsupported, read_dockerfile
from agentworld_envs.domains.terminal.entries import entries_of
from agentworld_envs.domains.terminal.scenario import InitialState
from agentworld_envs.interface import MissingExtraError, Task

TESTS = "/tests"
REWARD = "/logs/verifier/reward.txt"
MAX_STEPS = 100
_NETWORK = re.compile(r"\b(curl|wget|apt-get|apt|apk|pip3?|uv|uvx|npm|git clone)\b")


def read_harbor(path: Path) -> Task:
    """A task of Harbor's format.

    Raises:
        Unsupported: it needs what there is not; says what.
    """
    config = tomllib.loads((path / "task.toml").read_text(encoding="utf-8"))
    environment = path / "environment"
    if (environment / "docker-compose.yaml").exists():
        raise Unsupported("it runs several containers")
    if not (environment / "Dockerfile").exists():
        raise Unsupported("it has no environment/Dockerfile")
    recipe = read_dockerfile(environment / "Dockerfile")
    timeout = float(config.get("verifier", {}).get("timeout_sec", 120.0))
    script = path / "tests" / "test.sh"
    check = _check(recipe, path / "tests", script, timeout, REWARD)
    instruction = (path / "instruction.md").read_text(encoding="utf-8").strip()
    metadata = config.get("metadata", {})
    return _task(path, "harbor", instruction, recipe, check, path / "solution" / "solve.sh", metadata)


def read_terminal_bench(path: Path) -> Task:
    """A task of Terminal-Bench 1's format.

    Raises:
        Unsupported: it needs what there is not; says what.
        MissingExtraError: PyYAML is not installed.
    """
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError as error:
        raise MissingExtraError(
            "Terminal-Bench tasks are YAML, which PyYAML reads: pip install 'agentworld-envs[terminal]'."
        ) from error
    config = yaml.safe_load((path / "task.yaml").read_text(encoding="utf-8"))
    if not isinstance(config, dict) or not isinstance(config.get("instruction"), str):
        raise Unsupported("its task.yaml has no instruction")
    if not (path / "Dockerfile").exists():
        raise Unsupported("it has no Dockerfile")
    recipe = read_dockerfile(path / "Dockerfile")
    timeout = float(config.get("max_test_timeout_sec", 120.0))
    check = _check(recipe, path / "tests", path / "run-tests.sh", timeout, None)
    return _task(path, "terminal-bench", config["instruction"].strip(), recipe, check, path / "solution.sh", config)


def _check(recipe: Recipe, tests: Path, script: Path, timeout: float, reward: str | None) -> RunCheck:
    """How the tests are run: by their script, or by pytest where the script needs the network."""
    files = entries_of(tests, TESTS) if tests.is_dir() else {}
    found: dict[str, Any] = {path: entry for path, entry in files.items() if entry.data is not None}
    common: dict[str, Any] = {
        "files": found,
        "cwd": recipe.cwd,
        "env": {**recipe.env, "TEST_DIR": TESTS},
        "timeout_s": timeout,
    }
    if script.exists() and not _NETWORK.search(script.read_text(encoding="utf-8", errors="replace")):
        name = f"{TESTS}/{script.name}"
        found.setdefault(name, script.read_text(encoding="utf-8"))
        prepare = "mkdir -p /logs/verifier && exec bash"
        return RunCheck(argv=("bash", "-c", f"{prepare} {name}"), reward_file=reward, **common)
    scripts = sorted(path for path in found if re.search(r"/test_[^/]*\.py$", path))
    if not scripts:
        raise Unsupported("its tests need the network")
    recipe.needs.append("python:pytest")
    return RunCheck(argv=("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", *scripts), **common)


def _task(
    path: Path, kind: str, instruction: str, recipe: Recipe, check: RunCheck, solution: Path, metadata: dict[str, Any]
) -> Task:
    start = InitialState(
        files=recipe.files,
        setup=tuple(recipe.setup),
        needs=tuple(dict.fromkeys(recipe.needs)),
        cwd=recipe.cwd,
        folders=tuple(dict.fromkeys(recipe.folders)),
        env=recipe.env,
    )
    hidden = {}
    if solution.exists():
        text = solution.read_text(encoding="utf-8").rstrip("\n")
        hidden = {"solution": [f"bash <<'END_OF_SOLUTION'\n{text}\nEND_OF_SOLUTION"]}
    difficulty = metadata.get("difficulty")
    return Task(
        id=path.name,
        domain="terminal",
        instruction=instruction,
        initial_state=start.model_dump(mode="json", exclude_defaults=True),
        verifier={"checks": [check.model_dump(mode="json")]},
        hidden=hidden,
        max_steps=MAX_STEPS,
        tags=(kind, *([str(difficulty)] if difficulty else [])),
    )
