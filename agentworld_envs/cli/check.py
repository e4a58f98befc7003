"""`agentworld check`: for those who write tasks: does the expert solve each, and if not, why not."""

from __future__ import annotations

from typing import Annotated

import typer

from agentworld_envs import AgentWorldEnv
from agentworld_envs.backends.real import RealSession
from agentworld_envs.cli import options
from agentworld_envs.cli.console import say, stdout
from agentworld_envs.interface import World


def check(
    env_id: options.EnvId,
    tasks: options.Tasks = None,
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="Tasks of a set without end.")] = 10,
    sandbox: options.Sandbox = None,
) -> None:
    """Play each task by its own solution in the real world, and say what its checks found.

    Exit code 1 when a task is not solved by its solution, or is solved by doing nothing. Where the solution is only a
    known answer (questions over a corpus of your own), the answer is looked for in the pages, and what cannot be
    verified is counted apart: it may still be right.
    """
    console = stdout()
    env = AgentWorldEnv(options.domain_of(env_id), tasks=tasks, sandbox=sandbox)
    wrong = unverified = 0
    try:
        source = env.runner.tasks
        count = source.size if source.size is not None else number
        for index in range(count):
            task = source[index]
            env.reset(seed=0, options={"task": task})
            if env.episode.failure is not None:
                wrong += 1
                say(console, f"{task.id}: cannot be opened: {env.episode.failure.message}", style="red")
                continue
            domain = env.runner.domain
            support = domain.support(task, _world(env))
            solved = _play(env, list(domain.expert(task, _world(env))))
            if solved and support is not None:
                verified, lines = support
                unverified += not verified
                lines = lines if verified else ["NOT VERIFIED that it can be answered", *lines]
                say(console, f"{task.id}: {lines[0]}", style="" if verified else "yellow")
                for line in lines[1:]:
                    say(console, f"  {line}")
            else:
                say(console, f"{task.id}: {'solved by its solution' if solved else 'NOT SOLVED by its solution'}")
            if not solved:
                if env.episode.failure is not None:
                    say(console, f"  {env.episode.failure.message}", style="red")
                for line in domain.explain(task, _world(env).final_evidence()):
                    say(console, f"  {line}")
            env.reset(seed=0, options={"task": task})
            idle = _play(env, [])
            if idle:
                say(console, "  SOLVED BY DOING NOTHING: its checks ask for nothing", style="red")
            wrong += (not solved) or idle
    finally:
        env.close()
    end = f"{count} task{'s' if count != 1 else ''}, {wrong} wrong" + (
        f", {unverified} not verified" * bool(unverified)
    )
    say(console, end, style="red" if wrong else "yellow" if unverified else "green")
    if wrong:
        raise typer.Exit(1)


def _world(env: AgentWorldEnv) -> World:
    session = env.episode.session
    assert isinstance(session, RealSession)
    assert session.world is not None
    return session.world


def _play(env: AgentWorldEnv, actions: list[str]) -> bool:
    """Whether the episode is solved at its end, which is looked at even where nobody declares it."""
    for action in actions:
        info = env.step(action)[4]
        if env.episode.over:
            return bool(info["success"])
    session = env.episode.session
    return session.final(env.episode.step_count).success
