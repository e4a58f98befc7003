"""`agentworld play`: a person in the agent's place."""

from __future__ import annotations

import contextlib
import sys
from typing import Annotated, Any

import typer
from rich.columns import Columns
from rich.console import Console
from rich.text import Text

from agentworld_envs import AgentWorldEnv, Snapshot, resolve_id
from agentworld_envs.cli import options
from agentworld_envs.cli.console import say, stdout, visible

HELP = ":help  rules    :undo  one step back    :quit  leave"
HELP_COMMANDS = f"?  admissible commands    {HELP}"
"""Where there is a list of commands."""


def play(
    env_id: options.EnvId,
    backend: options.Backend = "real",
    task_id: Annotated[str | None, typer.Option(help="Play this task instead of the one that the seed draws.")] = None,
    seed: options.Seed = 0,
    tasks: options.Tasks = None,
    reward: options.Reward = "verifier",
    max_steps: options.MaxSteps = None,
    record: options.Record = None,
    sandbox: options.Sandbox = None,
    model: options.Model = None,
    cassette: options.Cassette = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    stop: options.Stop = None,
    prefill: options.Prefill = False,
) -> None:
    """Play an episode yourself."""
    arguments = options.backend_arguments(
        backend,
        domain=options.domain_of(env_id),
        model=model,
        cassette=cassette,
        max_tokens=max_tokens,
        temperature=temperature,
        stop=stop,
        prefill=prefill,
    )
    env = AgentWorldEnv(
        options.domain_of(env_id),
        tasks=tasks,
        reward=reward,
        max_steps=max_steps,
        record=record,
        sandbox=sandbox,
        **arguments,
    )
    try:
        game = Game(env, stdout())
        try:
            game.start(resolve_id(env_id), seed, {"task_id": task_id} if task_id is not None else None)
            game.run()
            game.finish()
        finally:
            game.close()
    finally:
        env.close()
    if record is not None:
        say(stdout(), f"Trajectory: {record}")


class Game:
    """The dialogue with the person."""

    def __init__(self, env: AgentWorldEnv, console: Console) -> None:
        self._env, self._console = env, console
        self._info: dict[str, Any] = {}
        self._instructions, self._help = "", HELP
        self._past: list[tuple[Snapshot, dict[str, Any]]] = []
        """Moments before each step, with their `info`."""

    def start(self, title: str, seed: int, choice: dict[str, Any] | None) -> None:
        """Open the episode and show where the person is."""
        observation, self._info = self._env.reset(seed=seed, options=choice)
        info, limit = self._info, self._env.episode.max_steps
        self._instructions = info["instructions"]
        self._help = HELP_COMMANDS if info["admissible_commands"] else HELP
        say(
            self._console,
            f"{title}  backend {info['backend']}  task {info['task_id']}  seed {info['seed']}  at most {limit} steps",
            style="bold",
        )
        say(self._console, self._help, style="dim")
        say(self._console, f"\n{observation}\n")

    def run(self) -> None:
        """Read and execute lines until the episode or the input ends."""
        if self._info["failure"] is not None:
            return
        with contextlib.suppress(ImportError):  # line editing and history, where the platform has them
            import readline  # noqa: F401
        try:
            while not self._env.episode.over and self._obey(self._read()):
                pass
        except (EOFError, KeyboardInterrupt):  # Ctrl-C also ends a step that a slow model is taking
            self._console.print()

    def close(self) -> None:
        """Release what `:undo` would have gone back to."""
        for snapshot, _ in self._past:
            snapshot.close()
        self._past.clear()

    def finish(self) -> None:
        """Show the score, or why there is none."""
        info, episode = self._info, self._env.episode
        if info["failure"] is not None:
            say(self._console, f"The environment failed ({info['failure'].kind}): {info['failure'].message}", "red")
            say(self._console, "This is not your score: the episode has no valid reward.", style="red")
            return
        if not episode.over:
            end = "Left"
        elif episode.success:
            end = "Solved"
        else:
            end = "Over" if episode.terminated else "Step limit reached"
        say(self._console, f"{end} after {episode.step_count} steps. Score {episode.score:.2f}.", style="bold")

    @staticmethod
    def _read() -> str:
        line = input("> ").strip()
        if not sys.stdin.isatty():  # nobody's terminal has shown it
            say(stdout(), line)
        return line

    def _obey(self, line: str) -> bool:
        """Execute one line; False when the person leaves."""
        if line in (":quit", ":q"):
            return False
        if line == "?":
            self._show_commands()
        elif line == ":help":
            say(self._console, f"{self._instructions}\n{self._help}")
        elif line == ":undo":
            self._undo()
        elif line.startswith(":"):
            say(self._console, f"There is no {line.split()[0]}. {self._help}", style="yellow")
        elif line:
            self._step(line)
        return True

    def _step(self, command: str) -> None:
        self._past.append((self._env.snapshot(), self._info))
        observation, reward, terminated, truncated, self._info = self._env.step(command)
        if self._info["failure"] is None:
            say(self._console, observation)
        if reward and not (terminated or truncated):
            say(self._console, f"(reward {float(reward):+.2f}, score {self._info['score']:.2f})", style="green")

    def _undo(self) -> None:
        if not self._past:
            say(self._console, "There is nothing to undo.", style="yellow")
            return
        snapshot, self._info = self._past.pop()
        self._env.restore(snapshot)
        snapshot.close()
        say(self._console, f"Back at step {self._env.episode.step_count}:\n{self._env.episode.observation}")

    def _show_commands(self) -> None:
        commands = self._info["admissible_commands"]
        if not commands:
            say(self._console, "No finite list of commands is known here; see :help.", style="yellow")
        elif self._console.is_terminal:
            self._console.print(Columns([Text(visible(c)) for c in commands], column_first=True, padding=(0, 2)))
        else:
            say(self._console, "\n".join(commands))
