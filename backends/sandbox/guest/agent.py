"""The agent: first process of a sandbox. Does what the host asks over one stream; when the stream ends, so does all.

The host's end of the stream is the lease: the kernel closes it when the owner dies, however it dies.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import Any

from agentworld_envs.backends.sandbox.guest import files, frames
from agentworld_envs.backends.sandbox.guest.frames import Frame, Kind
from agentworld_envs.backends.sandbox.guest.guard import Guard
from agentworld_envs.backends.sandbox.guest.passing import Passing
from agentworld_envs.backends.sandbox.guest.processes import Reaper, become_reaper
from agentworld_envs.backends.sandbox.guest.runner import Busy, Runner
from agentworld_envs.backends.sandbox.guest.session import NoShell
from agentworld_envs.backends.sandbox.guest.shell_state import Unusable

_MOST_MESSAGE = 2000
_IGNORED = ("SIGPIPE", "SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGXCPU", "SIGALRM", "SIGTTOU")


class Agent:
    """Serves one host. One command runs at a time; the interactive terminal is separate."""

    def __init__(self, fd: int, text: int, kills: int | None = None, passing: Passing | None = None) -> None:
        """Take over a connection.

        Args:
            fd: the stream to the host, both ways.
            text: an anonymous file for command texts.
            kills: as for `Guard`.
            passing: how whole folders are saved, where the host keeps them.
        """
        self._fd = fd
        self._decoder = frames.Decoder()
        self._temporary: str | None = None
        self._passing = passing or Passing(None)
        self._reaper = Reaper()
        self._guard = Guard(self._reaper, kills)
        self._poll = select.poll()
        self._runner = Runner(self._reaper, text, self._poll, self._guard)
        self._wake, wake = os.pipe()
        for end in (self._wake, wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for name in _IGNORED:  # a handled signal would reach even the first process of a namespace
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        self._poll.register(fd, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)

    def serve(self) -> None:
        """Work until the host is gone."""
        try:
            while True:
                self._turn()
        except (EOFError, OSError, frames.FrameError):
            pass  # nobody is left to report to
        finally:
            self._reaper.kill_all(lambda _: True)
            if self._temporary is not None:
                _remove(self._temporary)

    def _turn(self) -> None:
        wakeups = [when for when in (self._runner.wakeup(), self._guard.wakeup()) if when is not None]
        timeout = max(0.0, (min(wakeups) - time.monotonic()) * 1000) if wakeups else None
        for fd, _ in self._poll.poll(timeout):
            if fd == self._fd:
                self._receive()
            elif fd == self._wake:
                os.read(self._wake, 4096)
        self._reaper.reap()
        self._guard.watch(self._runner.shell_pid, self._runner.job)
        for answer in self._runner.progress():
            self._send(answer)

    def _receive(self) -> None:
        data = os.read(self._fd, 2**20)
        if not data:
            raise EOFError
        for frame in self._decoder.feed(data):
            answer = self._answer(frame)
            if answer is not None:
                self._send(answer)

    def _send(self, frame: Frame) -> None:
        view = memoryview(frames.encode(frame))
        while view:
            view = view[os.write(self._fd, view) :]

    def _answer(self, frame: Frame) -> Frame | None:
        """The answer to a request, `None` when it comes later."""
        try:
            return self._handle(frame)
        except Busy as error:
            return _error(frame.id, "busy", str(error))
        except NoShell as error:
            return _error(frame.id, "session", str(error))
        except (files.Refused, Unusable) as error:
            return _error(frame.id, "refused", str(error))
        except (KeyError, TypeError, ValueError) as error:
            return _error(frame.id, "request", f"{type(error).__name__}: {error}")
        except OSError as error:
            return _error(frame.id, "os", f"{error.strerror}: {error.filename or ''}", number=error.errno)

    def _handle(self, frame: Frame) -> Frame | None:
        header = frame.header
        kind = frame.kind
        if kind == Kind.HELLO:
            self._runner.configure(header)
            self._guard.configure(int(header.get("memory_limit", 0)))
            self._temporary = header.get("temporary")
            return Frame(Kind.OK, frame.id, {"pid": os.getpid(), "python": sys.version.split()[0]})
        if kind == Kind.PING:
            return Frame(Kind.OK, frame.id, {})
        if kind in (Kind.RUN, Kind.EXEC, Kind.TERMINAL, Kind.SAVE, Kind.RESTORE):
            return self._runner.begin(frame)
        if kind == Kind.PROCESSES:
            return Frame(Kind.OK, frame.id, {}, self._runner.processes())
        if kind == Kind.READ:
            data, more = files.read(_path(header), int(header["offset"]), int(header["limit"]))
            return Frame(Kind.OK, frame.id, {"more": more}, data)
        if kind == Kind.WRITE:
            files.write(_path(header), frame.blob, bool(header["append"]), int(header["mode"]))
            return Frame(Kind.OK, frame.id, {})
        if kind == Kind.PACK:
            return Frame(Kind.OK, frame.id, {}, files.pack(_path(header), int(header["limit"])))
        if kind == Kind.UNPACK:
            files.unpack(_path(header), frame.blob)
            return Frame(Kind.OK, frame.id, {})
        if kind == Kind.KILL:
            return Frame(Kind.OK, frame.id, {"none_left": self._reaper.kill_all(lambda _: True)})
        if kind == Kind.FREEZE:
            return Frame(Kind.OK, frame.id, {"quiet": self._guard.freeze()})
        if kind == Kind.THAW:
            return Frame(Kind.OK, frame.id, {"still": self._guard.thaw()})
        if kind in (Kind.SIZE, Kind.EXPORT, Kind.IMPORT):
            return Frame(Kind.OK, frame.id, self._passing.handle(kind, header))
        return _error(frame.id, "request", f"unknown kind of request {kind}")


def _remove(folder: str) -> None:
    """By programs that are made for it: Python's own removal recurses, and a tree may be deeper than that."""
    for argv in (["chmod", "-R", "u+rwX", "--", folder], ["rm", "-rf", "--", folder]):
        with contextlib.suppress(OSError):  # without these programs a sweep has to do it
            os.waitpid(os.posix_spawnp(argv[0], argv, os.environ), 0)


def _path(header: dict[str, Any]) -> str:
    path: str = header["path"]
    if not path.startswith("/"):
        raise ValueError(f"a path in the sandbox has to be absolute, got {path!r}")
    return path


def _error(request: int, cause: str, message: str, **more: Any) -> Frame:
    return Frame(Kind.ERROR, request, {"cause": cause, "message": message[:_MOST_MESSAGE], **more})


def text_file() -> int:
    """The anonymous file for command texts. Readable by name, so that the shell can open it once more."""
    fd = os.memfd_create("command")
    os.fchmod(fd, 0o444)
    return fd


def main(fd: int, text: int, kills: int | None = None, passing: Passing | None = None) -> None:
    """Serve over a descriptor until it ends. For a process that was forked for this and does nothing else."""
    become_reaper()
    Agent(fd, text, kills, passing).serve()


def main_over_stdin() -> None:
    """Serve over standard input, a socket; the other standard streams become the null device."""
    fd = os.dup(0)
    null = os.open(os.devnull, os.O_RDWR)
    for target in (0, 1, 2):
        os.dup2(null, target)
    main(fd, text_file())
