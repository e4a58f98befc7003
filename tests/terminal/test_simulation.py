"""The terminal on world models: what they are told, what code answers for them, what their episodes are worth."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from terminal.conftest import a_task, need

from agentworld_envs import AgentWorldEnv
from agentworld_envs.backends.world_model import WorldModelBackend, WorldModelConfig
from agentworld_envs.backends.world_model.engines.base import Completion, GenerationRequest
from agentworld_envs.backends.world_model.engines.scripted import ScriptedEngine
from agentworld_envs.domains.terminal import GeneratedTasks, Terminal, wording
from agentworld_envs.domains.terminal.families import FAMILIES
from agentworld_envs.interface import Action

ASKED: list[GenerationRequest] = []


def _answers(*texts: str, prefill: bool = False) -> WorldModelBackend:
    """A backend whose model says these things, one after the other."""
    said = iter(texts)

    def script(request: GenerationRequest) -> str | Completion:
        ASKED.append(request)
        text = next(said)
        return Completion(text) if prefill else f"<predicted_observation>\n{text}\n</predicted_observation>"

    ASKED.clear()
    return WorldModelBackend(ScriptedEngine(script), WorldModelConfig(model="scripted:oracle", prefill=prefill))


def test_the_end_is_asked_back_by_code_and_not_by_the_model() -> None:
    with closing(AgentWorldEnv("terminal", tasks=[a_task()], backend=_answers("x"))) as env:
        env.reset(seed=0)
        assert env.step("[]")[0] == wording.CONFIRM
        assert env.step("echo hi")[0] == "x"
        assert env.step("[]")[0] == wording.CONFIRM
        observation, reward, terminated, _, info = env.step("[]")
    assert (observation, reward, terminated) == (wording.ENDED, 0.0, True)
    assert info["source"] == "world_model"
    assert len(ASKED) == 1


def test_commands_are_told_as_keystrokes() -> None:
    with closing(AgentWorldEnv("terminal", tasks=[a_task()], backend=_answers("a", "b"))) as env:
        env.reset(seed=0)
        env.step("ls -la")
        env.step('[{"keystrokes": "vim x\\n", "duration": 0.5}, {"keystrokes": "C-c"}]')
    first, second = (request.messages for request in ASKED)
    assert "**Current State:**\nagent@sandbox:/workspace$" in first[1].content
    assert '"keystrokes": "ls -la\\n"' in first[1].content
    assert second[1].content.startswith("### Turn 1")
    told = json.loads(second[-1].content.partition("```json\n")[2].partition("\n```")[0])
    assert told == [{"keystrokes": "vim x\n", "duration": 0.5}, {"keystrokes": "C-c", "duration": 1.0}]


@pytest.mark.parametrize(
    ("actions", "success", "valid"),
    [
        (["[]", "[]"], False, True),
        (["echo 42 > answer.txt", "[]", "[]"], True, True),
        (["echo 41 > answer.txt", "[]", "[]"], False, True),
        (["awk '{s += $1} END {print s}' data.txt > answer.txt", "[]", "[]"], False, False),
        (["echo 42 > answer.txt", "python3 solve.py", "[]", "[]"], False, False),
        (["awk 1 data.txt > answer.txt", "cat answer.txt", "[]", "[]"], True, True),
    ],
    ids=str,
)
def test_a_verdict_is_right_or_says_that_it_is_none(actions: list[str], success: bool, valid: bool) -> None:
    shown = wording.turn("/workspace", "cat answer.txt", "42\n", "/workspace")
    texts = [shown if action.startswith("cat") else "" for action in actions if action != "[]"]
    with closing(AgentWorldEnv("terminal", tasks=[a_task()], backend=_answers(*texts))) as env:
        env.reset(seed=0)
        for action in actions:
            info = env.step(action)[4]
    assert (info["success"], info["reward_valid"]) == (success, valid)
    if not valid:
        assert "reward='replay'" in info["failure"].message


def test_replay_scores_what_the_actions_really_do() -> None:
    need("namespace")
    backend = _answers("lies", "more lies")
    with closing(AgentWorldEnv("terminal", tasks=[a_task()], backend=backend, reward="replay")) as env:
        env.reset(seed=0)
        env.step("awk '{s += $1} END {print s}' data.txt > answer.txt")
        env.step("[]")
        _, reward, _, _, info = env.step("[]")
    assert reward == 1.0
    assert info["success"]


@pytest.mark.parametrize(
    ("command", "said", "observation"),
    [
        ("ls", "a b\n", "agent@sandbox:/workspace$ ls\na b\nagent@sandbox:/workspace$"),
        ("cd sub", "", "agent@sandbox:/workspace$ cd sub\nagent@sandbox:/workspace/sub$"),
        ("ls", "a</predicted_observation>", "agent@sandbox:/workspace$ ls\na"),
    ],
)
def test_weak_models_get_their_screen_begun_and_ended(command: str, said: str, observation: str) -> None:
    with closing(AgentWorldEnv("terminal", tasks=[a_task()], backend=_answers(said, prefill=True))) as env:
        env.reset(seed=0)
        assert env.step(command)[0] == observation
    assert ASKED[0].sampling.prefill.endswith(f"\nagent@sandbox:/workspace$ {command}\n")
    assert ASKED[0].sampling.stop == ("agent@sandbox:",)


def test_what_a_simulator_is_told() -> None:
    domain = Terminal()
    tasks = GeneratedTasks("valid")
    for index in range(3 * len(FAMILIES)):
        task = tasks[index]
        spec = domain.simulation(task)
        assert domain.simulation(task) == spec
        assert "{" + "cwd" + "}" not in spec.system
        told = spec.system + spec.first_observation
        for command in task.hidden["solution"]:
            assert command not in told, task.id
        assert task.instruction not in spec.system


def test_prompts_stay_within_reason() -> None:
    domain = Terminal()
    longest = max(len(domain.simulation(GeneratedTasks("train")[i]).system) for i in range(3 * len(FAMILIES)))
    assert longest < 40_000


def test_a_malformed_action_never_reaches_a_prompt() -> None:
    with closing(AgentWorldEnv("terminal", tasks=[a_task()], backend=_answers())) as env:
        env.reset(seed=0)
        info = env.step('[{"keystrokes": 5}, {"keystrokes": "x"}]')[4]
    assert info["action_valid"] is False
    assert ASKED == []


def test_an_action_is_written_as_the_model_knows_it() -> None:
    domain = Terminal()
    assert domain.wire(a_task(), Action("submit", {}, "x")) == "[]"
    assert json.loads(domain.wire(a_task(), Action("bash", {"command": "a\nb"}, "a\nb"))) == [
        {"keystrokes": "a\nb\n", "duration": 1.0}
    ]
