"""Tasks from folders: one's own format, Harbor's and Terminal-Bench's."""

from __future__ import annotations

import re
import subprocess
import sys
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


def _harbor_file(root: Path, name: str, text: str | None) -> Path:
    path = _harbor(root)
    if text is None:
        (path / name).unlink()
    else:
        (path / name).write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("instruction.md", None, "no instruction.md"),
        ("instruction.md", " \n", "instruction is empty"),
        ("environment/Dockerfile", None, "no environment/Dockerfile"),
        ("task.toml", "a = ", "task.toml is not valid"),
        ("task.toml", "verifier = 5", "verifier of its task.toml is no table"),
        ("task.toml", "[verifier]\ntimeout_sec = '9'", "timeout_sec .* number of seconds, got '9'"),
        ("task.toml", "[verifier]\ntimeout_sec = true", "number of seconds"),
        ("task.toml", "[verifier]\ntimeout_sec = nan", "number of seconds"),
        ("environment/Dockerfile", "FROM x\nWORKDIR /srv\n", "/srv lies outside .* /workspace, /home/agent"),
        ("environment/Dockerfile", "FROM x\nCOPY one.txt /etc/x\n", "/etc/x lies outside"),
        ("environment/Dockerfile", "FROM x\nWORKDIR /\n", "/ lies outside"),
        ("environment/Dockerfile", "FROM x\nWORKDIR /application\n", "/application lies outside"),
        ("environment/docker-compose.yaml", "", "several containers"),
    ],
)
def test_a_broken_harbor_task_says_why(tmp_path: Path, name: str, text: str | None, why: str) -> None:
    _harbor_file(tmp_path, name, text)
    with pytest.raises(ConfigError, match=why):
        tasks_at(tmp_path)


@pytest.mark.parametrize("name", ["instruction.md", "task.toml", "environment/Dockerfile", "tests/test.sh"])
def test_what_is_not_utf8_is_named(tmp_path: Path, name: str) -> None:
    path = _harbor(tmp_path)
    (path / name).write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=f"its {Path(name).name} is not UTF-8"):
        tasks_at(tmp_path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("instruction: [", "task.yaml is not valid"),
        ("- x", "no instruction"),
        ("instruction: 5", "no instruction"),
        ("instruction: x\nmax_test_timeout_sec: soon", "max_test_timeout_sec .* got 'soon'"),
        ("instruction: x\nmax_test_timeout_sec: null", "number of seconds"),
    ],
)
def test_a_broken_terminal_bench_task_says_why(tmp_path: Path, text: str, why: str) -> None:
    (_terminal_bench(tmp_path) / "task.yaml").write_text(text)
    with pytest.raises(ConfigError, match=why):
        tasks_at(tmp_path)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("cwd = '/opt/x'", "/opt/x lies outside"),
        ("cwd = 'here'", "here lies outside"),
        ("cwd = '/workspace/../etc'", "lies outside"),
        ("[files]\n'/etc/x' = 'y'", "/etc/x lies outside"),
        ("[files]\n'../x' = 'y'", "absolute and plain"),
        ("[files]\n'/workspace/x' = 'y'\n'/workspace/x/z' = 'y'", "/workspace/x is a file, and has to be a folder"),
        ("[files]\n'/app' = 'y'", "/app is a file"),
    ],
)
def test_tasks_whose_files_cannot_be_written_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, line: str, why: str
) -> None:
    own = "instruction = 'x'\n{}\n[[checks]]\nkind = 'absent'\npath = '/workspace/q'\n"
    _write(tmp_path / "bad", {"agentworld.toml": own.format(line)})
    _write(tmp_path / "good", {"agentworld.toml": own.format("")})
    tasks = tasks_at(tmp_path)
    assert [tasks[i].id for i in range(tasks.size or 0)] == ["good"]
    assert any(re.search(f"bad: .*{why}", record.getMessage()) for record in caplog.records)


def test_links_among_tests(tmp_path: Path) -> None:
    path = _harbor(tmp_path)
    (path / "tests/again.py").symlink_to("expected.py")
    check = tasks_at(tmp_path)[0].verifier["checks"][0]
    assert check["files"]["/tests/again.py"]["text"] == check["files"]["/tests/expected.py"]["text"]
    (path / "tests/out.py").symlink_to("../task.toml")
    with pytest.raises(ConfigError, match=r"tests/out\.py is a link that leads out"):
        tasks_at(tmp_path)
    (path / "tests/out.py").unlink()
    (path / "tests/out.py").symlink_to("nowhere")
    with pytest.raises(ConfigError, match=r"tests/out\.py is a link that leads to no file"):
        tasks_at(tmp_path)


def test_huge_folders(tmp_path: Path) -> None:
    path = _harbor(tmp_path)
    with (path / "tests/big").open("wb") as big:
        big.truncate(2**40)
    with pytest.raises(ConfigError, match="too much for one task"):
        tasks_at(tmp_path)


def test_a_task_that_is_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(_own(tmp_path))
    assert tasks_at(Path())[0].id == "own"


def test_nothing_of_the_agents_comes_first_when_tests_are_run(tmp_path: Path) -> None:
    path = _harbor(tmp_path)
    (path / "environment/Dockerfile").write_text(
        "FROM x\nWORKDIR /app\nENV PATH=/app/bin:/opt/bin:$PATH PYTHONPATH=/app BASH_ENV=/app/e X=y\n"
    )
    check = tasks_at(tmp_path)[0].verifier["checks"][0]
    assert check["env"]["PATH"].startswith("/opt/bin:/usr/local/bin:")
    assert check["env"]["PATH"].endswith(":/app/bin")
    assert {"PYTHONPATH", "BASH_ENV"}.isdisjoint(check["env"])
    assert check["env"]["X"] == "y"


@pytest.mark.parametrize("own_conftest", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_pytest_is_run_with_nothing_of_the_agents(tmp_path: Path, own_conftest: bool, right: bool) -> None:
    path = _harbor(tmp_path, "uvx pytest /tests/test_it.py\n")
    (path / "environment/Dockerfile").write_text("FROM x\nWORKDIR /app\nENV PYTHONPATH=/app PYTEST_ADDOPTS=\n")
    app, given = tmp_path / "app", ("wanted", "wanted") if own_conftest else ("", "'yes'")
    body = f"def test_it({given[0]}):\n    assert open('{app}/out').read().strip() == {given[1]}\n"
    _write(path, {"tests/test_it.py": body})
    if own_conftest:
        _write(path, {"tests/conftest.py": "import pytest\n@pytest.fixture\ndef wanted():\n    return 'yes'\n"})
    check = tasks_at(tmp_path)[0].verifier["checks"][0]
    lie = "import os\nos._exit(0)\n"
    _write(app, {"out": "yes" if right else "no", "pytest.ini": "[pytest]\naddopts = --collect-only\n"})
    _write(app, dict.fromkeys(("pytest.py", "conftest.py", "sitecustomize.py", "json.py"), lie))
    argv = [part.replace("/tests", str(path / "tests")) for part in check["argv"]]
    env = {key: value for key, value in check["env"].items() if key != "PATH"}
    result = subprocess.run([sys.executable, *argv[1:]], cwd=app, env=env, capture_output=True, text=True, check=False)
    assert result.returncode == (0 if right else 1), result.stdout + result.stderr
    assert ("1 passed" if right else "1 failed") in result.stdout
