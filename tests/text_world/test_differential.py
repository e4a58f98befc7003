"""Our engine against TextWorld itself: every observation, every list of commands and every verdict, to the letter."""

from __future__ import annotations

import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from text_world import author
from text_world.client import Oracle
from text_world.support import DOMAIN, call, pick, slicing_tasks, varied

from agentworld_envs.domains.text_world.pddl import read_problem
from agentworld_envs.interface import Task, TaskError

STEPS_PER_GAME = 102
NONSENSE = (
    "xyzzy",
    "  look ",
    "go to  desk 1",
    "LOOK",
    "take",
    "go to fridge 1",
    "examine egg 1",
    "help\n",
    "",
    "look.",
)


_MISPLACED = "(and (objecttype ?o {o}type) (inreceptacle ?o ?r) (not (receptacletype ?r {r}type)))"
UNUSUAL = (
    "(exists (?r - receptacle) (forall (?o - object) (or (not (objecttype ?o {o}type)) "
    "(and (receptacletype ?r {r}type) (inreceptacle ?o ?r)))))",
    "(and (exists (?r - receptacle) (and (receptacletype ?r {r}type) (exists (?x - object) "
    "(and (objecttype ?x {o}type) (inreceptacle ?x ?r) (exists (?y - object) "
    "(and (not (= ?x ?y)) (objecttype ?y {o}type) (inreceptacle ?y ?r))))))) (not (holdsany agent1)))",
    f"(and (not (exists (?o - object ?r - receptacle) {_MISPLACED})) "
    "(forall (?o - object) (imply (objecttype ?o {o}type) (not (holds agent1 ?o)))))",
)


def oracle_python() -> str:
    python = os.environ.get("AGENTWORLD_TEXTWORLD_PYTHON", "")
    if not python:
        reason = "AGENTWORLD_TEXTWORLD_PYTHON is not set: it names a Python with textworld and alfworld installed"
        if "textworld" in os.environ.get("AGENTWORLD_REQUIRE", ""):
            pytest.fail(reason)
        pytest.skip(reason)
    return python


@dataclass
class Tally:
    steps: int = 0
    wins: int = 0
    verbs: set[str] = field(default_factory=set)
    differences: list[str] = field(default_factory=list)


def compare(oracle: Oracle, task: Task, seed: int, tally: Tally) -> None:
    """Play one game on both sides: random commands, with now and then some steps of the expert or nonsense."""
    rng = random.Random(seed)
    put = bool(task.initial_state.get("put"))
    problem = author.problem(task.initial_state, task.verifier["goal"])
    hints = list(task.hidden.get("subgoals", []))
    if task.hidden.get("recorded"):
        problem = author.as_recorded(problem)
    state, goal = read_problem(problem)
    reread = task.model_copy(update={"initial_state": {**state, "put": put}, "verifier": {"goal": goal}})
    games = [(reread, DOMAIN.world(reread))]
    if not task.hidden.get("recorded"):  # which changes the ids and with them the numbers of things
        games.append((task, DOMAIN.world(task)))
    theirs = oracle.ask(problem=problem, task=task.instruction, put=put)
    observations = [world.reset() for _, world in games]
    command = ""
    queue: list[str] = []
    for _ in range(STEPS_PER_GAME):
        for (own, world), observation in zip(games, observations, strict=True):
            solved = DOMAIN.verify(own, world.evidence()).success
            ours = {"observation": observation, "commands": world.commands(), "won": solved}
            if ours != theirs:
                tally.differences.append(f"{task.id} {command!r}\n theirs {theirs}\n ours   {ours}")
                return
        tally.steps += 1
        tally.verbs.add(command.split(" ")[0])
        tally.wins += theirs["won"]
        if not queue:
            dice = rng.random()
            if hints and dice < 0.9:
                aim = task.model_copy(update={"verifier": {"goal": hints.pop(0)}})
                queue = DOMAIN.expert(aim, games[-1][1])
            elif dice < 0.15:
                try:
                    queue = DOMAIN.expert(games[0][0], games[0][1])[: rng.choice([1, 2, 3, 4, 5, 30])]
                except TaskError:
                    queue = []
            elif dice < 0.2:
                queue = [rng.choice(NONSENSE)]
        command = queue.pop(0) if queue else pick(rng, theirs["commands"])
        theirs = oracle.ask(command=command)
        observations = [world.act(call(command)) for _, world in games]


def unusual_goals() -> list[Task]:
    """Goals in other forms than the generator writes, each with steps that lead there."""
    found = []
    source = DOMAIN.tasks("train:pick_two_obj_and_place")
    for index, form in enumerate(UNUSUAL):
        task = source[index]
        words = task.instruction.rstrip(".").split()
        item, place = words[2], words[-1]
        state = task.initial_state
        target = next(name for name, row in state["receptacles"].items() if row["type"] == place)
        items = [name for name, row in state["objects"].items() if row["type"] == item]
        goals = [f"(inreceptacle {name} {target})" for name in items]
        goal = form.format(o=item, r=place)
        found.append(task.model_copy(update={"verifier": {"goal": goal}, "hidden": {"subgoals": goals}}))
    return found


def games() -> list[tuple[Task, int]]:
    train = DOMAIN.tasks("train")
    tasks = [train[index] for index in range(6)]
    rng = random.Random(7)
    tasks += [varied(train[index], rng) for index in range(6, 18)]
    tasks += [varied(task, rng) for task in slicing_tasks(3)]
    old = varied(train[36], rng)
    tasks.append(old.model_copy(update={"initial_state": {**old.initial_state, "put": True}}))
    carrying = train[40]
    held = next(name for name, row in carrying.initial_state["objects"].items() if row["type"] != "desklamp")
    state = json.loads(json.dumps(carrying.initial_state))
    state["objects"][held]["in"] = []
    tasks.append(carrying.model_copy(update={"initial_state": {**state, "holding": held}}))
    started = train[41].initial_state
    near = next(iter(started["receptacles"].values()))["location"]
    tasks.append(train[41].model_copy(update={"initial_state": {**started, "agent": near}}))
    tasks += unusual_goals()
    tasks += [varied(train[index], rng).model_copy(update={"hidden": {"recorded": True}}) for index in range(50, 56)]
    return [(task, seed) for seed, task in enumerate(tasks)]


def test_textworld_agrees_with_us() -> None:
    python = oracle_python()

    def work(share: list[tuple[Task, int]]) -> Tally:
        tally = Tally()
        oracle = Oracle(python)
        try:
            for task, seed in share:
                compare(oracle, task, seed, tally)
        finally:
            oracle.close()
        return tally

    everything = games()
    with ThreadPoolExecutor(2) as pool:  # TextWorld is not thread-safe; these threads only wait for its processes
        tallies = list(pool.map(work, [everything[::2], everything[1::2]]))
    differences = [line for tally in tallies for line in tally.differences]
    assert not differences, "\n".join(differences[:3])
    steps, wins = sum(tally.steps for tally in tallies), sum(tally.wins for tally in tallies)
    verbs = set().union(*(tally.verbs for tally in tallies))
    print(f"{steps} steps, {wins} of them in a solved state, no differences; verbs: {' '.join(sorted(verbs))}")
    assert steps >= 3000
    assert wins > 0
    assert {"go", "open", "close", "take", "move", "put", "clean", "heat", "cool", "use", "slice", "examine"} <= verbs
    assert {"look", "inventory", "help", "xyzzy"} <= verbs
