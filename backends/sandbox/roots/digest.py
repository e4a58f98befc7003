"""Telling root file systems apart: a digest that changes with what a command may find there, and is cheap to have."""

from __future__ import annotations

import functools
import hashlib
import os
from typing import Any

MARK = "usr/lib/agentworld/digest"
"""File in a root that was built here: its digest, over all contents."""
_TOLD_BY = ("usr/lib/os-release", "var/lib/dpkg/status", "lib/apk/db/installed")
"""What lists the installed packages with their versions."""
_PROGRAMS = ("usr/bin/bash", "usr/bin/python3", "usr/bin/ls", "usr/bin/git")


def of_folder(root: str) -> str:
    """The digest of a root: the one that `agentworld sandbox build` wrote, else one of `of_packages`."""
    try:
        with open(os.path.join(root, MARK)) as file:
            return file.read(100).strip()
    except OSError:
        return of_packages(root)


@functools.cache
def of_packages(root: str) -> str:
    """A digest of the lists of installed packages below a root, and of the sizes of a few programs. Two machines with
    the same digest have the same programs, unless somebody changed files by hand."""
    told = hashlib.sha256()
    for name in _TOLD_BY:
        try:
            with open(os.path.join(root, name), "rb") as file:
                data = b"\n".join(line for line in file.read().split(b"\n") if _is_telling(line))
        except OSError:
            continue
        told.update(f"{name} {len(data)}\n".encode() + data)
    for name in _PROGRAMS:
        try:
            told.update(f"{name} {os.stat(os.path.join(root, name)).st_size}\n".encode())
        except OSError:
            continue
    return f"packages:{told.hexdigest()}"


def digest_of_image(image: dict[str, Any]) -> str:
    """What an image contains, whenever and wherever it was made: the digest of its layer, or of their list."""
    layers = [str(layer) for layer in (image.get("RootFS") or {}).get("Layers") or []]
    if len(layers) == 1:
        return layers[0]
    return f"sha256:{hashlib.sha256(' '.join(layers).encode()).hexdigest()}" if layers else str(image["Id"])


def _is_telling(line: bytes) -> bool:
    """Not what depends on how a package came to be there, e.g. which configuration files it had before."""
    return not line.startswith(b" ") and not line.startswith((b"Conffiles:", b"Description:"))
