"""What every kind of sandbox does."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sandbox.support import SLOW

from agentworld_envs.backends.sandbox import Sandbox, sandbox_config
from agentworld_envs.interface import (
    CommandTimeout,
    ConfigError,
    SandboxDead,
    SandboxError,
    SandboxRefused,
    Tampered,
)


def test_run_tells_the_streams_and_the_code_apart(anything: Sandbox) -> None:
    result = anything.run("echo out; echo err >&2; (exit 7)")
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 7)
    assert not result.stdout_truncated
    assert not result.stderr_truncated
    assert not result.timed_out
    assert not result.shell_restarted
    assert 0 < result.duration_s < 5


def test_merged_streams_keep_their_order(anything: Sandbox) -> None:
    result = anything.run("echo 1; echo 2 >&2; echo 3", merge_stderr=True)
    assert (result.stdout, result.stderr) == ("1\n2\n3\n", "")


def test_the_shell_remembers(anything: Sandbox) -> None:
    anything.run("mkdir -p deep/er && cd deep/er; x=5; f() { echo f$x; }; export Y=6; shopt -s extglob")
    result = anything.run("basename \"$PWD\"; f; sh -c 'echo $Y'; shopt extglob")
    assert result.stdout == "er\nf5\n6\nextglob        \ton\n"


def test_at_the_deadline_the_shell_survives(anything: Sandbox) -> None:
    anything.run("x=kept; cd /tmp")
    started = time.monotonic()
    result = anything.run("echo before; sleep 100 | sleep 100", timeout_s=0.3)
    assert time.monotonic() - started < 2 * SLOW
    assert result.timed_out
    assert result.exit_code == 124
    assert result.stdout == "before\n"
    with pytest.raises(CommandTimeout) as caught:
        result.finished()
    assert caught.value.stdout == "before\n"
    assert anything.run("echo $x $PWD").stdout == "kept /tmp\n"


def test_exec_is_apart_from_the_shell(anything: Sandbox) -> None:
    anything.run("export PATH=/nowhere EVIL=1; cd /; alias cat=false; cat() { false; }")
    result = anything.exec(["sh", "-c", "cat; echo $EVIL$MINE; pwd"], env={"MINE": "m"}, cwd="/tmp", stdin=b"in\n")
    assert (result.stdout, result.stderr, result.exit_code) == ("in\nm\n/tmp\n", "", 0)
    assert anything.exec(["sleep", "100"], 0.2).timed_out
    assert anything.exec(["no-such-program"]).exit_code == 127
    big = anything.exec(["wc", "-c"], stdin=b"x" * 1_000_000)
    assert big.stdout == "1000000\n"
    for bad in ([], ["a\0b"], "ls"):
        with pytest.raises(ValueError, match="argv"):
            anything.exec(bad)


def test_bytes_that_are_not_text_are_escaped(anything: Sandbox) -> None:
    assert anything.run(r"printf '\xff\xfe\x00\x80abc\xe4\xb8\x96'").stdout == "\\xff\\xfe\x00\\x80abc世"
    assert anything.run("echo 'hé世😀'").stdout == "hé世😀\n"
    assert anything.run("printf 'a\\r\\nb\\r\\n'").stdout == "a\r\nb\r\n"
    assert anything.run("echo '\udcff'").stdout == "\\xff\n"
    with pytest.raises(ValueError, match="NUL"):
        anything.run("echo a\0b")


def test_long_output_keeps_its_ends(anything: Sandbox) -> None:
    result = anything.run("seq 1 100000; echo done >&2")
    assert result.stdout_truncated
    assert not result.stderr_truncated
    assert result.stdout.startswith("1\n2\n")
    assert result.stdout.endswith("99999\n100000\n")
    assert "bytes left out ...]" in result.stdout
    assert len(result.stdout) < 21_000
    assert result.exit_code == 0
    fitting = anything.run("head -c 20000 /dev/zero | tr '\\0' x")
    assert fitting.stdout == "x" * 20_000
    assert not fitting.stdout_truncated


def test_files(anything: Sandbox, tmp_path: Path) -> None:
    home = anything.run("pwd").stdout.strip()
    data = bytes(range(256)) * 10_000
    anything.write(f"{home}/a/b/c.bin", data, mode=0o755)
    assert anything.read(f"{home}/a/b/c.bin") == data
    assert anything.run("stat -c %a a/b/c.bin").stdout == "755\n"
    anything.write(f"{home}/a/b/c.bin", b"")
    assert anything.read(f"{home}/a/b/c.bin") == b""
    with pytest.raises(SandboxRefused, match="No such file"):
        anything.read(f"{home}/nothing")
    anything.write(f"{home}/four", b"1234")
    with pytest.raises(SandboxRefused, match="more than 3 bytes"):
        anything.read(f"{home}/four", limit=3)
    with pytest.raises(SandboxRefused):
        anything.write(f"{home}/a", b"a folder is in the way")
    with pytest.raises(SandboxError, match="absolute"):
        anything.read("relative")
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "x").write_bytes(b"x")
    (source / "sub" / "x").chmod(0o700)
    (source / "link").symlink_to("sub/x")
    (source / "out").symlink_to("/etc/passwd")
    anything.upload(source, f"{home}/copy")
    assert anything.run("cd copy; find . | sort; cat link; stat -c %a sub/x; cd ..").stdout == (
        ".\n./link\n./sub\n./sub/x\nx700\n"
    )
    assert anything.download(f"{home}/copy", tmp_path / "back") == []
    assert (tmp_path / "back" / "link").read_bytes() == b"x"
    assert anything.download(f"{home}/four", tmp_path / "one") == []
    assert (tmp_path / "one" / "four").read_bytes() == b"1234"
    with pytest.raises(SandboxRefused, match="not empty"):
        anything.download(f"{home}/copy", tmp_path / "back")


def test_the_terminal_shows_a_screen(anything: Sandbox) -> None:
    pytest.importorskip("pyte")
    first = anything.screen("", 5.0, settle_s=0.3)
    assert len(first.split("\n")) == 40
    shown = anything.screen("echo $((6*7)); tput cols; tput lines; tty\r", 5.0, settle_s=0.3)
    assert "\n42\n120\n40\n/dev/pts/" in shown
    anything.screen("sleep 100\r", 0.2)
    assert "^C" in anything.screen("\x03", 5.0, settle_s=0.3)
    cleared = anything.screen("clear; printf '\\033[5;10Hhere'; read\r", 5.0, settle_s=0.3)
    assert cleared.split("\n")[4] == "         here"
    assert anything.run("echo the shell is another").stdout == "the shell is another\n"
    anything.screen("\rexit\r", 5.0, settle_s=0.3)
    assert "again" in anything.screen("echo again\r", 5.0, settle_s=0.3)


def test_background_processes_live_on_and_their_late_output_is_dropped(anything: Sandbox) -> None:
    result = anything.run("(sleep 0.3; echo late) & sleep 100 & echo started")
    assert result.stdout == "started\n"
    time.sleep(0.6)
    assert anything.run("echo next; kill -0 $! && echo lives").stdout == "next\nlives\n"
    anything.run("sleep 100", timeout_s=0.2)
    assert anything.run("kill -0 $! && echo lives").stdout == "lives\n"


def test_a_deadline_ends_its_own_command_and_no_earlier_one(anything: Sandbox) -> None:
    """Also when they begin within the same tick of the clock that the kernel keeps for births."""
    for _ in range(20):
        anything.run("sleep 100 & x=kept")
        result = anything.run("sleep 100", timeout_s=0.02)
        assert (result.timed_out, result.shell_restarted) == (True, False)
        assert anything.run("kill $! && echo lived; echo $x").stdout == "lived\nkept\n"


@pytest.mark.parametrize(
    ("command", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("exec sh -c 'exit 4'", 4), ("set -e; false", 1)]
)
def test_a_shell_that_ended_is_replaced(anything: Sandbox, command: str, code: int) -> None:
    result = anything.run(f"x=1; echo before; {command}")
    assert (result.stdout, result.exit_code, result.shell_restarted) == ("before\n", code, True)
    assert anything.run("echo new$x").stdout == "new\n"


def test_a_forged_result_is_found_out(anything: Sandbox) -> None:
    with pytest.raises(Tampered):
        anything.run("for f in /proc/$$/fd/*; do printf '0 0\\0' > $f; done 2>/dev/null; sleep 1; exit 9", 5.0)
    assert anything.run("echo alive").stdout == "alive\n"


def test_closed_means_closed(anything: Sandbox) -> None:
    anything.close()
    anything.close()
    assert not anything.alive
    with pytest.raises(SandboxDead, match="closed"):
        anything.run("true")


def test_a_configuration_says_what_is_wrong() -> None:
    with pytest.raises(ConfigError, match=r"limits\.memory_mb"):
        sandbox_config("namespace", limits={"memory_mb": 1})
    with pytest.raises(ConfigError, match="Unknown sandbox"):
        sandbox_config("nowhere")
    with pytest.raises(ConfigError, match="no root file system"):
        sandbox_config("namespace", rootfs="/proc")
    with pytest.raises(ConfigError, match="plain absolute"):
        sandbox_config("namespace", writable=["/a/../etc"])
