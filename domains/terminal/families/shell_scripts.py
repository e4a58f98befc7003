"""Scripts to be written after a description, which then run on inputs that the agent has not seen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from agentworld_envs.domains.terminal.checks import RunCheck
from agentworld_envs.domains.terminal.ingredients import (
    GOODS,
    LOGINS,
    SERVICES,
    TOWNS,
    between,
    lines,
    opening,
    pick,
    some,
)
from agentworld_envs.domains.terminal.scenario import Level, Scenario, folder

_CHECK = "/tmp/check"
_LIST = 'find . -type f | LC_ALL=C sort | while IFS= read -r f; do printf "%s:" "$f"; cat "$f"; echo; done'


@dataclass(frozen=True, slots=True)
class _Case:
    """One run of the script, and how it has to end."""

    args: Sequence[str]
    stdout: str
    stdin: str = ""
    exit_code: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    then: str = ""
    """Shell text that shows what the script did, run in the folder of the files; its output follows the script's."""


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: a few lines of shell; 2: names, counts, exit codes; 3: files that are parsed or moved, with odd "
    "cases."""
    return pick(rng, _GOALS[level])(rng)


def _scenario(rng: np.random.Generator, name: str, spec: str, body: str, cases: Sequence[_Case]) -> Scenario:
    """`body` is the solution, without its first line. Every case runs in a folder of its own."""
    path = f"/workspace/{pick(rng, ('bin', 'scripts', 'tools'))}/{name}"
    checks = []
    for number, case in enumerate(cases):
        root = f"{_CHECK}/{number}"
        # What the checks compare goes to standard output; complaints may be anything.
        shell = f'mkdir -p {root} && cd {root} && "$@" 2>/dev/null; code=$?; {case.then or ":"}; exit $code'
        checks.append(
            RunCheck(
                argv=("bash", "-c", shell, "run", path, *case.args),
                stdin=case.stdin,
                files={f"{root}/{file}": text for file, text in case.files.items()},
                stdout=case.stdout,
                exit_code=case.exit_code,
            )
        )
    start = pick(
        rng,
        (
            f"Write an executable script {path} (bash or python3, beginning with a #! line). ",
            f"We need a small command line tool: {path}, executable, with a #! line, in bash or python3. ",
            f"Create the program {path} as a script for bash or python3 that can be started by its path. ",
        ),
    )
    end = " It will be tried on inputs that you do not see. What it writes to standard error does not matter."
    command = f"mkdir -p {path.rpartition('/')[0]} && cat > {path} <<'END'\n{body}\nEND\nchmod +x {path}"
    top = path.rpartition("/")[0]
    return Scenario(opening(rng) + start + spec + end, {top: folder()}, checks, [command])


def _no_end(text: str) -> str:
    """Without the end of the last line."""
    return text.removesuffix("\n")


def _column_sum(rng: np.random.Generator) -> Scenario:
    mark, shown = pick(rng, ((":", "colons"), (";", "semicolons"), (",", "commas"), ("|", "bars")))
    word = pick(rng, ("total", "sum", "all"))

    def table(count: int) -> list[list[str]]:
        return [
            [pick(rng, LOGINS), *(str(between(rng, -50, 900)) for _ in range(pick(rng, (2, 3, 3))))]
            for _ in range(count)
        ]

    cases = []
    for count, column, end in ((6, 2, True), (9, 4, False), (0, 3, True), (1, 3, False)):
        rows = table(count)
        text = lines(mark.join(row) for row in rows)
        answer = sum(int(row[column - 1]) for row in rows if len(row) >= column)
        cases.append(_Case([str(column)], f"{word} {answer}\n", text if end else _no_end(text)))
    spec = (
        f"It reads lines with fields between {shown} from standard input; its one argument N is the number of a "
        f"column, from 1. "
        f"It prints `{word} S`, where S is the sum of the whole numbers (maybe negative) in column N. Lines with "
        f"fewer columns "
        "do not count; without any the sum is 0. The last line may lack its line end."
    )
    body = f"""#!/bin/bash\nawk -F'[{mark}]' -v n="$1" 'NF >= n {{ s += $n }} END {{ print "{word}", s + 0 }}'"""
    return _scenario(rng, pick(rng, ("addup", "colsum", "sumcol.sh")), spec, body, cases)


def _count_lines(rng: np.random.Generator) -> Scenario:
    mark = pick(rng, (": ", " = ", "\t"))
    shown = {": ": "a colon and a blank", " = ": "a blank, an equals sign and a blank", "\t": "a tab"}[mark]
    letters = pick(rng, (True, False))
    cases = []
    for word in (pick(rng, GOODS), "a.b", "-x"):
        texts = {}
        for name in ("one.txt", "two words.txt", "empty"):
            made = [
                pick(rng, (f"{word} here", "nothing", f"see {word.upper()}", "axb", f"{word} and {word}"))
                for _ in range(6)
            ]
            texts[name] = lines(made) if name != "empty" else ""
        texts["two words.txt"] = _no_end(texts["two words.txt"] + word)
        rows = []
        for name, text in texts.items():
            found = [x for x in text.splitlines() if (word.lower() in x.lower() if letters else word in x)]
            rows.append(f"{name}{mark}{len(found)}")
        cases.append(_Case([word, *texts], lines(rows), files=texts))
    spec = (
        f"Arguments: a text and then one or more files. For each file, in the order given, it prints its name as "
        f"it was given, "
        f"{shown}, and the number of its lines that contain the text, "
        f"{'whatever the case of letters' if letters else 'exactly'}. "
        "The text is taken as it is, not as a pattern, and may begin with a dash; names may have blanks. The "
        "exit code is 0."
    )
    option = "-ciF" if letters else "-cF"
    body = (
        '#!/bin/bash\nt=$1\nshift\nfor f in "$@"; do\n'
        f"""  printf '%s{mark}%s\\n' "$f" "$(grep {option} -e "$t" -- "$f")"\ndone\nexit 0"""
    )
    return _scenario(rng, pick(rng, ("hits", "countin", "howmany.sh")), spec, body.replace("\t", "\\t"), cases)


def _reverse(rng: np.random.Generator) -> Scenario:
    mark, code = pick(rng, (". ", ") ", ": ")), between(rng, 2, 9)
    upwards = pick(rng, (True, False))

    def answer(args: list[str]) -> str:
        numbers = list(range(1, len(args) + 1))
        turned = args[::-1]
        return lines(f"{n}{mark}{arg}" for n, arg in zip(numbers if upwards else numbers[::-1], turned, strict=True))

    cases = [_Case(args, answer(args)) for args in (some(rng, GOODS, 4), ["two words", "*", "-n", ""], ["a  b", "$x"])]
    cases.append(_Case([], "", exit_code=code))
    number = "that of the line of output, from 1" if upwards else "its place among the arguments, from 1"
    spec = (
        f"It prints its arguments in reverse order, one per line, each with a number and `{mark}` in front: the "
        f"number is "
        f"{number}. So for the arguments `x y` it prints "
        f"`{_no_end(answer(['x', 'y'])).replace(chr(10), '` and `')}`. Arguments "
        f"may be empty or have blanks and stars. Without arguments it prints nothing and ends with exit code {code}."
    )
    step = "$(($# - i + 1))" if upwards else "$i"
    body = (
        f"#!/bin/bash\n[ $# -gt 0 ] || exit {code}\nfor ((i = $#; i > 0; i--)); do\n"
        f'  printf \'%s{mark}%s\\n\' "{step}" "${{!i}}"\ndone'
    )
    return _scenario(rng, pick(rng, ("backwards", "turn", "reverse.sh")), spec, body, cases)


def _words(rng: np.random.Generator) -> Scenario:
    order = pick(rng, ("count word", "word count"))
    least = between(rng, 1, 3)
    cases = []
    for top, size, end in ((3, 30, True), (5, 18, False), (2, 0, True), (50, 12, True)):
        pool = [pick(rng, (word, word.capitalize(), word.upper())) for word in [*some(rng, GOODS, 6), "it", "a"]]
        text = "".join(pick(rng, pool) + pick(rng, (" ", ", ", ".\n", "\n", "-", " 7 ")) for _ in range(size))
        count = Counter(word.lower() for word in re.findall("[A-Za-z]+", text) if len(word) >= least)
        ranked = sorted(count.items(), key=lambda item: (-item[1], item[0]))[:top]
        answer = lines(f"{n} {w}" if order[0] == "c" else f"{w} {n}" for w, n in ranked)
        cases.append(_Case([str(top)], answer, text if end else text.rstrip("\n .,-7") if size else ""))
    spec = (
        f"It reads a text from standard input; its argument N is a number. It prints the N most frequent words as "
        f"lines `{order}`, "
        f"most frequent first, equally frequent ones alphabetically. A word is a longest run of the letters a to "
        f"z in either case, "
        f"counted in lower case; words shorter than {least} letter{'s' * (least > 1)} do not count. With fewer "
        f"words it prints all; "
        "with an empty input nothing."
    )
    show = "print $1, $2" if order[0] == "c" else "print $2, $1"
    body = (
        "#!/bin/bash\ntr -cs 'A-Za-z' '\\n' | tr 'A-Z' 'a-z' | "
        f"awk 'length($0) >= {least}' | sort | uniq -c | LC_ALL=C sort -k1,1nr -k2,2 |\n"
        f"head -n \"$1\" | awk '{{ {show} }}'"
    )
    return _scenario(rng, pick(rng, ("topwords", "frequent", "wordlist.sh")), spec, body, cases)


def _csv_column(rng: np.random.Generator) -> Scenario:
    mark = pick(rng, (",", ";"))
    unknown, empty = some(rng, range(2, 10), 2)
    header = some(rng, ("id", "name", "town", "name2", "unit price"), 4)
    cases = []
    for column, count, end in ((header[3], 5, False), (header[0], 4, True), ("colour", 3, True), (header[1], 0, True)):
        rows = [[pick(rng, (*TOWNS, "", "x y", "*")) for _ in header] for _ in range(count)]
        for row in rows:
            row[3] = row[3] or "-"
        text = lines(mark.join(row) for row in [header, *rows])
        code = 0 if column in header else unknown
        answer = lines(row[header.index(column)] for row in rows) if column in header else ""
        cases.append(_Case([column], answer, text if end else _no_end(text), code))
    cases.append(_Case([header[0]], "", "", empty))
    spec = (
        f"It reads a table from standard input, fields between `{mark}` (never quoted), whose first line has the "
        f"names of the "
        "columns. Its argument is a column's full name; it prints the values of this column, one per line, "
        "without the header; "
        f"empty values are empty lines. Exit code: 0; {unknown} when there is no such column; {empty} when the "
        f"input is empty "
        "(no line at all). In the last two cases it prints nothing. The last line may lack its line end."
    )
    body = (
        f"#!/bin/bash\nawk -F'{mark}' -v name=\"$1\" 'NR == 1 {{ for (i = 1; i <= NF; i++) if ($i == name) c = i\n"
        f"  if (!c) {{ bad = {unknown}; exit }} next }}\n{{ print $c }}\nEND {{ exit (NR ? bad + 0 : {empty}) }}'"
    )
    return _scenario(rng, pick(rng, ("column", "pickcol", "field.sh")), spec, body, cases)


def _tidy_names(rng: np.random.Generator) -> Scenario:
    mark = pick(rng, ("_", "-"))
    word = pick(rng, ("skip", "kept", "exists"))
    cases = []
    for extra in ({}, {f"A B.txt": "new", f"a{mark}b.txt": "old", "-N X": "dash", ".Hidden One": "h"}):  # noqa: F541
        names = {f"{pick(rng, ('My', 'OLD', 'new'))} {name.capitalize()}.TXT": name for name in some(rng, GOODS, 3)}
        files = {**names, "plain.txt": "p", "sub/Not This.txt": "s", **extra}
        after, skipped = dict(files), []
        for name in sorted(n for n in files if "/" not in n and n[0] != "."):
            new = name.lower().replace(" ", mark)
            if new == name:
                continue
            if new in after:
                skipped.append(name)
            else:
                after[new] = after.pop(name)
        listing = lines(f"./d/{name}:{after[name]}" for name in sorted(after))
        files = {f"d/{name}": text for name, text in files.items()}
        cases.append(_Case(["d"], lines(f"{word} {name}" for name in skipped) + listing, files=files, then=_LIST))
    spec = (
        f"Its argument is a folder. It renames the files directly in it, in the order of `LC_ALL=C sort`: A-Z "
        f"become lower case and "
        f"each blank becomes `{mark}`. When something with the new name is there already, the file keeps its name "
        f"and the script "
        f"prints `{word} NAME`, with the old name. Else it prints nothing. Hidden files and files in subfolders "
        f"stay as they are; "
        "names may begin with a dash but have no line breaks. The exit code is 0."
    )
    body = (
        '#!/bin/bash\ncd -- "$1" || exit 1\nexport LC_ALL=C\nfor f in *; do\n  [ -f "$f" ] || continue\n'
        f"  n=$(printf '%s' \"$f\" | tr 'A-Z ' 'a-z{mark}')\n"
        '  [ "$n" = "$f" ] && continue\n  if [ -e "$n" ] || [ -L "$n" ]; then\n'
        f'    printf \'{word} %s\\n\' "$f"\n  else\n    mv -- "$f" "$n"\n  fi\ndone\nexit 0'
    ).replace("'a-z-'", "'a-z\\-'")
    return _scenario(rng, pick(rng, ("tidynames", "plainnames", "lower.sh")), spec, body, cases)


def _ini_get(rng: np.random.Generator) -> Scenario:
    no_key, no_section = some(rng, range(2, 10), 2)
    comment = pick(rng, (";", "#"))
    a, b = some(rng, SERVICES, 2)
    text = (
        f"{comment} first\nname = outside\n[{a}]\nport={between(rng, 100, 999)}\nname =  {pick(rng, TOWNS)} = big "
        f" \n{comment}path = no\n"
        f"[{b}]\nport = 1\n\n[{a} two]\nport = {between(rng, 10, 99)}\n[{a}]\n  port = "
        f"{between(rng, 1000, 9999)}\nempty =\n"
    )
    files = {"my conf.ini": text + f"[last]\nkey = {pick(rng, GOODS)}"}
    found: dict[str, dict[str, str]] = {}
    section = ""
    for line in files["my conf.ini"].split("\n"):
        line = line.strip()
        if line.startswith("["):
            section = line[1:-1]
            found.setdefault(section, {})
        elif "=" in line and line[0] != comment:
            key, _, value = line.partition("=")
            found.setdefault(section, {})[key.strip()] = value.strip()
    asked = [
        (a, "port"),
        (a, "name"),
        (a, "empty"),
        (b, "name"),
        (a, "path"),
        ("none", "port"),
        ("last", "key"),
        (a, "por."),
    ]
    cases = []
    for section, key in [*asked, (f"{a} two", "port")]:
        code = no_section if section not in found else 0 if key in found[section] else no_key
        answer = found[section][key] + "\n" if code == 0 else ""
        cases.append(_Case(["my conf.ini", section, key], answer, exit_code=code, files=files))
    spec = (
        "Arguments: FILE SECTION KEY. It prints the value of KEY in the section [SECTION] of an INI file: what "
        "is behind the first `=` "
        "of its line, without blanks at both ends (an empty value gives an empty line). A section may be there "
        "in several pieces; "
        f"of several values the last counts. Lines whose first character other than a blank is `{comment}` are "
        f"comments; other lines "
        f"are `[section]`, `key = value` with any blanks around key and value, or empty. It prints nothing and "
        f"ends with {no_section} "
        f"when the section does not exist, and with {no_key} when it has no such key. SECTION and KEY are texts, "
        f"not patterns. The "
        "last line may lack its line end."
    )
    body = (
        "#!/usr/bin/env python3\nimport sys\npath, section, key = sys.argv[1:]\nhere, seen, value = False, "
        "False, None\n"
        "for line in open(path):\n    line = line.strip()\n"
        f"    if not line or line[0] == '{comment}':\n        continue\n    if line[0] == '[':\n"
        "        here = line[1:-1] == section\n        seen = seen or here\n    elif here:\n"
        "        k, _, v = line.partition('=')\n        if k.strip() == key:\n            value = v.strip()\n"
        f"if not seen:\n    sys.exit({no_section})\nif value is None:\n    sys.exit({no_key})\nprint(value)"
    )
    return _scenario(rng, pick(rng, ("iniget", "getconf", "setting")), spec, body, cases)


def _by_ending(rng: np.random.Generator) -> Scenario:
    none, empty = pick(rng, ("(none)", "-", "none")), between(rng, 2, 9)
    by_size = pick(rng, (True, False))
    cases = []
    for _ in range(2):
        files = {
            f"d/{pick(rng, ('', 'a/', 'b c/', '.h/'))}{name}.{pick(rng, ('txt', 'md', 'LOG'))}": "x"
            * between(rng, 1, 90)
            for name in some(rng, GOODS, 6)
        }
        files |= {
            "d/README": "r" * between(rng, 1, 9),
            "d/.profile": "pp",
            "d/a.b/plain": "q",
            "d/two.tar.gz": "z" * 5,
            "d/end.": "e",
            "d/-dash.txt": "",
        }
        count: Counter[str] = Counter()
        size: Counter[str] = Counter()
        for path, text in files.items():
            name = path.rpartition("/")[2]
            stem, dot, ending = name.rpartition(".")
            ending = ending if dot and stem and ending else none
            count[ending] += 1
            size[ending] += len(text)
        chosen = size if by_size else count
        ranked = sorted(count, key=lambda e: (-chosen[e], e))
        cases.append(_Case(["d"], lines(f"{e} {count[e]} {size[e]}" for e in ranked), files=files))
    cases.append(_Case(["nowhere"], "", exit_code=empty))
    spec = (
        f"Its argument is a folder. For all regular files at any depth in it, hidden ones too, it prints per "
        f"ending a line `ENDING COUNT "
        f"BYTES`: the ending is what follows the last dot of the name; names without a dot, with the only dot as "
        f"their first character, "
        f"or with a dot as their last one count as `{none}`. Case matters. The lines with the largest "
        f"{'number of bytes' if by_size else 'count'} come first, equal ones in the order of `LC_ALL=C sort` of "
        f"the ending. When the "
        f"folder does not exist it prints nothing and ends with exit code {empty}."
    )
    column = 3 if by_size else 2
    body = (
        f'#!/bin/bash\n[ -d "$1" ] || exit {empty}\ncd -- "$1"\nfind . -type f -printf \'%s %f\\n\' | awk '
        f'\'{{ s = $1; sub(/^[0-9]+ /, "")\n'
        f'  e = "{none}"; if ($0 ~ /.[.][^.]+$/) {{ e = $0; sub(/^.*[.]/, "", e) }} n[e]++; b[e] += s }}\n'
        f"END {{ for (e in n) print e, n[e], b[e] }}' | LC_ALL=C sort -k{column},{column}nr -k1,1"
    )
    return _scenario(rng, pick(rng, ("endings", "bytype", "kinds.sh")), spec, body, cases)


def _rotate(rng: np.random.Generator) -> Scenario:
    missing = between(rng, 2, 9)
    dash = pick(rng, (".", "-"))
    cases = []
    shapes: list[tuple[str, list[int], int]] = [
        ("app.log", [], 3),
        ("app.log", [1, 2, 3], 3),
        ("my app.log", [1, 3, 4, 10, 11], 4),
        ("gone.log", [1, 2], 2),
        ("x.log", [1], 0),
    ]
    for name, ages, keep in shapes:
        files = {f"{name}{dash}{age}": f"part {age} {between(rng, 1, 99)}" for age in ages}
        files["other.log" + dash + "1"] = "other"
        there = name != "gone.log"
        after = dict(files)
        if there:
            files[name] = f"now {between(rng, 100, 999)}"
            after = {key: text for key, text in files.items() if not key.startswith(name)}
            after |= {f"{name}{dash}{age + 1}": files[f"{name}{dash}{age}"] for age in ages if age + 1 <= keep}
            after[name] = ""
            if keep >= 1:
                after[f"{name}{dash}1"] = files[name]
        listing = lines(f"./{key}:{after[key]}" for key in sorted(after))
        cases.append(_Case([name, str(keep)], listing, files=files, exit_code=0 if there else missing, then=_LIST))
    spec = (
        f"Arguments: FILE KEEP. It rotates FILE: each older part FILE{dash}N that exists (N = 1, 2, ...) is "
        f"renamed to FILE{dash}(N+1), "
        f"gaps included, then FILE becomes FILE{dash}1, and an empty FILE is made. Parts whose new number would "
        f"exceed KEEP are deleted, "
        "also when there are gaps; with KEEP 0 no part is left. No part gets lost by overwriting another. It "
        "prints nothing. When FILE "
        f"does not exist it changes nothing and ends with exit code {missing}. FILE may have blanks; other files stay."
    )
    body = (
        "#!/usr/bin/env python3\nimport os, re, sys\npath, keep = sys.argv[1], int(sys.argv[2])\nif not "
        "os.path.exists(path):\n"
        f"    sys.exit({missing})\nfolder, name = os.path.split(path)\nages = []\nfor other in os.listdir(folder "
        f"or '.'):\n"
        f"    m = re.fullmatch(re.escape(name) + r'[{dash}]([1-9][0-9]*)', other)\n    if m:\n        "
        f"ages.append(int(m[1]))\n"
        "for age in sorted(ages, reverse=True):\n"
        f"    if age + 1 > keep:\n        os.unlink(f'{{path}}{dash}{{age}}')\n"
        f"    else:\n        os.rename(f'{{path}}{dash}{{age}}', f'{{path}}{dash}{{age + 1}}')\n"
        f"if keep >= 1:\n    os.rename(path, f'{{path}}{dash}1')\nopen(path, 'w').close()"
    )
    return _scenario(rng, pick(rng, ("rotate", "turnlog", "shiftlogs")), spec, body, cases)


_GOALS = {
    1: (_column_sum, _count_lines, _reverse),
    2: (_words, _csv_column, _tidy_names),
    3: (_ini_get, _by_ending, _rotate),
}
