"""Tasks from folders: one's own format, Harbor's and Terminal-Bench's."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import gymnasium as gym
import pytest

from agentworld_envs import AgentWorldEnv
from agentworld_envs.domains.terminal.folders import tasks_at
from agentworld_envs.interface import ConfigError
from agentworld_envs.testing.play import expert_plan

OWN = """
instruction = "Count the lines of /workspace/in.txt and write the number to /workspace/out.txt."
solution = ["wc -l < in.txt > out.txt"]
[files]
"extra.txt" = "x\\n"
[[checks]]
kind = "file"
path = "/workspace/out.txt"
text = "3"
[[checks]]
kind = "file"
path = "/workspace/extra.txt"
text = "x"
"""
DOCKERFILE = """\
FROM debian:bookworm-slim
# a comment
RUN apt-get update && \\
    apt-get install -y --no-install-recommends tmux coreutils=9.1 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
ENV GREETING="hello world" MODE=test
COPY data/ ./data
COPY one.txt two.txt /app/
RUN echo "$GREETING" > greeting.txt && mkdir -p out
CMD ["bash"]
"""


def _write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def _own(root: Path) -> Path:
    return _write(root / "own", {"agentworld.toml": OWN, "files/in.txt": "a\nb\nc\n"})


def _harbor(root: Path, test: str = "", name: str = "harbor-task") -> Path:
    script = test or (
        '#!/bin/bash\nif [ "$(cat /app/out/sum.txt)" = "$(python3 /tests/expected.py)" ]; then\n'
        "  echo 1 > /logs/verifier/reward.txt\nelse\n  echo 0.25 > /logs/verifier/reward.txt\nfi\n"
    )
    return _write(
        root / name,
        {
            "task.toml": 'version = "1.0"\n[metadata]\ndifficulty = "easy"\n[verifier]\ntimeout_sec = 30.0\n',
            "instruction.md": "Add the numbers in /app/data and write the sum to /app/out/sum.txt.\n",
            "environment/Dockerfile": DOCKERFILE,
            "environment/data/n.txt": "1\n2\n39\n",
            "environment/one.txt": "1",
            "environment/two.txt": "2",
            "tests/test.sh": script,
            "tests/expected.py": "print(sum([1, 2, 39]))\n",
            "solution/solve.sh": "#!/bin/bash\ncd /app\nawk '{s += $1} END {print s}' data/n.txt > out/sum.txt\n",
        },
    )


def _terminal_bench(root: Path) -> Path:
    return _write(
        root / "tb-task",
        {
            "task.yaml": "instruction: |-\n  Make /app/done.txt hold the word yes.\ndifficulty: easy\n",
            "Dockerfile": "FROM ubuntu:24.04\nWORKDIR /app\n",
            "run-tests.sh": "#!/bin/bash\ngrep -qx yes /app/done.txt && ls $TEST_DIR/test_outputs.py\n",
            "tests/test_outputs.py": "def test_done():\n    assert open('/app/done.txt').read().strip() == 'yes'\n",
            "solution.sh": "echo yes > /app/done.txt\n",
        },
    )


def _play(path: Path, task_id: str, actions: list[str] | None = None) -> tuple[list[str], float, bool]:
    env = gym.make("AgentWorld/Terminal-v0", tasks=str(path), disable_env_checker=True).unwrapped
    assert isinstance(env, AgentWorldEnv)
    with closing(env):
        observation, info = env.reset(seed=0, options={"task_id": task_id})
        assert info["failure"] is None
        shown, total = [observation], 0.0
        for action in expert_plan(env) if actions is None else actions:
            observation, reward, _, _, info = env.step(action)
            shown.append(observation)
            total += float(reward)
        assert info["failure"] is None
        return shown, total, info["success"]


def test_three_formats_in_one_folder(tmp_path: Path) -> None:
    _own(tmp_path), _harbor(tmp_path), _terminal_bench(tmp_path)
    for task_id in ("own", "harbor-task", "tb-task"):
        _, total, success = _play(tmp_path, task_id)
        assert success, task_id
        assert total == 1.0
        _, total, success = _play(tmp_path, task_id, ["echo SUCCESS", "[]", "[]"])
        assert not success, task_id
        assert total == (0.25 if task_id == "harbor-task" else 0.0)


def test_what_a_dockerfile_says_is_there(tmp_path: Path) -> None:
    shown, _, _ = _play(
        _harbor(tmp_path), "harbor-task", ["ls -R; cat greeting.txt; echo $MODE; ls /tests /logs", "pwd"]
    )
    assert "greeting.txt" in shown[1]
    assert "hello world\ntest\n" in shown[1]
    assert "n.txt" in shown[1]
    assert "expected.py" not in shown[1]
    assert shown[2].endswith("/app$")


def test_tests_that_fetch_their_tools_are_run_by_pytest_or_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _own(tmp_path)
    _harbor(tmp_path, "curl https://example.invalid | sh\n", "needs-network")
    with_pytest = _harbor(tmp_path, "uvx pytest /tests/test_it.py\n", "pytest-task")
    (with_pytest / "tests/test_it.py").write_text("def test(): pass\n")
    tasks = tasks_at(tmp_path)
    assert [tasks[i].id for i in range(tasks.size or 0)] == ["own", "pytest-task"]
    assert "needs-network: its tests need the network" in caplog.text
    assert tasks.find("pytest-task").initial_state["needs"][-1] == "python:pytest"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("RUN pip install numpy", "network: pip"),
        ("RUN curl -O https://x.invalid/y", "network: curl"),
        ("FROM debian", "several stages"),
        ("COPY --from=build /a /b", "another image"),
        ("ADD https://x.invalid/y /y", "fetches https"),
        ("COPY nowhere.txt /app/", "missing"),
        ("COPY ../instruction.md /app/", "outside"),
        ("FROBNICATE all", "FROBNICATE is not known"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path: Path, line: str, why: str) -> None:
    path = _harbor(tmp_path)
    with (path / "environment/Dockerfile").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ConfigError, match=why):
        tasks_at(path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("instruction = 5", "instruction"),
        ("instruction = 'x'", "whatever is done would count as solved"),
        ("instruction = 'x'\ncolour = 'red'", "colour"),
        ("instruction = 'x'\n[[checks]]\nkind = 'magic'", "checks.0"),
        ("not toml", "agentworld.toml"),
    ],
)
def test_a_broken_task_says_where(tmp_path: Path, text: str, why: str) -> None:
    _write(tmp_path / "t", {"agentworld.toml": text})
    with pytest.raises(ConfigError, match=why):
        tasks_at(tmp_path)


def test_a_check_script_of_ones_own(tmp_path: Path) -> None:
    _write(
        tmp_path / "t",
        {
            "agentworld.toml": "instruction = 'Make a folder /workspace/new.'\nsolution = ['mkdir /workspace/new']\n",
            "tests/check.sh": "test -d /workspace/new && grep -q secret /tests/data.txt\n",
            "tests/data.txt": "secret\n",
        },
    )
    assert _play(tmp_path, "t")[2]
    assert not _play(tmp_path, "t", ["echo mkdir", "[]", "[]"])[2]


def test_a_missing_program_is_a_failure_that_says_so(tmp_path: Path) -> None:
    _write(tmp_path / "t", {"agentworld.toml": OWN.replace("[files]", "needs = ['frobnicator']\n[files]")})
    with closing(gym.make("AgentWorld/Terminal-v0", tasks=str(tmp_path)).unwrapped) as env:
        info = env.reset(seed=0)[1]
        assert "frobnicator" in info["failure"].message
        assert env.step("ls")[4]["reward_valid"] is False


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No tasks"):
        gym.make("AgentWorld/Terminal-v0", tasks=str(tmp_path))
