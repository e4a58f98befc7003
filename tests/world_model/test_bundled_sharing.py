"""What bundled engines of one process share: files on disk, and numpy's threads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentworld_envs.backends.world_model.engines import bundled_threads
from agentworld_envs.backends.world_model.engines.bundled import FOLDER, BundledEngine
from agentworld_envs.backends.world_model.engines.bundled_threads import one_thread


def test_the_revision_is_that_of_every_file(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(FOLDER / "text_world", folder)
    before = BundledEngine(str(folder)).revision
    assert before == BundledEngine("text_world").revision
    tokens = json.loads((folder / "tokenizer.json").read_text())
    tokens["model"]["vocab"]["look"], tokens["model"]["vocab"]["help"] = 0, 1
    (folder / "tokenizer.json").write_text(json.dumps(tokens))
    assert BundledEngine(str(folder)).revision != before


def test_blocks_that_overlap_restore_the_number_of_threads() -> None:
    threads = bundled_threads._openblas()
    if threads is None:
        pytest.skip("this numpy does not use OpenBLAS")
    before = threads.get()
    threads.set(2)
    try:
        first, second = one_thread(), one_thread()
        first.__enter__()
        second.__enter__()
        assert threads.get() == 1
        first.__exit__(None, None, None)
        assert threads.get() == 1
        second.__exit__(None, None, None)
        assert threads.get() == 2
    finally:
        threads.set(before)
