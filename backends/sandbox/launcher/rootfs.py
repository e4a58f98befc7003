"""The file system of a sandbox: an overlay over read-only layers, the host's /usr or an unpacked folder."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil

from agentworld_envs.backends.sandbox.launcher import syscalls
from agentworld_envs.backends.sandbox.launcher.spec import Spec
from agentworld_envs.backends.sandbox.launcher.syscalls import BIND, NODEV, NOEXEC, NOSUID, REC

HOME = "/home/agent"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDERS = ("dev", "etc", "home/agent", "mnt", "opt", "proc", "root", "run", "srv", "sys", "tmp", "usr", "workspace")
_VAR = ("var/cache", "var/lib", "var/lock", "var/log", "var/spool", "var/tmp")
_OPEN = ("tmp", "var/tmp")
_TOP_LEVEL = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_FROM_ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "mime.types", "protocols", "services")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_READ_ONLY_PROC = ("/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs")
_HIDDEN_PROC = ("/proc/kcore", "/proc/keys", "/proc/sysrq-trigger", "/proc/timer_list", "/proc/latency_stats")


def build_skeleton(folder: str, uid: int, hostname: str) -> None:
    """What a root needs around the host's /usr: a few folders and files, none of which tells about the host's users."""
    for name in _FOLDERS + _VAR:
        os.makedirs(f"{folder}/{name}", exist_ok=True)
    for name in _OPEN:
        os.chmod(f"{folder}/{name}", 0o1777)
    link_top_level(folder)
    for name in _FROM_ETC:
        source = f"/etc/{name}"
        with contextlib.suppress(OSError, shutil.Error):
            if os.path.isdir(source):
                shutil.copytree(source, f"{folder}/etc/{name}", symlinks=True)
            elif os.path.isfile(source):
                shutil.copyfile(source, f"{folder}/etc/{name}")
    texts = {
        "passwd": f"root:x:0:0:root:/root:/bin/bash\nagent:x:{uid}:{uid}:agent:{HOME}:/bin/bash\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
        "group": f"root:x:0:\nagent:x:{uid}:\nnogroup:x:65534:\n",
        "hostname": f"{hostname}\n",
        "hosts": f"127.0.0.1 localhost\n::1 localhost\n127.0.1.1 {hostname}\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
        "resolv.conf": "",
        "shells": "/bin/sh\n/bin/bash\n",
    }
    for name, text in texts.items():
        with open(f"{folder}/etc/{name}", "w") as file:
            file.write(text)
    os.symlink("../usr/lib/os-release", f"{folder}/etc/os-release")
    os.symlink("/usr/share/zoneinfo/UTC", f"{folder}/etc/localtime")


def link_top_level(folder: str) -> None:
    """What leads to the host's programs from the root: links into /usr, or folders to bind the host's to."""
    for name in _TOP_LEVEL:
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{folder}/{name}")
        elif os.path.isdir(f"/{name}"):
            os.mkdir(f"{folder}/{name}")


def host_folders() -> list[str]:
    """The folders of the host that a sandbox with `rootfs="host"` sees, read-only."""
    return [
        "/usr",
        *(f"/{name}" for name in _TOP_LEVEL if os.path.isdir(f"/{name}") and not os.path.islink(f"/{name}")),
    ]


def assemble(area: str, lowers: list[str], spec: Spec, owner: int, user_xattr: bool) -> None:
    """Mount everything and make it the root of this process.

    Args:
        area: the sandbox's own file system in memory, with the folders `upper`, `work`, `root` and `shm`.
        lowers: folders below the writable one, the top one first.
        spec: what is wanted.
        owner: user id, as seen here, who may write to the writable folders.
        user_xattr: whether the overlay has to keep its notes where an ordinary user may write them.
    """
    root = f"{area}/root"
    options = f"lowerdir={':'.join(map(_escape, lowers))},upperdir={area}/upper,workdir={area}/work"
    if user_xattr:
        options += ",userxattr"
    syscalls.mount("overlay", root, "overlay", NOSUID | NODEV, options)
    if spec.rootfs == "host":
        for folder in host_folders():
            _require_folder(root + folder)
            syscalls.mount(folder, root + folder, None, BIND | REC)
            syscalls.make_read_only(root + folder, recursive=True)
    _mount_proc(root)
    _mount_dev(root, area)
    syscalls.pivot_root(root)
    for name in spec.writable:  # only now: a link in a layer, which the enemy wrote, would lead out to the host
        _make_writable(name, owner, bind="/" not in spec.writable)
    if "/" not in spec.writable:
        syscalls.make_read_only("/")


def _require_folder(path: str) -> None:
    """Refuse to mount on what a layer, which the enemy wrote, put in the place of a folder."""
    if os.path.islink(path):
        raise OSError(errno.ELOOP, "a link is in the place of a folder", path)


def _make_writable(name: str, owner: int, bind: bool) -> None:
    """Give the user a folder, which is made, and let it stay writable when its surroundings are made read-only.

    No link is followed on the way to it: in a layer it could lead to a folder that is not meant to be writable.
    """
    fd = os.open("/", _FOLDER)
    try:
        for part in filter(None, name.split("/")):
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=fd)
            try:
                inner = os.open(part, _FOLDER, dir_fd=fd)
            except OSError as error:
                raise OSError(
                    error.errno, f"the writable {name} is not a folder, or a link is on the way", name
                ) from error
            os.close(fd)
            fd = inner
        found = os.fstat(fd)
        if owner and found.st_uid != owner and not found.st_mode & 0o002:
            os.fchown(fd, owner, owner)
        if bind:
            syscalls.mount(f"/proc/self/fd/{fd}", f"/proc/self/fd/{fd}", None, BIND)
    finally:
        os.close(fd)


def _escape(path: str) -> str:
    """A path inside of the overlay's options."""
    return path.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def _mount_proc(root: str) -> None:
    proc = f"{root}/proc"
    os.makedirs(proc, exist_ok=True)
    _require_folder(proc)
    syscalls.mount("proc", proc, "proc", NOSUID | NODEV | NOEXEC)


def _mount_dev(root: str, area: str) -> None:
    dev = f"{root}/dev"
    os.makedirs(dev, exist_ok=True)
    _require_folder(dev)
    syscalls.mount("tmpfs", dev, "tmpfs", NOSUID, "size=64k,nr_inodes=64,mode=755")
    for name in _DEVICES:
        os.close(os.open(f"{dev}/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
        syscalls.mount(f"/dev/{name}", f"{dev}/{name}", None, BIND)
    for name in ("pts", "shm"):
        os.mkdir(f"{dev}/{name}")
    syscalls.mount("devpts", f"{dev}/pts", "devpts", NOSUID | NOEXEC, "newinstance,ptmxmode=0666,mode=620,max=64")
    syscalls.mount(f"{area}/shm", f"{dev}/shm", None, BIND)
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1"}
    for name, target in {**links, "stderr": "/proc/self/fd/2"}.items():
        os.symlink(target, f"{dev}/{name}")
    syscalls.make_read_only(dev, devices=True)


def protect_proc() -> None:
    """Take the kernel's switches away. The sandbox's user would own some of them in an ordinary user's namespace."""
    for path in _READ_ONLY_PROC:
        if os.path.isdir(path):
            syscalls.mount(path, path, None, BIND | REC)
            syscalls.make_read_only(path)
    for path in _HIDDEN_PROC:
        if os.path.exists(path):
            syscalls.mount("/dev/null", path, None, BIND)
