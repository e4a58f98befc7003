"""Find files by name, size or contents, and report or move them."""

from __future__ import annotations

import numpy as np

from agentworld_envs.domains.terminal.checks import FileCheck, TreeCheck
from agentworld_envs.domains.terminal.scenario import Entry, Level, Scenario, file

_FOLDERS = ("alpha", "billing", "cache", "drafts", "export", "forms", "inbox", "legacy", "notes", "reports")
_STEMS = ("summary", "ledger", "index", "memo", "plan", "photo", "roster", "survey", "table", "trace")
_ENDINGS = (".txt", ".csv", ".log", ".md")


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: by ending; 2: by size; 3: by contents, and they are moved."""
    entries: dict[str, Entry] = {}
    count = 8 + 6 * level
    marker = f"REF-{int(rng.integers(1000, 9999))}"
    hits: list[str] = []
    ending = str(rng.choice(_ENDINGS))
    limit = int(rng.integers(3, 7)) * 100
    for number in range(count):
        depth = int(rng.integers(1, 4))
        folders = "/".join(str(name) for name in rng.choice(_FOLDERS, size=depth, replace=False))
        name = f"{folders}/{rng.choice(_STEMS)}_{number:02d}{rng.choice(_ENDINGS)}"
        size = int(rng.integers(50, 900))
        size += size == limit
        text = ("".join(chr(97 + int(n)) for n in rng.integers(0, 26, size=40)) + "\n") * (size // 41 + 1)
        text = text[: size - 1] + "\n"
        marked = level == 3 and (rng.random() < 0.3 or number == 0)
        if marked:
            text = text[: size // 2] + f"\n{marker}\n" + text[size // 2 :]
        entries[f"/workspace/data/{name}"] = file(text)
        hit = {1: name.endswith(ending), 2: len(text) > limit, 3: marked}[level]
        if hit:
            hits.append(name)
    if not hits:
        name = f"inbox/extra{ending}"
        entries[f"/workspace/data/{name}"] = file("x" * 999 + "\n")
        hits.append(name)
    return _scenario(level, entries, sorted(hits), ending, limit, marker)


def _scenario(
    level: Level, entries: dict[str, Entry], hits: list[str], ending: str, limit: int, marker: str
) -> Scenario:
    if level == 3:
        texts = {name: entries[f"/workspace/data/{name}"].text for name in hits}
        flat = {name.rpartition("/")[2]: text for name, text in texts.items()}
        return Scenario(
            f"Somewhere below /workspace/data are files that have a line with exactly the text {marker}. Move each of "
            "them into the new folder /workspace/found, keeping its file name. Leave all other files where they are.",
            entries,
            [
                TreeCheck(path="/workspace/found", files=dict(flat)),
                TreeCheck(
                    path="/workspace/data",
                    files={
                        path.removeprefix("/workspace/data/"): entry.text
                        for path, entry in entries.items()
                        if path.removeprefix("/workspace/data/") not in texts
                    },
                ),
            ],
            ["mkdir -p found", f"grep -rlxF '{marker}' data | xargs -d '\\n' mv -t found"],
        )
    what = f"end in {ending}" if level == 1 else f"are larger than {limit} bytes"
    test = f"-name '*{ending}'" if level == 1 else f"-size +{limit}c"
    return Scenario(
        f"List all files below /workspace/data that {what}. Write their paths relative to /workspace/data, one per "
        "line and sorted as by `LC_ALL=C sort`, to /workspace/answer.txt.",
        entries,
        [FileCheck(path="/workspace/answer.txt", text="\n".join(hits) + "\n")],
        [f"cd data && find . -type f {test} -printf '%P\\n' | LC_ALL=C sort > ../answer.txt"],
    )
