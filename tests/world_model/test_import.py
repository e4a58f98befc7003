"""Importing the backend is cheap, and building an engine that is never asked needs none of the extras."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
import agentworld_envs.backends.world_model as wm
wm.build_engine("openai:http://127.0.0.1:1/v1#m")
wm.build_engine("transformers:some/model")
wm.build_engine("vllm:some/model")
heavy = {"torch", "transformers", "vllm", "aiohttp", "asyncio"} & set(sys.modules) - {"asyncio"}
assert not heavy, heavy
"""


def test_import_brings_nothing_heavy() -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True)


MISSING = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        return None
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in ("aiohttp", "torch") else found(name, *rest)
import agentworld_envs.backends.world_model as wm
from agentworld_envs.interface import MissingExtraError
models = {"openai": "openai:http://h/v1#m", "transformers": "transformers:some/model", "vllm": "vllm:some/model"}
for extra, model in models.items():
    try:
        wm.WorldModelConfig.of(model=model).build()
    except MissingExtraError as error:
        assert f"pip install 'agentworld-envs[{extra}]'" in str(error), error
    else:
        raise AssertionError(model)
    (answer,) = wm.build_engine(model).generate([wm.GenerationRequest((wm.Message("user", "hi"),))])
    assert answer.failure.kind == "missing_extra", answer
"""


def test_a_missing_extra_is_named() -> None:
    subprocess.run([sys.executable, "-c", MISSING], check=True)
