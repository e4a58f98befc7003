"""Check 5: the pass@8 filter keeps exactly the tasks that a searcher who draws solves sometimes."""

from __future__ import annotations

import json
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from search.checks.tasksets import DOMAIN, WORLDS

from agentworld_envs.agents import Searcher
from agentworld_envs.evaluation.difficulty import DifficultyFilter, DifficultySettings

ATTEMPTS = 8
TASKS = f"valid@1,2:small+masked+worlds={WORLDS}"
VISITS, TEMPERATURE = 4, 1.0


@dataclass(frozen=True)
class Split:
    """What became of the tasks."""

    kept: list[int]
    """Successes of each kept task."""
    never: int
    always: int
    deviations: list[float]
    """Standard deviation of the rewards of each kept task's group, from the rollouts that the filter has written."""

    @property
    def total(self) -> int:
        return len(self.kept) + self.never + self.always


def run(count: int) -> Split:
    """Filter the first tasks of the set.

    Raises:
        AssertionError: the file of the kept tasks does not say what the report does.
    """
    about = {"name": Searcher.name, "visits": VISITS, "temperature": TEMPERATURE}
    settings = DifficultySettings(TASKS, count, ATTEMPTS, seed=1, agent=about)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "kept.jsonl")
        chooser = DifficultyFilter(DOMAIN, settings, out, Searcher(VISITS, temperature=TEMPERATURE))
        report = chooser.run()
        groups = _groups(chooser.journal)
        written = {line["id"] for line in map(json.loads, out.read_text().splitlines()) if "id" in line}
    assert written == {one.id for one in report.kept}, "the file holds other tasks than the report"
    assert not report.invalid, report.failures
    always = sum(one.successes == ATTEMPTS for one in report.measured)
    deviations = [statistics.pstdev(groups[one.index]) for one in report.kept]
    return Split([one.successes for one in report.kept], report.all_fail, always, deviations)


def _groups(journal: Path) -> dict[int, list[float]]:
    """Rewards by task, out of the rollouts themselves."""
    groups: dict[int, list[float]] = {}
    for line in map(json.loads, journal.read_text().splitlines()):
        if "key" in line:
            groups.setdefault(int(line["key"].partition("#")[0]), []).append(float(line["success"]))
    return groups
