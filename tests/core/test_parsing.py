"""The action parser: what models write, and what they should not."""

from __future__ import annotations

import json
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentworld_envs import ConfigError
from agentworld_envs.interface import Action
from agentworld_envs.parsing import MAX_ACTION_CHARS, ActionParser, Rejection
from agentworld_envs.testing.play import BAD_ACTIONS

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "command",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
        },
    },
    {
        "type": "function",
        "function": {
            "name": "search",
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["query"],
            },
        },
    },
]
PARSER = ActionParser(TOOLS, "command")


@pytest.mark.parametrize(
    "text",
    [
        "go to bed 1",
        "  go to bed 1 \n",
        "<think>the bed?</think>go to bed 1",
        "<think>a</think>\n<think>b</think>\n\ngo to bed 1<|im_end|>",
        "reasoning without an opening tag</think>go to bed 1",
        "<|im_start|>assistant\ngo to bed 1<|im_end|>\n",
        "I will go.\n<action>go to desk 1</action> no, <action> go to bed 1 </action>",
        "First\n```\ngo to desk 1\n```\nthen\n```text\ngo to bed 1\n```\nDone.",
        "Let me think about that.\n\ngo to bed 1",
        '{"name": "command", "arguments": {"command": "go to bed 1"}}',
        '{"name": "command", "arguments": "{\\"command\\": \\"go to bed 1\\"}"}',
        '{"command": "go to bed 1"}',
        '<tool_call>\n{"name": "command", "arguments": {"command": "go to bed 1"}}\n</tool_call>',
        '{"tool_calls": [{"function": {"name": "command", "arguments": "{\\"command\\": \\"go to bed 1\\"}"}}]}',
        "go to bed 1<think>was that right?</think>",
        "```\ngo to bed 1",
        "<tool_call>\ngo to bed 1\n</tool_call>",
        'I call:\n{"name": "command", "arguments": {"command": "go to bed 1"}}',
        " ~\n  ```text\ngo to bed 1\n   ```  ",
        '[{"function": {"name": "command", "arguments": {"command": "go to bed 1"}}}]',
        '```json\n{"name": "command", "arguments": {"command": "go to bed 1"}}\n```',
        '<action>{"name": "command", "parameters": {"command": "go to bed 1"}}</action>',
    ],
)
def test_ways_to_say_the_same(text: str) -> None:
    assert PARSER.parse(text) == Action("command", {"command": "go to bed 1"}, "go to bed 1")


def test_a_block_keeps_its_lines() -> None:
    action = PARSER.parse("Run this:\n```bash\ncd /tmp\nls -la\n```\n")
    assert isinstance(action, Action)
    assert action.command == "cd /tmp\nls -la"


def test_a_longer_fence_holds_a_shorter_one() -> None:
    action = PARSER.parse("````text\ncat <<X\n```\nX\n````")
    assert isinstance(action, Action)
    assert action.command == "cat <<X\n```\nX"


def test_other_tools() -> None:
    action = PARSER.parse('{"name": "search", "arguments": {"query": "bed", "limit": 3}}')
    assert isinstance(action, Action)
    assert (action.tool, dict(action.arguments)) == ("search", {"query": "bed", "limit": 3})
    assert json.loads(action.command) == {"name": "search", "arguments": {"query": "bed", "limit": 3}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("<think>never closed", "empty"),
        ('{"name": "serch", "arguments": {"query": "bed"}}', "search"),
        ('{"name": "search", "arguments": {}}', "Missing argument 'query'"),
        ('{"name": "search", "arguments": {"query": "a", "q": 1}}', "Unexpected argument 'q'"),
        ('{"name": "search", "arguments": {"query": 5}}', "type string, got integer"),
        ('{"name": "search", "arguments": {"query": "a", "limit": true}}', "type integer, got boolean"),
        ('{"name": "search", "arguments": [1]}', "to be an object"),
        ('{"name": "search", "arguments": "{"}', "not valid JSON"),
        ("<tool_call>{oops}</tool_call>", "not valid JSON"),
        ('{"name": "search", "arguments": {"query": "bed"}', "not valid JSON"),
        ('[{"name": "search", "arguments": {"query": "bed"}}', "not valid JSON"),
        ("{'name': 'search', 'arguments': {'query': 'bed'}}", "not valid JSON"),
        ('{ "name": "search", "arguments": {"query": "a\n```\nb\n```"}', "not valid JSON"),
        ('I look.\n{"name": "search", "arguments": {"query": "bed"}', "not valid JSON"),
        ('I look.\n{"name": "search", "arguments": {"query": "bed"}} Done.', "not valid JSON"),
        ('{"name": "search", "arguments": {"query": "a"}}\nI look.', "text behind the tool call"),
        ('{"name": "search", "arguments": {"query": "a"}}\n{"command": "look"}', "these are 2 tool calls"),
        ('{"name": "a"}{"name": "b"}, {"name": "c"}', "these are 3 tool calls"),
        ('Both:\n{"command": "look"}\n\n{"command": "go"}', "these are 2 tool calls"),
        ("x" * (MAX_ACTION_CHARS + 1), "at most"),
        (5, "text, got int"),
        (None, "text, got NoneType"),
    ],
)
def test_rejections_say_what_is_wrong(text: object, words: str) -> None:
    rejection = PARSER.parse(text)
    assert isinstance(rejection, Rejection)
    assert words in rejection.observation


def test_a_call_reaches_the_backend_uncut() -> None:
    content = "if x:\n        y  =  '" + "A" * 5_000 + "'"
    action = PARSER.parse(json.dumps({"name": "search", "arguments": {"query": content}}))
    assert isinstance(action, Action)
    assert json.loads(action.command)["arguments"]["query"] == content
    assert "\n" not in action.command


def test_no_depth_of_nesting_raises() -> None:
    for depth in range(1, 2 * sys.getrecursionlimit()):
        nested = "[" * depth + "]" * depth
        for text in (f'{{"query": {nested}}}', f'{{"name": "search", "arguments": {{"query": {nested}}}}}'):
            assert isinstance(PARSER.parse(text), Action | Rejection)


def test_text_that_merely_looks_like_json_is_a_command() -> None:
    for text in ("{ echo a; }", "[ -f x ] && ls", '{"a": 1}', "{" * 1_000):
        action = PARSER.parse(text)
        assert isinstance(action, Action)
        assert action.command == text


def test_shell_text_with_names_is_a_command() -> None:
    for text in ("{ echo '{\"name\": 1}'; }", '{ "name" ; }', '{"a": {"name": "x"}', '{"name"} --help', '{"name": 5}'):
        action = ActionParser(TOOLS, "command", multiline=True).parse(text)
        assert isinstance(action, Action)
        assert action.command == text


def test_a_type_may_be_one_of_several() -> None:
    tool = {"function": {"name": "t", "parameters": {"properties": {"x": {"type": ["array", "string"]}}}}}
    parser = ActionParser([tool], "t")
    for value, fits in (("a", True), (["a"], True), (5, False), (True, False), (None, False)):
        parsed = parser.parse(json.dumps({"name": "t", "arguments": {"x": value}}))
        assert isinstance(parsed, Action) is fits
        assert fits or "of type array or string, got" in getattr(parsed, "observation", "")


def test_many_calls_are_read_in_linear_time() -> None:
    begun = time.perf_counter()
    for one in ('{"name": "a"}', '{"name": "a"}\n', '{"name":', '[{"name":', "{", '{"query": "x"} '):
        assert isinstance(PARSER.parse((one * MAX_ACTION_CHARS)[:MAX_ACTION_CHARS]), Action | Rejection)
    assert time.perf_counter() - begun < 2


@pytest.mark.parametrize("text", BAD_ACTIONS, ids=lambda text: repr(text)[:30])
def test_bad_actions_never_raise(text: object) -> None:
    assert isinstance(PARSER.parse(text), Action | Rejection)


@given(
    st.text()
    | st.recursive(st.none() | st.text() | st.integers(), lambda c: st.lists(c) | st.dictionaries(st.text(), c))
)
def test_anything_never_raises(text: object) -> None:
    assert isinstance(PARSER.parse(text), Action | Rejection)
    assert isinstance(PARSER.parse(json.dumps(text)), Action | Rejection)


@pytest.mark.parametrize("tools", [[], TOOLS[1:], [{"function": {"name": "command", "parameters": {}}}]])
def test_a_default_tool_is_needed(tools: list[dict[str, object]]) -> None:
    with pytest.raises(ConfigError, match="default tool 'command'"):
        ActionParser(tools, "command")


def test_answer_tags_call_the_tool_for_answers() -> None:
    answer = {
        "type": "function",
        "function": {
            "name": "answer",
            "parameters": {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]},
        },
    }
    parser = ActionParser([*TOOLS, answer], "command", answer_tool="answer")
    for text, expected in {
        "<think>so</think>\nIt is <answer> Oslo </answer>": "Oslo",
        "<answer>no</answer> or rather <answer>a\nb</answer>": "a\nb",
        '<answer>{"name": "command", "arguments": {"command": "look"}}</answer>': (
            '{"name": "command", "arguments": {"command": "look"}}'
        ),
        "<answer></answer>": "",
    }.items():
        action = parser.parse(text)
        assert isinstance(action, Action), text
        assert (action.tool, action.arguments) == ("answer", {"answer": expected})
    action = parser.parse('{"answer": "Oslo"}')
    assert isinstance(action, Action)
    assert (action.tool, action.arguments) == ("answer", {"answer": "Oslo"})
    assert getattr(PARSER.parse('{"answer": "Oslo"}'), "tool", None) == "command", "no tool for answers there"
    call = '<answer>x</answer><tool_call>{"name": "command", "arguments": {"command": "look"}}</tool_call>'
    assert getattr(parser.parse(call), "tool", None) == "command"
    for later in (
        '{"name": "command", "arguments": {"command": "look"}}',
        '```json\n{"name": "command", "arguments": {"command": "look"}}\n```',
    ):
        assert getattr(parser.parse(f"I end with <answer>...</answer> later.\n{later}"), "tool", None) == "command"
    assert getattr(PARSER.parse("<answer>look</answer>"), "tool", None) == "command", "no tool for answers there"
    with pytest.raises(ConfigError, match="tool for answers"):
        ActionParser(TOOLS, "command", answer_tool="answer")
