"""What a world model is told about an episode."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from agentworld_envs.domains.terminal import wording
from agentworld_envs.domains.terminal.clock import NOW
from agentworld_envs.domains.terminal.scenario import Entry, InitialState
from agentworld_envs.interface import SimulationSpec

PROMPT_VERSION = "terminal/1"
"""Names the wording of the prompt: the file `prompts/world_model_v1.txt` and the layout made here."""
MOST_CHARACTERS = 16_000
"""Of all file contents in a prompt; what does not fit is named with its size only."""
_PROGRAMS = "bash, coreutils, findutils, grep, sed, awk, tar, gzip, python3"


@cache
def _template() -> str:
    return files(__package__).joinpath("prompts", "world_model_v1.txt").read_text(encoding="utf-8")


def brief(start: InitialState, instruction: str) -> SimulationSpec:
    """The world-model prompt and the first observation.

    Args:
        start: the initial state, of which the prompt says everything that fits.
        instruction: the task; only the first observation, which the agent sees, has it.
    """
    shown = wording.prompt(start.cwd)
    text = _template()
    for key, value in {
        "{now}": f"{NOW:%a %b %e %H:%M:%S UTC %Y}",
        "{programs}": ", ".join([_PROGRAMS, *start.needs]),
        "{cwd}": start.cwd,
        "{tree}": "\n".join(_tree(start)) or "(empty)",
        "{contents}": _contents(start),
        "{processes}": "\n".join(start.services) or "(none but the shell)",
        "{prompt}": shown,
    }.items():
        text = text.replace(key, value)
    return SimulationSpec(
        system=text.strip(),
        first_observation=f"{instruction}\n\n{shown}".rstrip(" "),
        prompt_version=PROMPT_VERSION,
        state=shown.rstrip(" "),
        action_fence="json",
    )


def _tree(start: InitialState) -> list[str]:
    lines = []
    for path, entry in sorted(start.files.items()):
        if entry.link is not None:
            lines.append(f"lrwxrwxrwx {path} -> {entry.link}")
        elif entry.folder:
            lines.append(f"{_mode('d', entry, '755')} {path}/")
        else:
            lines.append(f"{_mode('-', entry, '644')} {len(entry.data or b'')} {path}")
    return lines


def _mode(kind: str, entry: Entry, default: str) -> str:
    bits = int(entry.mode or default, 8)
    return kind + "".join("rwx"[i % 3] if bits >> (8 - i) & 1 else "-" for i in range(9))


def _contents(start: InitialState) -> str:
    parts = []
    left = MOST_CHARACTERS
    for path, entry in sorted(
        start.files.items(), key=lambda item: (len(item[1].text or item[1].base64 or ""), item[0])
    ):
        shown = entry.text if entry.text is not None else entry.base64
        if shown is not None and len(shown) <= left:
            left -= len(shown)
            note = "" if entry.text is not None else " (base64)"
            parts.append(f"--- {path}{note}\n{shown.rstrip(chr(10))}")
    parts += [f"--- afterwards this was run in {start.cwd}\n{command}" for command in start.setup]
    return "\n".join(parts) or "(nothing)"
