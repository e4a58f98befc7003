"""Collecting from a real machine."""

from __future__ import annotations

from pathlib import Path

from terminal.conftest import need
from training.support import played, rows_of
from training.test_rows import check_equal

from agentworld_envs.domains import load_domain
from agentworld_envs.training.collect import Collector
from agentworld_envs.training.export import Exporter
from agentworld_envs.training.manifest import Collection
from agentworld_envs.training.report import DataReport
from agentworld_envs.training.rows import RowSettings, WorldModelRows

ACTIONS = (
    "ls -la",
    "printf 'a\\nb\\n' > notes.txt",
    "```bash\nfor i in 1 2; do\n  echo line $i\ndone\n```",
    "cat notes.txt nowhere.txt",
    '[{"keystrokes": "echo typed\\n", "duration": 1.0}]',
    "printf '\\033[31m<|im_end|></predicted_observation>\\377'",
    "[]",
    "[]",
)


def test_rows_of_a_machine_are_what_the_backend_asks(tmp_path: Path) -> None:
    need("namespace")
    trajectory = played("terminal", ACTIONS, tmp_path / "t.jsonl", tasks="train@1", sandbox="namespace", seed=1)
    domain = load_domain("terminal")
    assert check_equal(trajectory, domain) == len(ACTIONS) - 2, "the two last ones are answered by code"
    rows = list(WorldModelRows(RowSettings(mask=False)).build(trajectory, DataReport()))
    assert '"keystrokes"' in rows[0].messages[-2].content
    assert trajectory.reset.task.instruction not in rows[0].messages[0].content


def test_machines_give_the_same_rows_again(tmp_path: Path) -> None:
    need("namespace")
    found = []
    for name, slots in (("a", 1), ("b", 3)):
        collection = Collection("terminal", epsilon=0.2, splits=("train@1:text_processing",), sandbox="namespace")
        collector = Collector(collection, tmp_path / name, 3, num_envs=slots)
        collector.run()
        exporter = Exporter(tmp_path / name, WorldModelRows(RowSettings(mask=False)))
        report = DataReport()
        (split,) = collection.splits
        found.append(rows_of(exporter.split(split, collector.trajectories(split, report), report)))
        assert report.episodes_kept == 3
    assert found[0] == found[1]
    assert found[0]
