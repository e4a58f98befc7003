"""Making an installed system small, and the same whenever and wherever it was installed."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import stat
import subprocess

from agentworld_envs.interface import SandboxError

_EMPTIED = (
    "var/cache/apt",
    "var/lib/apt/lists",
    "var/cache/ldconfig",
    "var/log",
    "tmp",
    "var/tmp",
    "run",
    "usr/share/doc",
    "usr/share/info",
    "usr/share/lintian",
    "usr/share/locale",
    "usr/share/man",
    "home",
    "root",
)
_REMOVED = (
    "debootstrap",
    "dev/*",
    "etc/*-",
    "etc/.pwd.lock",
    "etc/apt/sources.list",
    "etc/apt/sources.list.d/*",
    "etc/resolv.conf",
    "var/cache/debconf/*-old",
    "var/lib/dpkg/*-old",
    "var/lib/systemd/*",
)
_AGENT = ("agent", 1000)
_COMPILE_TIMEOUT_S = 300.0


def tidy(root: str) -> None:
    """Tidy a root in place.

    Removes caches, logs and documentation; adds the user; compiles Python's modules so that they need no times; gives
    no file a time after that of the system's release.

    Raises:
        SandboxError: it cannot be tidied.
    """
    try:
        for name in _EMPTIED:
            _empty(os.path.join(root, name))
        for pattern in _REMOVED:
            for path in glob.glob(os.path.join(glob.escape(root), pattern)):
                _remove(path)
        _write(root, "etc/hostname", "sandbox\n")
        _write(root, "etc/machine-id", "")
        _add_user(root)
        _compile(root)
        _settle_times(root)
    except OSError as error:
        raise SandboxError(f"The system cannot be tidied: {error}") from error


def _empty(folder: str) -> None:
    if os.path.isdir(folder):
        for entry in os.listdir(folder):
            _remove(os.path.join(folder, entry))


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _write(root: str, name: str, text: str) -> None:
    path = os.path.join(root, name)
    with contextlib.suppress(FileNotFoundError):  # it may be a link that leads out
        os.unlink(path)
    with open(path, "w") as file:
        file.write(text)


def _add_user(root: str) -> None:
    name, uid = _AGENT
    lines = {
        "etc/passwd": f"{name}:x:{uid}:{uid}:{name}:/home/{name}:/bin/bash\n",
        "etc/group": f"{name}:x:{uid}:\n",
        "etc/shadow": f"{name}:*:1:0:99999:7:::\n",
        "etc/gshadow": f"{name}:!::\n",
    }
    for file_name, line in lines.items():
        path = os.path.join(root, file_name)
        with open(path) as file:
            kept = [old for old in file if not old.startswith(f"{name}:")]
        if file_name == "etc/shadow":  # holds the day on which a password was last changed
            kept = [":".join([*old.split(":")[:2], "1", *old.split(":")[3:]]) for old in kept]
        with open(path, "w") as file:
            file.writelines([*kept, line])
    for folder in (f"home/{name}", "workspace"):
        os.makedirs(os.path.join(root, folder), mode=0o755, exist_ok=True)
        os.chown(os.path.join(root, folder), uid, uid)


def _compile(root: str) -> None:
    """Compile Python's modules so that they are never compared with their sources: by time, they would all be stale.
    Without them every start of Python would take several times as long."""
    for folder, _, _ in os.walk(os.path.join(root, "usr/lib"), topdown=False):
        if os.path.basename(folder) == "__pycache__":
            shutil.rmtree(folder)
    folders = [path[len(root) :] for path in sorted(glob.glob(os.path.join(glob.escape(root), "usr/lib/python3*")))]
    if not folders:
        return
    options = [
        "-I",
        "-m",
        "compileall",
        "-q",
        "-f",
        "--invalidation-mode",
        "unchecked-hash",
        "-x",
        "/(test|tests|lib2to3)/",
    ]
    try:
        done = subprocess.run(
            ["chroot", root, "/usr/bin/python3", *options, *folders],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_COMPILE_TIMEOUT_S,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"},
        )
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"Python's modules cannot be compiled: {error}") from error
    if done.returncode != 0:
        raise SandboxError(f"Python's modules cannot be compiled: {done.stdout.decode(errors='replace')[-500:]}")


def _settle_times(root: str) -> None:
    latest = int(os.stat(os.path.join(root, "usr/lib/os-release")).st_mtime)
    for folder, folders, files in os.walk(root):
        for name in [*folders, *files]:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            if info.st_mtime > latest or stat.S_ISDIR(info.st_mode):
                when = min(int(info.st_mtime), latest)
                os.utime(path, (when, when), follow_symlinks=False)
    os.utime(root, (latest, latest))
