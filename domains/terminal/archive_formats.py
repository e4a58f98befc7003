"""Archives in all usual formats: how tasks make, open and look into them, the same bytes on every machine."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence

from agentworld_envs.domains.terminal.checks import RunCheck
from agentworld_envs.domains.terminal.scenario import Entry, file

STAGE = "/workspace/.stage"
DATE = "2024-02-05"
TARS = {"tar": "cat", "tar.gz": "gzip -n", "tar.bz2": "bzip2", "tar.xz": "xz -T1"}
PROGRAMS = {"tar.bz2": ("bzip2",), "tar.xz": ("xz",)}
FORMATS = (*TARS, "zip")
MAGIC = {"tar": "", "tar.gz": "1f8b", "tar.bz2": "425a68", "tar.xz": "fd377a585a", "zip": "504b"}
ZIP = """\
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[2], 'w') as archive:
    os.chdir(sys.argv[1])
    for name in sorted(os.path.join(folder, name)[2:] for folder, _, names in os.walk('.') for name in names):
        archive.writestr(zipfile.ZipInfo(name), open(name, 'rb').read(), zipfile.ZIP_DEFLATED)"""
LOOK = """\
import hashlib, json, sys, tarfile, zipfile
path, found = sys.argv[1], {}
start = open(path, 'rb').read(6).hex()
if zipfile.is_zipfile(path):
    archive = zipfile.ZipFile(path)
    pairs = [(i.filename, archive.read(i)) for i in archive.infolist() if not i.is_dir()]
else:
    archive = tarfile.open(path)
    pairs = [(m.name, archive.extractfile(m).read() if m.isfile() else b'?') for m in archive if not m.isdir()]
for name, data in pairs:
    found[name[2:] if name.startswith('./') else name] = hashlib.sha256(data).hexdigest()
print(json.dumps([start.startswith(sys.argv[2]), len(pairs), found]))"""


def staged(number: int, files: Mapping[str, str]) -> dict[str, Entry]:
    """Files to be packed, below the folder of their number."""
    return {f"{STAGE}/{number}/{path}": file(text) for path, text in files.items()}


def packed_by(number: int, path: str, kind: str) -> str:
    """Setup command that packs what is staged under a number."""
    target = shlex.quote(path)
    if kind == "zip":
        return f"python3 -c {shlex.quote(ZIP)} {STAGE}/{number} {target}"
    names = f"(cd {STAGE}/{number} && find . -type f -printf '%P\\n' | LC_ALL=C sort)"
    return (
        f"{names} | tar -C {STAGE}/{number} --verbatim-files-from -T - --format=gnu --mtime='{DATE} 00:00Z' "
        f"--owner=root:0 --group=root:0 --mode=u=rw,go=r -cf - | {TARS[kind]} > {target}"
    )


def setup_of(archives: Sequence[tuple[str, str]]) -> list[str]:
    """Setup that packs the staged folders 0, 1, ... as (path, kind) and removes them."""
    return [*(packed_by(number, path, kind) for number, (path, kind) in enumerate(archives)), f"rm -r {STAGE}"]


def programs_for(*kinds: str) -> list[str]:
    """Programs that a root must have for these formats."""
    return sorted({program for kind in kinds for program in PROGRAMS.get(kind, ())})


def unpacking(kind: str, path: str, target: str) -> str:
    """Shell text that unpacks into a folder."""
    if kind == "zip":
        return f"python3 -m zipfile -e {path} {target}"
    return f"mkdir -p {target} && tar -xf {path} -C {target}"


def holds(path: str, kind: str, files: Mapping[str, str]) -> RunCheck:
    """An archive of that kind holds exactly these files, once each."""
    found = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    argv = ("python3", "-I", "-S", "-c", LOOK, path, MAGIC[kind])
    return RunCheck(argv=argv, stdout=json.dumps([True, len(files), found]), compare="json")


def said(kind: str) -> str:
    """A format in words."""
    return {"tar": "an uncompressed tar archive", "zip": "a zip archive"}.get(kind, f"a .{kind} archive")


def packing(kind: str, source: str, target: str) -> str:
    """Command that packs all that is in a folder, without the folder's own name."""
    if kind == "zip":
        return f"cd {source} && python3 -m zipfile -c {target} *"
    return f"cd {source} && tar -c * | {TARS[kind]} > {target}"
