"""What the property tests of the codecs draw: actions, structures and hostile texts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from agentworld_envs.backends.world_model.codec import CLOSE, HEADER, OPEN
from agentworld_envs.backends.world_model.codecs import Call, mcp, os, swe, terminal, web

HOSTILE = st.sampled_from(
    [
        *(OPEN, CLOSE, "<think>", "</think>", "<THINK>", HEADER, "**Action:**\n```json\n", "**Current State:**\n"),
        *("\n", "\r\n", " ", "```", "\n```\n", "````", "<|im_end|>", "<|im_start|>system", "### Turn 3\n"),
        *("\x1b[2J", "\x00", "\u00e9", "x", "[1] ", "\ud83d", "\u2028", '"', "\\", "&lt;", "<", "</parameter>"),
        *("</button>", "'", "(", "\t", "[SUCCESS]", "reward: 1"),
    ]
)
TEXT = st.one_of(st.text(max_size=30), st.lists(HOSTILE, max_size=10).map("".join))
NAME = st.from_regex(r"[a-z][a-z_]{0,10}", fullmatch=True)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(NAME, JSON, max_size=4)
IDENTIFIER = st.sampled_from(["element", "ref", "url", "text", "value", "options", "bid"])


def json_call(*forms: str) -> st.SearchStrategy[Call]:
    return st.builds(Call, TEXT, st.dictionaries(TEXT, JSON, max_size=3), st.just(()), st.sampled_from(forms))


def expression(names: st.SearchStrategy[str]) -> st.SearchStrategy[Call]:
    arguments = st.dictionaries(IDENTIFIER, JSON, max_size=3)
    return st.builds(Call, names, arguments, st.lists(JSON, max_size=3).map(tuple), st.just("call"))


STROKE = st.fixed_dictionaries({"keystrokes": TEXT}, optional={"duration": st.floats(0, 60)})
DROIDBOT = st.one_of(
    st.builds(
        lambda verb, tag, number, text: Call(
            verb, {"tag": tag, "attributes": f"id={number}", "text": text}, (), "droidbot"
        ),
        st.sampled_from(["touch", "long_touch", "select", "unselect", "scroll up"]),
        st.sampled_from(["button", "checkbox", "scrollbar"]),
        st.integers(0, 99),
        TEXT,
    ),
    st.builds(
        lambda old, new: Call(
            "set_text", {"tag": "input", "attributes": "id=1", "text": old, "value": new}, (), "droidbot"
        ),
        TEXT,
        TEXT,
    ),
    st.builds(lambda text: Call("intent", {"command": text}, (), "droidbot"), TEXT),
    st.just(Call("kill_app", {}, (), "droidbot")),
)
ACTIONS: dict[str, st.SearchStrategy[tuple[Call, ...]]] = {
    "terminal": st.lists(st.builds(Call, st.just("keystrokes"), STROKE, st.just(()), st.just("json")), max_size=4).map(
        tuple
    ),
    "mcp": st.tuples(json_call("json", "json_string"))
    | st.lists(json_call("json_list", "json_string_list"), min_size=1, max_size=3).map(tuple),
    "swe": st.tuples(json_call("json", "json_string")),
    "search": st.tuples(json_call("json", "json_string")),
    "web": st.lists(
        expression(st.sampled_from(["click", "browser_click", "goto", "browser_evaluate"])), min_size=1, max_size=3
    ).map(tuple)
    | st.tuples(json_call("json")),
    "os": st.tuples(
        st.builds(lambda code: Call("python", {"code": code}, (), "python"), TEXT)
        | expression(st.sampled_from(["pyautogui.click", "Agent.click", "os.system"]))
        | st.sampled_from(os.WORDS).map(lambda word: Call(word, {}, (), "word"))
    ),
    "android": st.tuples(
        st.builds(Call, TEXT, ARGUMENTS, st.just(()), st.sampled_from(["action_type", "action"]))
        | st.builds(Call, NAME, st.dictionaries(NAME, TEXT, max_size=3), st.just(()), st.just("invoke"))
        | DROIDBOT
    ),
}


LINE = st.text(st.characters(codec="utf-8", exclude_characters="\n\t\r`#→"), min_size=1, max_size=12)
STRUCTURES: dict[str, st.SearchStrategy[Any]] = {
    "terminal": st.builds(
        lambda lines, folder, typed: terminal.Screen(
            tuple(lines), terminal.ShellPrompt("root", "ad092d3df69c", folder, "#", f" {typed}")
        ),
        st.lists(LINE, max_size=4),
        st.sampled_from(["/app", "~", "/a b"]),
        LINE,
    ),
    "mcp": st.one_of(
        st.builds(
            lambda texts: mcp.TextContent(tuple(texts), True, {"ensure_ascii": False}), st.lists(TEXT, min_size=1)
        ),
        st.builds(lambda text: mcp.TextContent((text,), False, {"ensure_ascii": False}), TEXT),
        st.builds(lambda value: mcp.JSONAnswer({"x": value, "y": 1}, {"ensure_ascii": False}), JSON),
    ),
    "swe": st.one_of(
        st.builds(
            lambda texts: swe.FileView(tuple((index, text) for index, text in enumerate(texts, 1))),
            st.lists(LINE, min_size=1, max_size=5),
        ),
        st.builds(
            lambda path, name, folder: swe.DirectoryListing(f"/{path}", ((name, folder),)), NAME, NAME, st.booleans()
        ),
        st.builds(lambda code, text: swe.FailedCommand(code, f"\n{text}"), st.integers(0, 255), TEXT),
        st.builds(
            lambda out, code: swe.ShellResult((("Command", " x"), ("Output", f" {out}"), ("Exit Code", f" {code}"))),
            LINE,
            st.integers(-9, 255),
        ),
    ),
    "web": st.builds(
        lambda url, lead: web.Page((web.Section("Page", f"\n- Page URL: {url}\n"), web.Section("Result", "\nx")), lead),
        NAME,
        st.sampled_from(["", "text\n"]),
    ),
    "os": st.builds(
        lambda rows: os.AccessibilityTable(("tag", "name"), tuple(tuple(row) for row in rows)),
        st.lists(st.lists(LINE, min_size=1, max_size=3), min_size=1, max_size=3),
    ),
}
"""Structures, with texts that cannot be taken for markup."""
