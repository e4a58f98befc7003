"""`Collection`: what is collected. Its file beside the recordings says whether a later run may go on with them."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from agentworld_envs.interface import ConfigError

FILE = "collection.json"
VERSION = 1
Unit = Literal["episodes", "transitions"]
SEED_RANGE = 2**31
"""Seeds of episodes are below this."""


@dataclass(frozen=True, slots=True)
class Collection:
    """All that decides which transitions are recorded. Equal collections record equal episodes."""

    domain: str
    """Name of the domain."""
    agent: str = "expert"
    """Name of the agent: `expert`, `random` or `llm`."""
    splits: tuple[str | None, ...] = (None,)
    """Task sets; `None` is the domain's default."""
    backend: str = "real"
    seed: int = 0
    """Of the collection (>= 0): episode `i` has a seed drawn from (seed, i), the same in every split."""
    epsilon: float = 0.0
    """Share of steps at which the expert slips, in [0, 1]; see `NoisyExpert`."""
    max_steps: int | None = None
    """Step limit of an episode; `None`: each task's own."""
    sandbox: str | None = None
    """Kind of sandbox; `None`: the best here."""
    agent_settings: dict[str, Any] = field(default_factory=dict)
    """Model and sampling of agent `llm`, to be told apart later."""

    def __post_init__(self) -> None:
        """Raises: ConfigError: a value that cannot be."""
        if self.seed < 0:
            raise ConfigError(f"Expected the seed of the collection to be at least 0, got {self.seed}.")
        if not 0.0 <= self.epsilon <= 1.0:
            raise ConfigError(f"Expected epsilon to be between 0 and 1, got {self.epsilon}.")
        if self.epsilon and self.agent != "expert":
            raise ConfigError(f"Only the agent 'expert' slips: leave out epsilon for the agent {self.agent!r}.")
        names = [split_name(split) for split in self.splits]
        if not names or len(set(names)) != len(names):
            raise ConfigError(f"Expected task sets that are all different, at least one, got {list(self.splits)}.")

    def episode_seed(self, index: int) -> int:
        """Seed of episode `index` (0-based): a pure function of the collection's seed and the index."""
        return int(np.random.default_rng([self.seed, index]).integers(SEED_RANGE))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"version": VERSION, **json.loads(json.dumps(asdict(self)))}

    def claim(self, folder: Path, *, resume: bool) -> None:
        """Write the file that says what is in `folder`, or compare with the one that is there.

        Args:
            folder: of the collection; made when it is not there.
            resume: whether to go on with recordings that are there already.

        Raises:
            ConfigError: there are recordings and `resume` is False, or they are of another collection; the folder holds
                anything else; or it cannot be written.
        """
        path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                _not_of_others(folder, (".lock", f"{FILE}.part"), "no collection of ours")
                replace_file(path, json.dumps(self.to_dict(), indent=2) + "\n")
                return
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"Cannot use the folder {folder}: {error.strerror}.") from error
        if not resume:
            raise ConfigError(
                f"{folder} holds a collection already. Add --resume to go on with it, or choose another --out."
            )
        try:
            there = json.loads(text)
        except ValueError:
            there = None
        if not isinstance(there, dict):
            raise ConfigError(f"Expected {path} to be a JSON object that says what is collected there; it is damaged.")
        own = self.to_dict()
        changed = [key for key in own if there.get(key) != own[key]]
        if changed:
            lines = ", ".join(f"{key} was {there.get(key)!r} and is {own[key]!r}" for key in changed)
            raise ConfigError(
                f"{folder} holds another collection ({lines}). Choose another --out, or the same options."
            )


def claim_export(folder: Path) -> None:
    """See that an export replaces nothing: neither files of others nor another split, which its card would not name.

    Args:
        folder: new, empty, or with an export in which no row was left.

    Raises:
        ConfigError: it holds anything else, or cannot be read.
    """
    report = folder / "report.json"
    try:
        text = report.read_text(encoding="utf-8") if report.exists() else None
        if text is None:
            _not_of_others(folder, (), "no export of ours")
            return
    except OSError as error:
        raise ConfigError(f"Cannot use the folder {folder}: {error.strerror}.") from error
    try:
        empty = not any(split["rows"] for split in json.loads(text).values())
    except (ValueError, TypeError, KeyError, AttributeError):  # nobody knows what it is
        empty = False
    if not empty:
        raise ConfigError(
            f"{folder} holds an export already. Choose a new --out; all recordings of a split are exported in one go."
        )


def _not_of_others(folder: Path, own: tuple[str, ...], what: str) -> None:
    """Raises: ConfigError: the folder holds more than files named `own`. OSError: it cannot be read."""
    others = sorted(path.name for path in folder.iterdir() if path.name not in own) if folder.exists() else []
    if others:
        raise ConfigError(f"{folder} holds {others[0]} and {what}. Choose a new or empty folder for --out.")


def recorded_epsilon(recording: Path) -> float:
    """Share of slips in a recording that a collection made; 0 for any other recording."""
    try:
        there = json.loads((recording.parent.parent / FILE).read_text(encoding="utf-8"))
        return float(there["epsilon"])
    except (OSError, ValueError, TypeError, KeyError):  # no collection of ours
        return 0.0


def split_name(split: str | None) -> str:
    """A task set as the name of a file and of a split: word characters only; `train` for the default.

    Args:
        split: name of a task set, or the path of one, of which the last part is taken.
    """
    if split is None:
        return "train"
    return re.sub(r"\W+", "_", Path(split).name).strip("_") or "tasks"


def replace_file(path: Path, text: str) -> None:
    """Write a file so that a kill leaves the old one or the new one.

    Raises:
        OSError: it cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
