"""Copying out of a sandbox whose agent lies, and a guest that does not keep to the protocol."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import os
import socket
import struct
import tarfile
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentworld_envs.backends.sandbox import Sandbox, archive
from agentworld_envs.backends.sandbox.connection import Connection
from agentworld_envs.backends.sandbox.guest.frames import Decoder, Frame, FrameError, Kind, encode
from agentworld_envs.backends.sandbox.namespace import NamespaceSandbox
from agentworld_envs.interface import SandboxDead, SandboxRefused

LIMIT = 100_000


def _tar(*members: tuple[str, bytes, bytes | str]) -> bytes:
    """Name, type, and content or link target of each."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.mode = 0o6777
            if isinstance(content, str):
                info.linkname = content
                made.addfile(info)
            else:
                info.size = len(content)
                made.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


REG, SYM, LNK, DIR = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE
ESCAPES = {
    "parent": [("../evil", REG, b"x")],
    "deep parent": [("a/b/../../../evil", REG, b"x")],
    "absolute": [("/tmp/agentworld-evil", REG, b"x")],
    "link out": [("l", SYM, "/etc")],
    "link to a parent": [("l", SYM, "..")],
    "link and through it": [("l", SYM, "/tmp"), ("l/agentworld-evil", REG, b"x")],
    "link inside, then replaced": [("d", DIR, b""), ("d/l", SYM, "../.."), ("d/l/evil", REG, b"x")],
    "chain of links": [("a", SYM, "."), ("b", SYM, "a/.."), ("b/evil", REG, b"x")],
    "links below links": [
        ("f", REG, b"x"),
        ("d", SYM, "."),
        ("d/d1", SYM, "."),
        ("d/d1/d2", SYM, "."),
        ("d/d1/d2/out", SYM, "../../../victim"),
        ("d/out/x", SYM, "anything"),
    ],
    "up behind a link": [("a", SYM, "."), ("b", SYM, "a/.."), ("c", SYM, "a/../..")],
    "folder below a link": [("f", REG, b"x"), ("l", SYM, ".."), ("l/evil", DIR, b"")],
    "a name that is too long": [("x" * 300, REG, b"x"), ("/".join(["d" * 100] * 60), REG, b"x"), ("f", REG, b"x")],
    "hard link out": [("h", LNK, "/etc/passwd")],
    "hard link to a parent": [("h", LNK, "../../etc/passwd")],
    "hard link to a link": [("s", SYM, "/etc/passwd"), ("h", LNK, "s")],
    "device": [("dev", tarfile.BLKTYPE, b"")],
    "pipe": [("pipe", tarfile.FIFOTYPE, b"")],
    "twice": [("f", REG, b"1"), ("f", REG, b"2")],
    "file and folder": [("f", REG, b"1"), ("f/g", REG, b"2")],
    "empty name": [("", REG, b"1")],
    "dot": [(".", SYM, "/etc")],
}


@pytest.mark.parametrize("name", ESCAPES)
def test_nothing_gets_out_of_the_target(tmp_path: Path, name: str) -> None:
    target = tmp_path / "a" / "b" / "target"
    before = Path("/etc/passwd").stat()
    with contextlib.suppress(SandboxRefused):
        archive.unpack(_tar(*ESCAPES[name]), target, LIMIT)
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if target not in (path, *path.parents)] == [
        Path("a"),
        Path("a/b"),
    ]
    assert not os.path.lexists("/tmp/agentworld-evil")
    assert Path("/etc/passwd").stat() == before
    for path in target.rglob("*"):
        assert path.is_file() or path.is_dir() or path.is_symlink()
        assert path.resolve().is_relative_to(target)
        if not path.is_symlink():
            assert path.stat().st_mode & 0o7000 == 0
            assert b"root:" not in (path.read_bytes() if path.is_file() else b"")


def test_hard_links_are_copied_as_files_and_quickly(sandbox: NamespaceSandbox, tmp_path: Path) -> None:
    sandbox.run(
        'mkdir d; echo x > d/a; python3 -c \'import os\nfor i in range(1500): os.link("d/a", f"d/l{i}")\'', 30.0
    )
    started = time.process_time()
    assert sandbox.download("/workspace/d", tmp_path / "d") == []
    assert time.process_time() - started < 5
    assert {path.read_text() for path in (tmp_path / "d").iterdir()} == {"x\n"}
    members = [("a", REG, b"x"), *((f"l{index}", LNK, "a") for index in range(3000))]
    assert len(archive.unpack(_tar(*members), tmp_path / "e", LIMIT)) == 3000


def _note(kind: bytes, size: int) -> bytes:
    info = tarfile.TarInfo("x")
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT) + bytes(size)


BOMBS = {
    "compressed": bz2.compress(_tar(("f", REG, b"x"))),
    "also compressed": gzip.compress(_tar(("f", REG, b"x"))),
    "long name": _note(tarfile.GNUTYPE_LONGNAME, 2**20),
    "notes": _note(tarfile.XHDTYPE, 2**20),
    "notes on all": _note(tarfile.XGLTYPE, 2**10),
    "many names": tarfile.TarInfo("f").tobuf() * 100_001,
}


@pytest.mark.parametrize("name", BOMBS)
def test_an_archive_that_is_a_bomb_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SandboxRefused):
        archive.unpack(BOMBS[name], tmp_path / "target", LIMIT)


@given(st.binary(max_size=2000))
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(SandboxRefused):
        archive.unpack(data, Path(folder) / "target", LIMIT)


def test_too_much_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxRefused, match="more bytes"):
        archive.unpack(_tar(("f", REG, b"x" * (LIMIT + 1))), tmp_path / "one", LIMIT)
    with pytest.raises(SandboxRefused, match="more bytes"):
        archive.unpack(_tar(*((f"f{i}", REG, b"x" * 1000) for i in range(101))), tmp_path / "many", LIMIT)
    huge = tarfile.TarInfo("f")
    huge.size = 2**40
    with pytest.raises(SandboxRefused):
        archive.unpack(huge.tobuf() + b"x" * 512, tmp_path / "lie", LIMIT)


def test_what_the_agent_copies(anything: Sandbox, tmp_path: Path) -> None:
    home = anything.run("pwd").stdout.strip()
    anything.run(
        "mkdir t; cd t; mkfifo p; ln -s /etc/passwd out; ln -s f in; echo x > f; chmod 6755 f; ln -s loop loop; "
        'touch "$(printf \'bad\\xff\')"; mkdir closed; chmod 0 closed; python3 -c "import socket; '
        "socket.socket(socket.AF_UNIX).bind('s')\"; ln -s ../t/f around; cd .."
    )
    left_out = anything.download(f"{home}/t", tmp_path / "t")
    assert set(left_out) == {"out", "around"}
    assert sorted(os.listdir(os.fsencode(tmp_path / "t"))) == [b"bad\xff", b"closed", b"f", b"in", b"loop"]
    assert (tmp_path / "t" / "f").stat().st_mode & 0o7777 == 0o755
    anything.run("ln -s /etc/passwd link; mkfifo pipe")
    for path in (f"{home}/pipe", "/dev/null", "/dev/zero", home):
        with pytest.raises(SandboxRefused, match="regular"):
            anything.read(path)
    with pytest.raises(SandboxRefused):
        anything.write(f"{home}/pipe", b"x")
    with pytest.raises(SandboxRefused):
        anything.download(f"{home}/nothing", tmp_path / "nothing")
    anything.run("truncate -s 30M sparse")
    with pytest.raises(SandboxRefused, match="more than"):
        anything.download(home, tmp_path / "sparse", limit=10**7)
    assert anything.run("echo alive").stdout == "alive\n"


@given(st.binary(max_size=200), st.integers(1, 7))
def test_the_decoder_takes_any_bytes(data: bytes, step: int) -> None:
    decoder = Decoder(limit=1000)
    try:
        for start in range(0, len(data), step):
            for frame in decoder.feed(data[start : start + step]):
                assert isinstance(frame.header, dict)
    except FrameError:
        pass


@given(st.binary(max_size=100), st.integers(1, 50), st.text(max_size=20))
def test_frames_survive_any_cut(blob: bytes, step: int, text: str) -> None:
    frames = [Frame(Kind.RUN, 7, {"text": text}, blob), Frame(Kind.OK, 2**32 - 1, {}, b"")]
    data = b"".join(map(encode, frames))
    decoder = Decoder()
    assert [f for start in range(0, len(data), step) for f in decoder.feed(data[start : start + step])] == frames


LIES = {
    "garbage": b"\xff" * 100,
    "a length without end": struct.pack("<IBII", 2**32 - 1, 65, 1, 2),
    "a header longer than the frame": struct.pack("<IBII", 11, 65, 1, 100) + b"{}",
    "no JSON": struct.pack("<IBII", 11, 65, 1, 2) + b"{{",
    "no object": struct.pack("<IBII", 11, 65, 1, 2) + b"[]",
    "deep JSON": struct.pack("<IBII", 9 + 200_000, 65, 1, 200_000) + b"[" * 200_000,
    "an end": b"",
}


@pytest.mark.parametrize("name", LIES)
def test_a_guest_that_breaks_the_protocol_is_dead(name: str) -> None:
    ours, theirs = socket.socketpair()
    connection = Connection(ours)
    speaker = threading.Thread(target=lambda: (theirs.recv(100), theirs.sendall(LIES[name]), theirs.close()))
    speaker.start()
    with pytest.raises(SandboxDead):
        connection.ask(Kind.PING, {}, timeout_s=5)
    with pytest.raises(SandboxDead):
        connection.ask(Kind.PING, {}, timeout_s=5)
    speaker.join(5)
    connection.close()
    theirs.close()
