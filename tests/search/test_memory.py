"""The notes of `dict_memory`."""

from __future__ import annotations

import json

from search.support import call, world

from agentworld_envs.backends.world_model.codecs.search import read_memory_note


def test_its_sentences() -> None:
    at = world()

    def say(operation: str, **more: object) -> str:
        return at.act(call("dict_memory", operation=operation, **more))

    assert say("retrieve_all") == "{}"
    assert say("add", dict_={"a": 1, "b": "two"}) == "Successfully added items of [a, b] to memory."
    assert say("update", dict_={"a": [1, {"x": None}]}) == "Successfully updated items of [a] in memory."
    assert say("update", dict_={"zz": 1}) == "Key not found"
    assert say("update", dict_={"a": 5, "zz": 1}) == "Key not found: zz. Nothing was updated."
    assert json.loads(say("retrieve", key_list=["a"])) == {"a": [1, {"x": None}]}
    assert say("retrieve", key_list=["zz"]) == "Key not found"
    assert say("retrieve", key_list=["b", "zz", "b"]) == '{"b": "two"}\nKey not found: zz'
    assert json.loads(say("retrieve_all")) == {"a": [1, {"x": None}], "b": "two"}
    assert say("remove", key_list=["a", "zz"]) == "Successfully removed items of [a] from memory.\nKey not found: zz"
    assert say("remove", key_list=["a"]) == "Key not found"
    assert say("add", dict_={"b": "three"}) == "Successfully added items of [b] to memory."
    assert say("retrieve_all") == '{"b": "three"}'
    assert say("remove_all") == "Successfully cleared all memory."
    assert say("retrieve_all") == "{}"


def test_changes_read_as_qwens() -> None:
    at = world()
    for arguments in (
        {"operation": "add", "dict": {"city": "東京", "n": 1}},
        {"operation": "update", "dict": {"n": 2}},
        {"operation": "remove", "key_list": ["n"]},
        {"operation": "remove_all"},
    ):
        text = at.act(call("dict_memory", **arguments))
        note = read_memory_note(text)
        assert note is not None
        assert note.render() == text


def test_it_is_bounded() -> None:
    at = world()
    added = [at.act(call("dict_memory", operation="add", dict_={f"k{n}": "x" * 3_000})) for n in range(12)]
    assert added[0].startswith("Successfully")
    assert added[-1].startswith("The memory is full")
    shown = at.act(call("dict_memory", operation="retrieve_all"))
    assert len(shown) <= 20_000
    assert at.act(call("dict_memory", operation="remove", key_list=["k0"])).startswith("Successfully")
    assert at.act(call("dict_memory", operation="add", dict_={"last": "x" * 3_000})).startswith("Successfully")


def test_what_it_says_can_be_written_to_a_file() -> None:
    at, broken = world(), "a\ud800"
    for arguments in (
        {"operation": "add", "dict": {broken: [broken, {broken: broken}], "b": 1}},
        {"operation": "update", "dict": {broken: (broken, 2.5, None)}},
        {"operation": "retrieve", "key_list": [broken, "\udfff"]},
        {"operation": "retrieve_all"},
        {"operation": "remove", "key_list": [broken]},
    ):
        text = at.act(call("dict_memory", **arguments))
        text.encode("utf-8")
        assert "a?" in text
    assert at.act(call("dict_memory", operation="retrieve_all")) == '{"b": 1}'
