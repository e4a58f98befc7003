"""`Program`: one program that runs apart from the shell."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
from collections.abc import Mapping

from agentworld_envs.backends.sandbox.guest import spawn
from agentworld_envs.backends.sandbox.guest.frames import Frame
from agentworld_envs.backends.sandbox.guest.job import Job
from agentworld_envs.backends.sandbox.guest.processes import Reaper, now

_MOST_STDIN = 2**20


class Program:
    """Started by its constructor."""

    def __init__(
        self,
        frame: Frame,
        reaper: Reaper,
        poll: select.poll,
        env: Mapping[str, str],
        home: str,
        rights: spawn.Rights,
    ) -> None:
        """Start it.

        Args:
            frame: the request: `argv`, `env` on top of the usual one, `cwd`, and what it reads as the blob.
            reaper: is told its pid.
            poll: its pipes are registered there.
            env: the usual environment.
            home: where it starts when no `cwd` is given.
            rights: its limits.

        Raises:
            OSError: it cannot be started.
        """
        self._poll = poll
        self._reaper = reaper
        header = frame.header
        stdin = _filled_pipe(frame.blob) if frame.blob else os.open(os.devnull, os.O_RDONLY)
        fds = [stdin]
        try:
            fds += os.pipe()
            fds += os.pipe()
            _, out, out_end, err, err_end = fds
            for fd in (out, err):
                os.set_blocking(fd, False)
            actions = [(spawn.DUP2, stdin, 0), (spawn.DUP2, out_end, 1), (spawn.DUP2, err_end, 2)]
            cwd = header.get("cwd")
            whole = {**env, **header.get("env", {})}
            since = now()
            pid = spawn.start(header["argv"], actions, whole, cwd or home, rights, strict=bool(cwd))
            self.job = Job(frame.id, header, pid, out, err, since, in_shell=False)
        except BaseException:
            for fd in fds:
                os.close(fd)
            raise
        for fd in (stdin, out_end, err_end):
            os.close(fd)
        reaper.watch(pid)
        for fd in (out, err):
            poll.register(fd, select.POLLIN)

    def progress(self, shell: int | None) -> int | None:
        """Its exit code once it is over. `shell`: the session's, which is not killed with it."""
        job = self.job
        code = self._reaper.code(job.pid)
        if code is None:
            job.stopped = job.overdue()
            if not job.stopped:
                for capture in (job.out, job.err):  # a closed pipe would wake the loop again and again
                    if capture.ended:
                        self._forget(capture.fd)
                return None
            self._reaper.kill_all(lambda process: job.since.before(process) and process.pid != shell)
            code = 0
        job.pump()  # not until the end: a background process may hold the pipe open
        for capture in (job.out, job.err):
            self._forget(capture.fd)
            os.close(capture.fd)
        return code

    def _forget(self, fd: int) -> None:
        with contextlib.suppress(KeyError):
            self._poll.unregister(fd)


def not_started(frame: Frame, error: OSError) -> tuple[dict[str, object], bytes]:
    """What is answered for a program that cannot be started: as a shell would."""
    text = f"{error.filename or frame.header['argv'][0]}: {error.strerror}\n".encode("utf-8", "backslashreplace")
    facts = {"code": 127, "stopped": "", "seconds": 0.0, "lengths": [0, 0, len(text), 0], "left_out": [0, 0]}
    return facts, text


def _filled_pipe(data: bytes) -> int:
    """A pipe that holds all of `data`. Raises ValueError when no pipe of an ordinary user can."""
    if len(data) > _MOST_STDIN:
        raise ValueError(f"standard input may have at most {_MOST_STDIN} bytes, got {len(data)}; write a file")
    readable, writable = os.pipe()
    try:
        if len(data) > 2**12:
            fcntl.fcntl(writable, fcntl.F_SETPIPE_SZ, len(data))
        os.set_blocking(writable, False)
        if os.write(writable, data) != len(data):
            raise ValueError("the pipe for standard input is too small; write a file")
    except BaseException:
        os.close(readable)
        raise
    finally:
        os.close(writable)
    return readable
