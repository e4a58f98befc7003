"""Root file systems: tidied so that they are the same whenever they were made, and told apart by a digest."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import time
from pathlib import Path

import pytest

from agentworld_envs.backends.sandbox import LocalConfig, NamespaceConfig
from agentworld_envs.backends.sandbox.roots import build, debian, digest
from agentworld_envs.backends.sandbox.roots.pack import pack, write_mark
from agentworld_envs.backends.sandbox.roots.tidy import tidy
from agentworld_envs.interface import SandboxError


def _system(folder: Path) -> Path:
    """What a fresh installation looks like, to those who tidy it."""
    texts = {
        "etc/passwd": "root:x:0:0:root:/root:/bin/bash\n",
        "etc/group": "root:x:0:\n",
        "etc/shadow": f"root:*:{int(time.time()) // 86400}:0:99999:7:::\n",
        "etc/gshadow": "root:*::\n",
        "etc/passwd-": "old",
        "etc/machine-id": "abc\n",
        "etc/resolv.conf": "nameserver 192.0.2.1\n",
        "etc/apt/sources.list": "deb somewhere\n",
        "usr/lib/os-release": "ID=debian\n",
        "usr/bin/bash": "#!",
        "var/lib/dpkg/status": "Package: bash\nStatus: ok\nVersion: 5.2\nConffiles:\n /etc/bash.bashrc 123\n",
        "var/log/dpkg.log": str(time.time()),
        "var/cache/apt/archives/x.deb": "x" * 100,
        "usr/share/doc/bash/README": "x",
        "root/.bashrc": "x",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    os.utime(folder / "usr/lib/os-release", (1_600_000_000, 1_600_000_000))
    os.symlink("bash", folder / "usr/bin/sh")
    os.link(folder / "usr/bin/bash", folder / "usr/bin/rbash")
    return folder


@pytest.mark.skipif(os.geteuid() != 0, reason="makes files of other owners")
def test_two_installations_become_the_same(tmp_path: Path) -> None:
    digests = set()
    for index in range(2):
        root = _system(tmp_path / str(index))
        time.sleep(0.01)
        (root / "etc/machine-id").write_text(str(index))
        (root / f"var/log/{index}").write_text("log")
        tidy(str(root))
        with io.BytesIO() as file:
            digests.add(pack(str(root), file))
            assert pack(str(root), None) in digests
            file.seek(0)
            with tarfile.open(fileobj=file) as archive:
                members = {member.name: member for member in archive}
        assert max(member.mtime for member in members.values()) <= 1_600_000_000
        assert members["workspace"].uid == members["home/agent"].uid == 1000
        assert members["usr/bin/rbash"].islnk() or members["usr/bin/bash"].islnk()
        assert not {"etc/passwd-", "etc/resolv.conf", "usr/share/doc/bash", "root/.bashrc"} & members.keys()
        assert "agent:x:1000:1000" in (root / "etc/passwd").read_text()
        assert "root:*:1:" in (root / "etc/shadow").read_text()
        tidy(str(root))
        assert (root / "etc/passwd").read_text().count("agent:x:") == 1
    assert len(digests) == 1


def test_a_link_in_the_root_is_not_followed_out_of_it(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("makes files of other owners")
    outside = tmp_path / "outside"
    outside.write_text("kept")
    root = _system(tmp_path / "root")
    (root / "etc/hostname").symlink_to(outside)
    tidy(str(root))
    assert outside.read_text() == "kept"


def test_a_digest_tells_roots_apart(tmp_path: Path) -> None:
    root = _system(tmp_path / "a")
    first = digest.of_folder(str(root))
    assert first.startswith("packages:")
    other = tmp_path / "b"
    shutil.copytree(root, other, symlinks=True)
    status = other / "var/lib/dpkg/status"
    status.write_text(status.read_text().replace("123", "456"))
    assert digest.of_folder(str(other)) == first  # only a note on a configuration file
    digest.of_packages.cache_clear()
    status.write_text(status.read_text().replace("5.2", "5.3"))
    assert digest.of_folder(str(other)) != first
    marked = write_mark(str(root))
    assert digest.of_folder(str(root)) == marked == write_mark(str(root))


def test_every_kind_tells_what_its_root_is(tmp_path: Path) -> None:
    root = _system(tmp_path / "a")
    host = NamespaceConfig().build().describe()
    assert (host["kind"], host["root"]) == ("namespace", "host")
    assert LocalConfig().build().describe()["digest"] == host["digest"]
    told = NamespaceConfig(rootfs=str(root)).build().describe()
    assert told == {"kind": "namespace", "root": str(root), "digest": digest.of_folder(str(root))}
    assert told["digest"] != host["digest"]


def test_an_image_is_told_by_its_contents() -> None:
    one = digest.digest_of_image({"Id": "sha256:1", "RootFS": {"Layers": ["sha256:a"]}})
    assert one == "sha256:a"
    two = {"RootFS": {"Layers": ["sha256:a", "sha256:b"]}}
    assert digest.digest_of_image({"Id": "1", **two}) == digest.digest_of_image({"Id": "2", **two}) != one
    assert digest.digest_of_image({"Id": "sha256:1"}) == "sha256:1"


def test_what_cannot_be_built_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(SandboxError, match="not empty"):
        build.build_folder(str(tmp_path / "full"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SandboxError, match="sudo"):
        build.build_folder(str(tmp_path / "new"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(SandboxError, match="apt-get install debootstrap"):
        build.build_folder(str(tmp_path / "new"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]


@pytest.mark.parametrize("made", [True, False])
def test_a_failing_installation_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: bool) -> None:
    program = tmp_path / "bin" / "debootstrap"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "E: no such package" >&2\nexit 3\n')
    program.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(debian, "PATH", f"{program.parent}:{debian.PATH}")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(shutil, "which", lambda name: str(program) if name == "debootstrap" else None)
    target = tmp_path / "new"
    if made:
        target.mkdir()
    with pytest.raises(SandboxError, match="code 3: E: no such package"):
        build.build_folder(str(target))
    assert sorted(path.name for path in tmp_path.iterdir()) == (["bin", "new"] if made else ["bin"])
