"""What an installed package promises: its parts, its weight, its layers."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOTS = {
    "agentworld_envs": "agentworld_envs",
    "backends": "agentworld_envs.backends",
    "domains": "agentworld_envs.domains",
}
HEAVY = ("torch", "transformers", "docker", "httpx", "aiohttp", "typer", "rich", "playwright", "mcp", "pytest")
LAYERS = [
    ("agentworld_envs.interface", ()),
    ("agentworld_envs.domains", ("agentworld_envs.interface",)),
    (
        "agentworld_envs.trajectories",
        ("agentworld_envs.interface", "agentworld_envs.parsing", "agentworld_envs.episode"),
    ),
    ("agentworld_envs.backends", ("agentworld_envs.interface", "agentworld_envs.trajectories")),
]


def test_package_list_matches_the_folders() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = []
    for folder, package in ROOTS.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            found.append(".".join((package, *init.parent.relative_to(ROOT / folder).parts)))
    assert sorted(listed) == sorted(found)


def test_import_is_light() -> None:
    code = "import sys, json, agentworld_envs; print(json.dumps(sorted(sys.modules)))"
    modules = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert not [name for name in HEAVY if name in modules]


@pytest.mark.parametrize(("package", "allowed"), LAYERS, ids=[package for package, _ in LAYERS])
def test_dependency_arrow(package: str, allowed: tuple[str, ...]) -> None:
    for folder, root in ROOTS.items():
        for path in (ROOT / folder).rglob("*.py"):
            module = ".".join((root, *path.relative_to(ROOT / folder).with_suffix("").parts))
            if not module.startswith(package):
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                for name in names:
                    if name.startswith("agentworld_envs"):
                        assert name.startswith((package, *allowed)), f"{module} imports {name}"


def test_files_stay_small() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for folder in (*ROOTS, "tests", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > 500
    }
    assert not long


def test_typed_marker_and_prompts_are_shipped() -> None:
    code = (
        "import agentworld_envs, agentworld_envs.domains.text_world as t, pathlib as p;"
        "assert (p.Path(agentworld_envs.__file__).parent / 'py.typed').exists();"
        "assert list(p.Path(t.__file__).parent.glob('prompts/*.txt'))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
