"""Symbolic links: made, found, repaired, turned from absolute to relative, and kept valid when trees move."""

from __future__ import annotations

import posixpath

import numpy as np

from agentworld_envs.domains.terminal.checks import AbsentCheck, Check, FileCheck, LinkCheck, TreeCheck
from agentworld_envs.domains.terminal.ingredients import (
    COMPANIES,
    GOODS,
    TOWNS,
    answer_path,
    between,
    lines,
    opening,
    pick,
    some,
    unchanged,
)
from agentworld_envs.domains.terminal.scenario import Entry, Level, Scenario, file, link

_FOLDERS = ("archive", "assets", "current", "docs", "images", "old stock", "press", "shared", "tmp files", "work")


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: one link, or links that dangle; 2: many links rewritten or resolved; 3: loops, moved trees, odd "
    "names."""
    return pick(rng, _GOALS[level])(rng)


def _note(rng: np.random.Generator, name: str) -> Entry:
    return file(f"{name}\n{pick(rng, COMPANIES)}, {pick(rng, TOWNS)}, {between(rng, 100, 9999)} {pick(rng, GOODS)}s\n")


def _base(rng: np.random.Generator) -> str:
    return f"/workspace/{pick(rng, ('site', 'depot', 'library', 'share', 'media'))}"


def _tree(rng: np.random.Generator, root: str, folders: int, each: int) -> dict[str, Entry]:
    """Files in folders, some of whose names have blanks."""
    files: dict[str, Entry] = {}
    for where in some(rng, _FOLDERS, folders):
        for name in some(rng, GOODS, each):
            shown = pick(rng, (f"{name}.txt", f"{name} {between(rng, 1, 9)}.txt", f"{name}.md"))
            files[f"{root}/{where}/{shown}"] = _note(rng, name)
    return files


def _relative(target: str, path: str) -> str:
    return posixpath.relpath(target, posixpath.dirname(path))


def _as_tree(root: str, entries: dict[str, Entry]) -> TreeCheck:
    return TreeCheck(
        path=root,
        files={
            posixpath.relpath(path, root): f"-> {entry.link}" if entry.link is not None else entry.text
            for path, entry in entries.items()
            if path.startswith(f"{root}/")
        },
    )


def _free(rng: np.random.Generator, files: dict[str, Entry], root: str, stem: str) -> str:
    """A path for a new link, in one of the folders."""
    folders = sorted({posixpath.dirname(path) for path in files if path.startswith(root)})
    name = f"{pick(rng, folders)}/{stem}"
    return name if name not in files else f"{name}-2"


def _python(body: str) -> str:
    return f"python3 - <<'END'\nimport os\n{body}\nEND"


def _release(rng: np.random.Generator) -> Scenario:
    root = pick(rng, ("/workspace/srv/shop", "/workspace/app", "/workspace/deploy"))
    # As texts, 9 comes after 10.
    minors = [between(rng, 10, 14), *some(rng, range(2, 10), between(rng, 3, 5))]
    major = between(rng, 1, 4)
    versions = [f"{major}.{n}.{between(rng, 0, 12)}" for n in minors] + [f"{major - 1}.{between(rng, 15, 30)}.0"]
    newest = max(versions, key=lambda version: tuple(map(int, version.split("."))))
    others = [version for version in versions if version != newest]
    name = pick(rng, ("current", "live", "stable"))
    files = {f"{root}/releases/{version}/VERSION": file(f"{version}\n") for version in versions}
    ask = pick(
        rng,
        (
            f"Make {root}/{name} a symbolic link to the newest release, the folder in {root}/releases with the highest "
            "version number (1.10.0 is higher than 1.9.3). Its target has to be relative: releases/VERSION.",
            f"Switch the symbolic link {root}/{name} over to the highest version below {root}/releases, compared "
            f"number "
            "by number (1.10.0 comes after 1.9.3). The link shall be relative, of the form releases/VERSION.",
        ),
    )
    checks = [LinkCheck(path=f"{root}/{name}", target=f"releases/{newest}"), *unchanged(files)]
    files[f"{root}/{name}"] = link(f"releases/{pick(rng, others)}")
    command = f'cd {root} && ln -sfn "releases/$(ls releases | sort -V | tail -n 1)" {name}'
    return Scenario(opening(rng) + ask + " Change nothing else.", files, checks, [command])


def _dangling(rng: np.random.Generator) -> Scenario:
    root, out = _base(rng), answer_path(rng)
    files = _tree(rng, root, 4, 3)
    names = list(files)
    bad = []
    for n, stem in enumerate(some(rng, GOODS, between(rng, 6, 9))):
        path = _free(rng, files, root, f"{pick(rng, ('link to ', 'to-', '.', ''))}{stem}")
        target = pick(rng, names)
        if n % 2:
            bad.append(path)
            target = posixpath.dirname(target) + "/" + pick(rng, ("gone.txt", "lost one.md"))
        files[path] = link(pick(rng, (target, _relative(target, path))))
    shown = sorted(posixpath.relpath(path, root) for path in bad)
    remove = pick(rng, (True, False))
    if remove:
        ask = f"Delete all symbolic links below {root} whose target does not exist. Everything else stays as it is."
        rest = {path: entry for path, entry in files.items() if path not in bad}
        return Scenario(opening(rng) + ask, files, [_as_tree(root, rest)], [f"find {root} -xtype l -delete"])
    ask = (
        f"Which symbolic links below {root} have a target that does not exist? Write their paths relative to {root} to "
        f"{out}, one per line, sorted as by `LC_ALL=C sort`. Change nothing in {root}."
    )
    checks: list[Check] = [FileCheck(path=out, text=lines(shown)), _as_tree(root, files)]
    command = f"find {root} -xtype l -printf '%P\\n' | LC_ALL=C sort > {out}"
    return Scenario(opening(rng) + ask, files, checks, [command])


def _chain(rng: np.random.Generator) -> Scenario:
    root, out = _base(rng), answer_path(rng)
    files = _tree(rng, root, 4, 3)
    ends = some(rng, list(files), 3)
    start = ""
    for target in ends:
        for stem in some(rng, ("a", "b link", "next", "see also", "way", "entry"), between(rng, 2, 4)):
            path = _free(rng, files, root, stem)
            if path in files:
                continue
            files[path] = link(pick(rng, (target, _relative(target, path))))
            target = path
        start = target
    end = ends[-1]
    if pick(rng, (True, False)):
        ask = (
            f"{start} is a symbolic link, maybe to further links. Write the absolute path of the file at the end "
            f"of the "
            f"chain to {out}, one line. Change nothing below {root}."
        )
        answer, command = f"{end}\n", f"readlink -f '{start}' > {out}"
    else:
        ask = (
            f"{start} is a symbolic link, maybe to further links. Replace this one link by a copy of the file at "
            f"the end of"
            f" the chain, a regular file with the same path as the link. The other links and files below {root} stay."
        )
        after = {**files, start: files[end]}
        return Scenario(
            opening(rng) + ask,
            files,
            [_as_tree(root, after)],
            [f"cp --remove-destination \"$(readlink -f '{start}')\" '{start}'"],
        )
    return Scenario(opening(rng) + ask, files, [FileCheck(path=out, text=answer), _as_tree(root, files)], [command])


def _to_relative(rng: np.random.Generator) -> Scenario:
    root = _base(rng)
    files = _tree(rng, root, 5, 2)
    names = list(files)
    after = dict(files)
    outside = "/workspace/elsewhere/notes.txt"
    for n, stem in enumerate(some(rng, GOODS, between(rng, 6, 9))):
        path = _free(rng, files, root, f"{pick(rng, ('see ', 'ln-', '.'))}{stem}")
        target = pick(rng, names) if n else outside
        kind = "absolute" if n < 4 else pick(rng, ("absolute", "relative"))
        files[path] = link(target if kind == "absolute" else _relative(target, path))
        after[path] = link(target) if target == outside else link(_relative(target, path))
    ask = (
        f"The folder {root} shall be copied to another machine, where its path will differ. Turn every absolute "
        f"symbolic link "
        f"below it whose target is also below {root} into a relative one, in the shortest form that leads from "
        f"the link's "
        "folder to the same target, without going through other links (no ./ and no ../ more than needed). Links "
        "that are "
        f"relative already, or lead out of {root}, stay as they are."
    )
    code = (
        f"for folder, _, names in os.walk('{root}'):\n    for name in names:\n        path = os.path.join(folder, "
        f"name)\n"
        f"        if os.path.islink(path) and os.readlink(path).startswith('{root}/'):\n"
        "            target = os.path.relpath(os.readlink(path), folder)\n            os.unlink(path)\n"
        "            os.symlink(target, path)"
    )
    checks = [_as_tree(root, after)]
    return Scenario(opening(rng) + ask, {**files, outside: file("outside\n")}, checks, [_python(code)])


def _who_points(rng: np.random.Generator) -> Scenario:
    root, out = _base(rng), answer_path(rng)
    files = _tree(rng, root, 4, 3)
    names = list(files)
    end = {name: name for name in names}
    for n, stem in enumerate(some(rng, GOODS, between(rng, 8, 12))):
        path = _free(rng, files, root, f"{pick(rng, ('see ', 'ln-', '.'))}{stem}")
        target = pick(rng, list(end)) if n > 1 else names[0]
        end[path] = end[target]
        files[path] = link(pick(rng, (target, _relative(target, path))))
    found = [posixpath.relpath(path, root) for path in end if end[path] == names[0] and path != names[0]]
    ask = (
        f"Find all symbolic links below {root} that lead to the file {names[0]} in the end, directly or through "
        f"other links. "
        f"Write their paths relative to {root} to {out}, one per line, sorted as by `LC_ALL=C sort`. Change nothing in "
        f"{root}."
    )
    command = (
        f'find {root} -type l | while IFS= read -r p; do\n  [ "$(readlink -f "$p")" = \'{names[0]}\' ] && '
        f"printf '%s\\n' \"${{p#{root}/}}\"\ndone | LC_ALL=C sort > {out}"
    )
    checks: list[Check] = [FileCheck(path=out, text=lines(sorted(found))), _as_tree(root, files)]
    return Scenario(opening(rng) + ask, files, checks, [command])


def _retarget(rng: np.random.Generator) -> Scenario:
    root = _base(rng)
    files = _tree(rng, f"{root}/data", 4, 3)
    old, new = pick(rng, (("data-2022", "data"), ("old-data", "data"), ("dat", "data")))
    after = dict(files)
    for n, stem in enumerate(some(rng, GOODS, between(rng, 6, 9))):
        path = f"{root}/links/{pick(rng, ('x/', 'y z/', ''))}{pick(rng, ('', '-', 'to '))}{stem}"
        target = pick(rng, sorted(set(after) - set(files)) or list(files)) if n > 6 else pick(rng, list(files))
        if target.startswith(f"{root}/links"):
            target = pick(rng, list(files))
        absolute = pick(rng, (True, False))
        right = target if absolute else _relative(target, path)
        after[path] = link(right)
    links = {path: entry for path, entry in after.items() if entry.link is not None}
    broken = {}
    for n, (path, entry) in enumerate(links.items()):
        good = entry.link or ""
        # One in four is fine already and must not be touched.
        broken[path] = link(good if n % 4 == 3 else good.replace(f"/{new}/", f"/{old}/", 1))
    ask = (
        f"The folder {root}/{old} was renamed to {root}/{new}, and now symbolic links below {root}/links dangle. "
        f"Correct the "
        f"targets of those: only the part {old} of the target becomes {new}, so that relative targets stay "
        f"relative and "
        "absolute ones absolute. Links that work stay as they are, and so do all files."
    )
    command = (
        f'cd {root}/links && find . -xtype l | while IFS= read -r p; do\n  t=$(readlink "$p")\n'
        f'  ln -sfn -- "${{t/\\/{old}\\//\\/{new}\\/}}" "$p"\ndone'
    )
    return Scenario(opening(rng) + ask, {**files, **broken}, [_as_tree(root, after)], [command])


def _classes(rng: np.random.Generator) -> Scenario:
    root, out = _base(rng), answer_path(rng)
    files = _tree(rng, root, 4, 3)
    names, kinds = list(files), {}
    stems = some(rng, GOODS, 14)
    for n in range(between(rng, 7, 9)):
        path = _free(rng, files, root, f"{pick(rng, ('-', '.', 'my '))}{stems[n]}")
        kind = ("file", "folder", "missing")[n % 3]
        target = pick(rng, names)
        target = {"file": target, "folder": posixpath.dirname(target), "missing": f"{target}.gone"}[kind]
        files[path] = link(pick(rng, (target, _relative(target, path))))
        kinds[path] = kind
    for group in ((9,), (10, 11), (12, 13)):
        ring = [_free(rng, files, root, stems[n]) for n in group]
        for n, path in enumerate(ring):
            target = ring[(n + 1) % len(ring)]
            files[path] = link(pick(rng, (target, _relative(target, path))))
            kinds[path] = "loop"
    path = _free(rng, files, root, "into the loop")
    files[path], kinds[path] = link(_relative(ring[0], path)), "loop"
    ask = (
        f"Sort out the symbolic links below {root}. For each write a line `KIND PATH` to {out}, with the path "
        f"relative to "
        f"{root} and KIND one of: file or folder (what it leads to in the end), missing (nothing is there), loop "
        f"(following it "
        "never ends). Sort the lines as `LC_ALL=C sort` does. Then delete the links of kind loop, and leave all "
        "else as it is."
    )
    code = (
        f"import errno\nfound = []\nfor folder, folders, names in os.walk('{root}'):\n    for name in names + "
        f"folders:\n"
        "        path = os.path.join(folder, name)\n        if not os.path.islink(path):\n            continue\n"
        "        try:\n            os.stat(path)\n            kind = 'folder' if os.path.isdir(path) else 'file'\n"
        "        except OSError as e:\n            kind = 'loop' if e.errno == errno.ELOOP else 'missing'\n"
        f"        found.append((kind, path))\nwith open('{out}', 'w') as f:\n"
        f"    f.writelines(sorted(f\"{{k}} {{os.path.relpath(p, '{root}')}}\\n\" for k, p in found))\n"
        "for kind, path in found:\n    if kind == 'loop':\n        os.unlink(path)"
    )
    answer = lines(sorted(f"{kinds[p]} {posixpath.relpath(p, root)}" for p in kinds))
    rest = {path: entry for path, entry in files.items() if kinds.get(path) != "loop"}
    return Scenario(
        opening(rng) + ask, files, [FileCheck(path=out, text=answer), _as_tree(root, rest)], [_python(code)]
    )


def _move(rng: np.random.Generator) -> Scenario:
    old, new = pick(
        rng,
        (("/workspace/projects/atlas", "/workspace/archive/2024/atlas"), ("/workspace/web", "/workspace/srv/www/web")),
    )
    files = _tree(rng, old, 4, 2)
    inside = list(files)
    others = {f"/workspace/common/{name}.txt": _note(rng, name) for name in some(rng, GOODS, 3)}
    after: dict[str, Entry] = {new + path[len(old) :]: entry for path, entry in files.items()}
    for n, stem in enumerate(some(rng, GOODS, between(rng, 7, 10))):
        path = _free(rng, files, old, f"{pick(rng, ('-', '.', 'see '))}{stem}")
        target = pick(rng, inside) if n % 3 else pick(rng, list(others))
        absolute = n % 4 == 1 or pick(rng, (True, False))
        there = new + path[len(old) :]
        moved = new + target[len(old) :] if target in inside else target
        files[path] = link(target if absolute else _relative(target, path))
        after[there] = link(moved if absolute else _relative(moved, there))
    user = {f"/workspace/desk/{pick(rng, ('to do', 'atlas', 'first'))}": inside[0]}
    links = {path: link(target) for path, target in user.items()}
    ask = (
        f"Move the folder {old} to {new} (make the folders above it). All symbolic links have to lead to the same "
        f"files as "
        f"before, in their new places: those in the moved folder, to files in it and to others, and the one in "
        "/workspace/desk. Relative links remain relative and absolute ones absolute, each in the shortest form "
        "without going "
        f"through other links. Nothing may be left at {old}."
    )
    code = (
        f"old, new = '{old}', '{new}'\nos.makedirs(os.path.dirname(new))\njobs = []\n"
        "for root in (old, '/workspace/desk'):\n    for folder, _, names in os.walk(root):\n        for name in "
        "names:\n"
        "            path = os.path.join(folder, name)\n            if os.path.islink(path):\n"
        "                t = os.readlink(path)\n"
        "                jobs.append((path, os.path.isabs(t), os.path.normpath(os.path.join(folder, t))))\n"
        "os.rename(old, new)\nmove = lambda p: new + p[len(old):] if p.startswith(old + '/') else p\n"
        "for path, absolute, target in jobs:\n    path, target = move(path), move(target)\n    os.unlink(path)\n"
        "    os.symlink(target if absolute else os.path.relpath(target, os.path.dirname(path)), path)"
    )
    checks: list[Check] = [AbsentCheck(path=old), _as_tree(new, after), *unchanged(others)]
    checks += [LinkCheck(path=path, target=new + target[len(old) :]) for path, target in user.items()]
    return Scenario(opening(rng) + ask, {**files, **others, **links}, checks, [_python(code)])


def _same_files(rng: np.random.Generator) -> Scenario:
    root = _base(rng)
    files = _tree(rng, root, 5, 2)
    names = list(files)
    for n, stem in enumerate(
        some(rng, ("copy", "copy of it", "-backup", ".saved", "spare", "twin"), between(rng, 4, 6))
    ):
        source = names[n % 3]
        files[_free(rng, files, root, f"{stem}.txt")] = files[source]
    almost = _free(rng, files, root, "almost.txt")
    files[almost] = file((files[names[0]].text or "").replace("\n", " \n", 1))
    files[_free(rng, files, root, "shortcut")] = link(names[0])
    first: dict[str, str] = {}
    after = dict(files)
    for path in sorted(p for p in files if files[p].text is not None):
        text = files[path].text or ""
        kept = first.setdefault(text, path)
        if kept != path:
            after[path] = link(_relative(kept, path))
    ask = (
        f"Below {root} some regular files have exactly the same bytes. In each group of equal ones the file whose "
        f"absolute path "
        "comes first in the order of `LC_ALL=C sort` stays; replace each other one by a symbolic link to it, "
        "with a relative "
        "target in the shortest form from the link's folder. Links that are there already, and files without an "
        "equal, stay "
        "as they are. Hidden files count, too."
    )
    code = (
        f"paths = [os.path.join(d, n) for d, _, names in os.walk('{root}') for n in names]\nfirst = {{}}\n"
        "for path in sorted(p for p in paths if not os.path.islink(p)):\n    data = open(path, 'rb').read()\n"
        "    if first.setdefault(data, path) != path:\n        os.unlink(path)\n"
        "        os.symlink(os.path.relpath(first[data], os.path.dirname(path)), path)"
    )
    # Trees compare texts without the blanks at line ends, so that the almost equal one is looked at once more.
    checks = [_as_tree(root, after), *unchanged({almost: files[almost]})]
    return Scenario(opening(rng) + ask, files, checks, [_python(code)])


_GOALS = {
    1: (_release, _dangling, _chain),
    2: (_to_relative, _who_points, _retarget),
    3: (_classes, _move, _same_files),
}
