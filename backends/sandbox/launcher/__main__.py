"""Starts the zygote over its standard input: `python3 -I -S launcher/`, with an empty environment."""

import os
import sys
import types

SANDBOX = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

for name in ("agentworld_envs", "agentworld_envs.backends", "agentworld_envs.backends.sandbox"):
    sys.modules[name] = types.ModuleType(name)  # stand-ins: the real packages import third-party code
    sys.modules[name].__path__ = []
sys.modules["agentworld_envs.backends.sandbox"].__path__ = [SANDBOX]

from agentworld_envs.backends.sandbox.launcher import zygote  # noqa: E402 - needs the stand-ins

if __name__ == "__main__":
    zygote.main()
