"""The schemas of the tools: those of Qwen-AgentWorld and those of LiteResearcher, and `answer`."""

from __future__ import annotations

from typing import Any

from agentworld_envs.domains.search.calls import MOST_QUERIES, MOST_URLS, OPERATIONS


def tool_schemas() -> list[dict[str, Any]]:
    """All tools in OpenAI's function form, fresh on every call.

    `web_search`, `web_extractor` and `dict_memory` are called as in WideSearch (Qwen-AgentWorld report, search), with
    `goal` and `part` in addition; `search` and `visit` as in LiteResearcher. A string alone where an array of strings
    is expected is taken as meant, and an array in place of one query, too; an answer may be any JSON value.
    """
    texts = {"type": ["array", "string"], "items": {"type": "string"}, "minItems": 1}
    return [
        _tool(
            "web_search",
            "Search the web. Ten results for each query.",
            {
                "query": {
                    "type": ["string", "array"],
                    "items": {"type": "string"},
                    "description": "What to look for, in a few words.",
                },
                "queries": {
                    **texts,
                    "maxItems": MOST_QUERIES,
                    "description": "Several queries at once, in place of `query`.",
                },
            },
            (),
        ),
        _tool(
            "web_extractor",
            "Read a page: all of it, part by part, or what answers a goal.",
            {
                "url": {"type": "string", "description": "Address of the page, as a search shows it."},
                "goal": {"type": "string", "description": "What to look for on the page; leave out for all of it."},
                "part": {"type": "integer", "minimum": 1, "description": "Which part of a long page; 1 by default."},
            },
            ("url",),
        ),
        _tool(
            "dict_memory",
            "Notes of your own: keys with values, kept until the end.",
            {
                "operation": {"type": "string", "enum": list(OPERATIONS)},
                "dict": {"type": "object", "description": "For add and update: keys with their values."},
                "key_list": {**texts, "description": "For retrieve and remove: keys."},
            },
            ("operation",),
        ),
        _tool(
            "search",
            "Search the web with one or several queries. Up to ten results each; none is shown twice.",
            {"query": {**texts, "maxItems": MOST_QUERIES, "description": "A list of queries."}},
            ("query",),
        ),
        _tool(
            "visit",
            "Open one or several pages and get what answers a goal.",
            {
                "url": {**texts, "maxItems": MOST_URLS, "description": "A list of addresses."},
                "goal": {"type": "string", "description": "What to look for on the pages."},
            },
            ("url", "goal"),
        ),
        _tool(
            "answer",
            "Hand in the answer to the question. This ends the episode.",
            {
                "answer": {
                    "type": ["string", "number", "boolean", "array", "object"],
                    "items": {},
                    "description": "The answer alone, without an explanation.",
                }
            },
            ("answer",),
        ),
    ]


def _tool(name: str, description: str, properties: dict[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(required),
                "additionalProperties": False,
            },
        },
    }
