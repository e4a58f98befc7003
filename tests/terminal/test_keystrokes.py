"""Keystroke lists: what is one, what it types."""

from __future__ import annotations

import json

import pytest

from agentworld_envs.domains.terminal.command import Kind, read
from agentworld_envs.domains.terminal.domain import Terminal
from agentworld_envs.domains.terminal.keystrokes import Malformed, Stroke, looks_like_list, parse_strokes
from agentworld_envs.interface import Action, Task
from agentworld_envs.parsing import ActionParser, Rejection

TASK = Task(id="t", domain="terminal", instruction="x", verifier={"checks": [{"kind": "absent", "path": "/x"}]})


def _read(text: str) -> object:
    domain = Terminal()
    action = ActionParser(domain.tools(TASK), domain.default_tool, multiline=True).parse(text)
    assert isinstance(action, Action), action
    return read(action)


LIST = '[{"keystrokes": "ls -la\\n", "duration": 0.1}, {"keystrokes": "C-c"}]'


@pytest.mark.parametrize(
    "text",
    [
        LIST,
        json.dumps(json.loads(LIST), indent=2),
        f"```json\n{LIST}\n```",
        f"<think>[]</think>\n{LIST}",
        json.dumps({"name": "keystrokes", "arguments": {"keys": json.loads(LIST)}}),
        f"I will look around.\n{json.dumps(json.loads(LIST), indent=2)}",
        f"<tool_call>\n{LIST}\n</tool_call>",
        f"~~~json\n{LIST}\n~~~",
        LIST.replace("\\n", "\n"),
        f"I will look around.\n```json\n{json.dumps(json.loads(LIST), indent=2)}\n```",
    ],
)
def test_every_way_to_write_a_list(text: str) -> None:
    command = _read(text)
    assert command.kind is Kind.KEYS  # type: ignore[attr-defined]
    assert command.strokes == (Stroke("ls -la\n", 0.1), Stroke("C-c", 1.0))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "[ ]",
        "```json\n[]\n```",
        "I am done.\n[]",
        "<tool_call>[]</tool_call>",
        '{"name": "keystrokes", "arguments": {"keys": []}}',
    ],
)
def test_an_empty_list_is_the_end(text: str) -> None:
    assert _read(text).kind is Kind.DONE  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["[ -f a ] && cat a", "[[ a == b ]]", "[ 1 ]", "echo []"])
def test_tests_of_the_shell_are_commands(text: str) -> None:
    command = _read(text)
    assert command.kind is Kind.RUN  # type: ignore[attr-defined]
    assert command.text == text  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("keys", "typed"),
    [
        ("ls\n", "ls\r"),
        ("C-c", "\x03"),
        ("C-d", "\x04"),
        ("C-c\n", "\x03"),
        ("Escape", "\x1b"),
        ("Up Enter", "\x1b[A\r"),
        ("echo C-c\n", "echo C-c\r"),
        ("Enter the room\n", "Enter the room\r"),
        ("", ""),
        ("\x1b:wq\n", "\x1b:wq\r"),
    ],
)
def test_tokens_are_keys_only_on_their_own(keys: str, typed: str) -> None:
    assert Stroke(keys, 0.0).typed == typed


@pytest.mark.parametrize(
    "text",
    [
        '[{"keystrokes": 5}]',
        '[{"duration": 1}]',
        '[{"keystrokes": "x", "duration": -1}]',
        '[{"keystrokes": "x", "duration": "long"}]',
        '[{"keystrokes": "x", "duration": NaN}]',
        '[{"keystrokes": "x", "duration": true}]',
        '[{"keystrokes": "x"',
        json.dumps([{"keystrokes": "x"}] * 65),
        "[" * 5000 + "{" + "]" * 5000,
    ],
)
def test_a_malformed_list_says_what_is_wrong(text: str) -> None:
    with pytest.raises(Malformed):
        parse_strokes(text)


def test_a_malformed_list_is_refused_before_the_sandbox() -> None:
    domain = Terminal()
    action = ActionParser(domain.tools(TASK), domain.default_tool).parse('[{"keystrokes": 5}, {"keystrokes": "x"}]')
    assert not isinstance(action, Rejection)
    assert "keystrokes" in (domain.refuse(TASK, action) or "")
    nul = ActionParser(domain.tools(TASK), domain.default_tool).parse('{"command": "a\\u0000b"}')
    assert isinstance(nul, Action)
    assert "NUL" in (domain.refuse(TASK, nul) or "")


def test_long_waits_are_cut() -> None:
    assert parse_strokes('[{"keystrokes": "", "duration": 9999}]')[0].seconds == 60.0
    assert looks_like_list(' [{"keystrokes": ""}] ')


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("```bash\ncat > f <<'EOF'\nhello\nEOF\n```", "cat > f <<'EOF'\nhello\nEOF"),
        ("```\nls\\\n -la\n```\nThat will show it.", "ls\\\n -la"),
        ("~~~\nls\n~~~", "ls"),
        ("```\r\nls\r\npwd\r\n```\r\n", "ls\npwd"),
        ("```\nls\n```\n```\n```", "ls"),
        ('{"name": "bash", "arguments": {"command": "grep -c \'</think>\' log.txt"}}', "grep -c '</think>' log.txt"),
        ('<think>a</think>{"command": "echo \'<s>x</s>\' > a.html"}', "echo '<s>x</s>' > a.html"),
        ('{"command": "sed \'s/<|end|>/X/\' f"}', "sed 's/<|end|>/X/' f"),
        ('{"name": "bash", "arguments": {"command": "a\nb"}}', "a\nb"),
        ("<|im_start|>assistant\nls<|im_end|>", "ls"),
        ("sed 's/<|end|>/X/' f", "sed 's/<|end|>/X/' f"),
    ],
)
def test_a_command_is_what_was_written(text: str, command: str) -> None:
    assert _read(text).text == command  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        "cd /tmp\necho hi > a.txt",
        "```bash\ncat > README.md <<'EOF'\n```python\nprint(1)\n```\nDone\nEOF\n```",
        "cat > f <<'EOF'\nhello\nEOF",
        "I will look.\nls",
        '[{"name": "bash", "arguments": {"command": "a"}}, {"name": "bash", "arguments": {"command": "b"}}]',
        '{"tool_calls": [{"function": {"name": "bash", "arguments": "{}"}}, {"function": {"name": "submit"}}]}',
    ],
)
def test_what_could_mean_two_things_is_not_done(text: str) -> None:
    domain = Terminal()
    parsed = ActionParser(domain.tools(TASK), domain.default_tool, multiline=domain.multiline).parse(text)
    assert isinstance(parsed, Rejection)
    assert "one" in parsed.observation or "longer fence" in parsed.observation


def test_no_arguments_may_be_null() -> None:
    assert _read('{"name": "submit", "arguments": null}').kind is Kind.SUBMIT  # type: ignore[attr-defined]


def test_the_answer_of_an_agent_of_terminal_bench() -> None:
    text = '{"analysis": "x", "commands": [{"keystrokes": "ls\\n", "duration": 0.1}], "task_complete": false}'
    assert _read(text).strokes == (Stroke("ls\n", 0.1),)  # type: ignore[attr-defined]
    assert _read('{"analysis": "x", "commands": [], "task_complete": true}').kind is Kind.DONE  # type: ignore[attr-defined]


def test_a_list_that_is_cut_is_not_run_by_the_shell() -> None:
    domain = Terminal()
    action = ActionParser(domain.tools(TASK), domain.default_tool, multiline=True).parse('[{"keystrokes":"ls\\n"')
    assert isinstance(action, Action)
    assert "not valid JSON" in (domain.refuse(TASK, action) or "")


@pytest.mark.parametrize("text", ["echo \ud800", '[{"keystrokes": "\\ud800"}, {"keystrokes": "x"}]'])
def test_a_lone_surrogate_is_refused(text: str) -> None:
    domain = Terminal()
    action = ActionParser(domain.tools(TASK), domain.default_tool, multiline=True).parse(text)
    assert isinstance(action, Action)
    assert "surrogate" in (domain.refuse(TASK, action) or "")
