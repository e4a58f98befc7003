"""The processes below the agent: who they are, reaping them, and killing whole trees of them.

The agent is PID 1 (or a subreaper), so a process that daemonises itself becomes its child and cannot get away.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_CLK_TCK = os.sysconf("SC_CLK_TCK")
_DYING_S = 0.0005
_FEWEST_LOOKS = 50
_FORKS = {"x86_64": (b"56", b"58", b"435"), "aarch64": (b"220", b"435")}.get(platform.machine(), ())
"""System calls: clone, vfork, clone3."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Process(NamedTuple):
    """One line of /proc."""

    pid: int
    parent: int
    start: int
    """Clock ticks since boot."""
    memory: int
    """Resident bytes."""
    stopped: bool
    """Whether a signal (or a tracer) holds it."""
    group: int
    """Its process group."""


def become_reaper() -> None:
    """Adopt orphans and let nobody look into this process (its memory, files and environment)."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


class Moment(NamedTuple):
    """A point between the births of processes. Their times alone are too coarse: a tick is 10 ms."""

    tick: int
    """In the unit of `Process.start`."""
    pid: int
    """The last one that was given to a process here."""

    def before(self, process: Process) -> bool:
        """Whether a process was born later."""
        return process.start > self.tick or (process.start == self.tick and process.pid > self.pid)


def now() -> Moment:
    """The current moment. Ask before something is started: it may be born at once."""
    with open("/proc/loadavg", "rb", buffering=0) as file:
        pid = int(file.read(256).split()[4])
    return Moment(time.clock_gettime_ns(time.CLOCK_BOOTTIME) * _CLK_TCK // 10**9, pid)


def _read(pid: int) -> Process | None:
    """One living process; zombies are gone already, they only wait to be reaped. (Not so one whose first thread ended
    before the others: it looks like a zombie, but it counts more threads than itself.)"""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            fields = file.read(4096).rpartition(b")")[2].split()
    except OSError:
        return None
    if fields[0] in (b"Z", b"X") and int(fields[17]) <= 1:
        return None
    stopped = fields[0] in (b"T", b"t")
    return Process(pid, int(fields[1]), int(fields[19]), int(fields[21]) * _PAGE, stopped, int(fields[2]))


def state(pid: int) -> bytes:
    """The kernel's letter for what a process does now: `R` runs, `S` sleeps ...; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return file.read(4096).rpartition(b")")[2].split()[0]
    except OSError:
        return b""


def below_me() -> list[Process]:
    """All living descendants of this process."""
    me = os.getpid()
    found = [p for name in os.listdir("/proc") if name.isdigit() and (p := _read(int(name))) is not None]
    if me == 1:  # the whole PID namespace descends from its first process
        return [process for process in found if process.pid != 1]
    children: dict[int, list[Process]] = {}
    for process in found:
        children.setdefault(process.parent, []).append(process)
    tree, queue = [], [me]
    while queue:
        for process in children.get(queue.pop(), ()):
            tree.append(process)
            queue.append(process.pid)
    return tree


def children(pid: int) -> list[int] | None:
    """The children of a process that has one thread, zombies too; `None` where the kernel does not keep a list."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb", buffering=0) as file:
            return [int(name) for name in file.read(2**16).split()]
    except OSError:
        return None


def listing(left_out: Callable[[int], bool]) -> bytes:
    """All living descendants of this process but those that are `left_out`: for each `pid parent length`, a newline,
    and as many bytes of its arguments, with a NUL between two."""
    found = []
    for process in sorted(below_me()):
        if left_out(process.pid):
            continue
        with contextlib.suppress(OSError):  # it ended meanwhile
            text = b"\0".join(arguments(process.pid))
            found.append(b"%d %d %d\n%s" % (process.pid, process.parent, len(text), text))
    return b"".join(found)


def is_still(pid: int, argv: Sequence[str]) -> bool:
    """Whether a process is a bash with these arguments, so that it did not become another program meanwhile."""
    with contextlib.suppress(OSError):
        data = b"".join(os.fsencode(argument) + b"\0" for argument in argv)
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
        return program == "bash" and b"".join(part + b"\0" for part in arguments(pid, len(data) + 1)) == data
    return False


def arguments(pid: int, most: int = 2**12) -> list[bytes]:
    """What a process was started with, as it says itself; in brackets the kernel's name for one that does not say."""
    with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
        data = file.read(most)
    if data:
        return data[:-1].split(b"\0") if data.endswith(b"\0") else data.split(b"\0")
    with open(f"/proc/{pid}/comm", "rb", buffering=0) as file:
        return [b"[" + file.read(64).rstrip(b"\n") + b"]"]


def own_memory(process: Process) -> int:
    """Bytes of memory that a process is to blame for: shared pages are divided among those that share them."""
    kinds = (b"Pss_Anon:", b"Pss_Shmem:")
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", "rb") as file:
            found = [int(line.split()[1]) * 1024 for line in file if line.startswith(kinds)]
    except OSError:
        return process.memory
    return sum(found) if found else process.memory


def at_rest(process: Process) -> bool:
    """Whether every thread of a process is stopped, or the process is gone."""
    folder = f"/proc/{process.pid}/task"
    try:
        return all(_rests(f"{folder}/{name}") for name in os.listdir(folder))
    except OSError:  # a thread or all of it ended while it was looked at
        return not os.path.exists(folder)


def _rests(thread: str) -> bool:
    with open(f"{thread}/stat", "rb", buffering=0) as file:
        letter = file.read(4096).rpartition(b")")[2].split()[0]
    if letter != b"D":
        return letter in (b"T", b"t", b"Z", b"X")
    # It may wait for a child of vfork, which is stopped itself, to become another program: it cannot be stopped before.
    try:
        with open(f"{thread}/syscall", "rb", buffering=0) as file:
            return file.read(32).split()[:1] in [[number] for number in _FORKS]
    except OSError:
        return False


def turns() -> dict[tuple[int, int], int]:
    """For every thread of every descendant how often it had the processor."""
    found = {}
    for process in below_me():
        folder = f"/proc/{process.pid}/task"
        with contextlib.suppress(OSError):  # it ended meanwhile
            for name in os.listdir(folder):
                with open(f"{folder}/{name}/status", "rb", buffering=0) as file:
                    lines = file.read(2**14).splitlines()
                found[process.pid, int(name)] = sum(int(line.split()[1]) for line in lines if b"ctxt_switches:" in line)
    return found


def stop_all(processes: Iterable[Process]) -> None:
    """Stop processes; where this is the first of a namespace, all in it at once, also one that is being born."""
    if os.getpid() == 1:
        with contextlib.suppress(OSError):
            os.kill(-1, signal.SIGSTOP)
    else:
        send(processes, signal.SIGSTOP)


def send(processes: Iterable[Process], number: int) -> None:
    """Send one signal to many; those that are gone already do not matter."""
    for process in processes:
        with contextlib.suppress(OSError):
            os.kill(process.pid, number)


class Reaper:
    """Collects exit codes. Only of processes that it was told about: pids are reused quickly in a small namespace."""

    def __init__(self) -> None:
        self._watched: set[int] = set()
        self._codes: dict[int, int] = {}

    def watch(self, pid: int) -> None:
        """Remember the exit code of this child."""
        self._codes.pop(pid, None)
        self._watched.add(pid)

    def reap(self) -> None:
        """Collect all children that ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._watched:
                self._watched.discard(pid)
                self._codes[pid] = os.waitstatus_to_exitcode(status)

    def code(self, pid: int) -> int | None:
        """The exit code of a watched child, negative for a signal; `None` while it runs."""
        return self._codes.get(pid)

    def kill_all(self, chosen: Callable[[Process], bool], limit_s: float = 1.0) -> bool:
        """Kill every descendant that is `chosen`, also those that appear meanwhile.

        All are stopped before any is killed, so that none can watch the others die and start new ones. The first
        process of a namespace can stop all others at once: even a fork that is under way waits for the signal.

        Returns:
            Whether none is left.
        """
        end = time.monotonic() + limit_s
        looks = 0
        spared: list[Process] = []
        if os.getpid() == 1:
            spared = [process for process in below_me() if not process.stopped and not chosen(process)]
            with contextlib.suppress(OSError):
                os.kill(-1, signal.SIGSTOP)
        try:
            while True:
                living = [process for process in below_me() if chosen(process)]
                if not living:
                    self.reap()  # the dead count as processes until then
                    return True
                looks += 1
                if time.monotonic() > end and looks > _FEWEST_LOOKS:  # time alone may have gone by without us
                    return False
                send(living, signal.SIGSTOP)
                send(living, signal.SIGKILL)
                self.reap()
                time.sleep(_DYING_S)  # to die takes time on the processor, which this loop would keep from them
        finally:
            send(spared, signal.SIGCONT)
