"""The command line, in process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from agentworld_envs.agents import Rollout
from agentworld_envs.cli.app import build
from agentworld_envs.trajectories import read_trajectories


def run(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(build(), [str(argument) for argument in arguments], input=stdin)


def error_of(*arguments: object) -> str:
    """The message of a command that has to fail with exit code 2 and no traceback."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return " ".join(result.stderr.split())


def test_list_shows_what_can_be_typed() -> None:
    result = run("list")
    assert result.exit_code == 0
    for word in ("AgentWorld/TextWorld-v0", "text_world", "valid_unseen", "world_model", "50"):
        assert word in result.output


def test_version() -> None:
    from agentworld_envs import __version__

    assert run("--version").output == f"agentworld-envs {__version__}\n"


@pytest.mark.parametrize("command", [[], ["play"], ["rollout"], ["replay"], ["list"], ["doctor"]])
def test_help(command: list[str]) -> None:
    assert "Usage" in run(*command, "--help").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rollout", "TextWrld"], "Unknown environment id 'TextWrld'. Did you mean 'TextWorld-v0'"),
        (["play", "TextWrld"], "Unknown environment id"),
        (["rollout", "TextWorld", "--backend", "rael"], "Unknown backend 'rael'. Did you mean 'real'"),
        (["rollout", "Terminal", "--backend", "world_model"], "needs a model"),
        (["rollout", "TextWorld", "-b", "world_model", "--model", "opnai:x"], "Did you mean 'openai'?"),
        (["rollout", "TextWorld", "-b", "world_model", "--model", "scripted:orcle"], "Did you mean 'oracle'?"),
        (["rollout", "TextWorld", "-b", "world_model", "--model", "scripted:x", "--prefill"], "Unknown script"),
        (["rollout", "TextWorld", "--tasks", "vald_seen"], "Did you mean 'valid_seen'"),
        (["rollout", "TextWorld", "--reward", "verifer"], "Did you mean 'verifier'?"),
        (["rollout", "TextWorld", "--agent", "exprt"], "Did you mean 'expert'?"),
        (["rollout", "TextWorld", "--agent", "llm"], "--agent-model"),
        (["rollout", "TextWorld", "--agent", "llm", "--agent-model", "gpt"], "Malformed model 'gpt'"),
        (["rollout", "TextWorld", "-b", "replay:none.jsonl"], "Cannot read the trajectory file"),
        (["rollout", "TextWorld", "-n", "1", "--record", "/dev/null/x"], "Cannot record to"),
        (["rollout", "TextWorld", "-n", "1", "--json", "/dev/null/x"], "Cannot write"),
        (["play", "TextWorld", "--task-id", "nope"], "Unknown task id 'nope'"),
        (["replay", "none.jsonl"], "Cannot read the trajectory file none.jsonl"),
        (["rollout", "TextWorld", "-n", "0"], "Invalid value for '--episodes'"),
    ],
)
def test_wrong_use_says_what_is_right(arguments: list[str], message: str) -> None:
    assert message in error_of(*arguments)


def test_rollout_then_replay(tmp_path: Path) -> None:
    record, summary = tmp_path / "a" / "t.jsonl", tmp_path / "b" / "s.json"
    result = run("rollout", "text_world", "-n", 6, "--num-envs", 4, "--record", record, "--json", summary)
    assert result.exit_code == 0
    assert "100 % (6/6), 95 % interval 61-100 %" in result.stdout
    assert str(record) in result.stdout
    data = json.loads(summary.read_text())
    assert (data["n"], data["n_valid"], data["success_rate"]) == (6, 6, 1.0)
    assert len(read_trajectories(record)) == 6
    for backend in ("replay", "real"):
        again = run("replay", record, "--backend", backend)
        assert again.exit_code == 0
        assert "6 of 6 episodes are identical" in again.output
    assert "appended" in run("rollout", "text_world", "-n", 1, "--out", record).output


def test_results_do_not_depend_on_num_envs(tmp_path: Path) -> None:
    episodes: list[Any] = []
    for slots in (1, 5):
        path = tmp_path / f"{slots}.json"
        run("rollout", "TextWorld", "--agent", "random", "-n", 7, "--num-envs", slots, "--max-steps", 9, "--json", path)
        data = json.loads(path.read_text())
        episodes.append([{key: e[key] for key in e if key != "usage"} for e in data["episodes"]])
    assert episodes[0] == episodes[1]


def test_a_simulated_rollout_shows_tokens_and_both_rewards_work() -> None:
    for reward in ("verifier", "replay"):
        arguments = ["-b", "world_model", "--model", "scripted:oracle", "--reward", reward]
        result = run("rollout", "TextWorld", "-n", 3, *arguments, "--max-tokens", 100, "--temperature", 0)
        assert result.exit_code == 0
        assert "100 % (3/3)" in result.output
        assert "prompt" in result.output


def test_no_valid_reward_is_said_plainly() -> None:
    result = run("rollout", "TextWorld", "-n", 3, "-b", "world_model", "--model", "scripted:untagged")
    assert result.exit_code == 1
    assert "No episode has a valid reward" in result.stdout
    assert "simulator_malformed x3" in result.stdout
    assert "0 %" not in result.stdout


def test_an_llm_agent_plays() -> None:
    result = run(
        "rollout", "TextWorld", "-n", 2, "--agent", "llm", "--agent-model", "scripted:nothing", "--max-steps", 3
    )
    assert result.exit_code == 0
    assert "tokens, agent" in result.output


def test_an_interrupt_prints_what_is_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    steps = 0
    original = Rollout._step

    def interrupted(self: Rollout) -> None:
        nonlocal steps
        steps += 1
        if steps == 12:
            raise KeyboardInterrupt
        original(self)

    monkeypatch.setattr(Rollout, "_step", interrupted)
    result = run("rollout", "TextWorld", "-n", 20, "--num-envs", 2, "--record", tmp_path / "t.jsonl")
    assert result.exit_code == 130
    assert "of 20, interrupted" in result.stdout
    assert "Trajectory:" in result.stdout


def test_replay_reports_the_first_difference(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    run("rollout", "TextWorld", "-n", 2, "--record", path)
    path.write_text(path.read_text().replace("You arrive at", "You are sent to"))
    result = run("replay", path, "--backend", "real")
    assert result.exit_code == 1
    assert "differs at step 1" in result.output
    assert "You are sent to" in result.output
    assert "0 of 2 episodes are identical" in result.output


def test_replay_shows_and_selects(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    run("rollout", "TextWorld", "-n", 2, "--record", path)
    name = read_trajectories(path)[1].episode
    result = run("replay", path, "--episode", name[:10], "--show")
    assert "1 of 1 episodes" in result.output
    assert "> go to" in result.output
    assert "Your task is to" in result.output
    assert "score 1.00" in result.output
    assert "Unknown episode 'zzz'" in error_of("replay", path, "--episode", "zzz")
    assert "Unknown backend for replay" in error_of("replay", path, "--backend", "rel")
    (tmp_path / "empty.jsonl").touch()
    assert "holds no episode" in error_of("replay", tmp_path / "empty.jsonl")


def test_play_solves_a_task_from_piped_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    run("rollout", "TextWorld", "-n", 1, "--record", path)
    actions = [step.action for step in read_trajectories(path)[0].steps]
    result = run("play", "TextWorld", stdin="\n".join(actions) + "\n")
    assert result.exit_code == 0
    assert "Your task is to" in result.output
    assert f"> {actions[0]}" in result.output
    assert f"Solved after {len(actions)} steps. Score 1.00." in result.output


def test_play_commands(tmp_path: Path) -> None:
    record = tmp_path / "p.jsonl"
    lines = ["?", ":help", "inventory", ":undo", ":undo", "", ":what", "fly away", ":quit"]
    result = run("play", "TextWorld", "--record", record, stdin="\n".join(lines))
    assert result.exit_code == 0
    for text in ("inventory\n", "Search receptacles", "Back at step 0", "nothing to undo", "There is no :what"):
        assert text in result.output
    assert "Left after 1 steps. Score 0.00." in result.output
    assert run("replay", record).exit_code == 0


def test_play_of_search_tells_the_limit_and_no_commands() -> None:
    result = run("play", "Search", "--tasks", "train@1:tiny", "--max-steps", 7, stdin=":help\n")
    assert result.exit_code == 0
    assert "You have 7 steps." in result.output
    assert "admissible commands" not in result.output
    assert "?  admissible commands" in run("play", "TextWorld", stdin="").output


def test_play_ends_with_the_input() -> None:
    result = run("play", "TextWorld", stdin="")
    assert result.exit_code == 0
    assert "Left after 0 steps" in result.output


def test_play_says_when_the_environment_fails() -> None:
    arguments = ["-b", "world_model", "--model", "scripted:untagged"]
    result = run("play", "TextWorld", *arguments, stdin="look\ninventory\n")
    assert "The environment failed (simulator_malformed)" in result.output
    assert "not your score" in result.output


def test_control_characters_of_a_model_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    run("rollout", "TextWorld", "-n", 1, "--record", path)
    path.write_text(path.read_text().replace("You arrive at", "\\u001b[2JYou [red]arrive at"))
    output = run("replay", path, "--show").output
    assert "\x1b" not in output
    assert "\\x1b[2JYou [red]arrive at" in output


def test_settings_that_are_not_said_are_those_of_the_model(tmp_path: Path) -> None:
    simulated = ("--backend", "world_model", "--episodes", 2, "--num-envs", 2)
    assert run("rollout", "TextWorld", *simulated, "--max-tokens", 200).exit_code == 0
    assert run("rollout", "TextWorld", *simulated, "--temperature", 0).exit_code == 0
    result = run("fidelity", "TextWorld", "-n", 2, "--mode", "teacher_forced", "--out", tmp_path)
    assert result.exit_code == 0
    assert "1.000" in result.output


def test_a_model_without_a_simulated_world_is_an_error() -> None:
    assert "--model is for simulated worlds" in error_of("rollout", "TextWorld", "--model", "scripted:nothing")


def test_a_model_that_cannot_be_told_is_not_blamed() -> None:
    arguments = ("control", "TextWorld", "-b", "world_model", "--levels", "E1", "--inject", "instruction")
    assert "needs a simulator that can be told" in error_of(*arguments)
