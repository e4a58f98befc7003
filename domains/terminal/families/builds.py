"""Small builds that fail: makefiles, shell scripts, Python programs and packages. The repaired build is run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from agentworld_envs.domains.terminal.checks import Check, RunCheck
from agentworld_envs.domains.terminal.ingredients import (
    COMPANIES,
    GOODS,
    between,
    lines,
    opening,
    pick,
    some,
    unchanged,
)
from agentworld_envs.domains.terminal.scenario import Entry, Level, Scenario, file

_Rows = list[tuple[str, int]]
_MAKEFILE = """\
SRC := $(sort $(wildcard src/*.txt))
OUT := build
TITLE := @title

all: $(OUT)/report.txt

$(OUT)/report.txt: $(OUT)/totals.txt $(OUT)/count.txt
\t{ echo "$(TITLE)"; cat $(OUT)/count.txt $(OUT)/totals.txt; } > $@

$(OUT)/totals.txt: $(SRC) | $(OUT)
\tcat $(SRC) | awk '{ n[$$1] += $$2 } END { for (k in n) print k, n[k] }' | LC_ALL=C sort > $@

$(OUT)/count.txt: $(SRC) | $(OUT)
\tcat $(SRC) | wc -l > $@

$(OUT):
\tmkdir -p $(OUT)

clean:
\trm -rf $(OUT)

.PHONY: all clean
"""
_FAULTS = {
    "spaces": ("\t", "        ", "sed -i 's/^        /\\t/' Makefile"),
    "variable": ("cat $(SRC) | awk", "cat $(SRCS) </dev/null | awk", "sed -i 's|(SRCS) </dev/null|(SRC)|' Makefile"),
    "glob": ("src/*.txt", "source/*.txt", "sed -i 's|source/|src/|' Makefile"),
    "dollar": ("$$1] += $$2", "$1] += $2", "sed -i 's/\\[$1\\] += $2/[$$1] += $$2/' Makefile"),
    "order": (
        "report.txt: $(OUT)/totals.txt $(OUT)/count.txt",
        "report.txt: $(OUT)/count.txt",
        "sed -i 's|^\\(.*report.txt: \\)|\\1$(OUT)/totals.txt |' Makefile",
    ),
    "stale": ("totals.txt: $(SRC) |", "totals.txt: |", "sed -i 's/totals.txt: |/totals.txt: $(SRC) |/' Makefile"),
    "folder": (
        "count.txt: $(SRC) | $(OUT)",
        "count.txt: $(SRC)",
        "sed -i 's/count.txt: $(SRC)$/count.txt: $(SRC) | $(OUT)/' Makefile",
    ),
}
"""Name -> right, wrong, and the command that repairs it."""


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: one fault that stops the build; 2: one or two that need thought; 3: several, some of them silent."""
    return pick(rng, _GOALS[level])(rng, level)


def _rows(rng: np.random.Generator, goods: Sequence[str]) -> _Rows:
    return [(pick(rng, goods), between(rng, 1, 60)) for _ in range(between(rng, 3, 8))]


def _totals(rows: _Rows) -> list[str]:
    total: Counter[str] = Counter()
    for name, number in rows:
        total[name] += number
    return [f"{name} {number}" for name, number in sorted(total.items())]


def _text(rows: _Rows) -> str:
    return lines(f"{name} {number}" for name, number in rows)


def _shell(command: str, stdout: str, files: Mapping[str, str] | None = None, exit_code: int = 0) -> RunCheck:
    return RunCheck(argv=("bash", "-c", command), files=dict(files or {}), stdout=stdout, exit_code=exit_code)


def _project(rng: np.random.Generator) -> str:
    return f"/workspace/{pick(rng, ('project', 'reports', 'tool', 'pipeline', 'stocktake'))}"


def _make(rng: np.random.Generator, level: Level) -> Scenario:
    root, title, goods = _project(rng), pick(rng, COMPANIES), some(rng, GOODS, 6)
    names = {
        1: [pick(rng, ("spaces", "glob", "dollar", "order"))],
        2: [pick(rng, ("order", "stale")), pick(rng, ("variable", "folder", "glob"))],
        3: ["stale", *some(rng, ("spaces", "variable", "dollar", "order", "folder", "glob"), 3)],
    }[level]
    text = right = _MAKEFILE.replace("@title", title)
    for name in names:
        text = text.replace(*_FAULTS[name][:2])
    assert text != right
    sources = {f"{root}/src/{name}.txt": _rows(rng, goods) for name in some(rng, ("north", "south", "east", "west"), 3)}
    extra = _rows(rng, GOODS)
    rows = [row for part in sources.values() for row in part]
    readme = (
        "`make` writes build/report.txt: the title, then the number of lines in all files src/*.txt, then for each\n"
        "first word in them a line with it and the sum of the numbers behind it, sorted by word.\n"
        "`make` again after a file in src was added or edited brings the report up to date, and `make clean` removes\n"
        "the folder build. A parallel build (make -j) works too, and each of build/totals.txt (the lines with "
        "sums) and\n"
        "build/count.txt (the number of lines) can be made alone.\n"
    )
    files: dict[str, Entry] = {path: file(_text(part)) for path, part in sources.items()}
    files[f"{root}/README.md"] = file(readme)
    keep = unchanged(files)
    ask = pick(
        rng,
        (
            f"The build in {root} is broken. Repair its Makefile, so that it does what README.md there says. The "
            f"files in "
            "src and the README stay as they are.",
            f"`make` in {root} does not do what its README.md promises. Find out why and correct the Makefile; do not "
            "touch src or README.md.",
        ),
    )

    def report(all_rows: _Rows) -> str:
        return lines([title, len(all_rows), *_totals(all_rows)])

    go = f"cd {root} && make -s -j2 >/dev/null && cat build/report.txt"
    checks = [
        *keep,
        _shell(f"cd {root} && make -s clean && test ! -e build && {go}", report(rows)),
        # Alone, because whether a parallel build finds its folder by luck must not decide.
        _shell(f"cd {root} && make -s clean && make -s build/count.txt && cat build/count.txt", f"{len(rows)}\n"),
        _shell(f"cd {root} && make -s clean && make -s build/totals.txt && cat build/totals.txt", lines(_totals(rows))),
        _shell(go, report(rows)),
        _shell(go, report(rows + extra), {f"{root}/src/zz-new.txt": _text(extra)}),
    ]
    order = sorted(names, key=lambda name: name == "spaces")
    fix = "\n".join([f"cd {root}", *(_FAULTS[name][2] for name in order), "make clean && make && cat build/report.txt"])
    return Scenario(opening(rng) + ask, {**files, f"{root}/Makefile": file(text)}, checks, [fix], needs=["make"])


_PROGRAM = """\
import sys


def read(path):
    rows = []
    with open(path) as source:
        for line in source:
            name, number = line.split()
            rows.append((name, int(number)))
    return rows


def totals(rows):
    found = {}
    for name, number in rows:
        found[name] = found.get(name, 0) + number
    return found


def main():
    found = totals(read(sys.argv[1]))
    for name in sorted(found):
        print(name, found[name])
    print("@word", sum(found.values()))


main()
"""
_SLIPS = (
    ("def totals(rows):", "def totals(rows)", "sed -i 's/^def totals(rows)$/&:/'"),
    ("rows.append((name, int(number)))", "rows.append((name, int(number))", "sed -i 's/^ *rows.append.*/&)/'"),
    ("    return found\n", "  return found\n", "sed -i 's/^  return found/    return found/'"),
    ("import sys\n", "", "sed -i '1i import sys'"),
    ("line.split()", "line.spilt()", "sed -i 's/spilt/split/'"),
    ("int(number)))", "number))", "sed -i 's/(name, number))$/(name, int(number)))/'"),
    ('    print("@word"', '    print("@word', 'sed -i \'s/print("\\([a-z ]*\\),/print("\\1",/\''),
)


def _program(rng: np.random.Generator, level: Level) -> Scenario:
    root, word = _project(rng), pick(rng, ("all", "total", "sum", "together"))
    right, wrong, fix = pick(rng, _SLIPS)
    goods = some(rng, GOODS, 5)
    shown, hidden = _rows(rng, goods), _rows(rng, GOODS)
    script = f"{root}/{pick(rng, ('totals.py', 'report.py', 'summary.py'))}"
    files: dict[str, Entry] = {f"{root}/stock.txt": file(_text(shown))}
    checks: list[Check] = unchanged(files)
    for path, rows in ((f"{root}/stock.txt", shown), ("/tmp/check/other.txt", hidden)):
        answer = lines([*_totals(rows), f"{word} {sum(number for _, number in rows)}"])
        extra = {} if rows is shown else {path: _text(rows)}
        checks.append(RunCheck(argv=("python3", script, path), files=extra, stdout=answer))
    files[script] = file(_PROGRAM.replace(right, wrong).replace("@word", word))
    ask = (
        f"python3 {script} FILE should print, for each first word in the lines of FILE, the word and the sum of the "
        f"numbers behind it, sorted by word, and then `{word}` and the sum of all numbers. It fails, for example with "
        f"{root}/stock.txt. Repair the program, for any such file; leave stock.txt as it is."
    )
    return Scenario(opening(rng) + ask, files, checks, [f"{fix} {script} && python3 {script} {root}/stock.txt"])


_PACKAGE = {
    "__init__.py": 'from .core import load, total\n\n__all__ = ["load", "total"]\n',
    "__main__.py": "import sys\n\nfrom . import load\nfrom .show import table\n\nprint(table(load(sys.argv[1])))\n",
    "rates.py": (
        "from pathlib import Path\n\n\ndef rates():\n    text = (Path(__file__).parent / 'rates.txt').read_text()\n"
        "    return {k: int(v) for k, v in (line.split() for line in text.splitlines())}\n"
    ),
    "core.py": (
        "from .rates import rates\n\nUNIT = '@unit'\n\n\ndef load(path):\n    with open(path) as source:\n"
        "        return [(name, int(n)) for name, n in (line.split() for line in source)]\n\n\n"
        "def total(rows):\n    price = rates()\n    return sum(price.get(name, 1) * n for name, n in rows)\n"
    ),
    "show.py": (
        "from .core import UNIT, total\n\n\ndef table(rows):\n"
        "    return '\\n'.join([f'{name}: {n}' for name, n in rows] + [f'= {total(rows)} {UNIT}'])\n"
    ),
}
_BREAKS = {
    "absolute": ("core.py", "from .rates", "from rates", "sed -i 's/^from rates/from .rates/' core.py"),
    "name": ("show.py", "from .core", "from .cores", "sed -i 's/cores/core/' show.py"),
    "export": (
        "__init__.py",
        "load, total\n",
        "total\n",
        "sed -i 's/^from .core import total/from .core import load, total/' __init__.py",
    ),
    "folder": (
        "rates.py",
        "(Path(__file__).parent / 'rates.txt')",
        "Path('@name/rates.txt')",
        "sed -i \"s|Path('.*rates.txt')|(Path(__file__).parent / 'rates.txt')|\" rates.py",
    ),
    "circle": (
        "core.py",
        "from .rates import rates\n",
        "from .rates import rates\nfrom .show import table\n",
        "sed -i '/^from .show import table$/d' core.py && "
        "sed -i 's/^def describe(rows):/&\\n    from .show import table/' core.py",
    ),
}
"""Name -> module, right, wrong, and the command that repairs it."""


def _package(rng: np.random.Generator, level: Level) -> Scenario:
    root, name, unit = (
        _project(rng),
        pick(rng, ("ledger", "tally", "depot", "wares")),
        pick(rng, ("points", "cents", "units")),
    )
    goods = some(rng, GOODS, 5)
    kinds = {
        1: [pick(rng, ("absolute", "name", "export"))],
        2: [pick(rng, ("circle", "folder")), pick(rng, ("absolute", "name"))],
        3: ["circle", "folder", *some(rng, ("absolute", "name", "export"), 2)],
    }[level]
    modules = dict(_PACKAGE)
    modules["core.py"] += "\n\ndef describe(rows):\n    return table(rows).upper()\n" if "circle" in kinds else ""
    for kind in kinds:
        module, right, wrong, _ = _BREAKS[kind]
        assert right in modules[module]
        modules[module] = modules[module].replace(right, wrong)
    prices = {item: between(rng, 2, 90) for item in goods}
    files: dict[str, Entry] = {
        f"{root}/{name}/{module}": file(text.replace("@unit", unit).replace("@name", name))
        for module, text in modules.items()
    }
    kept: dict[str, Entry] = {
        f"{root}/{name}/rates.txt": file(lines(f"{item} {price}" for item, price in prices.items())),
        f"{root}/sample.txt": file(_text(_rows(rng, goods))),
    }
    hidden = _rows(rng, GOODS)
    worth = sum(prices.get(item, 1) * number for item, number in hidden)
    table = [*(f"{item}: {number}" for item, number in hidden), f"= {worth} {unit}"]
    data = {"/tmp/check/rows.txt": _text(hidden)}
    where = "/tmp" if "folder" in kinds else root
    start = f"cd {where} && PYTHONPATH={root} python3"
    checks = [*unchanged(kept), _shell(f"{start} -m {name} /tmp/check/rows.txt", lines(table), data)]
    total = f"import {name}; print({name}.total({name}.load('/tmp/check/rows.txt')))"
    checks.append(_shell(f'{start} -c "{total}"', f"{worth}\n", data))
    extra = ""
    if "circle" in kinds:
        text = f"import {name}.core as c; print(c.describe(c.load('/tmp/check/rows.txt')))"
        checks.append(_shell(f'{start} -c "{text}"', lines(table).upper(), data))
        extra = f" {name}.core.describe(rows) has to keep working too: it returns the same table in upper case."
    anywhere = f"from any folder, when PYTHONPATH is {root}," if "folder" in kinds else f"in {root}"
    ask = (
        f"The Python package {name} in {root} does not work any more. `python3 -m {name} FILE` should, {anywhere} "
        f"print "
        f"the lines of FILE as `name: number` and then `= SUM {unit}`, where each number counts with the factor in "
        f"{name}/rates.txt (1 for names that are not there). `import {name}` should offer {name}.load and "
        f"{name}.total.{extra} Repair the imports and whatever else stops it; rates.txt and sample.txt stay as "
        f"they are."
    ).replace(f"in {root} print", f"in {root}, print")
    fix = [f"cd {root}/{name}", *(_BREAKS[kind][3] for kind in kinds), f"cd {root} && python3 -m {name} sample.txt"]
    return Scenario(opening(rng) + ask, {**files, **kept}, checks, ["\n".join(fix)])


def _script(rng: np.random.Generator, level: Level) -> Scenario:
    root, ending = _project(rng), pick(rng, ("page", "out", "card"))
    stems = some(rng, ("annual plan", "price list", "read me first", "depot 7 map", "staff rota"), 3)
    stems += [pick(rng, ("index", "notes")), *(["-draft", "[old] list"] if level == 3 else [])]
    mark = pick(rng, ("#", "%", ";"))
    sources = {f"{root}/src/{stem}.txt": lines([f"{mark} {stem}", *some(rng, GOODS, 3)]) for stem in stems}
    hidden = {f"{root}/src/late  entry.txt": lines([f"{mark} late", *some(rng, GOODS, 2)])}
    wrong = (
        f"#!/bin/bash\nmkdir -p out\nfor f in $(ls src/*.txt); do\n  name=$(basename $f .txt)\n"
        f"  grep -v ^{mark} $f | tr a-z A-Z > out/$name.{ending}\ndone\nls out/*.{ending} | wc -w > out/COUNT\n"
    )
    readme = (
        f"build.sh writes for each file src/NAME.txt a file out/NAME.{ending}: its lines but for those that begin "
        f"with\n"
        f"{mark}, in upper case. Then it writes to out/COUNT how many these are. Names may have any characters "
        f"but line\nbreaks.\n"
    )
    if level == 3:
        readme += (
            "It works whatever the current folder is. Files in out that have no source any more are removed. "
            "When a source\n"
            f"does not begin with {mark} in its first line, build.sh ends with exit code 3 and leaves out as it was.\n"
        )
    files: dict[str, Entry] = {path: file(text) for path, text in sources.items()}
    files[f"{root}/README.md"] = file(readme)
    checks = list(unchanged(files))
    fixed = '#!/bin/bash\ncd "$(dirname "$0")" || exit 1\n'
    if level == 3:
        fixed += f"for f in src/*.txt; do\n  head -n 1 \"$f\" | grep -q '^{mark}' || exit 3\ndone\nrm -rf out\n"
    fixed += (
        f'mkdir -p out\nn=0\nfor f in src/*.txt; do\n  name=$(basename "$f" .txt)\n'
        f'  grep -v \'^{mark}\' "$f" | tr a-z A-Z > "out/$name.{ending}"\n  n=$((n + 1))\ndone\necho $n > out/COUNT\n'
    )

    def shown(texts: Mapping[str, str]) -> str:
        made = [(path.rpartition("/")[2][:-4], text) for path, text in texts.items()]
        bodies = {f"out/{name}.{ending}": "".join(text.splitlines(True)[1:]).upper() for name, text in made}
        bodies["out/COUNT"] = f"{len(made)}\n"
        return "".join(f"{name}\n{bodies[name]}" for name in sorted(bodies, key=str.encode))

    look = f'cd {root} && find out -type f | LC_ALL=C sort | while IFS= read -r f; do echo "$f"; cat "$f"; done'
    go = f"cd {'/' if level == 3 else root} && bash {root}/build.sh >/dev/null 2>&1"
    checks.append(_shell(f"rm -rf {root}/out; {go} && {look}", shown(sources)))
    checks.append(_shell(f"{go} && {look}", shown({**sources, **hidden}), hidden))
    if level == 3:
        (late,) = hidden
        fewer = f"rm '{late}' && {go} && {look}"
        checks.append(_shell(fewer, shown(sources)))
        bad = {f"{root}/src/bad.txt": "no title\nat all\n"}
        checks.append(_shell(f"{go}; echo $?; {look}", f"3\n{shown(sources)}", bad))
    files[f"{root}/build.sh"] = file(wrong, mode="755")
    ask = pick(
        rng,
        (
            f"{root}/build.sh does not do what the README.md next to it says. Repair or rewrite it, so that it "
            f"does for any "
            "files in src. Do not rename or change files in src or the README.",
            f"Make {root}/build.sh keep the promises of {root}/README.md, for the present files in src and any "
            f"others. The "
            "sources and the README have to stay as they are.",
        ),
    )
    return Scenario(
        opening(rng) + ask,
        files,
        checks,
        [f"cat > {root}/build.sh <<'END'\n{fixed}END\nbash {root}/build.sh"],
    )


_GOALS = {1: (_make, _program, _package), 2: (_make, _package, _script), 3: (_make, _package, _script)}
