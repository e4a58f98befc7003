"""The `agentworld` command."""

from __future__ import annotations

import io
import os
import sys


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 done with a negative result, 2 wrong use, 130 interrupted."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        sys.stderr.write(f"The agentworld command needs {error.name}: pip install 'agentworld-envs[cli]'\n")
        raise SystemExit(2) from None
    # Loaders of models draw bars of their own, which would run into ours, or as control characters into a log.
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="backslashreplace")  # what cannot be decoded is for the game to refuse
    from agentworld_envs.cli.app import build

    build()()
