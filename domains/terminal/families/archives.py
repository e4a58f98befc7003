"""Archives of all usual kinds: unpack, pack, look into, repack, restore and rescue."""

from __future__ import annotations

import json
import shlex

import numpy as np

from agentworld_envs.domains.terminal.archive_formats import (
    FORMATS,
    STAGE,
    TARS,
    holds,
    packed_by,
    packing,
    programs_for,
    said,
    setup_of,
    staged,
    unpacking,
)
from agentworld_envs.domains.terminal.checks import Check, FileCheck, RunCheck, TreeCheck
from agentworld_envs.domains.terminal.draw import LOGINS, TOPICS, Draw
from agentworld_envs.domains.terminal.scenario import Entry, Level, Scenario, file

ORDER = """\
import json, sys, tarfile
members = [m for m in tarfile.open(sys.argv[1]) if m.isfile()]
print(json.dumps([[m.name[2:] if m.name.startswith('./') else m.name, m.mtime, m.uid, m.gid] for m in members]))"""
Files = dict[str, str]


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: unpack, pack or count one archive; 2: only some members, repacking, the right one of several; 3:
    archives in archives, backups that build on each other, damaged ones with wrong endings, reproducible ones."""
    draw = Draw(rng)
    makers = {
        1: (_unpack, _unpack, _pack, _pack, _count),
        2: (_some_members, _repack, _search, _compare),
        3: (_nested, _restore, _rescue, _reproducible),
    }
    return draw.pick(makers[level])(draw)


def _files(draw: Draw, count: int, odd: bool = False) -> Files:
    files: Files = {}
    tops = draw.some(TOPICS, 3)
    for number in range(count):
        stem, ending = f"{draw.pick(LOGINS)}{number:02d}", draw.pick((".txt", ".csv", ".json", ".log"))
        name = stem + ending
        if odd and draw.chance(0.4):
            name = draw.pick((f"-{name}", f"{stem} final{ending}", f".{name}"))
        folder = draw.pick((tops[0], tops[1], f"{tops[1]}/{tops[2]}"))
        lines = [f"{draw.pick(TOPICS)} {draw.code('no', 6)}" for _ in range(draw.between(1, 6))]
        files[f"{folder}/{name}"] = "\n".join(lines) + "\n"
    return files


# -- level 1 -------------------------------------------------------------------------------------------------------


def _unpack(draw: Draw) -> Scenario:
    files, kind = _files(draw, draw.between(6, 12)), draw.pick(FORMATS)
    archive = f"/workspace/{draw.company().lower()}.{kind}"
    target = f"/workspace/{draw.pick(('unpacked', 'contents', 'import', 'restored'))}"
    return Scenario(
        f"{draw.pick(('Unpack', 'Extract'))} {archive} into the new folder {target}, so that its members keep their "
        "paths below it, and nothing else is in there. The archive stays where it is.",
        staged(0, files),
        [TreeCheck(path=target, files=dict(files)), holds(archive, kind, files)],
        [unpacking(kind, archive, target)],
        setup=setup_of([(archive, kind)]),
        needs=programs_for(kind),
    )


def _pack(draw: Draw) -> Scenario:
    files, kind = _files(draw, draw.between(6, 12)), draw.pick(FORMATS)
    source = f"/workspace/{draw.pick(('outgoing', 'month', 'export', 'bundle'))}"
    target = f"/workspace/{draw.company().lower()}.{kind}"
    top = sorted(files)[0].partition("/")[0]
    return Scenario(
        f"Pack everything that is in {source} into {target}, {said(kind)}. Paths in the archive are relative to "
        f"{source}: its folder {top} is `{top}` there, too. The files themselves stay as they are.",
        {f"{source}/{path}": file(text) for path, text in files.items()},
        [holds(target, kind, files), TreeCheck(path=source, files=dict(files))],
        [packing(kind, source, target)],
        needs=programs_for(kind),
    )


def _count(draw: Draw) -> Scenario:
    files, kind = _files(draw, draw.between(14, 30)), draw.pick(FORMATS)
    archive = f"/workspace/{draw.company().lower()}-{draw.pick(TOPICS)}.{kind}"
    ending = sorted(files)[0].rpartition(".")[2]
    hits = [path for path in files if path.endswith(f".{ending}")]
    listed = draw.chance(0.5)
    answer = "\n".join(sorted(hits)) if listed else str(len(hits))
    ask = (
        f"Write the paths of all members of {archive} that end in .{ending}, as they are in the archive and sorted as "
        "by `LC_ALL=C sort`, one per line"
        if listed
        else f"How many members of {archive} have a name that ends in .{ending}? Write the number alone"
    )
    names = (
        f"python3 -c \"import zipfile; print(*zipfile.ZipFile('{archive}').namelist(), sep='\\n')\""
        if kind == "zip"
        else f"tar -tf {archive}"
    )
    return Scenario(
        f"{ask} to /workspace/members.txt. The archive stays as it is.",
        staged(0, files),
        [FileCheck(path="/workspace/members.txt", text=answer + "\n"), holds(archive, kind, files)],
        [f"{names} | grep {'' if listed else '-c '}'\\.{ending}$' {'| LC_ALL=C sort ' if listed else ''}> members.txt"],
        setup=setup_of([(archive, kind)]),
        needs=programs_for(kind),
    )


# -- level 2 -------------------------------------------------------------------------------------------------------


def _some_members(draw: Draw) -> Scenario:
    files, kind = _files(draw, draw.between(16, 26)), draw.pick(FORMATS)
    archive, target = f"/workspace/{draw.company().lower()}.{kind}", "/workspace/part"
    folder = max(files, key=lambda path: path.count("/")).rpartition("/")[0]
    ending = draw.pick(sorted(files)).rpartition(".")[2]
    by_folder = draw.chance(0.5)
    if by_folder:
        hits = {path: text for path, text in files.items() if path.startswith(f"{folder}/")}
        words, test = f"are below its folder `{folder}`", f"! -path './{folder}/*'"
    else:
        hits = {path: text for path, text in files.items() if path.endswith(f".{ending}")}
        words, test = f"have a name that ends in .{ending}", f"! -name '*.{ending}'"
    return Scenario(
        f"From {archive}, get only those members that {words}. Put them into {target} with the paths that they have "
        "in the archive. No other files may be there in the end.",
        staged(0, files),
        [TreeCheck(path=target, files=dict(hits)), holds(archive, kind, files)],
        [unpacking(kind, archive, target), f"cd {target} && find . -type f {test} -delete"],
        setup=setup_of([(archive, kind)]),
        needs=programs_for(kind),
    )


def _repack(draw: Draw) -> Scenario:
    files = _files(draw, draw.between(12, 20))
    old, new = draw.some(FORMATS, 2)
    stem = f"/workspace/{draw.company().lower()}"
    ending = draw.pick(sorted(files)).rpartition(".")[2]
    kept = {path: text for path, text in files.items() if not path.endswith(f".{ending}")}
    if not kept:
        return _repack(draw)
    gone = draw.chance(0.5)
    checks: list[Check] = [holds(f"{stem}.{new}", new, kept)]
    if gone:
        checks.append(RunCheck(argv=("test", "-e", f"{stem}.{old}"), exit_code=1))
    else:
        checks.append(holds(f"{stem}.{old}", old, files))
    return Scenario(
        f"Make {said(new)} {stem}.{new} of {stem}.{old}: with the same members under the same paths, but without "
        f"those whose names end in .{ending}. "
        f"{'Then remove the old archive' if gone else 'Keep the old archive as it is'}.",
        staged(0, files),
        checks,
        [
            unpacking(old, f"{stem}.{old}", "/tmp/re"),
            f"find /tmp/re -type f -name '*.{ending}' -delete; find /tmp/re -type d -empty -delete",
            packing(new, "/tmp/re", f"{stem}.{new}"),
            *([f"rm -f {stem}.{old}"] if gone else []),
        ],
        setup=setup_of([(f"{stem}.{old}", old)]),
        needs=programs_for(old, new),
    )


def _search(draw: Draw) -> Scenario:
    firms = draw.some(("east", "west", "north", "south", "head"), 4)
    parts = [_files(draw, 8) for _ in firms]
    kinds = [draw.pick(("tar.gz", "tar", "tar.bz2")) for _ in firms]
    code = draw.code("REQ", 5)
    hit = draw.between(0, 3)
    path = draw.pick(sorted(parts[hit]))
    parts[hit][path] += f"{draw.pick(TOPICS)} {code}\n"
    parts[(hit + 1) % 4][f"{code}.txt"] = f"see the file about {code[:-1]}\n"
    names = [f"/workspace/office/{firm}.{kind}" for firm, kind in zip(firms, kinds, strict=True)]
    files: dict[str, Entry] = {"/workspace/office/README": file("One archive for each office.\n")}
    for number, part in enumerate(parts):
        files |= staged(number, part)
    return Scenario(
        f"In one of the archives in /workspace/office is a file with the text {code} in its contents (names do not "
        "matter). Write to /workspace/where.txt the file name of the archive, a colon and the path of the member, "
        "without blanks, e.g. `first.tar:a/b.txt`. Also write that member, unchanged, to /workspace/request.txt. The "
        "archives stay as they are.",
        files,
        [
            FileCheck(path="/workspace/where.txt", text=f"{names[hit].rpartition('/')[2]}:{path}\n"),
            FileCheck(path="/workspace/request.txt", text=parts[hit][path]),
            *(holds(name, kind, part) for name, kind, part in zip(names, kinds, parts, strict=True)),
        ],
        [
            "for a in office/*.tar*; do mkdir -p /tmp/s/${a##*/} && tar -xf $a -C /tmp/s/${a##*/}; done",
            f"cd /tmp/s && grep -rl {code} . | sed 's,^\\./,,; s,/,:,' > /workspace/where.txt",
            f'cp "$(grep -rl {code} .)" /workspace/request.txt',
        ],
        setup=setup_of(list(zip(names, kinds, strict=True))),
        needs=programs_for(*kinds),
    )


def _compare(draw: Draw) -> Scenario:
    files, kind = _files(draw, 18), draw.pick(FORMATS)
    now = dict(files)
    changed = draw.some(sorted(files), 6)
    lines = []
    for number, path in enumerate(changed):
        if number < 2:
            now[path] = files[path].replace("no-", "nr-", 1)
            lines.append(f"changed {path}")
        elif number < 4:
            del now[path]
            lines.append(f"missing {path}")
        else:
            now[f"{path}.new"] = files[path]
            lines.append(f"new {path}.new")
    archive = f"/workspace/backup.{kind}"
    return Scenario(
        f"Compare the folder /workspace/live with its backup {archive} (whose paths are relative to it). Write one "
        "line to /workspace/diff.txt for each file that differs: `changed PATH` if the contents are not the same, "
        "`missing PATH` if it is only in the backup, `new PATH` if it is only in the folder, sorted as by `LC_ALL=C "
        "sort`. Change nothing else.",
        {**staged(0, files), **{f"/workspace/live/{path}": file(text) for path, text in now.items()}},
        [
            FileCheck(path="/workspace/diff.txt", text="\n".join(sorted(lines)) + "\n"),
            TreeCheck(path="/workspace/live", files=dict(now)),
            holds(archive, kind, files),
        ],
        [
            unpacking(kind, archive, "/tmp/b"),
            "cd /tmp/b && find . -type f -printf '%P\\n' | LC_ALL=C sort > /tmp/b.txt; cd /workspace/live && find . "
            "-type f -printf '%P\\n' | LC_ALL=C sort > /tmp/l.txt",
            "export LC_ALL=C; { comm -23 /tmp/b.txt /tmp/l.txt | sed 's/^/missing /'; comm -13 /tmp/b.txt /tmp/l.txt "
            "| sed "
            '\'s/^/new /\'; comm -12 /tmp/b.txt /tmp/l.txt | while read -r f; do cmp -s "$f" "/tmp/b/$f" || echo '
            '"changed $f"; done; } | sort > /workspace/diff.txt',
        ],
        setup=setup_of([(archive, kind)]),
        needs=programs_for(kind),
    )


# -- level 3 -------------------------------------------------------------------------------------------------------


def _nested(draw: Draw) -> Scenario:
    offices = draw.some(LOGINS, 3)
    kinds = [draw.pick(("tar.gz", "tar", "tar.xz")) for _ in offices]
    parts = [_files(draw, 7, odd=True) for _ in offices]
    ending = draw.pick(sorted(path for part in parts for path in part)).rpartition(".")[2]
    names = [draw.pick(("{}.{}", "{} old.{}", "-{}.{}")).format(*pair) for pair in zip(offices, kinds, strict=True)]
    files: dict[str, Entry] = {}
    for number, part in enumerate(parts):
        files |= staged(number, part)
    stems = [name.removesuffix(f".{kind}") for name, kind in zip(names, kinds, strict=True)]
    wanted = {
        f"{stem}/{path}": text
        for stem, part in zip(stems, parts, strict=True)
        for path, text in part.items()
        if path.endswith(f".{ending}")
    }
    inner = [packed_by(n, f"{STAGE}/9/{name}", kind) for n, (name, kind) in enumerate(zip(names, kinds, strict=True))]
    return Scenario(
        "/workspace/all.tar.gz has further archives in it, one for each person. Unpack those, and put all of their "
        f"members whose names end in .{ending} into /workspace/out/NAME, where NAME is the inner archive's file name "
        "without .tar and what follows it, keeping their paths in the inner archive (e.g. "
        f"/workspace/out/{stems[0]}/x/y.{ending}). Nothing else may be in /workspace/out in the end, no inner archive "
        "either. Names may contain blanks, begin with a dash or a dot. /workspace/all.tar.gz stays.",
        files,
        [
            TreeCheck(path="/workspace/out", files=dict(wanted)),
            RunCheck(argv=("tar", "-tzf", "/workspace/all.tar.gz"), stdout="\n".join(names) + "\n", compare="lines"),
        ],
        [
            "mkdir /tmp/in out && tar -xzf all.tar.gz -C /tmp/in",
            'cd /tmp/in && for a in ./*; do d=${a%.tar*}; d="/workspace/out/${d#./}"; mkdir -p "$d" && tar -xf "$a" '
            '-C "$d"; done',
            f"cd /workspace/out && find . -type f ! -name '*.{ending}' -delete",
        ],
        setup=[f"mkdir -p {STAGE}/9", *inner, packed_by(9, "/workspace/all.tar.gz", "tar.gz"), f"rm -r {STAGE}"],
        needs=programs_for(*kinds),
    )


def _restore(draw: Draw) -> Scenario:
    """A full backup and what changed on the days after it; the last of them are later than what is asked for."""
    state = _files(draw, 14, odd=True)
    days = 5
    wanted = draw.between(3, 4)
    parts: list[Files] = [dict(state)]
    target: Files = {}
    gone: list[str] = []
    for day in range(1, days + 1):
        part: Files = {}
        if gone:  # what was removed the day before is back, so that removals cannot all be left to the end
            part[gone[0]] = f"{draw.code('back', 5)}\n"
        for path in draw.some(sorted(state), 3):
            part[path] = f"{draw.pick(TOPICS)} {draw.code('day', 5)}\n"
        part[f"{sorted(state)[0].partition('/')[0]}/{draw.pick(LOGINS)} day{day}.txt"] = f"{draw.code('new', 5)}\n"
        state |= part
        gone = draw.some(sorted(path for path in state if path not in part), 2)
        for path in gone:
            del state[path]
        parts.append({**part, ".removed": "\n".join(gone) + "\n"})
        if day == wanted:
            target = dict(state)
    first = draw.between(3, 20)
    names = [f"/workspace/backup/{'full' if n == 0 else 'day'}-2024-02-{first + n:02d}.tar.gz" for n in range(days + 1)]
    files: dict[str, Entry] = {"/workspace/backup/.keep": file("")}
    for number, part in enumerate(parts):
        files |= staged(number, part)
    last = names[wanted][-17:-7]
    return Scenario(
        "/workspace/backup has a full backup and one archive for each day after it. A day's archive holds the files "
        "that are new or changed since the day before, and a list `.removed` with the paths (one per line) of the "
        "files that were removed since then; such a file may be back in a later archive. Restore into "
        f"/workspace/restored the state of {last}, no later one. No `.removed` may be left there, and the archives "
        "stay as they are.",
        files,
        [
            TreeCheck(path="/workspace/restored", files=dict(target)),
            *(holds(name, "tar.gz", part) for name, part in zip(names, parts, strict=True)),
        ],
        [
            f"mkdir restored && cd restored && tar -xzf ../backup/full-*.tar.gz && for a in ../backup/day-*.tar.gz; do "
            f'[[ ${{a:14:10}} > {last} ]] && break; tar -xzf "$a"; while IFS= read -r f; do rm -f "./$f"; done < '
            ".removed; "
            "rm .removed; done"
        ],
        setup=setup_of([(name, "tar.gz") for name in names]),
    )


def _rescue(draw: Draw) -> Scenario:
    count = 6
    parts = [{f"box{number}/{path}": text for path, text in _files(draw, 5).items()} for number in range(count)]
    kinds = [draw.pick(("tar", "tar.gz", "tar.bz2", "zip")) for _ in range(count)]
    broken = sorted(draw.some(range(count), 2))
    for number in broken:  # tar does not notice that an uncompressed archive ends between two members
        kinds[number] = draw.pick(("tar.gz", "tar.bz2", "zip"))
    names = [
        draw.pick(("box {}.{}", "-box{}.{}", "box{}.{}", ".box{}.{}")).format(
            number, draw.pick(("bin", "tar.gz", "zip", "dat"))
        )
        for number in range(count)
    ]
    files: dict[str, Entry] = {"/workspace/boxes/.label": file(f"boxes of {draw.company()}\n")}
    setup = []
    for number, part in enumerate(parts):
        files |= staged(number, part)
        path = f"/workspace/boxes/{names[number]}"
        setup.append(packed_by(number, path, kinds[number]))
        if number in broken:
            size = f"$(( $(wc -c < {shlex.quote(path)}) * {draw.between(30, 60)} / 100 ))"
            setup.append(f"head -c {size} {shlex.quote(path)} > /tmp/cut && mv /tmp/cut {shlex.quote(path)}")
    good = {path: text for number, part in enumerate(parts) if number not in broken for path, text in part.items()}
    damaged = "".join(f"{name}\n" for name in sorted(names[number] for number in broken))
    return Scenario(
        "The files in /workspace/boxes whose names contain `box` are tar archives (some compressed) and zip archives, "
        "but the endings of their names say nothing about the kind, and some files were cut off in a transfer. Unpack "
        "all that are whole into /workspace/rescued (members keep their paths) and nothing of those that are cut off. "
        "Write the names of the cut ones, one per line and sorted as by `LC_ALL=C sort`, to /workspace/damaged.txt. "
        "Leave the boxes as they are.",
        files,
        [
            TreeCheck(path="/workspace/rescued", files=dict(good)),
            FileCheck(path="/workspace/damaged.txt", text=damaged),
            *(
                holds(f"/workspace/boxes/{names[number]}", kinds[number], parts[number])
                for number in range(count)
                if number not in broken
            ),
            *(RunCheck(argv=("test", "-s", f"/workspace/boxes/{names[number]}")) for number in broken),
        ],
        [
            "mkdir rescued && cd boxes && find . -type f -name '*box*' -printf '%P\\n' | LC_ALL=C sort > /tmp/list",
            'while IFS= read -r f; do if tar -tf "./$f" > /tmp/o 2>&1; then tar -xf "./$f" -C ../rescued; elif '
            'python3 -m zipfile -t "./$f" > /tmp/o 2>&1; then python3 -m zipfile -e "./$f" ../rescued; else echo '
            '"$f"; fi; done '
            "< /tmp/list > ../damaged.txt",
        ],
        setup=[*setup, f"rm -r {STAGE}"],
        needs=programs_for(*kinds),
    )


def _reproducible(draw: Draw) -> Scenario:
    files = _files(draw, 16, odd=True)
    skipped = draw.pick((".log", ".csv"))
    kept = {path: text for path, text in files.items() if not path.endswith(skipped)}
    if len(kept) < 5:
        return _reproducible(draw)
    kind = draw.pick(("tar.gz", "tar.xz", "tar.bz2", "tar"))
    day = f"2023-{draw.between(1, 12):02d}-{draw.between(1, 28):02d}"
    seconds = int(np.datetime64(f"{day}T00:00:00", "s").astype(np.int64))
    top = f"{draw.company().lower()}-{draw.between(1, 9)}.{draw.between(0, 20)}"
    inside = {f"{top}/{path}": text for path, text in kept.items()}
    order = json.dumps([[path, seconds, 0, 0] for path in sorted(inside)])
    target = f"/workspace/{top}.{kind}"
    return Scenario(
        f"Pack the regular files below /workspace/source, hidden ones too but none whose name ends in {skipped}, into "
        f"{target}, {said(kind)} that comes out the same on every machine: all paths in it begin with {top}/ in "
        "place of the source folder, files are in the order of `LC_ALL=C sort` of their paths, owner and group have "
        f"the number 0, and every modification time is {day} 00:00:00 UTC. (Entries for folders may be there or not.) "
        "Leave the source as it is.",
        {f"/workspace/source/{path}": file(text) for path, text in files.items()},
        [
            holds(target, kind, inside),
            RunCheck(argv=("python3", "-I", "-S", "-c", ORDER, target), stdout=order, compare="json"),
            TreeCheck(path="/workspace/source", files=dict(files)),
        ],
        [
            f"mkdir /tmp/p && cp -r source /tmp/p/{top} && find /tmp/p -type f -name '*{skipped}' -delete",
            f"cd /tmp/p && find {top} -type f | LC_ALL=C sort | tar --verbatim-files-from -T - --owner=0 --group=0 "
            f"--mtime='{day} 00:00:00Z' -c | {TARS[kind]} > {target}",
        ],
        needs=programs_for(kind),
    )
