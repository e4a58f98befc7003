"""The birth of one sandbox: two forks, between which the namespaces are made."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
from typing import NoReturn

from agentworld_envs.backends.sandbox.guest import agent
from agentworld_envs.backends.sandbox.guest.frames import Frame, Kind, encode
from agentworld_envs.backends.sandbox.launcher import rootfs, syscalls
from agentworld_envs.backends.sandbox.launcher.cgroups import Cgroups
from agentworld_envs.backends.sandbox.launcher.confine import confine
from agentworld_envs.backends.sandbox.launcher.spec import Spec
from agentworld_envs.backends.sandbox.launcher.syscalls import (
    NEWCGROUP,
    NEWIPC,
    NEWNET,
    NEWNS,
    NEWPID,
    NEWUTS,
)

_NAMESPACES = NEWNS | NEWIPC | NEWUTS | NEWNET | NEWPID | NEWCGROUP
_STREAM = 3
_ASIDE = 64
MOST_FILES = 4096
"""Descriptors that the zygote may have; every new sandbox closes as many."""
_PID = struct.Struct("<i")


class Plan:
    """All that a child needs to know. It is forked, so nothing has to be passed in words."""

    def __init__(
        self,
        spec: Spec,
        area: str,
        lowers: list[str],
        owner: int,
        cgroups: Cgroups | None,
        group: str,
        after: tuple[int, int] | None = None,
    ) -> None:
        """See `rootfs.assemble` and `confine` for the arguments.

        `after`: a pipe. Something is written to it once the layers are complete; when it is closed without, they are
        not, and there is no sandbox.
        """
        self.after = after
        self.spec = spec
        self.area = area
        self.lowers = lowers
        self.owner = owner
        self.cgroups = cgroups
        self.group = group


def bear(plan: Plan, stream: int) -> tuple[int, int]:
    """Start a sandbox whose agent serves a stream.

    Returns:
        The pid of a child that ends at once, and a descriptor that gives the agent's pid (see `read_pid`).
    """
    ready, told = os.pipe()
    middle = os.fork()
    if middle == 0:
        _first(plan, stream, told)
    os.close(told)
    return middle, ready


def read_pid(ready: int) -> int | None:
    """Wait for the pid of the agent, `None` when the sandbox was not born. Closes the descriptor."""
    try:
        data = os.read(ready, _PID.size)
        return int(_PID.unpack(data)[0]) if len(data) == _PID.size else None
    finally:
        os.close(ready)


def _first(plan: Plan, stream: int, told: int) -> NoReturn:
    """Make the namespaces, fork the process that becomes the first of them, tell its pid, end."""
    try:
        syscalls.die_with_parent()
        if plan.after is not None:
            os.close(plan.after[1])
        if plan.cgroups is not None:
            plan.cgroups.join(plan.group)
        myself = os.pidfd_open(os.getpid())
        syscalls.unshare(_NAMESPACES)
        pid = os.fork()
        if pid == 0:
            os.close(told)
            _second(plan, stream, myself)
        os.write(told, _PID.pack(pid))
    except BaseException as error:  # noqa: BLE001 - a forked child may not return into the zygote's code
        _report(stream, error)
    os._exit(0)


def _second(plan: Plan, stream: int, parent: int) -> NoReturn:
    """The first process of the new namespaces. Becomes the agent without an exec: nothing has to be found or loaded."""
    try:
        # Readable once the process in between is gone for good and the zygote is the parent. (Its descriptors are
        # closed earlier; to ask for a signal then would be to be killed by its end.)
        gone = select.poll()
        gone.register(parent, select.POLLIN)
        gone.poll()
        syscalls.die_with_parent()
        text = agent.text_file()
        kills = plan.cgroups.open_kills(plan.group) if plan.cgroups is not None else None
        if plan.after is not None and not os.read(plan.after[0], 1):
            raise OSError(5, "a layer could not be copied")
        rootfs.assemble(plan.area, plan.lowers, plan.spec, plan.owner, user_xattr=not plan.owner)
        confine(plan.spec, plan.owner, counted=plan.cgroups is not None)
        _keep_only(stream, text, kills)
    except BaseException as error:  # noqa: BLE001 - as above
        _report(stream, error)
        os._exit(1)
    try:
        agent.main(_STREAM, _STREAM + 1, None if kills is None else _STREAM + 2)
    except BaseException as error:  # noqa: BLE001 - as above
        _report(_STREAM, error)
    os._exit(0)


def _keep_only(stream: int, text: int, kills: int | None) -> None:
    """Close every descriptor but these, which get fixed numbers; the standard ones become the null device."""
    kept = [stream, text] if kills is None else [stream, text, kills]
    last = -1
    for fd in sorted(kept):  # all others first: there may be more of them than this process may open now
        os.closerange(last + 1, fd)
        last = fd
    os.closerange(last + 1, MOST_FILES)
    aside = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _ASIDE) for fd in kept]
    os.closerange(0, _ASIDE)
    null = os.open("/dev/null", os.O_RDWR)  # is 0
    for target in (1, 2):
        os.dup2(null, target)
    for index, fd in enumerate(aside):
        os.dup2(fd, _STREAM + index, False)
    os.set_inheritable(null, True)
    os.closerange(_STREAM + len(aside), MOST_FILES)


def _report(stream: int, error: BaseException) -> None:
    """Tell the owner, who waits for the agent's first answer, why there will be none."""
    frame = Frame(Kind.ERROR, 0, {"cause": "birth", "message": f"{type(error).__name__}: {error}"})
    with contextlib.suppress(OSError):
        os.write(stream, encode(frame))
