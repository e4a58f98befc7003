"""The zygote's loop: makes and ends sandboxes for the one process that started it, and ends with it.

It was started with an empty environment and holds no secret, because every agent is a copy of it.
"""

from __future__ import annotations

import array
import contextlib
import gc
import json
import os
import resource
import select
import signal
import socket
from typing import Any

from agentworld_envs.backends.sandbox.launcher import birth, entry, rootfs, seccomp, syscalls
from agentworld_envs.backends.sandbox.launcher.cgroups import Cgroups
from agentworld_envs.backends.sandbox.launcher.spec import from_json
from agentworld_envs.backends.sandbox.launcher.store import Store

MAX_MESSAGE = 2**17
_KILL_WITHIN_MS = 10_000


class Sandbox:
    """What the zygote knows of one."""

    def __init__(self, area: int, group: str, ready: int) -> None:
        self.area = area
        self.group = group
        self._ready: int | None = ready
        self._pid: int | None = None

    def pid(self) -> int | None:
        """The agent's pid. Waits until it is known."""
        if self._ready is not None:
            self._pid, self._ready = birth.read_pid(self._ready), None
        return self._pid

    def signal(self) -> None:
        """Kill it with all its processes, but do not wait."""
        pid = self.pid()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def kill(self) -> bool:
        """Kill it with all its processes and wait for their end. Gives whether they ended."""
        pid = self.pid()
        if pid is None:
            return True
        self.signal()
        fd = os.pidfd_open(pid)
        try:
            waiting = select.poll()
            waiting.register(fd, select.POLLIN)
            if not waiting.poll(_KILL_WITHIN_MS):
                return False
        finally:
            os.close(fd)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        self._pid = None
        return True


class Zygote:
    """Serves one owner over one socket of messages."""

    def __init__(self, control: socket.socket, group: str, owner: int) -> None:
        """Enter namespaces of its own. Raises OSError when that is not allowed here.

        Args:
            control: messages from and to the owner.
            group: name of the control group to make.
            owner: pidfd of the owner. Its end is seen even where a forked child of it holds the socket open.
        """
        self._control = control
        self._events = select.poll()
        for fd in (control.fileno(), owner):
            self._events.register(fd, select.POLLIN)
        self._middle: set[int] = set()
        self._sandboxes: dict[int, Sandbox] = {}
        self._cgroups = Cgroups.find(group)
        self._owner = entry.enter()
        self._store = Store(user_xattr=not self._owner, owner=owner)

    def facts(self) -> dict[str, Any]:
        """What this machine gives."""
        return {
            "root": bool(self._owner),
            "controllers": sorted(self._cgroups.controllers) if self._cgroups else [],
            "seccomp": seccomp.known(),
            "host_folders": rootfs.host_folders(),
        }

    def serve(self) -> None:
        """Work until the owner is gone, then end all."""
        try:
            while all(fd == self._control.fileno() for fd, _ in self._events.poll()):
                data, control, _, _ = self._control.recvmsg(MAX_MESSAGE, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
                if not data:
                    return
                fds = [fd for _, _, block in control for fd in array.array("i", block[: len(block) // 4 * 4])]
                try:
                    answer = self._handle(json.loads(data), fds)
                except (OSError, KeyError, TypeError, ValueError) as error:
                    answer = {"error": f"{type(error).__name__}: {error}"}
                finally:
                    for fd in fds:
                        os.close(fd)
                self._control.sendall(json.dumps(answer).encode())
                self._bury()
        except OSError:
            pass  # the owner went away while it was answered
        finally:
            self._end_all()

    def _handle(self, request: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        what = request["do"]
        if what == "start":
            self._start(int(request["id"]), request["spec"], fds[0])
        elif what == "fork":
            return self._fork(int(request["from"]), int(request["id"]), request["spec"], fds[0])
        elif what == "end":
            return self._end(int(request["id"]), bool(request["keep"]))
        elif what == "copy":
            sandbox = self._sandboxes[int(request["id"])]
            return {"layer": self._store.copy(sandbox.area, int(request["disk"]), int(request["inodes"]))}
        elif what == "flatten":
            layers = [int(layer) for layer in request["layers"]]
            return {"layer": self._store.flatten(layers, int(request["disk"]), int(request["inodes"]))}
        elif what == "drop":
            self._store.drop(int(request["layer"]))
        elif what == "pid":
            return {"pid": self._sandboxes[int(request["id"])].pid()}
        else:
            raise ValueError(f"unknown request {what!r}")
        return {}

    def _fork(self, origin: int, number: int, fields: dict[str, Any], stream: int) -> dict[str, Any]:
        """Copy what a sandbox wrote, and meanwhile start another on the copy."""
        spec = from_json(fields)
        layer, working = self._store.begin_copy(self._sandboxes[origin].area, spec.disk, spec.inodes)
        after: tuple[int, int] | None = None
        failed: BaseException | None = None
        try:
            after = os.pipe()
            self._start(number, {**fields, "layers": [layer, *spec.layers]}, stream, after)
        except BaseException as error:  # noqa: BLE001 - raised below, once the copy has ended
            failed = error
        try:
            working.wait()
            if failed is None and after is not None:
                os.write(after[1], b"\0")
        except BaseException as error:  # noqa: BLE001 - as above
            failed = error
        for fd in after or ():
            os.close(fd)
        if failed is not None:
            if number in self._sandboxes:
                self._end(number, keep=False)
            self._store.drop(layer)
            raise failed
        return {"layer": layer}

    def _start(self, number: int, fields: dict[str, Any], stream: int, after: tuple[int, int] | None = None) -> None:
        spec = from_json(fields)
        lowers = self._store.lowers(spec)
        group = str(number)
        area = self._store.new_area(spec)
        try:
            if self._cgroups is not None:
                self._cgroups.make(group, spec)
            plan = birth.Plan(spec, self._store.path(area), lowers, self._owner, self._cgroups, group, after)
            middle, ready = birth.bear(plan, stream)
        except BaseException:
            self._store.drop(area)
            raise
        self._middle.add(middle)
        self._sandboxes[number] = Sandbox(area, group, ready)

    def _bury(self) -> None:
        """Wait for the processes that only stood between the zygote and a sandbox. Agents are waited for when they
        are ended: until then their pids cannot be given to others."""
        for pid in list(self._middle):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._middle.discard(pid)

    def _end(self, number: int, keep: bool) -> dict[str, Any]:
        sandbox = self._sandboxes.pop(number)
        if self._cgroups is not None:
            self._cgroups.hurry(sandbox.group)
        ended = sandbox.kill()
        if self._cgroups is not None:
            self._cgroups.remove(sandbox.group)
        if not keep or not ended:
            self._store.drop(sandbox.area)
        if keep and not ended:  # what still runs could go on to write to the layer
            raise TimeoutError("its processes did not end; its files are lost")
        return {"layer": sandbox.area if keep else None}

    def _end_all(self) -> None:
        """The owner is gone. The files go with this process."""
        for sandbox in self._sandboxes.values():
            if self._cgroups is not None:
                self._cgroups.hurry(sandbox.group)
            sandbox.signal()
        for sandbox in self._sandboxes.values():
            with contextlib.suppress(OSError):
                sandbox.kill()
        if self._cgroups is not None:
            self._cgroups.remove_all()


def main() -> None:
    """Serve over standard input, a socket of messages. The first one, from the owner, names its control group."""
    entry.forget_command_line()
    os.setsid()  # the terminal's Ctrl-C is the owner's business
    os.umask(0o022)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = birth.MOST_FILES if hard == resource.RLIM_INFINITY else min(birth.MOST_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    syscalls.adopt_orphans()
    hello = json.loads(control.recv(MAX_MESSAGE))
    try:
        if not syscalls.supported():
            raise OSError("the system calls of this processor are not known")
        zygote = Zygote(control, str(hello["group"]), os.pidfd_open(int(hello["owner"])))
    except (OSError, ValueError) as error:
        control.sendall(json.dumps({"error": str(error), "number": getattr(error, "errno", None)}).encode())
        return
    control.sendall(json.dumps(zygote.facts()).encode())
    gc.collect()
    gc.freeze()  # children share these pages; a collection would copy them
    gc.disable()
    zygote.serve()
