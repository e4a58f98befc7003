"""A root as one tar: the same bytes for the same contents."""

from __future__ import annotations

import hashlib
import os
import tarfile
from typing import IO

from agentworld_envs.backends.sandbox.roots.digest import MARK


class _Hashed:
    """Writes through to a file, if any, and hashes what is written."""

    def __init__(self, file: IO[bytes] | None) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return len(data) if self._file is None else self._file.write(data)


def pack(root: str, file: IO[bytes] | None) -> str:
    """Write a root as an uncompressed tar.

    Args:
        root: the folder.
        file: where to; `None` to have the digest only.

    Returns:
        Its digest, `sha256:...`; what Docker calls the layer's.

    Raises:
        OSError: it cannot be read or written.
    """
    hashed = _Hashed(file)
    with tarfile.open(fileobj=hashed, mode="w|", format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
        for folder, folders, files in os.walk(root):
            folders.sort()
            for name in sorted(folders + files):
                path = os.path.join(folder, name)
                inside = os.path.relpath(path, root)
                if inside in (MARK, os.path.dirname(MARK)):
                    continue
                info = archive.gettarinfo(path, inside)
                if info is None:  # a socket
                    continue
                info.uname = info.gname = ""
                info.mtime = int(info.mtime)
                if info.isreg():
                    with open(path, "rb") as content:
                        archive.addfile(info, content)
                else:
                    archive.addfile(info)
    return f"sha256:{hashed.digest.hexdigest()}"


def write_mark(root: str) -> str:
    """Write a root's digest into it; gives it. Raises OSError."""
    digest = pack(root, None)
    path = os.path.join(root, MARK)
    above = os.path.dirname(os.path.dirname(path))
    os.makedirs(above, exist_ok=True)
    info = os.stat(above)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(digest + "\n")
    os.utime(above, ns=(info.st_mtime_ns, info.st_mtime_ns))  # the digest is to be the same the next time
    return digest
