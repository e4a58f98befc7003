"""A copy of a tree has all that the tree has."""

from __future__ import annotations

import os
import socket
import stat
import time
from pathlib import Path

import pytest

from agentworld_envs.backends.sandbox.launcher.tree import TreeCopy


def _copy(source: Path, target: Path, seconds: float = 60.0) -> None:
    links = target.parent / "links"
    links.mkdir(exist_ok=True)
    target.mkdir()
    TreeCopy(str(links), time.monotonic() + seconds).copy(str(source), str(target))
    links.rmdir()


def _facts(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    return (found.st_mode, found.st_uid, found.st_gid, found.st_size, found.st_mtime_ns, found.st_nlink)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    (root / "empty").mkdir(parents=True)
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_bytes(bytes(range(256)) * 9000)
    (root / "a" / "other name").hardlink_to(root / "a" / "b" / "file")
    (root / "third name").hardlink_to(root / "a" / "b" / "file")
    (root / "nothing").touch()
    (root / "program").write_text("x")
    (root / "program").chmod(0o4751)
    os.mkfifo(root / "pipe", 0o640)
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(root)
        server.bind("socket")
        os.chdir(here)
    (root / "link").symlink_to("/etc/passwd")
    (root / "dangling").symlink_to("nowhere")
    os.link(root / "link", root / "second link", follow_symlinks=False)
    (root / os.fsdecode(b"\xff\n")).write_text("odd")
    with open(root / "sparse", "wb") as file:
        file.truncate(2**30)
        file.seek(2**29)
        file.write(b"middle")
    (root / "hole").touch()
    os.truncate(root / "hole", 10_000_000)
    (root / "closed").mkdir()
    (root / "closed" / "in").write_text("in")
    (root / "closed").chmod(0o500)
    for path in (root, *root.rglob("*")):
        os.utime(path, ns=(1_000_000_001, 2_000_000_003), follow_symlinks=False)
    return root


def test_everything_is_copied(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    _copy(source, target)
    names = sorted(str(path.relative_to(source)) for path in source.rglob("*"))
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*")) == names
    for name in (".", *names):
        assert _facts(target / name) == _facts(source / name), name
        if (source / name).is_symlink():
            assert os.readlink(target / name) == os.readlink(source / name)
        elif (source / name).is_file() and (source / name).stat().st_size < 2**29:
            assert (target / name).read_bytes() == (source / name).read_bytes()
    assert (target / "third name").samefile(target / "a" / "b" / "file")
    assert (target / "sparse").stat().st_blocks < 1000
    with open(target / "sparse", "rb") as file:
        file.seek(2**29)
        assert file.read(6) == b"middle"


def test_attributes_are_copied(source: Path, tmp_path: Path) -> None:
    try:
        os.setxattr(source / "program", "user.mine", b"\0value")
        os.setxattr(source / "a", "user.overlay.opaque", b"y")
    except OSError:
        pytest.skip("no attributes on this file system")
    _copy(source, tmp_path / "target")
    assert os.getxattr(tmp_path / "target" / "program", "user.mine") == b"\0value"
    assert os.getxattr(tmp_path / "target" / "a", "user.overlay.opaque") == b"y"


def test_folders_are_listed_in_the_same_order() -> None:
    """Where they lie in memory; elsewhere the file system decides."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no file system in memory")
    base = Path("/dev/shm") / f"agentworld-test-{os.getpid()}"
    try:
        (base / "source").mkdir(parents=True)
        for name in ("z", "a", "m", "b", "y"):
            (base / "source" / name).touch()
        _copy(base / "source", base / "target")
        assert os.listdir(base / "target") == os.listdir(base / "source")
    finally:
        for path in sorted(base.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        base.rmdir()


def test_devices_are_refused(source: Path, tmp_path: Path) -> None:
    try:
        os.mknod(source / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("devices cannot be made")
    with pytest.raises(PermissionError, match="device"):
        _copy(source, tmp_path / "target")


def test_it_ends_in_time(source: Path, tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        _copy(source, tmp_path / "target", -1.0)


def test_a_folder_that_moves_meanwhile(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From deep down to the top, so that the way up would lead out of the tree."""
    (tmp_path / "secret").write_text("secret")
    original = os.listdir

    def move(folder: object) -> list[str]:
        found = original(folder)  # type: ignore[call-overload]
        if found == ["file"] and (source / "a").exists():
            os.rename(source / "a" / "b", source / "b")
        return list(found)

    monkeypatch.setattr(os, "listdir", move)
    with pytest.raises(OSError, match="moved"):
        _copy(source, tmp_path / "target")
    monkeypatch.undo()
    assert not [path for path in (tmp_path / "target").rglob("*") if path.name == "secret"]
