"""`DictMemory`: the notes of an agent."""

from __future__ import annotations

import json
from typing import Any

from agentworld_envs.domains.search.calls import Remember

MOST_CHARACTERS = 20_000
"""Of all notes together, as JSON: what `retrieve_all` shows has to fit into one observation."""
MISSING = "Key not found"
CLEARED = "Successfully cleared all memory."


class DictMemory:
    """Keys with JSON values. Its sentences are those of Qwen-AgentWorld's prompt for search."""

    def __init__(self, items: dict[str, Any] | None = None) -> None:
        """Args: items: what it begins with, owned from here on."""
        self.items = items if items is not None else {}

    def apply(self, call: Remember) -> str:
        """Do one operation and return what the tool says.

        `add` and `update` both write; `update` of a key that is not there, and `retrieve` or `remove` of keys of which
        none is there, change nothing. Of several keys those that are there are served, and the others are named.
        """
        operation = call.operation
        if operation == "remove_all":
            self.items.clear()
            return CLEARED
        if operation == "retrieve_all":
            return _as_text(self.items)
        if operation in ("add", "update"):
            return self._write(operation, _clean(dict(call.items)))
        keys = dict.fromkeys(map(_clean_text, call.keys))
        known = [key for key in keys if key in self.items]
        unknown = [key for key in keys if key not in self.items]
        if not known:
            return MISSING
        if operation == "retrieve":
            said = _as_text({key: self.items[key] for key in known})
        else:
            for key in known:
                del self.items[key]
            said = f"Successfully removed items of [{', '.join(known)}] from memory."
        return f"{said}\n{_missing(unknown)}" if unknown else said

    def _write(self, operation: str, items: dict[str, Any]) -> str:
        unknown = [key for key in items if key not in self.items]
        if operation == "update" and unknown:
            return MISSING if len(unknown) == len(items) else f"{_missing(unknown)}. Nothing was updated."
        after = {**self.items, **items}
        size = len(_as_text(after))
        if size > MOST_CHARACTERS:
            return (
                f"The memory is full: with this it would have {size} characters of {MOST_CHARACTERS}. Nothing was "
                "written; remove what is no longer needed."
            )
        self.items = after
        keys = ", ".join(items)
        if operation == "add":
            return f"Successfully added items of [{keys}] to memory."
        return f"Successfully updated items of [{keys}] in memory."

    def fork(self) -> DictMemory:
        """An independent memory with the same notes. Values are never changed in place, so they are shared."""
        return DictMemory(dict(self.items))


def _clean(value: Any) -> Any:
    """A value, in JSON's terms, whose texts can be written to a file."""
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list | tuple) else value


def _clean_text(text: str) -> str:
    """`?` in place of each half of a surrogate pair, as in what a simulator is sent (see `simulation.wire`)."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _as_text(items: dict[str, Any]) -> str:
    return json.dumps(items, ensure_ascii=False)


def _missing(keys: list[str]) -> str:
    return f"{MISSING}: {', '.join(keys)}"
