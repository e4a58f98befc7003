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
from agentworld_envs.domains.terminal.scenario import WRITABLE, InitialState
from agentworld_envs.interface import MissingExtraError, Task

TESTS = "/tests"
REWARD = "/logs/verifier/reward.txt"
MAX_STEPS = 100
MOST_SECONDS = 24 * 3600
_NETWORK = re.compile(r"\b(curl|wget|apt-get|apt|apk|pip3?|uv|uvx|npm|git clone)\b")


_CONFTEST = f"{TESTS}/conftest.py"
_PYTEST = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
_STRAY = re.compile(
    r"PYTHON\w*|PYTEST_\w+|LD_\w+|BASH_ENV|ENV|PERL5\w+|PERLLIB|RUBY\w+|NODE_\w+|PROMPT_COMMAND|IFS|HOME|CDPATH"
)
"""Variables by which programs would load what the agent may have written."""


def read_harbor(path: Path) -> Task:
    """A task of Harbor's format.

    Raises:
        Unsupported: it needs what there is not; says what.
    """
    try:
        config = tomllib.loads(_text(path / "task.toml"))
    except tomllib.TOMLDecodeError as error:
        raise Unsupported(f"its task.toml is not valid: {error}") from error
    environment = path / "environment"
    if any((environment / f"docker-compose.{ending}").exists() for ending in ("yaml", "yml")):
        raise Unsupported("it runs several containers")
    if not (environment / "Dockerfile").is_file():
        raise Unsupported("it has no environment/Dockerfile")
    if not (path / "instruction.md").is_file():
        raise Unsupported("it has no instruction.md")
    instruction = _text(path / "instruction.md").strip()
    timeout = _seconds(_table(config, "verifier").get("timeout_sec", 120.0), "verifier.timeout_sec of its task.toml")
    recipe = read_dockerfile(environment / "Dockerfile")
    check = _check(recipe, path / "tests", path / "tests" / "test.sh", timeout, REWARD)
    metadata = _table(config, "metadata")
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
    try:
        config = yaml.safe_load(_text(path / "task.yaml"))
    except (yaml.YAMLError, RecursionError) as error:
        raise Unsupported(f"its task.yaml is not valid: {' '.join(str(error).split()):.200}") from error
    if not isinstance(config, dict) or not isinstance(config.get("instruction"), str):
        raise Unsupported("its task.yaml has no instruction")
    if not (path / "Dockerfile").is_file():
        raise Unsupported("it has no Dockerfile")
    timeout = _seconds(config.get("max_test_timeout_sec", 120.0), "max_test_timeout_sec of its task.yaml")
    recipe = read_dockerfile(path / "Dockerfile")
    check = _check(recipe, path / "tests", path / "run-tests.sh", timeout, None)
    return _task(path, "terminal-bench", config["instruction"].strip(), recipe, check, path / "solution.sh", config)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Unsupported(f"its {path.name} is not UTF-8") from error


def _table(config: dict[str, Any], name: str) -> dict[str, Any]:
    found = config.get(name, {})
    if not isinstance(found, dict):
        raise Unsupported(f"{name} of its task.toml is no table")
    return found


def _seconds(value: Any, what: str) -> float:
    right = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < MOST_SECONDS
    if not right:
        raise Unsupported(f"{what} has to be a number of seconds, got {value!r:.40}")
    return float(value)


def _check(recipe: Recipe, tests: Path, script: Path, timeout: float, reward: str | None) -> RunCheck:
    """How the tests are run: by their script, or by pytest where the script needs the network."""
    files = entries_of(tests, TESTS, follow=True) if tests.is_dir() else {}
    found: dict[str, Any] = {path: entry for path, entry in files.items() if entry.data is not None}
    common: dict[str, Any] = {
        "files": found,
        "cwd": recipe.cwd,
        "env": {**_trusted(recipe.env), "TEST_DIR": TESTS},
        "isolated": True,
        "timeout_s": timeout,
    }
    if script.is_file() and not _NETWORK.search(script.read_text(encoding="utf-8", errors="replace")):
        name = f"{TESTS}/{script.name}"
        found.setdefault(name, _text(script))
        prepare = "mkdir -p /logs/verifier && exec bash"
        return RunCheck(argv=("bash", "-c", f"{prepare} {name}"), reward_file=reward, **common)
    scripts = sorted(path for path in found if re.search(r"/test_[^/]*\.py$", path))
    if not scripts:
        raise Unsupported("its tests need the network" if script.is_file() else "it has no tests")
    recipe.needs.append("python:pytest")
    own = f"--confcutdir={TESTS}" if _CONFTEST in found else "--noconftest"
    options = ("-q", "-p", "no:cacheprovider", own, f"--rootdir={TESTS}", "-c", "/dev/null")
    return RunCheck(argv=("python3", "-I", "-c", _PYTEST, *options, *scripts), **common)


def _trusted(env: dict[str, str]) -> dict[str, str]:
    """Variables for the tests. Folders that the agent can write to come last in `PATH`."""
    found = {name: value for name, value in env.items() if not _STRAY.fullmatch(name)}
    if "PATH" in found:
        parts = [part for part in found["PATH"].split(":") if part.startswith("/")]
        last = [part for part in parts if any(f"{part}/".startswith(f"{folder}/") for folder in WRITABLE)]
        found["PATH"] = ":".join([*(part for part in parts if part not in last), *last])
    return found


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
    if not instruction:
        raise Unsupported("its instruction is empty")
    hidden = {}
    if solution.is_file():
        text = _text(solution).rstrip("\n")
        hidden = {"solution": [f"bash <<'END_OF_SOLUTION'\n{text}\nEND_OF_SOLUTION"]}
    difficulty = metadata.get("difficulty")
    return Task(
        id=path.resolve().name,
        domain="terminal",
        instruction=instruction,
        initial_state=start.model_dump(mode="json", exclude_defaults=True),
        verifier={"checks": [check.model_dump(mode="json")]},
        hidden=hidden,
        max_steps=MAX_STEPS,
        tags=(kind, *([str(difficulty)] if difficulty else [])),
    )
