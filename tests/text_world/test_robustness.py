"""Tasks and files that are not what they should be."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from agentworld_envs import AgentWorldEnv
from agentworld_envs.domains.text_world import TextWorld
from agentworld_envs.domains.text_world.games import read_game
from agentworld_envs.interface import TaskError

PROBLEM = """(define (problem p) (:domain alfred) (:objects agent1 - agent loc_0 - location loc_1 - location
 Desk_bar_1 - receptacle Mug_bar_1 - object DeskType - rtype MugType - otype)
 (:init (atLocation agent1 loc_0) (receptacleAtLocation Desk_bar_1 loc_1) (receptacleType Desk_bar_1 DeskType)
 (objectType Mug_bar_1 MugType) (inReceptacle Mug_bar_1 Desk_bar_1) (pickupable Mug_bar_1)
 (canContain DeskType MugType))
 (:goal (and GOAL)))"""
GOAL = "(exists (?o - object) (and (objectType ?o MugType) (holds agent1 ?o)))"
ABSENT = "(not (exists (?o - object ?r - receptacle) (and (objectType ?o MugType) (inReceptacle ?o ?r))))"


def write(folder: Path, sentence: str = "pick a mug", goal: str = GOAL, text: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    grammar = f'grammar :: """{{"task": [{{"rhs": "Your task is to: {sentence}."}}]}}"""'
    game = {"pddl_problem": PROBLEM.replace("GOAL", goal), "grammar": grammar, "solvable": True}
    path = folder / "game.tw-pddl"
    path.write_text(json.dumps(game) if text is None else text)
    return path


def test_the_little_game_is_playable(tmp_path: Path) -> None:
    with closing(AgentWorldEnv("text_world", tasks=write(tmp_path))) as env:
        assert env.reset(seed=0)[0].endswith("Your task is to: pick a mug.")
        env.step("go to desk 1")
        assert env.step("take mug 1 from desk 1")[1:3] == (1.0, True)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"sentence": "pick \\q mug"}, "task sentence"),
        ({"goal": "(and " * 3_000 + GOAL + ")" * 3_000}, "nested too deeply"),
        ({"text": "[" * 100_000}, "nested too deeply"),
        ({"text": '{"pddl_problem": ' + "1" * 5_000 + "}"}, "expected a JSON object of texts"),
        ({"text": '{\n  "pddl_problem": "x",\n  oops\n}'}, "line 3"),
    ],
)
def test_a_broken_file_is_a_task_error_and_the_rest_of_the_folder_is_read(
    tmp_path: Path, broken: dict[str, str], words: str
) -> None:
    path = write(tmp_path / "a_bad", **broken)
    write(tmp_path / "b_good")
    with pytest.raises(TaskError, match=words) as caught:
        read_game(path, "x")
    assert str(path) in str(caught.value)
    source = TextWorld().tasks(str(tmp_path))
    assert source[0].instruction == "pick a mug."


def test_a_goal_of_absence_is_not_played_against_a_simulator(tmp_path: Path) -> None:
    path = write(tmp_path, goal=ABSENT)
    with closing(AgentWorldEnv("text_world", tasks=path, backend="world_model", model="scripted:nothing")) as env:
        _, info = env.reset(seed=0)
        assert info["failure"].kind == "task"
        _, reward, _, truncated, info = env.step("look")
        assert (reward, truncated, info["reward_valid"], info["success"]) == (0.0, True, False, False)
    with closing(AgentWorldEnv("text_world", tasks=path)) as env:
        env.reset(seed=0)
        env.step("go to desk 1")
        assert env.step("take mug 1 from desk 1")[1] == 1.0


def test_the_simulator_is_not_told_the_goal() -> None:
    domain = TextWorld()
    source = domain.tasks(None)
    for index in range(50):
        task = source[index]
        spec = domain.simulation(task)
        assert task.instruction not in spec.system + spec.state
        assert "Your task is to" not in spec.system + spec.state
