"""Texts in other encodings or with other line ends, base64, hexadecimal dumps, and lists of checksums."""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from collections.abc import Callable

import numpy as np

from agentworld_envs.domains.terminal.checks import AbsentCheck, Check, FileCheck, TreeCheck
from agentworld_envs.domains.terminal.ingredients import (
    COMPANIES,
    GOODS,
    TOWNS,
    answer_path,
    between,
    lines,
    opening,
    pick,
    shuffled,
    some,
    unchanged,
)
from agentworld_envs.domains.terminal.scenario import Entry, Level, Scenario, file

_WORDS = (
    "façade",
    "Grüße",
    "señal",
    "Ærinde",
    "naïve",
    "Überblick",
    "crème",
    "smörgås",
    "piñata",
    "forêt",
    "Örtchen",
    "élan",
)
_BOM = b"\xef\xbb\xbf"


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: one file, or one thing in one folder; 2: a folder or a dump by rules; 3: several encodings or layers."""
    return pick(rng, _GOALS[level])(rng)


def _prose(rng: np.random.Generator, count: int, foreign: bool = True) -> str:
    made = []
    for n in range(count):
        words = [pick(rng, TOWNS), pick(rng, GOODS), str(between(rng, 1, 999)), pick(rng, COMPANIES)]
        made.append(" ".join([*words, *(some(rng, _WORDS, 2) if foreign and n % 2 == 0 else [])]))
    return lines(made)


def _bytes(rng: np.random.Generator, count: int) -> bytes:
    return bytes(int(n) for n in rng.integers(0, 256, size=count))


def _folder(rng: np.random.Generator) -> str:
    return f"/workspace/{pick(rng, ('incoming', 'texts', 'letters', 'import', 'docs'))}"


def _is(path: str, data: bytes) -> FileCheck:
    """Exactly these bytes."""
    return FileCheck(path=path, text=hashlib.sha256(data).hexdigest(), compare="sha256")


def _python(body: str) -> str:
    return f"python3 - <<'END'\nimport base64, glob, hashlib, os, pathlib, re\n{body}\nEND"


def _line_ends(rng: np.random.Generator) -> Scenario:
    path = f"{_folder(rng)}/{pick(rng, ('notes', 'list', 'read me'))}.txt"
    text = _prose(rng, between(rng, 6, 14))
    to_dos = pick(rng, (True, False))
    dos = text.replace("\n", "\r\n")
    before, after = (text, dos) if to_dos else (dos, text)
    kinds = ("Unix (LF)", "DOS (CR LF)")
    ask = pick(
        rng,
        (
            f"Change the line ends of {path} from {kinds[not to_dos]} to {kinds[to_dos]}, in place. Nothing else "
            f"may change.",
            f"The file {path} has {kinds[not to_dos]} line ends. It needs {kinds[to_dos]} ones, under the same name.",
        ),
    )
    command = f"sed -i 's/$/\\r/' '{path}'" if to_dos else f"sed -i 's/\\r$//' '{path}'"
    return Scenario(opening(rng) + ask, {path: file(before)}, [_is(path, after.encode())], [command])


def _latin(rng: np.random.Generator) -> Scenario:
    root = _folder(rng)
    path, out = f"{root}/old.txt", f"{root}/{pick(rng, ('new', 'utf8', 'converted'))}.txt"
    text = _prose(rng, between(rng, 5, 12))
    back = pick(rng, (True, False))
    kinds = ("ISO-8859-1 (Latin-1)", "UTF-8")
    ask = pick(
        rng,
        (
            f"{path} is in {kinds[back]}. Write the same text in {kinds[not back]} to {out} and keep the old file.",
            f"Convert the text in {path} from {kinds[back]} to {kinds[not back]}; the result belongs into {out}, and "
            "the original stays as it is.",
        ),
    )
    codes = ("latin-1", "utf-8")
    files = {path: file(text.encode(codes[back]))}
    names = ("ISO-8859-1", "UTF-8")
    command = f"iconv -f {names[back]} -t {names[not back]} {path} > {out}"
    return Scenario(opening(rng) + ask, files, [_is(out, text.encode(codes[not back])), *unchanged(files)], [command])


def _base64(rng: np.random.Generator) -> Scenario:
    root = _folder(rng)
    stem = pick(rng, GOODS)
    data = _bytes(rng, between(rng, 120, 400))
    encode = pick(rng, (True, False))
    coded = base64.encodebytes(data)
    plain, packed = f"{root}/{stem}.bin", f"{root}/{stem}.b64"
    if encode:
        ask = (
            f"Write {plain} in base64 to {packed}: the standard alphabet with padding, all in one single line "
            f"with one line feed "
            "at the end. Keep the original."
        )
        files = {plain: file(data)}
        checks = [FileCheck(path=packed, text=base64.b64encode(data).decode() + "\n"), *unchanged(files)]
        return Scenario(opening(rng) + ask, files, checks, [f"base64 -w 0 {plain} > {packed} && echo >> {packed}"])
    ask = f"Decode the base64 text {packed} to the file {plain}, byte for byte. Keep {packed} as it is."
    files = {packed: file(coded)}
    return Scenario(opening(rng) + ask, files, [_is(plain, data), *unchanged(files)], [f"base64 -d {packed} > {plain}"])


def _tree_line_ends(rng: np.random.Generator) -> Scenario:
    root = _folder(rng)
    files: dict[str, Entry] = {}
    checks: list[Check] = []
    names = [
        "a.txt",
        "sub/two words.txt",
        ".hidden.txt",
        "-x.md",
        "run.bat",
        "sub/start here.bat",
        "image.dat",
        "README",
    ]
    for number, name in enumerate(names):
        stem = pick(rng, GOODS)
        path = f"{root}/{name}" if number else f"{root}/{stem}.txt"
        text = _prose(rng, between(rng, 3, 7))
        if name.endswith(".txt") and number % 2:
            text = text.replace(" ", " \r ", 1)  # inside of a line it is no line end
        before = "".join(line + pick(rng, ("\r\n", "\r\n", "\n")) for line in text.split("\n")[:-1])
        after = before
        if name.endswith((".txt", ".md")):
            after = before.replace("\r\n", "\n")
        elif name.endswith(".bat"):
            after = before.replace("\r\n", "\n").replace("\n", "\r\n")
        files[path] = file(before)
        checks.append(_is(path, after.encode()))
    ask = (
        f"Below {root}, hidden files and subfolders included, all files ending in .txt or .md shall have Unix "
        f"line ends (LF) and all "
        "files ending in .bat DOS line ends (CR LF); now some have mixed ones. Only line ends change: a CR that "
        "is not directly "
        "before an LF is no line end and stays. Other files stay as they are."
    )
    code = (
        f"for p in pathlib.Path('{root}').rglob('*'):\n    if p.suffix in ('.txt', '.md', '.bat'):\n"
        "        d = p.read_bytes().replace(b'\\r\\n', b'\\n')\n"
        "        p.write_bytes(d.replace(b'\\n', b'\\r\\n') if p.suffix == '.bat' else d)"
    )
    return Scenario(opening(rng) + ask, files, checks, [_python(code)])


def _utf16(rng: np.random.Generator) -> Scenario:
    root = _folder(rng)
    files: dict[str, Entry] = {}
    checks: list[Check] = []
    names = [*some(rng, GOODS, between(rng, 3, 5)), "two words"]
    for number, name in enumerate(names):
        text = _prose(rng, between(rng, 3, 8))
        big = number % 2 == 0
        data = b"\xfe\xff" + text.encode("utf-16-be") if big else b"\xff\xfe" + text.encode("utf-16-le")
        files[f"{root}/{name}.txt"] = file(data)
        checks += [_is(f"{root}/{name}.utf8", text.encode()), AbsentCheck(path=f"{root}/{name}.txt")]
    ask = (
        f"All files {root}/*.txt are in UTF-16, some big endian and some little endian, as their byte order mark "
        f"says. Turn each "
        "NAME.txt into NAME.utf8 in the same folder: the same text in UTF-8 without a byte order mark. The .txt "
        "files shall be gone."
    )
    command = f'cd {root} && for f in *.txt; do\n  iconv -f UTF-16 -t UTF-8 "$f" > "${{f%.txt}}.utf8" && rm "$f"\ndone'
    return Scenario(opening(rng) + ask, files, checks, [command])


def _manifest(rng: np.random.Generator) -> Scenario:
    root, out = f"{_folder(rng)}/delivery", answer_path(rng)
    kind, program = pick(rng, (("sha256", "SHA256SUMS"), ("md5", "MD5SUMS"), ("sha1", "SHA1SUMS")))
    names = [*some(rng, GOODS, between(rng, 5, 8)), "sub/two words", "-dash", ".hidden"]
    files: dict[str, Entry] = {}
    sums, answer = [], []
    for number, name in enumerate(names):
        text = _prose(rng, 3, foreign=False)
        state = ("fine", "BAD", "MISSING", "NEW", "fine")[number % 5]
        listed = text if state != "BAD" else text + "\n"
        if state != "NEW":
            sums.append(f"{hashlib.new(kind, listed.encode()).hexdigest()}  {name}")
        if state != "MISSING":
            files[f"{root}/{name}"] = file(text)
        if state != "fine":
            answer.append(f"{state} {name}")
    files[f"{root}/{program}"] = file(lines(shuffled(rng, sums)))
    ask = (
        f"Check the files below {root} against {root}/{program}, made by {kind}sum in that folder. Write to {out} "
        f"a line `BAD NAME` for "
        "each listed file with another checksum, `MISSING NAME` for each listed one that is not there, and `NEW "
        "NAME` for each regular "
        f"file at any depth, hidden ones too, that is not listed ({program} itself does not count). NAME is the "
        f"path relative to "
        f"{root}, without `./`. Sort the lines as by `LC_ALL=C sort`. Change nothing in {root}."
    )
    code = (
        f"root = pathlib.Path('{root}')\nlisted, out = {{}}, []\nfor line in (root / "
        f"'{program}').read_text().splitlines():\n"
        "    digest, name = line.split('  ', 1)\n    listed[name] = digest\n"
        "there = {str(p.relative_to(root)) for p in root.rglob('*') if p.is_file()}\n"
        f"out += ['NEW ' + n for n in there - listed.keys() - {{'{program}'}}]\n"
        "for name, digest in listed.items():\n    if name not in there:\n        out.append('MISSING ' + name)\n"
        f"    elif hashlib.{kind}((root / name).read_bytes()).hexdigest() != digest:\n        out.append('BAD ' + "
        f"name)\n"
        f"pathlib.Path('{out}').write_text(''.join(sorted(x + '\\n' for x in out)))"
    )
    checks = [FileCheck(path=out, text=lines(sorted(answer))), *unchanged(files)]
    return Scenario(opening(rng) + ask, files, checks, [_python(code)])


def _dump(rng: np.random.Generator) -> Scenario:
    root = _folder(rng)
    path, out = f"{root}/dump.txt", f"{root}/{pick(rng, ('restored', 'data', 'image'))}.bin"
    data = _bytes(rng, between(rng, 90, 300))
    width = pick(rng, (8, 12, 16))
    upper = pick(rng, (True, False))
    rows = []
    for start in range(0, len(data), width):
        part = data[start : start + width]
        shown = " ".join(f"{byte:02X}" if upper else f"{byte:02x}" for byte in part)
        # What is shown at the right may look like more bytes.
        rows.append(f"{start:08x}: {shown:<{width * 3}} |{''.join(chr(b) if 32 < b < 127 else '.' for b in part)}|")
    rows = shuffled(rng, rows) if pick(rng, (True, False)) else rows
    ask = (
        f"{path} is a dump of a binary file: in each line the offset in hexadecimal, a colon, up to {width} bytes "
        f"in hexadecimal, and "
        f"between bars the same bytes as text, which is only for reading. Restore the file as {out}, byte for "
        f"byte; the lines may not "
        "be in order. Leave the dump as it is."
    )
    code = (
        f"parts = {{}}\nfor line in open('{path}'):\n    offset, _, rest = line.partition(':')\n"
        "    parts[int(offset, 16)] = bytes.fromhex(rest.partition('|')[0])\n"
        f"open('{out}', 'wb').write(b''.join(parts[k] for k in sorted(parts)))"
    )
    files = {path: file(lines(rows))}
    return Scenario(opening(rng) + ask, files, [_is(out, data), *unchanged(files)], [_python(code)])


def _mixed(rng: np.random.Generator) -> Scenario:
    root = _folder(rng)
    coders: list[Callable[[str], bytes]] = [
        lambda text: text.encode("latin-1"),
        lambda text: text.encode(),
        lambda text: _BOM + text.encode(),
        lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
        lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
        lambda text: text.replace("\n", "\r\n").encode("latin-1"),
        lambda text: text.replace("\n", "\r\n").encode(),
    ]
    files: dict[str, Entry] = {}
    checks: list[Check] = []
    names = [*some(rng, GOODS, 4), "two words", "-dash", ".hidden", "sub/deep er"]
    for number, name in enumerate(shuffled(rng, names)):
        text = _prose(rng, between(rng, 3, 7))
        path = f"{root}/{name}.txt"
        files[path] = file(coders[number % len(coders)](text))
        checks.append(_is(path, text.encode()))
    other = {
        f"{root}/table.csv": file(_prose(rng, 4).encode("latin-1")),
        f"{root}/copy.txt.orig": file(_BOM + b"x\r\n"),
    }
    ask = (
        f"The files ending in .txt below {root}, hidden ones and those in subfolders too, come from several "
        f"machines. Bring all of them, "
        "under their names, into one form: UTF-8 without a byte order mark and with Unix line ends (LF). A file "
        "that begins with a byte "
        "order mark is in UTF-8 or UTF-16 as the mark says; else it is in UTF-8 if it is valid UTF-8, and "
        "otherwise in ISO-8859-1. Other "
        "files stay as they are."
    )
    code = (
        f"for p in pathlib.Path('{root}').rglob('*'):\n    if not p.name.endswith('.txt'):\n        continue\n    "
        f"d = p.read_bytes()\n"
        "    if d[:2] in (b'\\xff\\xfe', b'\\xfe\\xff'):\n        t = d.decode('utf-16')\n    else:\n        try:\n"
        "            t = d.decode('utf-8-sig')\n        except UnicodeDecodeError:\n            t = "
        "d.decode('latin-1')\n"
        "    p.write_bytes(t.replace('\\r\\n', '\\n').encode())"
    )
    return Scenario(opening(rng) + ask, {**files, **other}, [*checks, *unchanged(other)], [_python(code)])


def _names(rng: np.random.Generator) -> Scenario:
    root = f"{_folder(rng)}/recovered"
    kind = pick(rng, ("sha256", "md5"))
    names = [*(f"{name}.txt" for name in some(rng, GOODS, between(rng, 4, 6))), "two words.txt", "-dash.txt", ".hidden"]
    missing = pick(rng, names[:4])
    texts = {name: _prose(rng, 3) for name in names}
    files: dict[str, Entry] = {}
    sums = [f"{hashlib.new(kind, text.encode()).hexdigest()}  {name}" for name, text in texts.items()]
    strays = {f"chunk{n}.rec": _prose(rng, 3) for n in (901, 902)}
    after: dict[str, str | None] = {}
    for number, (name, text) in enumerate(shuffled(rng, list(texts.items()))):
        if name != missing:
            files[f"{root}/chunk{100 + number}.rec"] = file(text)
            after[name] = text
    for name, text in strays.items():
        files[f"{root}/{name}"] = file(text)
        after[f"unknown/{name}"] = text
    manifest, out = f"/workspace/{kind}sums.txt", answer_path(rng)
    keep = {manifest: file(lines(shuffled(rng, sums)))}
    ask = (
        f"After a crash the files in {root} have lost their names. {manifest}, as {kind}sum makes it, has the "
        f"checksums and names that "
        "they had. Give each file there its name back (in the same folder), move those that are not listed to "
        "the new subfolder "
        f"unknown with their present names, and write the listed names of which there is no file to {out}, one "
        f"per line, sorted. "
        "Contents and the list of checksums do not change."
    )
    code = (
        f"os.chdir('{root}')\nlisted = dict(line.split('  ', 1) for line in open('{manifest}').read().splitlines())\n"
        "os.mkdir('unknown')\nleft = dict(listed)\nfor name in os.listdir('.'):\n    if os.path.isfile(name):\n"
        f"        digest = hashlib.{kind}(open(name, 'rb').read()).hexdigest()\n"
        "        new = listed.get(digest)\n        os.rename(name, new if new else 'unknown/' + name)\n        "
        "left.pop(digest, None)\n"
        f"open('{out}', 'w').writelines(sorted(n + '\\n' for n in left.values()))"
    )
    checks: list[Check] = [
        FileCheck(path=out, text=f"{missing}\n"),
        TreeCheck(path=root, files=after),
        *unchanged(keep),
    ]
    checks += [_is(f"{root}/{name}", text.encode()) for name, text in after.items() if text is not None]
    return Scenario(opening(rng) + ask, {**files, **keep}, checks, [_python(code)])


def _gzip(data: bytes) -> bytes:
    """A gzip file without compression: its bytes do not depend on the version of a library."""
    size = len(data)
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + b"\x01" + struct.pack("<HH", size, size ^ 0xFFFF)
    return head + data + struct.pack("<II", zlib.crc32(data), size)


def _layers(rng: np.random.Generator) -> Scenario:
    root, out = _folder(rng), answer_path(rng)
    text = _prose(rng, between(rng, 6, 12))
    code, mark = pick(rng, (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")))
    packed = _gzip(mark + text.encode(code))
    count = between(rng, 11, 14)
    coded = base64.b64encode(packed).decode()
    size = -(-len(coded) // count)
    files: dict[str, Entry] = {}
    hexadecimal = pick(rng, (True, False))
    for number in range(count):
        part = coded[number * size : (number + 1) * size]
        shown = part.encode().hex() if hexadecimal else part
        rows = [shown[i : i + 60] for i in range(0, len(shown), 60)]
        files[f"{root}/part {number + 1}.msg"] = file("\r\n".join(rows) + ("\r\n" if number % 2 else ""))
    files[f"{root}/part 3.msg.old"] = file("c29ycnkh\n")
    inner = "the hexadecimal form of a piece of base64 text" if hexadecimal else "a piece of base64 text"
    ask = (
        f"A message was sent in {count} parts, {root}/part 1.msg to {root}/part {count}.msg. Each is {inner}, "
        f"broken into lines with "
        "CR LF that mean nothing. The pieces, one after the other in the order of the numbers, are the base64 "
        "form of a gzip file, and "
        f"in that is a text in UTF-16 with a byte order mark. Write the text in UTF-8, without a byte order mark, "
        f"to {out}. Leave the "
        "parts as they are."
    )
    piece = "bytes.fromhex(part).decode()" if hexadecimal else "part"
    code = (
        f"import gzip\ntext = ''\nfor n in range(1, {count + 1}):\n    part = ''.join(open(f'{root}/part "
        f"{{n}}.msg').read().split())\n"
        f"    text += {piece}\ndata = gzip.decompress(base64.b64decode(text))\n"
        f"open('{out}', 'wb').write(data.decode('utf-16').encode())"
    )
    return Scenario(opening(rng) + ask, files, [_is(out, text.encode()), *unchanged(files)], [_python(code)])


_GOALS = {
    1: (_line_ends, _latin, _base64),
    2: (_tree_line_ends, _utf16, _manifest, _dump),
    3: (_mixed, _names, _layers),
}
