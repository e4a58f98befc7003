"""Puts the folder of the tests on the path, so that they can share `world_model.toy` and `world_model.server`."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[1])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)
