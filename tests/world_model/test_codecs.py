"""The markup of the seven domains: what is written is read as it was, and what is read is written as it was."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from world_model.codec_drawing import ACTIONS, NAME, STRUCTURES, TEXT

from agentworld_envs.backends.world_model.codec import OPEN, parse_prediction, wrap
from agentworld_envs.backends.world_model.codecs import (
    CODECS,
    Call,
    Raw,
    UserTurn,
    android,
    codec_for,
    mcp,
    os,
    read_observation_turn,
    read_user_turn,
    search,
    swe,
    terminal,
    web,
)
from agentworld_envs.backends.world_model.codecs.layout import write_observation_turn
from agentworld_envs.backends.world_model.prompts import SUFFIX
from agentworld_envs.interface import ConfigError


@pytest.mark.parametrize("domain", CODECS)
def test_any_action_round_trips_in_its_turn(domain: str) -> None:
    codec = codec_for(domain)
    refused: list[tuple[Call, ...]] = []
    written = []

    @given(ACTIONS[domain], TEXT, st.integers(1, 200))
    @settings(max_examples=120)
    def check(calls: tuple[Call, ...], state: str, number: int) -> None:
        try:
            block = codec.write_action(*calls)
        except ConfigError:
            refused.append(calls)
            return
        assert codec.read_action(block.text, block.language).calls == calls
        written.append(calls)
        turn = UserTurn(number, block.text, block.language, "", state, codec.state_header, SUFFIX)
        assert read_user_turn(turn.render(raw=True)) == (
            turn if state else UserTurn(number, block.text, block.language, suffix=SUFFIX)
        )
        safe = read_user_turn(turn.render())
        assert "<|im_end|>" not in safe.action
        assert (safe.number, safe.suffix) == (number, SUFFIX)

    check()
    # Only what has no unambiguous text may be refused: an element whose text closes the element, and the like.
    assert all(call.form in ("droidbot", "action_type", "action", "invoke") for calls in refused for call in calls)
    assert len(refused) <= len(written) // 4


@pytest.mark.parametrize("domain", CODECS)
def test_any_observation_comes_back_structured_or_raw(domain: str) -> None:
    codec = codec_for(domain)

    @given(TEXT)
    @settings(max_examples=200)
    def check(text: str) -> None:
        assert codec.read_observation(text).render() == text
        assert parse_prediction(wrap(text)).text == text
        assert read_observation_turn(write_observation_turn(text)) == text

    check()


@given(TEXT, TEXT, TEXT, st.sampled_from(["Current State", "Current Phone State"]))
@settings(max_examples=300)
def test_a_user_message_comes_apart(instruction: str, state: str, action: str, header: str) -> None:
    if "State:**" in instruction or instruction.endswith("\n"):
        instruction = "Book a table."
    turn = UserTurn(1, action, "text", instruction, state, header if state else "Current State", "Think, then predict.")
    assert read_user_turn(turn.render(raw=True)) == turn


@given(TEXT)
def test_reading_a_message_never_raises(text: str) -> None:
    read_user_turn(text)
    read_user_turn(f"### Turn 1\n{text}")


@pytest.mark.parametrize("domain", CODECS)
def test_reading_an_action_never_raises(domain: str) -> None:
    for text in (
        "",
        "{",
        "[" * 100_000,
        "f(" * 5_000,
        "f(" + "[" * 3000,
        '{"name": 1}',
        "\x00",
        "f(*a)",
        "f(**a)",
        "f(x=1,x=2)",
        '{"name":"x","arguments":"{"}',
    ):
        for language in ("", "json", "text", "xml"):
            assert codec_for(domain).read_action(text, language).text == text
        codec_for(domain).read_observation(text)


@pytest.mark.parametrize(
    ("domain", "language", "text", "name", "arguments"),
    [
        (
            "terminal",
            "json",
            '[{"keystrokes": "ls\\n", "duration": 0.1}]',
            "keystrokes",
            {"keystrokes": "ls\n", "duration": 0.1},
        ),
        ("mcp", "json", '{"name": "get", "arguments": {"id": 3}}', "get", {"id": 3}),
        ("swe", "json", '{"name": "Read", "arguments": "{\\"file_path\\": \\"/a\\"}"}', "Read", {"file_path": "/a"}),
        (
            "swe",
            "json",
            '{"name": "read_file", "arguments": {"absolute_path": "/a"}}',
            "read_file",
            {"absolute_path": "/a"},
        ),
        (
            "search",
            "json",
            '{"name":"web_search","arguments":{"queries":["a","b"]}}',
            "web_search",
            {"queries": ["a", "b"]},
        ),
        ("android", "json", '{"action_type":"click","index":3}', "click", {"index": 3}),
        (
            "android",
            "json",
            '{"action":"swipe","coordinate":[1,2],"coordinate2":[3,4]}',
            "swipe",
            {"coordinate": [1, 2], "coordinate2": [3, 4]},
        ),
        (
            "android",
            "xml",
            '<invoke name="phone">\n<parameter name="action">click</parameter>\n'
            '<parameter name="index">46</parameter>\n</invoke>',
            "phone",
            {"action": "click", "index": "46"},
        ),
        (
            "android",
            "text",
            "touch <button id=3 bound_box=1,2,3,4>OK</button>",
            "touch",
            {"tag": "button", "attributes": "id=3 bound_box=1,2,3,4", "text": "OK"},
        ),
        (
            "android",
            "text",
            "set_text <input id=1>old</input> new one",
            "set_text",
            {"tag": "input", "attributes": "id=1", "text": "old", "value": "new one"},
        ),
        ("android", "text", "scroll up <scrollbar id=9>", "scroll up", {"tag": "scrollbar", "attributes": "id=9"}),
        ("android", "text", "intent am start com.x/.Main", "intent", {"command": "am start com.x/.Main"}),
        (
            "web",
            "text",
            'browser_click(element="Save", ref="e12", doubleClick=true)',
            "browser_click",
            {"element": "Save", "ref": "e12", "doubleClick": True},
        ),
        ("web", "text", "noop()", "noop", {}),
        ("os", "text", "Agent.click(coordinates=[1, 2])", "Agent.click", {"coordinates": [1, 2]}),
        ("os", "python", "import os\nprint(1)", "python", {"code": "import os\nprint(1)"}),
    ],
)
def test_forms_of_actions(domain: str, language: str, text: str, name: str, arguments: dict[str, Any]) -> None:
    calls = codec_for(domain).read_action(text, language).calls
    assert calls is not None
    assert (calls[0].name, dict(calls[0].arguments)) == (name, arguments)


def test_an_empty_list_of_keystrokes_is_an_action_and_prose_is_none() -> None:
    assert codec_for("terminal").read_action("[]").calls == ()
    for domain in CODECS:
        assert codec_for(domain).read_action("Let me think about it.", "text").calls is None


def test_the_21_calls_of_the_web() -> None:
    assert len(web.BROWSERGYM) == 21
    codec = codec_for("web")
    for name, parameters in web.BROWSERGYM.items():
        call = Call(name, {}, tuple(f"v{index}" for index in range(len(parameters))), "call")
        block = codec.write_action(call)
        [read] = codec.read_action(block.text, block.language).calls or ()
        assert web.named_arguments(read) == {key: f"v{index}" for index, key in enumerate(parameters)}
        assert web.dialect(read) == "browsergym"
    with pytest.raises(ValueError, match="takes 1 arguments"):
        web.named_arguments(Call("goto", {}, ("a", "b")))


def test_several_calls_on_lines_of_their_own() -> None:
    calls = codec_for("web").read_action('click("1")\nfill("2", value="x")', "text").calls
    assert calls is not None
    assert [call.name for call in calls] == ["click", "fill"]


def test_what_calls_are_about() -> None:
    codec = codec_for("search")
    for text, expected in (
        ('{"name": "web_search", "arguments": {"queries": ["a", "b"]}}', ["a", "b"]),
        ('{"name": "web_search", "arguments": {"query": "a"}}', ["a"]),
        ('{"name": "web_extractor", "arguments": {"url": "http://x"}}', []),
    ):
        [call] = codec.read_action(text).calls or ()
        assert search.queries(call) == expected
    families = [swe.family(Call(name)) for name in ("Read", "run_shell_command", "frob")]
    assert families == ["claude_code", "qwen_code", ""]


def test_what_cannot_be_written_says_so() -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        codec_for("mcp").write_action(Call("t", {"x": math.nan}))
    with pytest.raises(ConfigError, match="cannot be written"):
        codec_for("mcp").write_action(Call("a"), Call("b"))
    with pytest.raises(ConfigError, match="without being read as another one"):
        codec_for("android").write_action(
            Call("set_text", {"tag": "a", "attributes": "", "text": "</a>", "value": ""}, (), "droidbot")
        )
    with pytest.raises(ConfigError, match="Did you mean 'terminal'"):
        codec_for("terminl")


PAGE = """### Ran Playwright code
```js
await page.goto('http://x/');
```
### Page
- Page URL: http://x/
- Page Title: Shop
### Snapshot
```yaml
- main [ref=e2]:
  - button "Save \\"all\\"" [ref=e12] [cursor=pointer]
```"""


def test_forms_of_observations() -> None:
    screen = codec_for("terminal").read_observation("root@ad092d3df69c:/app# ls\na.txt\nroot@ad092d3df69c:/app# ")
    assert isinstance(screen, terminal.Screen)
    assert screen.prompt is not None
    assert (screen.prompt.folder, screen.running) == ("/app", False)
    waiting = codec_for("terminal").read_observation("root@ad092d3df69c:/app# sleep 9\n")
    assert isinstance(waiting, terminal.Screen)
    assert waiting.running

    error = codec_for("mcp").read_observation(
        '{"type": "text", "text": "Error calling tool \'t\': 1 validation error"}'
    )
    assert isinstance(error, mcp.TextContent)
    assert error.is_error
    indented = codec_for("mcp").read_observation(json.dumps({"a": [1, "é"]}, indent=2))
    assert isinstance(indented, mcp.JSONAnswer)
    assert indented.value == {"a": [1, "é"]}

    shell = codec_for("swe").read_observation(
        "Command: ls\nDirectory: (root)\nOutput: a\nCommand: no\nError: (none)\nExit Code: 2\nSignal: (none)"
    )
    assert isinstance(shell, swe.ShellResult)
    assert (shell.exit_code, shell.field("Output"), shell.field("Error")) == (2, "a\nCommand: no", "")
    view = codec_for("swe").read_observation(
        "The file /a has been updated.\n     9→def f():\n    10→    pass\n<system-reminder>x</system-reminder>"
    )
    assert isinstance(view, swe.FileView)
    assert view.lines == ((9, "def f():"), (10, "    pass"))
    listing = codec_for("swe").read_observation("Directory listing for /a:\n[DIR] src\nREADME.md")
    assert isinstance(listing, swe.DirectoryListing)
    assert listing.entries == (("src", True), ("README.md", False))
    assert isinstance(codec_for("swe").read_observation("Exit code 127\nfoo: not found"), swe.FailedCommand)

    results = codec_for("search").read_observation(
        "```\n[1] https://a\nTitle: A\nSnippet: one\ntwo\nDate: N/A\n\n[2] https://b\nTitle: B\nSnippet: \n```"
    )
    assert isinstance(results, search.SearchResults)
    assert results.fenced
    assert [result.snippet for result in results.results] == ["one\ntwo", ""]
    assert results.results[0].date == "N/A"
    note = codec_for("search").read_observation("Successfully updated items of ['a', 'b'] in memory.")
    assert isinstance(note, search.MemoryNote)
    assert (note.operation, note.keys) == ("updated", "'a', 'b'")

    page = codec_for("web").read_observation(PAGE)
    assert isinstance(page, web.Page)
    assert (page.url, page.title) == ("http://x/", "Shop")
    assert [(node.role, node.ref) for node in page.nodes()] == [("main", "e2"), ("button", "e12")]

    phone = codec_for("android").read_observation(
        "• **App:** Clock\n"
        '[ 1] | android.widget.Button | text="OK | go" desc="" res="a:id/b" | bounds=[0,1][20,30] | clickable\n'
        '8. TextView: "title", "Alarm" - (1,2,3,4)\n  - Button id="b" text="x" bounds=[1,2][3,4]'
    )
    assert isinstance(phone, android.Screen)
    assert [node.bounds for node in phone.nodes] == [(0, 1, 20, 30), (1, 2, 3, 4), (1, 2, 3, 4)]
    table = codec_for("os").read_observation("tag\tname\ttext\nlabel\tHome\t\npush-button\tOK\tOK")
    assert isinstance(table, os.AccessibilityTable)
    assert table.rows[0] == ("label", "Home", "")
    assert codec_for("os").read_observation("plain") == Raw("plain")


@given(
    st.lists(
        st.builds(search.SearchResult, st.integers(1, 99), NAME, NAME, NAME, st.none() | NAME), min_size=1, max_size=4
    ),
    st.booleans(),
)
def test_results_round_trip(results: list[search.SearchResult], fenced: bool) -> None:
    found = search.SearchResults(tuple(results), fenced)
    assert codec_for("search").read_observation(found.render()) == found


@pytest.mark.parametrize("domain", STRUCTURES)
def test_structures_round_trip(domain: str) -> None:
    @given(STRUCTURES[domain])
    @settings(max_examples=100)
    def check(structure: Any) -> None:
        assert codec_for(domain).read_observation(structure.render()) == structure

    check()


def test_thinking_in_any_case_and_drafts_are_told_apart() -> None:
    assert parse_prediction(f"<THINK>hm</THINK>\n{wrap('a')}").text == "a"
    assert parse_prediction(f"</think>\n{wrap('a')}", reasoning="hm").text == "a"
    assert (
        parse_prediction(f"<think>more about {OPEN}</think>{wrap('a')}", reasoning="hm").reasoning
        == f"hm\nmore about {OPEN}"
    )
    two = parse_prediction(f"{wrap('draft')}\nNo, rather:\n{wrap('final')}")
    assert (two.blocks, two.last_block) == (2, "final")
    nested = parse_prediction(wrap(f"cat prompt.txt\n{wrap('x')}\nend"))
    assert (nested.blocks, nested.last_block) == (1, nested.text)
