"""A benchmark of the right shape, made from (seed, index): seven domains, every sub-format of actions and screens.

The real rows cannot be had here. What these have in common with them is the layout; what they say is made up.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from agentworld_envs.backends.world_model.codecs import Call, UserTurn, codec_for
from agentworld_envs.backends.world_model.codecs.layout import write_observation_turn
from agentworld_envs.evaluation.agentworldbench.rows import DOMAINS

SUFFIX = (
    "Think about what the environment does, step by step, and then put what it answers between "
    "<predicted_observation></predicted_observation>."
)
WORDS = ("apple", "brick", "cloud", "delta", "ember", "frost", "grove", "haven")
Turn = tuple[Call, str]
"""An action and what is observed."""


def _word(g: np.random.Generator) -> str:
    return WORDS[int(g.integers(len(WORDS)))]


def _terminal(g: np.random.Generator, variant: int, turn: int) -> Turn:
    name, host = _word(g), "ad092d3df69c"
    if variant == 1 and turn == 1:  # still running: no new prompt
        return Call("keystrokes", {"keystrokes": "sleep 9\n", "duration": 0.1}), f"root@{host}:/app# sleep 9\n"
    if variant == 2 and turn == 1:
        return Call("keystrokes", {"keystrokes": "C-c"}), f"^C\nroot@{host}:/app# "
    prompt = f"root@{host}:/app# "
    return (
        Call("keystrokes", {"keystrokes": f"cat {name}\n", "duration": 0.1}),
        f"{prompt}cat {name}\ncat: {name}: No such file or directory\n{prompt}",
    )


def _mcp(g: np.random.Generator, variant: int, turn: int) -> Turn:
    name, number = _word(g), int(g.integers(1, 99))
    answers = (
        json.dumps({"id": number, "name": name}),
        json.dumps({"type": "text", "text": f"Error calling tool 'get_{name}': 1 validation error"}),
        json.dumps([{"type": "text", "text": f"{name}: {number}"}], indent=2),
        f"status: error\nmessage: {name} is not there",
    )
    return Call(f"get_{name}", {"id": number}, (), "json"), answers[(variant + turn) % len(answers)]


def _swe(g: np.random.Generator, variant: int, turn: int) -> Turn:
    name, form = _word(g), ("json_string", "json")[variant % 2]
    kinds: tuple[Turn, ...] = (
        (Call("Read", {"file_path": f"/a/{name}.py"}, (), form), f"     1→def {name}():\n     2→    return 1"),
        (Call("Bash", {"command": f"./{name}"}, (), form), f"Exit code 127\n./{name}: not found"),
        (
            Call("run_shell_command", {"command": f"echo {name}"}, (), form),
            f"Command: echo {name}\nDirectory: (root)\nOutput: {name}\nError: (none)\nExit Code: 0\nSignal: (none)\n"
            "Background PIDs: (none)\nProcess Group PGID: 7",
        ),
        (
            Call("list_directory", {"path": "/a"}, (), form),
            f"Directory listing for /a:\n[DIR] {name}\n{name}.py",
        ),
        (
            Call("write_file", {"file_path": f"/a/{name}", "content": "x"}, (), form),
            f"Successfully created and wrote to new file: /a/{name}.",
        ),
    )
    return kinds[(variant * 2 + turn) % len(kinds)]


def _search(g: np.random.Generator, variant: int, turn: int) -> Turn:
    name = _word(g)
    if turn % 3 == 1:
        count = int(g.integers(1, 10))
        results = "\n\n".join(
            f"[{i}] https://{name}.example/{i}\nTitle: {name} {i}\nSnippet: about {name}\nDate: N/A"
            for i in range(1, count + 1)
        )
        asked = {"queries": [name]} if variant % 2 else {"query": name}
        return Call("web_search", asked, (), "json"), f"```\n{results}\n```" if variant % 2 else results
    if turn % 3 == 2:
        return Call(
            "web_extractor", {"url": f"https://{name}.example/1"}, (), "json"
        ), f"Jump to content\n# {name}\nText."
    return Call(
        "dict_memory", {"operation": "add", "dict": {name: 1}}, (), "json"
    ), f"Successfully added items of ['{name}'] to memory."


def _android(g: np.random.Generator, variant: int, turn: int) -> Turn:
    name, index = _word(g), int(g.integers(1, 20))
    calls = (
        Call("click", {"index": index}, (), "action_type"),
        Call("swipe", {"coordinate": [1, 2], "coordinate2": [3, 4]}, (), "action"),
        Call("phone", {"action": "click", "index": str(index)}, (), "invoke"),
        Call("touch", {"tag": "button", "attributes": f"id={index} bound_box=1,2,3,4", "text": name}, (), "droidbot"),
    )
    screens = (
        f'[ {index % 10}] | android.widget.Button | text="{name}" desc="" res="a:id/b" | bounds=[0,0][9,9] | clickable',
        f'[{index:2d}] | android.widget.TextView | text="{name}" desc="" res="" | bounds=[0,0][9,9]',
        f'• **App:** {name}\n• **Keyboard:** Hidden\n{index}. TextView: "title", "{name}" - (0,0,9,9)',
        f'App: {name}\nAccessibility Tree:\n- Button id="{index}" text="{name}" bounds=[0,0][9,9]',
    )
    return calls[variant % 4], screens[variant % 4]


def _web(g: np.random.Generator, variant: int, turn: int) -> Turn:
    name, number = _word(g), int(g.integers(1, 40))
    calls = (
        Call("browser_click", {"element": name, "ref": f"e{number}"}, (), "call"),
        Call("click", {}, (str(number),), "call"),
        Call("browser_type", {"ref": f"e{number}", "text": 'a "b"', "submit": True}, (), "call"),
    )
    page = (
        f"### Page\n- Page URL: http://{name}/\n- Page Title: {name}\n### Snapshot\n```yaml\n"
        f'- main [ref=e1]:\n  - link "{name}" [ref=e{number}]\n```'
    )
    return calls[variant % 3], page if turn % 3 else f"### Error\nElement {name} is not there."


def _os(g: np.random.Generator, variant: int, turn: int) -> Turn:
    name, x = _word(g), int(g.integers(1, 900))
    calls = (
        Call("python", {"code": f"import pyautogui\npyautogui.write('{name}')"}, (), "python"),
        Call("pyautogui.click", {}, (x, 40), "call"),
        Call("Agent.click", {"coordinates": [x, 40]}, (), "call"),
        Call("WAIT", {}, (), "word"),
    )
    return calls[variant % 4], f"tag\tname\ttext\tposition\nlabel\t{name}\t\t({x}, 40)\npush-button\tOK\tOK\t(1, 2)"


MAKERS: dict[str, Callable[[np.random.Generator, int, int], Turn]] = {
    "mcp": _mcp,
    "search": _search,
    "terminal": _terminal,
    "swe": _swe,
    "android": _android,
    "web": _web,
    "os": _os,
}


def make_trajectory(domain: str, seed: int, index: int) -> list[dict[str, Any]]:
    """Three rows of one trajectory: its first turn, one between, its last; as the published files have them."""
    g = np.random.default_rng([seed, index, DOMAINS.index(domain)])
    codec, total = codec_for(domain), 3 + int(g.integers(4))
    plain, responses = [], []
    for number in range(1, total + 1):
        call, observation = MAKERS[domain](g, index, number)
        block = codec.write_action(call)
        gui = domain in ("android", "web", "os")
        first = number == 1 and (gui or domain == "terminal")
        turn = UserTurn(
            number,
            block.text,
            block.language,
            instruction=f"Find the {_word(g)}." if first and gui else "",
            state=MAKERS[domain](g, index, 0)[1] if first else "",
            state_header=codec.state_header if first else "Current State",
        )
        plain.append(turn.render(raw=True))
        responses.append(write_observation_turn(observation))
    rows = []
    for k in sorted({1, 2 + int(g.integers(total - 2)), total}):
        shown = total if index % 2 else k  # the files are said to hold all turns, or those up to the asked one
        prompt = [*plain[: k - 1], f"{plain[k - 1]}\n\n{SUFFIX}", *plain[k:shown]]
        rows.append(
            {
                "task": f"bench/{domain}",
                "id": f"{domain}-{index // 2}",  # ids are used again by another trajectory
                "prompt": prompt,
                "response": responses[:shown],
                "current_prompt": plain[k - 1],
                "system_str": f"You are the {domain} environment number {index}.",
                "turn_idx": k,
                "total_turns": total,
            }
        )
    return rows


def write_benchmark(folder: Path, seed: int = 0, trajectories: int = 4, domains: tuple[str, ...] = DOMAINS) -> Path:
    """The seven files; four trajectories are ten to twelve rows a domain."""
    folder.mkdir(parents=True, exist_ok=True)
    for domain in domains:
        rows = [row for index in range(trajectories) for row in make_trajectory(domain, seed, index)]
        write_rows(folder / f"{domain}_test.jsonl", rows)
    return folder


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
