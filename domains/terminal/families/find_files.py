"""Find files by name, size, age or contents; report, move or delete them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from agentworld_envs.domains.terminal.checks import Check, FileCheck, TreeCheck
from agentworld_envs.domains.terminal.draw import LOGINS, TOPICS, Draw
from agentworld_envs.domains.terminal.scenario import Entry, Level, Scenario, file, link

_ROOTS = ("archive", "share", "projects", "depot", "records")
_STEMS = ("summary", "budget", "index", "memo", "plan", "roster", "survey", "table", "trace", "minutes", "offer")
_ENDINGS = (".txt", ".csv", ".log", ".md", ".conf")
_ODD = ("-{0}{1}", "{0} final{1}", ".{0}{1}", "{0} (copy){1}", "#{0}#{1}", "-n {0}{1}", "{0}  v2{1}", "it's {0}{1}")
_FIRST, _LAST = 18_628, 19_850
"""Days since 1970 between which files were changed: the years 2021 to early 2024."""
Tree = dict[str, Entry]


class _Wanted(NamedTuple):
    """A condition on files."""

    words: str
    holds: Callable[[str, Entry], bool]
    test: str
    """The same for `find`."""


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: one condition, and a list, a number or a sum; 2: two conditions, links and hidden files, and they are
    listed, moved or deleted; 3: names with blanks and dashes, duplicates, ties, kept folder structure."""
    draw = Draw(rng)
    root = draw.pick(_ROOTS)
    if level == 3:
        return draw.pick((_duplicates, _newest, _structure, _structure, _rename))(draw, root)
    while True:
        tree = _tree(draw, 12 + 6 * level, odd=0.0)
        wanted = draw.some(_conditions(draw, tree), level)
        hits = sorted(path for path, entry in tree.items() if all(want.holds(path, entry) for want in wanted))
        if 2 <= len(hits) <= len(tree) - 3:
            break
    if level == 1:
        return _report(draw, root, tree, wanted, hits)
    _distract(draw, tree, hits)
    return draw.pick((_report, _move, _delete))(draw, root, tree, wanted, hits)


def _tree(draw: Draw, count: int, odd: float) -> Tree:
    """Files of different names in folders up to three deep."""
    tree: Tree = {}
    tops = draw.some(TOPICS, 4)
    for number in range(count):
        inner = draw.some(LOGINS, draw.between(0, 2))
        stem, ending = f"{draw.pick(_STEMS)}_{number:02d}", draw.pick(_ENDINGS)
        name = draw.pick(_ODD).format(stem, ending) if draw.chance(odd) else stem + ending
        lines = [
            f"{draw.pick(_STEMS)} of {draw.pick(TOPICS)}: {draw.code('item', 5)}" for _ in range(draw.between(1, 40))
        ]
        when = 86_400 * draw.between(_FIRST, _LAST) + draw.between(3_600, 80_000)
        tree["/".join([draw.pick(tops), *inner, name])] = file("\n".join(lines) + "\n", mtime=when)
    return tree


def _distract(draw: Draw, tree: Tree, hits: Sequence[str]) -> None:
    """A link to a file that is wanted, under a name that would be wanted too."""
    folder, _, name = draw.pick(hits).rpartition("/")
    tree[f"{folder}/latest_{name}"] = link(name)


def _size(entry: Entry) -> int:
    return len(entry.data or b"")


def _conditions(draw: Draw, tree: Tree) -> list[_Wanted]:
    """One of each kind: name, size, age, contents."""
    ending, stem = draw.pick(_ENDINGS), draw.pick(_STEMS)
    limit = draw.between(4, 14) * 100
    while any(_size(entry) == limit for entry in tree.values()):
        limit += 1
    noon = datetime.fromtimestamp(86_400 * draw.between(_FIRST + 250, _LAST - 250), UTC)
    day, start = f"{noon:%Y-%m-%d}", int(noon.timestamp())
    topic = draw.pick(TOPICS)
    name = draw.pick(
        (
            _Wanted(f"have a name that ends in {ending}", lambda p, _: p.endswith(ending), f"-name '*{ending}'"),
            _Wanted(
                f"have a name that begins with {stem}",
                lambda p, _: p.rpartition("/")[2].startswith(stem),
                f"-name '{stem}*'",
            ),
        )
    )
    size = draw.pick(
        (
            _Wanted(f"are larger than {limit} bytes", lambda _, e: _size(e) > limit, f"-size +{limit}c"),
            _Wanted(f"are smaller than {limit} bytes", lambda _, e: _size(e) < limit, f"-size -{limit}c"),
        )
    )
    age = draw.pick(
        (
            _Wanted(
                f"were last modified before {day} (UTC)",
                lambda _, e: (e.mtime or 0) < start,
                f"! -newermt '{day} 00:00 UTC'",
            ),
            _Wanted(
                f"were last modified on {day} or later (UTC)",
                lambda _, e: (e.mtime or 0) > start,
                f"-newermt '{day} 00:00 UTC'",
            ),
        )
    )
    contents = _Wanted(
        f"contain the text `of {topic}:` in at least one line",
        lambda _, e: f"of {topic}:" in (e.text or ""),
        f"-exec grep -q 'of {topic}:' {{}} \\;",
    )
    return [name, size, age, contents]


def _both(wanted: Sequence[_Wanted]) -> tuple[str, str]:
    """Words and `find` tests of several conditions."""
    words = " and ".join(want.words for want in wanted)
    return words, " ".join(want.test for want in wanted)


def _kept(root: str, tree: Mapping[str, Entry], gone: Sequence[str] = ()) -> TreeCheck:
    """All but these are there as before."""
    files = {path: f"-> {e.link}" if e.link else e.text for path, e in tree.items() if path not in gone}
    return TreeCheck(path=f"/workspace/{root}", files=files)


def _scenario(root: str, tree: Tree, instruction: str, checks: Sequence[Check], solution: Sequence[str]) -> Scenario:
    files = {f"/workspace/{root}/{path}": entry for path, entry in tree.items()}
    return Scenario(instruction, files, checks, solution)


def _report(draw: Draw, root: str, tree: Tree, wanted: Sequence[_Wanted], hits: Sequence[str]) -> Scenario:
    words, tests = _both(wanted)
    answer = draw.pick(("answer.txt", "result.txt", "found.txt", "report.txt"))
    kind = draw.pick(("list", "list", "names", "count", "bytes"))
    total = sum(_size(tree[path]) for path in hits)
    text, ask, pipe = {
        "list": (
            "\n".join(hits),
            f"List their paths relative to /workspace/{root} (without a leading ./), one per line, sorted as by "
            "`LC_ALL=C sort`,",
            "-printf '%P\\n' | LC_ALL=C sort",
        ),
        "names": (
            "\n".join(sorted(path.rpartition("/")[2] for path in hits)),
            "Write their names, without folders, one per line and sorted as by `LC_ALL=C sort`,",
            "-printf '%f\\n' | LC_ALL=C sort",
        ),
        "count": (str(len(hits)), "Write how many there are, as a number alone,", "-printf 'x\\n' | wc -l"),
        "bytes": (
            str(total),
            "Write the sum of their sizes in bytes, as a number alone,",
            "-printf '%s\\n' | awk '{ n += $1 } END { print n }'",
        ),
    }[kind]
    intro = draw.pick(
        (
            f"Look for all regular files below /workspace/{root}, at any depth, that {words}.",
            f"We need to know which regular files anywhere below /workspace/{root} {words}.",
            f"Some regular files in /workspace/{root} and the folders inside of it {words}.",
        )
    )
    tail = f"{ask} to /workspace/{answer}. Symbolic links do not count, and nothing below /workspace/{root} may change."
    return _scenario(
        root,
        tree,
        f"{intro} {tail}",
        [FileCheck(path=f"/workspace/{answer}", text=text + "\n"), _kept(root, tree)],
        [f"cd /workspace/{root} && find . -type f {tests} {pipe} > ../{answer}"],
    )


def _move(draw: Draw, root: str, tree: Tree, wanted: Sequence[_Wanted], hits: Sequence[str]) -> Scenario:
    words, tests = _both(wanted)
    target = draw.pick(("picked", "outbox", "review", "sorted"))
    return _scenario(
        root,
        tree,
        f"{draw.pick(('Please move', 'Move'))} all regular files below /workspace/{root} (at any depth) that {words} "
        f"into the new folder /workspace/{target}, directly into it and under the same file name. Symbolic links are "
        "not moved, and everything else stays as it is.",
        [
            TreeCheck(path=f"/workspace/{target}", files={p.rpartition("/")[2]: tree[p].text for p in hits}),
            _kept(root, tree, hits),
        ],
        [f"mkdir {target} && find /workspace/{root} -type f {tests} -exec mv -t {target} -- {{}} +"],
    )


def _delete(draw: Draw, root: str, tree: Tree, wanted: Sequence[_Wanted], hits: Sequence[str]) -> Scenario:
    words, tests = _both(wanted)
    return _scenario(
        root,
        tree,
        f"{draw.pick(('To save space, delete', 'Clean up: delete'))} all regular files below /workspace/{root} (at any "
        f"depth) that {words}. Before you do, write how many bytes they have together, as a number alone, to "
        "/workspace/freed.txt. Symbolic links and all other files stay, even if a link then points nowhere.",
        [
            FileCheck(path="/workspace/freed.txt", text=f"{sum(_size(tree[path]) for path in hits)}\n"),
            _kept(root, tree, hits),
        ],
        [
            f"cd /workspace/{root} && find . -type f {tests} -printf '%s\\n' | awk '{{ n += $1 }} END {{ print n }}' "
            "> ../freed.txt",
            f"find . -type f {tests} -delete",
        ],
    )


def _structure(draw: Draw, root: str) -> Scenario:
    while True:
        tree = _tree(draw, 26, odd=0.5)
        wanted = draw.some(_conditions(draw, tree), 2)
        hits = sorted(path for path, entry in tree.items() if all(want.holds(path, entry) for want in wanted))
        if 3 <= len(hits) <= len(tree) - 3 and any(" " in hit.rpartition("/")[2] for hit in hits):
            break
    _distract(draw, tree, hits)
    words, tests = _both(wanted)
    target = draw.pick(("retired", "cold", "handover", "old"))
    copied = draw.chance(0.4)
    return _scenario(
        root,
        tree,
        f"{'Copy' if copied else 'Move'} all regular files below /workspace/{root} that {words} to "
        f"/workspace/{target}, keeping their paths: /workspace/{root}/a/b.txt becomes /workspace/{target}/a/b.txt. "
        "Hidden files count, symbolic links do not; file names may contain anything. Everything else stays where it "
        f"is, and /workspace/{target} gets no other files.",
        [
            TreeCheck(path=f"/workspace/{target}", files={path: tree[path].text for path in hits}),
            _kept(root, tree, () if copied else hits),
        ],
        [
            f"cd /workspace/{root} && find . -type f {tests} -print0 | while IFS= read -r -d '' f; do "
            f'mkdir -p "../{target}/${{f%/*}}" && {"cp" if copied else "mv"} "$f" "../{target}/$f"; done'
        ],
    )


def _duplicates(draw: Draw, root: str) -> Scenario:
    tree = _tree(draw, 18, odd=0.4)
    originals = draw.some(sorted(tree), 5)
    for number, path in enumerate(originals):
        text = tree[path].text or ""
        for copy in range(draw.between(1, 2)):
            folder = draw.pick(sorted(tree)).rpartition("/")[0]
            name = draw.pick(("copy of {}.bak", ".{}.bak", "-{}.bak", "{}.bak")).format(f"{number}{copy}")
            tree[f"{folder}/{name}"] = file(text, mtime=86_400 * draw.between(_FIRST, _LAST))
        if number < 2:  # as long, but not the same
            tree[f"{folder}/near_{number}.bak"] = file(text[:-2] + ("0" if text[-2] != "0" else "1") + "\n")
    seen: set[str] = set()
    spare = []
    for path in sorted(tree):
        text = tree[path].text or ""
        if text in seen:
            spare.append(path)
        seen.add(text)
    tree[f"{draw.pick(originals).rpartition('/')[0]}/pointer"] = link(draw.pick(originals).rpartition("/")[2])
    deleted = draw.chance(0.6)
    ask = (
        "Delete all others of the group, and write" if deleted else "Do not delete anything, but write"
    ) + " the paths of those others to /workspace/duplicates.txt"
    return _scenario(
        root,
        tree,
        f"Regular files below /workspace/{root} were copied around under other names. Files with exactly the same "
        "bytes form a group; in each group, the one to keep is the one whose path comes first when paths are sorted "
        f"as by `LC_ALL=C sort`. {ask}, relative to /workspace/{root} without a leading ./, one per line, sorted in "
        "the same way. Hidden files count, symbolic links do not and stay as they are.",
        [
            FileCheck(path="/workspace/duplicates.txt", text="\n".join(spare) + "\n"),
            _kept(root, tree, spare if deleted else ()),
        ],
        [
            f"cd /workspace/{root} && find . -type f -printf '%P\\n' | LC_ALL=C sort > /tmp/all.txt",
            'while IFS= read -r f; do printf \'%s %s\\n\' "$(sha256sum < "./$f" | cut -c 1-64)" "$f"; done '
            "< /tmp/all.txt | awk 's[$1]++ { sub(/^[^ ]* /, \"\"); print }' > ../duplicates.txt",
            *(['while IFS= read -r f; do rm -- "./$f"; done < ../duplicates.txt'] if deleted else []),
        ],
    )


def _newest(draw: Draw, root: str) -> Scenario:
    newest = draw.chance(0.5)
    tree = _tree(draw, 24, odd=0.5)
    for top in sorted({path.partition("/")[0] for path in tree}):  # a tie at the end that counts
        inside = [path for path in tree if path.startswith(top + "/")]
        edge = (max if newest else min)(tree[path].mtime or 0 for path in inside)
        tree[f"{top}/zz {draw.pick(_STEMS)}.txt"] = file(f"{draw.code('tie', 6)}\n", mtime=edge)
    best: dict[str, str] = {}
    for path in sorted(tree):
        top = path.partition("/")[0]
        old, new = tree[best.get(top, path)].mtime or 0, tree[path].mtime or 0
        if top not in best or (new > old if newest else new < old):
            best[top] = path
    rows = [f"{top}: {path.partition('/')[2]}" for top, path in sorted(best.items())]
    order = "-k1,1nr" if newest else "-k1,1n"
    word = "newest" if newest else "oldest"
    return _scenario(
        root,
        tree,
        f"For each folder directly in /workspace/{root}, find the {word} regular file (by modification time) anywhere "
        f"below it; hidden files count. If several are equally {'new' if newest else 'old'}, take the one whose path "
        f"comes first in the order of `LC_ALL=C sort`. Write one line per folder to /workspace/{word}.txt: the "
        "folder's name, a colon, a blank and the file's path relative to that folder, e.g. `orders: a/b c.txt`, "
        "sorted by folder. Change nothing else.",
        [FileCheck(path=f"/workspace/{word}.txt", text="\n".join(rows) + "\n"), _kept(root, tree)],
        [
            f"cd /workspace/{root} && find . -mindepth 2 -type f -printf '%Ts %P\\n' | LC_ALL=C sort {order} -k2 | "
            'awk \'{ sub(/^[0-9]+ /, ""); d = $0; sub(/\\/.*/, "", d); sub(/^[^\\/]*\\//, ""); '
            f'if (!s[d]++) print d ": " $0 }}\' | LC_ALL=C sort > ../{word}.txt'
        ],
    )


def _rename(draw: Draw, root: str) -> Scenario:
    tree = _tree(draw, 24, odd=0.6)
    mark = draw.pick(("_", "-", "."))
    moved = {path: path.replace(" ", mark) for path in tree}
    after = {new: tree[old].text for old, new in moved.items()}
    name = sorted(path for path in tree if " " not in path)[0].rpartition("/")[2]
    tree[f"link to {draw.between(10, 99)}"] = link(name)
    old_link = next(path for path, entry in tree.items() if entry.link)
    after[old_link] = f"-> {name}"
    count = sum(old != new for old, new in moved.items())
    return _scenario(
        root,
        tree,
        f"Blanks in file names break our scripts. Rename every regular file below /workspace/{root}, hidden ones too, "
        f"so that each blank in its name becomes `{mark}` (two blanks become two of them). Names without blanks, "
        "symbolic links and all contents stay as they are. Write the number of files that you renamed to "
        "/workspace/renamed.txt.",
        [
            TreeCheck(path=f"/workspace/{root}", files=after),
            FileCheck(path="/workspace/renamed.txt", text=f"{count}\n"),
        ],
        [
            f"cd /workspace/{root} && find . -type f -name '* *' | wc -l > ../renamed.txt",
            "find . -type f -name '* *' -print0 | while IFS= read -r -d '' f; do b=${f##*/}; "
            f'mv -- "$f" "${{f%/*}}/${{b// /{mark}}}"; done',
        ],
    )
