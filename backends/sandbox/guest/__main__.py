"""Starts the agent over its standard input, or over the socket that is named: `python3 -I -S guest/ [SOCKET]`, wherever
this folder lies."""

import os
import sys
import types

FOLDER = os.path.dirname(os.path.abspath(__file__))
PARTS = ("agentworld_envs", "agentworld_envs.backends", "agentworld_envs.backends.sandbox")

for name in PARTS:  # empty stand-ins: the real packages import third-party code and need not exist here
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
package = "agentworld_envs.backends.sandbox.guest"
sys.modules[package] = types.ModuleType(package)
sys.modules[package].__path__ = [FOLDER]

from agentworld_envs.backends.sandbox.guest import agent, dial  # noqa: E402 - needs the stand-ins

if __name__ == "__main__":
    if len(sys.argv) > 1:
        dial.main_over_path(sys.argv[1])
    else:
        agent.main_over_stdin()
