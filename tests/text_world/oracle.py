"""The original game, TextWorld with ALFWorld's rules, behind JSON lines on stdin and stdout.

Runs under an interpreter that has `textworld` and `alfworld` (both only needed here) and imports nothing of ours.

Requests:  {"problem": PDDL, "task": sentence, "put": bool}   start a game
           {"command": text}                                  play one command
Replies:   {"observation": text, "commands": [...], "won": bool}
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any


def _say(stream: Any, state: Any) -> None:
    commands = sorted({re.sub(r"\s+", " ", command).strip() for command in state["admissible_commands"]})
    reply = {"observation": state["feedback"], "commands": commands, "won": bool(state["won"])}
    stream.write(json.dumps(reply) + "\n")
    stream.flush()


def main() -> None:
    # The libraries chat on stdout; only our replies may reach the caller.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import alfworld
    import textworld
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
    from textworld.envs import PddlEnv

    folder = os.path.join(os.path.dirname(alfworld.__file__), "data")
    with open(os.path.join(folder, "alfred.pddl")) as file:
        domain = file.read()
    with open(os.path.join(folder, "alfred.twl2")) as file:
        grammar = file.read()
    env: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        if "problem" not in request:
            state, _, _ = env.step(request["command"])
            _say(replies, state)
            continue
        words = grammar.replace("UNKNOWN GOAL.", request["task"])
        if request.get("put"):
            words = words.replace("move {o} to {r}", "put {o} in/on {r}")
            words = words.replace("move (object) to (receptacle):", "put (object) in/on (receptacle):")
            words = words.replace("You move the {o.name} to the {r.name}.", "You put the {o.name} in/on the {r.name}.")
        env = AlfredDemangler(PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)), shuffle=False)
        env.load({"pddl_domain": domain, "grammar": words, "pddl_problem": request["problem"], "walkthrough": None})
        _say(replies, env.reset())


if __name__ == "__main__":
    main()
