"""The system calls that Python does not offer."""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import socket
import struct

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, NOEXEC = 1, 2, 4, 8
REMOUNT, BIND, REC, PRIVATE = 32, 4096, 16384, 1 << 18
_DETACH = 2
_AT_RECURSIVE = 0x8000
_AT_FDCWD = -100
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_KEEPCAPS, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER = 1, 4, 8, 24, 36
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION = 0x20080522
_LAST_CAPABILITY = 63
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_MOUNT_SETATTR = 442
_NUMBERS = {"x86_64": {"pivot_root": 155, "capset": 126}, "aarch64": {"pivot_root": 41, "capset": 91}}

_libc = ctypes.CDLL(None, use_errno=True)


def supported() -> bool:
    """Whether the numbers of the system calls are known for this processor."""
    return platform.machine() in _NUMBERS


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _number(name: str) -> int:
    return _NUMBERS[platform.machine()][name]


def mount(source: str | None, target: str, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    """mount(2)."""
    result = _libc.mount(
        source and os.fsencode(source),
        os.fsencode(target),
        kind and kind.encode(),
        ctypes.c_ulong(flags),
        data and os.fsencode(data),
    )
    _check(result, f"mount {kind or 'bind'} on {target}")


def unmount(target: str) -> None:
    """Take a mount away from this namespace; it goes for good once nobody uses it."""
    _check(_libc.umount2(os.fsencode(target), _DETACH), f"unmount {target}")


def make_read_only(path: str, recursive: bool = False, devices: bool = False) -> None:
    """Let nobody write through a mount point, nor start a setuid program, nor (without `devices`) open a device."""
    flags = RDONLY | NOSUID | (0 if devices else NODEV)
    attributes = struct.pack("QQQQ", flags, 0, 0, 0)
    mode = _AT_RECURSIVE if recursive else 0
    result = _libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), mode, attributes, len(attributes))
    if result != 0:  # before Linux 5.12
        mount(None, path, None, REMOUNT | BIND | flags)


def unshare(flags: int) -> None:
    """unshare(2)."""
    _check(_libc.unshare(flags), "unshare")


def pivot_root(new_root: str) -> None:
    """Make a mount point the root and drop all that was there before."""
    os.chdir(new_root)
    _check(_libc.syscall(_number("pivot_root"), b".", b"."), "pivot_root")
    unmount(".")
    os.chdir("/")


def set_hostname(name: str) -> None:
    """sethostname(2)."""
    data = name.encode()
    _check(_libc.sethostname(data, len(data)), "sethostname")


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent dies. Forgotten whenever the credentials change."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0), "prctl(PDEATHSIG)")


def adopt_orphans() -> None:
    """Become the parent of grandchildren whose parent ends."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl(CHILD_SUBREAPER)")


def forbid_new_privileges() -> None:
    """Setuid bits and file capabilities have no effect from here on."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(NO_NEW_PRIVS)")


def _capset(value: int) -> None:
    low, high = value & 0xFFFFFFFF, value >> 32
    header = struct.pack("II", _CAPABILITY_VERSION, 0)
    data = struct.pack("6I", low, low, 0, high, high, 0)
    _check(_libc.syscall(_number("capset"), header, data), "capset")


def drop_capabilities() -> None:
    """Lose all capabilities for good, the bounding set included."""
    for capability in range(_LAST_CAPABILITY + 1):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # the first one that this kernel does not know
    _capset(0)


def become(uid: int) -> None:
    """Change to another user and group for good, but keep what is needed to make a user namespace."""
    os.setgroups([])
    _check(_libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0), "prctl(KEEPCAPS)")
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    _capset(1 << 21)  # CAP_SYS_ADMIN: where ordinary users may not make user namespaces
    _check(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl(DUMPABLE)")  # or its own /proc/self is closed to it


def map_user(inside: int, outside: int, group: int) -> None:
    """Fill in the one line of this new user namespace."""
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{inside} {outside} 1")
    _write("/proc/self/gid_map", f"{inside} {group} 1")


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def raise_loopback() -> None:
    """Switch on `lo`, the only interface that a new network namespace has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(probe, _SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(probe, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def seccomp(program: bytes) -> None:
    """Install a filter: packed instructions of classic BPF."""

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    buffer = ctypes.create_string_buffer(program)
    structure = Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    _check(_libc.prctl(22, 2, ctypes.byref(structure), 0, 0), "prctl(SECCOMP)")
