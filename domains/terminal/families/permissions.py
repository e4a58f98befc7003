"""Permissions of files and folders: set, take away, copy and audit them, also for what scripts will create."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from agentworld_envs.domains.terminal.checks import Check, FileCheck, ModeCheck, RunCheck, TreeCheck
from agentworld_envs.domains.terminal.draw import LOGINS, TOPICS, Draw
from agentworld_envs.domains.terminal.scenario import Entry, Level, Scenario, file, folder, link

_ROOTS = ("site", "app", "release", "intranet", "handover")
_MODES = ("644", "664", "640", "600", "666", "660", "604")
_FOLDER_MODES = ("755", "775", "750", "700", "777")
Tree = dict[str, Entry]


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: one kind of file in one folder; 2: whole trees, audits and copies of permissions, exceptions; 3: scripts
    that only their first line tells, links to what must stay, locked folders, odd names, umask and set-group-id."""
    draw = Draw(rng)
    makers = {
        1: (_runnable, _private, _take_away),
        2: (_standard, _audit, _same_as, _let_group_in),
        3: (_first_lines, _locked, _umask, _shared, _policy),
    }
    return draw.pick(makers[level])(draw, draw.pick(_ROOTS))


def _text(draw: Draw, name: str) -> str:
    if name.endswith(".sh"):
        return f"#!/bin/sh\n# {draw.code('job')}\necho {draw.pick(TOPICS)} {draw.between(1, 99)}\n"
    return f"{draw.pick(TOPICS)} of {draw.company()}: {draw.code('no', 6)}\n"


def _tree(draw: Draw, count: int, odd: bool = False) -> Tree:
    """Files and folders with all kinds of modes."""
    tree: Tree = {}
    folders = draw.some(TOPICS, 3)
    folders += [f"{folders[0]}/{draw.pick(LOGINS)}", f"{folders[1]}/.{draw.pick(LOGINS)}"]
    if odd:
        folders.append(f"{folders[2]}/-{draw.pick(LOGINS)} old")
    for name in folders:
        tree[name] = folder(mode=draw.pick(_FOLDER_MODES))
    for number in range(count):
        ending = draw.pick((".txt", ".csv", ".sh", ".conf"))
        stem = draw.pick(("run", "data", "list", "notes", "check"))
        name = f"{stem}{number:02d}{ending}"
        if odd and draw.chance(0.4):
            name = draw.pick((f"-{name}", f"{stem} {number:02d}{ending}", f".{name}", f"-R {name}"))
        mode = draw.pick(("755", "700", "744", *_MODES) if ending == ".sh" else _MODES)
        tree[f"{folders[number % len(folders)]}/{name}"] = file(_text(draw, name), mode=mode)
    return tree


def _is_file(entry: Entry) -> bool:
    return entry.data is not None


def _checks(root: str, tree: Mapping[str, Entry], modes: Mapping[str, str]) -> list[Check]:
    """Everything is there with its old contents; modes are the new ones, or the old ones where there is no new one."""
    files = {path: f"-> {e.link}" if e.link else e.text for path, e in tree.items() if not e.folder}
    checks: list[Check] = [TreeCheck(path=f"/workspace/{root}", files=files)]
    for path, entry in tree.items():
        if entry.link is None:
            default = "755" if entry.folder else "644"
            checks.append(ModeCheck(path=f"/workspace/{root}/{path}", mode=modes.get(path) or entry.mode or default))
    return checks


def _scenario(
    root: str,
    tree: Tree,
    modes: Mapping[str, str],
    instruction: str,
    solution: Sequence[str],
    *,
    more: Sequence[Check] = (),
    others: Mapping[str, Entry] | None = None,
) -> Scenario:
    files = {f"/workspace/{root}/{path}": entry for path, entry in tree.items()}
    return Scenario(instruction, {**files, **(others or {})}, [*_checks(root, tree, modes), *more], solution)


def _bits(mode: str | None, *, add: int = 0, drop: int = 0) -> str:
    return f"{(int(mode or '644', 8) | add) & ~drop:03o}"


# -- level 1 -------------------------------------------------------------------------------------------------------


def _flat(draw: Draw, name: str) -> Tree:
    """One folder of files; at least two of each ending."""
    tree: Tree = {name: folder(mode="755")}
    for number, stem in enumerate(draw.some(TOPICS, 9)):
        ending = (".sh", ".txt", ".conf")[number % 3]
        tree[f"{name}/{stem}{ending}"] = file(_text(draw, ending), mode=draw.pick(_MODES))
    return tree


def _runnable(draw: Draw, root: str) -> Scenario:
    name = draw.pick(("bin", "tools", "scripts", "jobs"))
    tree = _flat(draw, name)
    who, letters, add = draw.pick((("its owner", "u", 0o100), ("its owner and its group", "ug", 0o110)))
    modes = {path: _bits(e.mode, add=add) for path, e in tree.items() if path.endswith(".sh")}
    return _scenario(
        root,
        tree,
        modes,
        f"Nobody may execute the shell scripts (*.sh) in /workspace/{root}/{name} yet. Give each of them execute "
        f"permission for {who}, and to nobody else. No other permission changes, neither theirs nor that of the other "
        "files.",
        [f"chmod {letters}+x {root}/{name}/*.sh"],
    )


def _private(draw: Draw, root: str) -> Scenario:
    name = draw.pick(("keys", "secrets", "private", "vault"))
    tree = _flat(draw, name)
    ending = draw.pick((".conf", ".txt"))
    mode, words = draw.pick(
        (("600", "readable and writable for their owner"), ("400", "readable, but not writable, for their owner"))
    )
    modes = {path: mode for path in tree if path.endswith(ending)} | {name: "700"}
    return _scenario(
        root,
        tree,
        modes,
        f"Protect /workspace/{root}/{name}: only the owner may list, change and enter the folder itself (everything "
        f"else is forbidden for group and others). The files in it that end in {ending} become {words}, with no "
        "permission for anybody else and no execute permission. The other files keep their permissions.",
        [f"chmod 700 {root}/{name}; chmod {mode} {root}/{name}/*{ending}"],
    )


def _take_away(draw: Draw, root: str) -> Scenario:
    name = draw.pick(("public", "shared", "drop", "exchange"))
    tree = _flat(draw, name)
    tree[f"{name}/{draw.pick(LOGINS)}.md"] = file("open to all\n", mode="666")
    words, letters, drop = draw.pick(
        (
            ("the write permission", "go-w", 0o022),
            ("all permissions", "go-rwx", 0o077),
            ("the read permission", "go-r", 0o044),
        )
    )
    modes = {path: _bits(e.mode, drop=drop) for path, e in tree.items() if _is_file(e)}
    return _scenario(
        root,
        tree,
        modes,
        f"Take {words} away from group and others for all files in /workspace/{root}/{name}. What the owner may do "
        "does not change, nor does any other permission, nor those of the folder itself.",
        [f"chmod {letters} {root}/{name}/*"],
    )


# -- level 2 -------------------------------------------------------------------------------------------------------


def _standard(draw: Draw, root: str) -> Scenario:
    tree = _tree(draw, 16)
    folders, files, scripts = draw.pick((("750", "640", "750"), ("755", "644", "755"), ("700", "600", "700")))
    folders = draw.pick((folders, folders, "775"))
    modes = {
        path: folders if entry.folder else scripts if path.endswith(".sh") else files for path, entry in tree.items()
    }
    return _scenario(
        root,
        tree,
        modes,
        f"Bring everything below /workspace/{root}, hidden things too, to the company's standard: folders get mode "
        f"{folders}, files whose names end in .sh get {scripts}, and all other files {files}. Only permissions change.",
        [
            f"cd /workspace/{root} && find . -mindepth 1 -type d -exec chmod {folders} {{}} + && find . -type f -name "
            f"'*.sh' -exec chmod {scripts} {{}} + && find . -type f ! -name '*.sh' -exec chmod {files} {{}} +"
        ],
    )


def _audit(draw: Draw, root: str) -> Scenario:
    tree = _tree(draw, 18)
    words, test, mask, letters, drop = draw.pick(
        (
            ("others may write", "-perm -o=w", 0o002, "o-w", 0o002),
            ("group or others may write", "-perm /go=w", 0o022, "go-w", 0o022),
            ("others may read", "-perm -o=r", 0o004, "o-rwx", 0o007),
        )
    )
    names = [path for path, entry in tree.items() if _is_file(entry)]
    tree[names[0]] = file(tree[names[0]].text or "", mode="666")
    hits = sorted(path for path in names if int(tree[path].mode or "644", 8) & mask)
    modes = {path: _bits(tree[path].mode, drop=drop) for path in hits}
    taken = {
        "o-w": "the write permission of others",
        "go-w": "the write permission of group and others",
        "o-rwx": "all permissions of others",
    }
    return _scenario(
        root,
        tree,
        modes,
        f"Find all regular files below /workspace/{root} (hidden ones too) that {words}. Write their paths relative "
        f"to /workspace/{root}, without ./ and sorted as by `LC_ALL=C sort`, one per line to /workspace/audit.txt. "
        f"Then take away {taken[letters]} from these files. Folders and all other permissions stay as they are.",
        [
            f"cd /workspace/{root} && find . -type f {test} -printf '%P\\n' | LC_ALL=C sort > ../audit.txt",
            f"find . -type f {test} -exec chmod {letters} {{}} +",
        ],
        more=[FileCheck(path="/workspace/audit.txt", text="\n".join(hits) + "\n")],
    )


def _same_as(draw: Draw, root: str) -> Scenario:
    tree = _tree(draw, 14)
    model = dict(tree)
    missing = draw.some([path for path, entry in model.items() if _is_file(entry)], 2)
    extra = f"extra_{draw.pick(TOPICS)}.txt"
    damaged: Tree = {}
    for path, entry in tree.items():
        mode = draw.pick(_FOLDER_MODES if entry.folder else (*_MODES, "755"))
        damaged[path] = entry.model_copy(update={"mode": mode})
    damaged[extra] = file("kept\n", mode="604")
    for path in missing:
        del model[path]
    modes = {path: model[path].mode or "" for path in model}
    others = {f"/workspace/model/{path}": entry for path, entry in model.items()}
    return _scenario(
        root,
        damaged,
        modes,
        f"A careless chmod has hit /workspace/{root}. /workspace/model is a copy of it from before with the right "
        f"permissions. Give every file and folder below /workspace/{root} the mode that its namesake (same relative "
        "path) below /workspace/model has. What has no namesake there keeps its mode, contents stay as they are, and "
        "/workspace/model does not change.",
        [
            "cd /workspace/model && find . -mindepth 1 -print0 | while IFS= read -r -d '' p; do "
            f'chmod --reference="$p" "../{root}/$p"; done'
        ],
        more=_checks("model", model, {}),
        others=others,
    )


def _let_group_in(draw: Draw, root: str) -> Scenario:
    tree = _tree(draw, 16)
    modes = {}
    for path, entry in tree.items():
        runs = entry.folder or int(entry.mode or "644", 8) & 0o111
        modes[path] = _bits(entry.mode, add=0o050 if runs else 0o040, drop=0o007)
    return _scenario(
        root,
        tree,
        modes,
        f"The group shall be able to read all files below /workspace/{root}, to list and enter all folders there, and "
        "to execute exactly those files that somebody (owner, group or others) can execute now. Others lose all "
        "permissions on all of these files and folders. The permissions of owners, and whether the group may write, "
        "do not change.",
        [f"cd /workspace/{root} && find . -mindepth 1 -exec chmod g+rX,o-rwx {{}} +"],
    )


# -- level 3 -------------------------------------------------------------------------------------------------------


def _first_lines(draw: Draw, root: str) -> Scenario:
    tree = _tree(draw, 18, odd=True)
    for path in [path for path, entry in tree.items() if _is_file(entry)]:
        shebang = draw.chance(0.35)
        body = f"echo {draw.code('step')}\n"
        first = (
            draw.pick(("#!/bin/sh\n", "#!/usr/bin/env bash\n"))
            if shebang
            else draw.pick(("", " #!/bin/sh\n", "# #!\n"))
        )
        tree[path] = file(first + body, mode=draw.pick(("755", "700", *_MODES)))
    files, scripts = draw.pick((("640", "750"), ("644", "755"), ("600", "700")))
    outside = f"/workspace/vendor/{draw.pick(TOPICS)}.sh"
    tree["vendor script.sh"] = link(outside)
    modes = {
        path: scripts if (entry.text or "").startswith("#!") else files
        for path, entry in tree.items()
        if _is_file(entry)
    }
    return _scenario(
        root,
        tree,
        modes,
        f"Names do not tell which files below /workspace/{root} are scripts: a script is a regular file whose first "
        f"two characters are `#!`. Give scripts mode {scripts} and all other regular files mode {files}, whatever "
        "their names are and hidden ones too. Folders, and whatever symbolic links point to outside of it, keep their "
        "modes.",
        [
            f"cd /workspace/{root} && find . -type f -print0 | while IFS= read -r -d '' f; do "
            f'if head -n 1 "$f" | grep -q \'^#!\'; then chmod {scripts} "$f"; else chmod {files} "$f"; fi; done'
        ],
        more=[ModeCheck(path=outside, mode="604"), FileCheck(path=outside, text="#!/bin/sh\ntrue\n")],
        others={outside: file("#!/bin/sh\ntrue\n", mode="604")},
    )


def _locked(draw: Draw, root: str) -> Scenario:
    tree = _tree(draw, 18, odd=True)
    for path in draw.some([path for path, entry in tree.items() if entry.folder], 3):
        tree[path] = folder(mode=draw.pick(("000", "300", "400", "600")))
    for path in draw.some([path for path, entry in tree.items() if _is_file(entry)], 6):
        tree[path] = tree[path].model_copy(update={"mode": draw.pick(("000", "200", "111"))})
    folders, files = draw.pick((("750", "640"), ("755", "644"), ("700", "600")))
    modes = {path: folders if entry.folder else files for path, entry in tree.items()}
    count = sum(_is_file(entry) for entry in tree.values())
    size = sum(len(entry.data or b"") for entry in tree.values())
    return _scenario(
        root,
        tree,
        modes,
        f"Some folders and files below /workspace/{root} are locked even for us, their owner. Give every folder below "
        f"it mode {folders} and every file mode {files} (hidden ones too). Then write to /workspace/inventory.txt, in "
        "one line, the number of regular files below it, a blank, and the sum of their sizes in bytes.",
        [
            f"cd /workspace/{root} && find . -mindepth 1 -type d -exec chmod {folders} {{}} \\; && "
            f"find . -type f -exec chmod {files} {{}} + && find . -type f -printf '%s\\n' | "
            "awk '{ n += $1 } END { print NR, n }' > ../inventory.txt"
        ],
        more=[FileCheck(path="/workspace/inventory.txt", text=f"{count} {size}\n", compare="words")],
    )


def _umask(draw: Draw, root: str) -> Scenario:
    topic = draw.pick(TOPICS)
    value, files, folders = draw.pick((("027", "640", "750"), ("077", "600", "700"), ("007", "660", "770")))
    script = f"bin/export_{topic}.sh"
    old = draw.pick(("umask 000", "umask 0002", "umask u=rwx,g=rwx,o=rwx"))
    text = (
        f"#!/bin/bash\n# nightly export of {draw.company()}\nset -e\n{old}\nout=/workspace/{root}/out\n"
        f'mkdir -p "$out/{topic}"\nfor part in 1 2 3; do\n    echo "{topic} $part" > '
        f'"$out/{topic}/part$part.txt"\ndone\n'
    )
    tree: Tree = {script: file(text, mode="755"), f"out/older {topic}": folder(mode="777")}
    tree[f"out/older {topic}/part0.txt"] = file("kept\n", mode="666")
    modes = {f"out/older {topic}": folders, f"out/older {topic}/part0.txt": files}
    kept: list[Check] = [
        ModeCheck(path=f"/workspace/{root}/{path}", mode=modes.get(path, "755")) for path in tree if path != "out"
    ]
    kept.append(FileCheck(path=f"/workspace/{root}/out/older {topic}/part0.txt", text="kept\n"))
    probe = (
        f"rm -rf '/workspace/{root}/out/{topic}' && umask 022 && /workspace/{root}/{script} && cd "
        f"/workspace/{root}/out && stat -c '%a %n' {topic} {topic}/part1.txt {topic}/part3.txt && cat "
        f"{topic}/part2.txt"
    )
    shown = f"{folders} {topic}\n{files} {topic}/part1.txt\n{files} {topic}/part3.txt\n{topic} 2\n"
    return Scenario(
        f"The script /workspace/{root}/{script} writes files that everybody can change. Change the script so that the "
        f"folders it makes get mode {folders} and the files it makes get mode {files} from their creation on, "
        "whatever umask its caller has (apart from that it has to do what it does, and it stays executable as it is). "
        f"Bring what older runs left in /workspace/{root}/out, the folder below it and its file, to the same modes.",
        {f"/workspace/{root}/{path}": entry for path, entry in tree.items()},
        [*kept, RunCheck(argv=("bash", "-c", probe), stdout=shown)],
        [
            f"cd /workspace/{root} && sed -i 's/^umask .*/umask {value}/' {script}",
            f"chmod {folders} out/older* && chmod {files} out/older*/part0.txt",
        ],
    )


def _shared(draw: Draw, root: str) -> Scenario:
    tree = _tree(draw, 18, odd=True)
    closed = sorted(path for path, entry in tree.items() if entry.folder)[0]
    modes = {}
    for path, entry in tree.items():
        if entry.folder:
            modes[path] = "2770"
        else:
            modes[path] = "770" if int(entry.mode or "644", 8) & 0o100 else "660"
    for path in tree:
        if path == closed or path.startswith(closed + "/"):
            modes.pop(path)
    return _scenario(
        root,
        tree,
        modes,
        f"Make /workspace/{root} a place where a team works together. Every folder below it gets mode 2770 "
        "(set-group-id, so that new files belong to the group). Every regular file gets 770 if its owner may execute "
        f"it now, else 660. Hidden files count and names may contain anything. The folder /workspace/{root}/{closed} "
        f"and all that is in it is left out: nothing changes there. The mode of /workspace/{root} itself does not "
        "matter.",
        [
            f"cd /workspace/{root} && find . -path './{closed}' -prune -o -type f -perm -u=x -exec chmod 770 {{}} +",
            f"find . -path './{closed}' -prune -o -type f ! -perm -u=x -exec chmod 660 {{}} +",
            f"find . -mindepth 1 -path './{closed}' -prune -o -mindepth 1 -type d -exec chmod 2770 {{}} \\;",
        ],
    )


def _policy(draw: Draw, root: str) -> Scenario:
    tree = _tree(draw, 20, odd=True)
    endings = draw.some((".txt", ".csv", ".sh", ".conf"), 3)
    rules = [(ending, draw.pick(("640", "600", "644", "750", "440"))) for ending in endings]
    top = sorted(path for path, entry in tree.items() if entry.folder and "/" not in path)[1]
    exception = draw.pick(("604", "400", "660"))
    lines = [
        f"# file modes at {draw.company()}",
        *(f"*{ending} {mode}" for ending, mode in rules),
        f"{top}/ {exception}",
    ]
    lines.insert(2, f"# *{endings[2]} 777")
    modes = {}
    for path, entry in tree.items():
        if _is_file(entry):
            found = [mode for ending, mode in rules if path.endswith(ending)]
            found += [exception] if path.startswith(f"{top}/") else []
            if found:
                modes[path] = found[-1]
    changed = sorted(path for path, mode in modes.items() if int(mode, 8) != int(tree[path].mode or "644", 8))
    loop = (
        "grep -v '^#' ../modes.txt | while read -r p m; do case $p in */) find \"./$p\" -type f -exec chmod $m {} + ;; "
        '*) find . -type f -name "$p" -exec chmod $m {} + ;; esac; done'
    )
    shown = "find . -type f -printf '%P\\t%m\\n' | LC_ALL=C sort"
    return _scenario(
        root,
        tree,
        modes,
        f"/workspace/modes.txt says which modes regular files below /workspace/{root} shall have; lines with # are "
        "comments. `*.end mode` is for files at any depth whose names end in .end, `name/ mode` for all files at any "
        "depth in that folder; where several rules fit, the last of them counts, and files without a rule keep their "
        "mode, as do folders. Apply the rules, and write the paths of the files whose modes have really changed by "
        f"that, relative to /workspace/{root} without ./, one per line and sorted as by `LC_ALL=C sort`, to "
        "/workspace/changed.txt.",
        [
            f"cd /workspace/{root} && {shown} > /tmp/before.txt",
            loop,
            f"{shown} | comm -13 /tmp/before.txt - | cut -f 1 > /workspace/changed.txt",
        ],
        more=[
            FileCheck(path="/workspace/changed.txt", text="".join(f"{path}\n" for path in changed)),
            FileCheck(path="/workspace/modes.txt", text="\n".join(lines) + "\n"),
        ],
        others={"/workspace/modes.txt": file("\n".join(lines) + "\n")},
    )
