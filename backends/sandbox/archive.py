"""Copying folders to and from a sandbox. The archive that comes back was written by the enemy."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path, PurePosixPath

from agentworld_envs.interface import SandboxRefused


def pack(source: Path, limit: int) -> bytes:
    """The contents of a folder as a tar: files, folders, and links that stay inside. Raises SandboxRefused."""
    if not source.is_dir():
        raise SandboxRefused(f"{source} is not a folder of this machine.")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder, folders, files in os.walk(source):
            folders.sort()
            for name in sorted(folders + files):
                path = Path(folder, name)
                info = archive.gettarinfo(path, str(path.relative_to(source)))
                if info is None or not (info.isreg() or info.isdir() or info.issym() or info.islnk()):
                    continue
                if info.issym() and not _stays_inside(PurePosixPath(info.name), info.linkname):
                    continue
                info.uid = info.gid = 0
                info.uname = info.gname = ""
                if buffer.tell() + info.size > limit:
                    raise SandboxRefused(f"{source} holds more than the {limit} bytes that are copied.")
                if info.isreg():
                    with path.open("rb") as file:
                        archive.addfile(info, file)
                else:
                    archive.addfile(info)
    return buffer.getvalue()


def unpack(data: bytes, target: Path, limit: int) -> list[str]:
    """Unpack into a new or empty folder, and nowhere else, whatever the archive says.

    Only plain files and folders are written, each by a name that was checked and never through a link: links are made
    last, and only those that stay inside. Nothing is set-user-id, nothing is owned by others.

    Returns:
        The names that were left out.

    Raises:
        SandboxRefused: the folder is not empty, the archive is broken, or its files hold more than `limit` bytes.
    """
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise SandboxRefused(f"{target} is not empty; give a new folder.")
    left_out: list[str] = []
    links: list[tuple[PurePosixPath, str]] = []
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for info in archive:
                name = PurePosixPath(info.name)
                if not _is_plain(name):
                    left_out.append(info.name)
                elif info.isdir():
                    (target / name).mkdir(parents=True, exist_ok=True)
                elif info.issym() and _stays_inside(name, info.linkname):
                    links.append((name, info.linkname))
                elif (info.isreg() and not info.issparse()) or info.islnk():
                    limit -= _write(archive, info, target / name, limit, left_out)
                else:
                    left_out.append(info.name)
    except (tarfile.TarError, EOFError, ValueError, RecursionError) as error:
        raise SandboxRefused(f"What the sandbox sent is no archive: {error}") from error
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise SandboxRefused(f"The sandbox sent one name as a file and as a folder: {error.filename}") from error
    for name, goal in links:
        place = target / name
        if os.path.lexists(place):
            left_out.append(str(name))
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(goal)
    return left_out


def _write(archive: tarfile.TarFile, info: tarfile.TarInfo, place: Path, limit: int, left_out: list[str]) -> int:
    """Write one file; gives its number of bytes."""
    if info.size > limit:
        raise SandboxRefused("The files hold more bytes than may be copied.")
    try:  # a hard link gives the bytes of an earlier member of the same archive, never of a file of this machine
        content = archive.extractfile(info)
    except KeyError:
        content = None
    if content is None:
        left_out.append(info.name)
        return 0
    data = content.read(limit + 1)
    if len(data) > limit:
        raise SandboxRefused("The files hold more bytes than may be copied.")
    place.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, info.mode & 0o777 | 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    return len(data)


def _is_plain(name: PurePosixPath) -> bool:
    return not name.is_absolute() and ".." not in name.parts and bool(name.parts) and "\0" not in str(name)


def _stays_inside(name: PurePosixPath, goal: str) -> bool:
    """Whether a link at `name` leads to a place below the root of the copy. Only by the look of it: every link that
    it may go through was judged in the same way."""
    if not goal or goal.startswith("/") or "\0" in goal:
        return False
    depth = len(name.parts) - 1
    for part in PurePosixPath(goal).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return False
    return True
