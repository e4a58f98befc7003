"""Reading and writing files inside of the sandbox. Every path is resolved here, in the guest, where a link or a `..`
leads to nothing but the sandbox's own files."""

from __future__ import annotations

import io
import os
import stat
import tarfile

_CHUNK = 2**18


class Refused(Exception):
    """The file is not of a kind, or not of a size, that is copied."""


def read(path: str, offset: int, limit: int) -> tuple[bytes, bool]:
    """At most `limit` bytes of a regular file.

    Returns:
        The bytes, and whether the file goes on after them.

    Raises:
        OSError: it cannot be opened.
        Refused: it is a directory, a device, a pipe or a socket.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)  # a named pipe must not make the agent wait
    try:
        _regular(fd, path)
        os.lseek(fd, offset, os.SEEK_SET)
        data = bytearray()
        while len(data) <= limit:
            piece = os.read(fd, min(_CHUNK, limit + 1 - len(data)))
            if not piece:
                return bytes(data), False
            data += piece
        return bytes(data[:limit]), True
    finally:
        os.close(fd)


def write(path: str, data: bytes, append: bool, mode: int) -> None:
    """Write a regular file; its folder is made when it does not exist. Raises as `read` does."""
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY
    fd = os.open(path, flags, mode)
    try:
        _regular(fd, path)
        if append:
            os.lseek(fd, 0, os.SEEK_END)
        else:
            os.ftruncate(fd, 0)
            os.fchmod(fd, mode)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
    finally:
        os.close(fd)


def _regular(fd: int, path: str) -> None:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise Refused(f"{path} is not a regular file")


def pack(path: str, limit: int) -> bytes:
    """A file or a folder as an uncompressed tar, names relative to it. Pipes, sockets and devices are left out.

    Raises:
        OSError: it cannot be read.
        Refused: it holds more than `limit` bytes.
    """
    buffer = io.BytesIO()
    root = os.path.normpath(path)
    if not os.path.isdir(root) and not os.path.isfile(root):
        raise FileNotFoundError(2, "no such file or folder", path)
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        if os.path.isfile(root):
            _add(archive, root, os.path.basename(root), limit)
            return buffer.getvalue()
        for folder, names, files in os.walk(root):
            names.sort()
            for name in sorted(names + files):
                full = os.path.join(folder, name)
                _add(archive, full, os.path.relpath(full, root), limit)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, path: str, name: str, limit: int) -> None:
    archive.inodes.clear()  # type: ignore[attr-defined]  # every file for itself: hard links are slow to read
    try:
        info = archive.gettarinfo(path, name)
    except OSError:  # gone since it was listed
        return
    if info is None or info.ischr() or info.isblk() or info.isfifo():
        return
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    if archive.offset + (info.size if info.isreg() else 0) > limit:  # before a sparse file is read
        raise Refused(f"more than {limit} bytes would have to be copied; {name} is where it stopped")
    if not info.isreg():
        archive.addfile(info)
        return
    data, _ = read(path, 0, info.size)
    info.size = len(data)  # it may have shrunk since
    archive.addfile(info, io.BytesIO(data))


def unpack(path: str, data: bytes) -> None:
    """Unpack the host's tar below a folder, which is made: files, folders and symbolic links.

    Raises:
        OSError: it cannot be written.
        Refused: it is no tar, or a name leads out of the folder.
    """
    os.makedirs(path, exist_ok=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for info in archive:
                if info.name.startswith("/") or ".." in info.name.split("/"):
                    raise Refused(f"{info.name} leads out of the folder")
                _unpack_one(archive, info, os.path.join(path, info.name))
    except tarfile.TarError as error:
        raise Refused(f"not a tar archive: {error}") from error


def _unpack_one(archive: tarfile.TarFile, info: tarfile.TarInfo, place: str) -> None:
    if info.isdir():
        os.makedirs(place, exist_ok=True)
        os.chmod(place, info.mode & 0o777 | 0o700)
        return
    if os.path.lexists(place):
        os.unlink(place)
    if info.issym():
        os.symlink(info.linkname, place)
        return
    content = archive.extractfile(info)  # a hard link gives the bytes of what it is linked to
    if content is not None:
        write(place, content.read(), append=False, mode=info.mode & 0o777)
        os.utime(place, (info.mtime, info.mtime))
