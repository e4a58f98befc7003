"""The system calls that nothing in a sandbox may make: a filter on top of namespaces and dropped capabilities.

It takes away what the kernel's worst bugs were in (namespaces, mounts, bpf, io_uring, keys, userfaultfd ...) and what
leads out (sockets other than Unix, IP and netlink) or at the agent (ptrace and its relatives, limits of others).
"""

from __future__ import annotations

import errno
import functools
import platform
import struct

_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x50000, 0x80000000
_LOAD, _EQUAL, _GREATER_OR_EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH, _ARG0 = 0, 4, 16  # arguments have eight bytes each; only the lower four are looked at
_NEW_NAMESPACES = 0x7E020000  # all CLONE_NEW* flags; that for time cannot be given to clone
_X32 = 0x40000000
_ARCHES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. The last shows nothing but the empty network; `ip` and Python ask it."""

_DENIED = {  # name: (x86_64, aarch64); -1 where there is none
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, -1),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, -1),
    "iopl": (172, -1),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
_ONLY_WITH = {  # name: numbers, and the arguments that are allowed: those that mean the caller itself
    "ioprio_set": ((251, 30), (1, 0)),
    "prlimit64": ((302, 261), (0,)),
    "sched_setaffinity": ((203, 122), (0,)),
    "sched_setattr": ((314, 274), (0,)),
    "sched_setparam": ((142, 118), (0,)),
    "setpriority": ((141, 140), (0, 0)),
}
"""Limits and priorities of other processes: the agent runs as the same user and must keep its own."""
_NOT_FOR_THE_AGENT = (144, 119)
"""sched_setscheduler: the agent makes its children give way, but nobody does so to the agent, the first process."""
_CLONE, _CLONE3 = (56, 220), (435, 435)
_SOCKETS = ((41, 198), (53, 199))
"""socket, socketpair."""
_HIDDEN_MEMORY = {"memfd_create": (319, 279), "memfd_secret": (447, 447)}


def known() -> bool:
    """Whether there is a filter for this processor."""
    return platform.machine() in _ARCHES


@functools.cache
def program(hidden_memory: bool) -> bytes:
    """The filter, packed. Refused calls fail with EPERM, so that programs can go on.

    Args:
        hidden_memory: whether files may be made that lie in memory only. Not where nothing counts that memory.
    """
    audit, index = _ARCHES[platform.machine()]
    code: list[tuple[int, int, int, int]] = []

    def fail(number: int) -> None:
        code.append((_RETURN, 0, 0, _FAIL | number))

    code += [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, audit), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NR)]
    if index == 0:
        code.append((_GREATER_OR_EQUAL, 0, 1, _X32))
        fail(errno.EPERM)
    refused = {**_DENIED, **({} if hidden_memory else _HIDDEN_MEMORY)}
    for numbers in refused.values():
        if numbers[index] >= 0:
            code.append((_EQUAL, 0, 1, numbers[index]))
            fail(errno.EPERM)
    code.append((_EQUAL, 0, 1, _CLONE3[index]))
    fail(errno.ENOSYS)  # its flags are behind a pointer; the C library falls back to clone
    code += [(_EQUAL, 0, 3, _CLONE[index]), (_LOAD, 0, 0, _ARG0), (_ANY_BIT, 0, 1, _NEW_NAMESPACES)]
    fail(errno.EPERM)
    code.append((_LOAD, 0, 0, _NR))
    for numbers, wanted in _ONLY_WITH.values():
        code.append((_EQUAL, 0, 2 * len(wanted) + 1, numbers[index]))
        for place, value in enumerate(wanted):
            rest = 2 * (len(wanted) - 1 - place)
            code.append((_LOAD, 0, 0, _ARG0 + 8 * place))
            code.append((_EQUAL, 0 if rest else 1, rest, value))
        fail(errno.EPERM)
        code.append((_LOAD, 0, 0, _NR))
    code += [(_EQUAL, 0, 3, _NOT_FOR_THE_AGENT[index]), (_LOAD, 0, 0, _ARG0), (_EQUAL, 0, 1, 1)]
    fail(errno.EPERM)
    code.append((_LOAD, 0, 0, _NR))
    for numbers in _SOCKETS:
        code += [(_EQUAL, 0, len(_FAMILIES) + 2, numbers[index]), (_LOAD, 0, 0, _ARG0)]
        code += [(_EQUAL, len(_FAMILIES) - place, 0, family) for place, family in enumerate(_FAMILIES)]
        fail(errno.EAFNOSUPPORT)
        code.append((_LOAD, 0, 0, _NR))
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)
