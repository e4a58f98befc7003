"""An agent that was taken over: whatever it sends, the host goes on, in bounded time and memory, or says what it is."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from sandbox.support import SMALL, small

from agentworld_envs.backends.sandbox import LocalConfig, Snapshot, guest_sandbox
from agentworld_envs.backends.sandbox.connection import Connection
from agentworld_envs.backends.sandbox.guest.frames import Decoder, Frame, Kind, encode
from agentworld_envs.backends.sandbox.guest_sandbox import GuestSandbox
from agentworld_envs.backends.sandbox.namespace import NamespaceProvider
from agentworld_envs.backends.sandbox.screen import Screen
from agentworld_envs.interface import SandboxDead, SandboxError


class _Alone(GuestSandbox):
    """The verbs, without a machine."""

    def snapshot(self) -> Snapshot:
        raise NotImplementedError

    def freeze(self) -> Snapshot:
        raise NotImplementedError

    def _end(self) -> None:
        pass


@contextlib.contextmanager
def _answered_with(header: dict[str, Any], blob: bytes = b"", pause_s: float = 0.0) -> Iterator[GuestSandbox]:
    """A sandbox whose agent always gives the same answer."""
    ours, theirs = socket.socketpair()

    def speak() -> None:
        decoder = Decoder()
        with contextlib.suppress(OSError):
            while data := theirs.recv(4096):
                for frame in decoder.feed(data):
                    time.sleep(pause_s)
                    theirs.sendall(encode(Frame(Kind.OK, frame.id, header, blob)))

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    with _Alone(Connection(ours), LocalConfig(limits=SMALL), home="/") as sandbox:
        yield sandbox
    speaker.join(10)
    theirs.close()


def test_a_file_that_comes_byte_by_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest_sandbox, "FILE_TIMEOUT_S", 0.5)
    started = time.monotonic()
    with _answered_with({"more": True}, b"x", pause_s=0.01) as sandbox, pytest.raises(SandboxDead):
        sandbox.read("/f")
    assert time.monotonic() - started < 20


NONSENSE: list[dict[str, Any]] = [
    {"code": float("inf")},
    {"code": None},
    {"code": "x"},
    {"lengths": [0, 0]},
    {"lengths": ["a", 0, 0, 0]},
    {"left_out": [float("inf"), 0]},
    {"seconds": []},
]


@pytest.mark.parametrize("lie", NONSENSE, ids=json.dumps)
def test_nonsense_about_a_command(lie: dict[str, Any]) -> None:
    honest = {"code": 0, "lengths": [0, 0, 0, 0], "left_out": [0, 0], "stopped": "", "seconds": 0}
    with _answered_with({**honest, **lie}) as sandbox, pytest.raises(SandboxDead, match="nonsense"):
        sandbox.exec(["true"])


@pytest.mark.parametrize("lie", [b"1 2 999\nx", b"1 2 -5\nx", b"1 2\n", b"x y z\n", b"1 2 3 4\nabc", b"\n"])
def test_nonsense_about_processes(lie: bytes) -> None:
    with _answered_with({}, lie) as sandbox, pytest.raises(SandboxDead, match="nonsense"):
        sandbox.processes()


def test_strange_things_about_processes_and_folders() -> None:
    with _answered_with({}, b"1 2 3\n\xff\0\n5 6 0\n") as sandbox:
        assert [process.args for process in sandbox.processes()] == [("\\xff", "\n"), ("",)]
    honest = {"code": 0, "lengths": [0, 0, 0, 0], "left_out": [0, 0], "stopped": "", "seconds": 0}
    with _answered_with({**honest, "cwd": "/\ud800"}) as sandbox:
        assert sandbox.run(":").cwd == "/\\ud800"


def test_answers_are_not_larger_than_what_was_asked_for() -> None:
    with _answered_with({}, bytes(2**20)) as sandbox, pytest.raises(SandboxDead, match="length"):
        sandbox.ping()
    with _answered_with({"more": False}, bytes(2**20)) as sandbox, pytest.raises(SandboxDead, match="length"):
        sandbox.read("/f", limit=10)
    with _answered_with({"x": "x" * 2**17}) as sandbox, pytest.raises(SandboxDead, match="header"):
        sandbox.ping()
    with _answered_with({"more": False}, bytes(2**20)) as sandbox:
        assert len(sandbox.read("/f")) == 2**20


SCREENS = {
    "combining": b"e" + "\u0301".encode() * 500_000,
    "combining of two classes": b"e" + "\u0301\u0323".encode() * 200_000,
    "combining, in pieces": b"\x1b[He" + "\u0301\x1b[m".encode() * 100_000,
    "combining, elsewhere in between": b"\x1b[1;1He" + "\x1b[9;9Hx\x1b[1;2H\u0301\u0301".encode() * 100_000,
    "clearing": b"\x1b#8\x1b[2J" * 200_000,
    "resetting": b"\x1bc" * 500_000,
    "large numbers": b"\x1b[99999999L\x1b[99999999@\x1b[99999999P" * 50_000,
    "a number without end": b"\x1b[" + b"9" * 1_000_000,
    "a title without end": b"\x1b]0;" + b"x" * 1_000_000,
}


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_that_is_hard_to_draw(name: str) -> None:
    pytest.importorskip("pyte")
    screen = Screen(40, 120)
    started = time.monotonic()
    screen.feed(SCREENS[name])
    assert time.monotonic() - started < 30
    screen.reset()
    screen.feed("\x1bcfine e\u0301\u0301 here".encode())
    assert screen.text().split("\n")[0].startswith("fine ")
    assert len(screen.text()) < 100_000


class _Interrupted:
    """A socket whose reader is interrupted once the request was sent."""

    def __init__(self, real: socket.socket) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def recv(self, size: int) -> bytes:
        raise KeyboardInterrupt


def test_an_interrupted_request_does_not_mix_up_answers() -> None:
    with NamespaceProvider(small()) as provider:
        usability = provider.probe()
        if not usability.usable:
            pytest.skip(usability.why)
        first, second = provider.start(), provider.start()
        first.run("echo file of the first > who")
        zygote = provider.zygote
        zygote._control = _Interrupted(zygote._control)  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            first.snapshot()
        for _ in range(2):
            with pytest.raises(SandboxError, match=r"interrupted|ended"):  # it ends with all others about now
                second.snapshot()
            with pytest.raises(SandboxError, match="interrupted"):
                provider.start()
        second.close()


def test_a_request_that_cannot_be_sent_breaks_nothing(
    namespaces: NamespaceProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ETOOMANYREFS, "too many references")

    with monkeypatch.context() as patched:
        patched.setattr(socket, "send_fds", refuse)
        with pytest.raises(SandboxError, match="cannot be asked"):
            namespaces.start()
    with namespaces.start() as sandbox:
        assert sandbox.run("echo fine").stdout == "fine\n"


def test_descriptors_in_flight_do_not_stop_others(namespaces: NamespaceProvider) -> None:
    """For an ordinary user the kernel counts those of all of its processes together."""
    code = (
        "import array, os, socket, time\n"
        "fd, kept = os.open('/dev/null', 0), []\n"
        "try:\n"
        "  while len(kept) < 100:\n"
        "    kept.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))\n"
        "    for _ in range(4):\n"
        "      kept[-1][0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [fd] * 200))])\n"
        "except OSError as error: print(error)\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid(); [os.dup2(fd, to) for to in (1, 2)]; time.sleep(60)"
    )
    with namespaces.start() as evil:
        evil.exec(["python3", "-c", code], 20.0)
        with namespaces.start() as other:
            assert other.exec(["cat"], stdin=b"x" * 1000).stdout == "x" * 1000


def test_a_header_that_is_a_bomb_is_not_read() -> None:
    ours, theirs = socket.socketpair()
    header = b'{"x":[' + b"[]," * 2**20 + b"0]}"

    def speak() -> None:
        theirs.recv(100)
        with contextlib.suppress(OSError):
            theirs.sendall(struct.pack("<IBII", 9 + len(header), Kind.OK, 1, len(header)) + header)

    speaker = threading.Thread(target=speak)
    speaker.start()
    with pytest.raises(SandboxDead, match="header"):
        Connection(ours).ask(Kind.PING, {}, timeout_s=20, most=2**25)
    speaker.join(10)
    theirs.close()


def test_the_agent_keeps_its_priority(namespaces: NamespaceProvider) -> None:
    code = (
        "import ctypes, os\n"
        "libc = ctypes.CDLL(None)\n"
        "def refused(work):\n"
        "  try: work()\n"
        "  except PermissionError: return True\n"
        "idle, all_of = os.sched_param(0), [\n"
        "  lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),\n"
        "  lambda: os.sched_setparam(1, os.sched_param(0)),\n"
        "  lambda: os.sched_setaffinity(1, {0}),\n"
        "  lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),\n"
        "  lambda: os.setpriority(os.PRIO_USER, 0, 19),\n"
        "]\n"
        "print([refused(work) for work in all_of], os.setpriority(os.PRIO_PROCESS, 0, 19))"
    )
    with namespaces.start() as sandbox:
        assert sandbox.exec(["python3", "-c", code], 20.0).stdout == f"{[True] * 5} None\n"
        assert sandbox.run("nice -n 5 true && nice").exit_code == 0
        assert os.getpriority(os.PRIO_PROCESS, sandbox.pid or 0) == os.getpriority(os.PRIO_PROCESS, 0)
        pairs = "import socket\nfor family in (17, 38, 40, 30, 44):\n  socket.socketpair(family, 1)"
        assert "not supported" in sandbox.exec(["python3", "-c", pairs], 20.0).stderr


def test_a_folder_that_does_not_exist(namespaces: NamespaceProvider) -> None:
    with namespaces.start() as sandbox:
        result = sandbox.exec(["true"], cwd="/nowhere")
        assert (result.exit_code, result.stderr) == (127, "/nowhere: No such file or directory\n")
