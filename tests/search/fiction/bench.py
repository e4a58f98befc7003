"""The benchmark of fictional worlds as a module: what it checks is checked here on fewer worlds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_PATH = Path(__file__).parents[3] / "benchmarks" / "fictional_worlds.py"
_SPEC = importlib.util.spec_from_file_location("fictional_worlds", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
fictional_worlds = importlib.util.module_from_spec(_SPEC)
sys.modules["fictional_worlds"] = fictional_worlds
_SPEC.loader.exec_module(fictional_worlds)
