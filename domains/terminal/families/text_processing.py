"""Tables, logs and settings as text: filter, count, sum, join, clean and edit them with the usual tools."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

import numpy as np

from agentworld_envs.domains.terminal.checks import Check, FileCheck
from agentworld_envs.domains.terminal.draw import LOGINS, TOPICS, Draw
from agentworld_envs.domains.terminal.scenario import Entry, Level, Scenario, file

_TOWNS = ("Altenau", "Brisk", "Corvo", "Dellwick", "Estrade", "Fjorden", "Galmar", "Hollin", "Istra", "Jarrow")
_METHODS = ("GET", "GET", "GET", "POST", "PUT", "DELETE")
_STATUS = (200, 200, 200, 200, 204, 301, 404, 404, 403, 500, 503)
_DAY = "2024-03-{:02d}"


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: one file, one filter, sum or edit; 2: groups, ties, joins and cleaning; 3: several files with headers,
    comments, malformed lines, quoted fields and sections that a plain search would get wrong."""
    draw = Draw(rng)
    makers = {
        1: (_column_values, _column_sum, _status_lines, _set_option),
        2: (_totals, _join, _clean_list, _busiest),
        3: (_messy_orders, _latest_state, _section_option, _layers),
    }
    return draw.pick(makers[level])(draw)


def _scenario(files: dict[str, str], instruction: str, answers: dict[str, str], solution: Sequence[str]) -> Scenario:
    """Answers are compared as text; files that are no answers have to stay as they are."""
    entries: dict[str, Entry] = {f"/workspace/{name}": file(text) for name, text in files.items()}
    checks: list[Check] = [FileCheck(path=f"/workspace/{name}", text=text) for name, text in answers.items()]
    checks += [FileCheck(path=f"/workspace/{name}", text=text) for name, text in files.items() if name not in answers]
    return Scenario(instruction, entries, checks, solution)


def _orders(draw: Draw, count: int) -> list[tuple[str, str, str, int, int]]:
    """Number, day, town, article's quantity and cents, of one company's orders."""
    towns = draw.some(_TOWNS, 6)
    return [
        (
            f"{10_000 + 7 * number}",
            _DAY.format(draw.between(1, 28)),
            draw.pick(towns),
            draw.between(1, 30),
            draw.between(150, 9_900),
        )
        for number in range(count)
    ]


def _access_log(draw: Draw, count: int) -> list[tuple[str, str, str, str, int, int]]:
    """Time, address, method, path, status, bytes."""
    rows = []
    second = draw.between(0, 900)
    for _ in range(count):
        second += draw.between(5, 700)
        clock = f"{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        path = f"/{draw.pick(TOPICS)}/{draw.pick(('list', 'view', 'edit', '200', '404'))}"
        address = f"10.0.{draw.between(0, 3)}.{draw.between(2, 9)}"
        rows.append((clock, address, draw.pick(_METHODS), path, draw.pick(_STATUS), draw.between(90, 9_000)))
    return rows


# -- level 1 -------------------------------------------------------------------------------------------------------


def _column_values(draw: Draw) -> Scenario:
    rows = _orders(draw, draw.between(25, 45))
    name = f"{draw.company().lower()}_orders.csv"
    text = "order,day,town,quantity,cents\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows)
    index, column = draw.pick(((1, "day"), (2, "town")))
    values = sorted({str(row[index]) for row in rows})
    counted = draw.chance(0.5)
    answer = f"{len(values)}\n" if counted else "\n".join(values) + "\n"
    what = (
        f"How many different values does the column `{column}` have? Write the number alone"
        if counted
        else f"Write every different value of the column `{column}` once, one per line, sorted as by `LC_ALL=C sort`,"
    )
    return _scenario(
        {name: text},
        f"/workspace/{name} is a table with a header line. {what} to /workspace/values.txt. The header is no value.",
        {"values.txt": answer},
        [f"tail -n +2 {name} | cut -d, -f{index + 1} | LC_ALL=C sort -u {'| wc -l ' if counted else ''}> values.txt"],
    )


def _column_sum(draw: Draw) -> Scenario:
    rows = _orders(draw, draw.between(25, 45))
    town = draw.pick(rows)[2]
    name = f"sales_{draw.company().lower()}.tsv"
    text = "order\tday\ttown\tquantity\tcents\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows)
    index, column = draw.pick(((3, "quantity"), (4, "cents")))
    total = sum(int(row[index]) for row in rows if row[2] == town)
    return _scenario(
        {name: text},
        f"In the tab-separated table /workspace/{name}, add up the column `{column}` over all rows whose town is "
        f"{town}. Write the sum, as a number alone, to /workspace/{column}.txt.",
        {f"{column}.txt": f"{total}\n"},
        [f"awk -F'\\t' '$3 == \"{town}\" {{ n += ${index + 1} }} END {{ print n }}' {name} > {column}.txt"],
    )


def _status_lines(draw: Draw) -> Scenario:
    rows = _access_log(draw, draw.between(35, 60))
    status = draw.pick(sorted({row[4] for row in rows}))
    lines = ["{} {} {} {} {} {}".format(*row) for row in rows]
    hits = [line for line, row in zip(lines, rows, strict=True) if row[4] == status]
    log = f"{draw.pick(TOPICS)}-access.log"
    kind = draw.pick(("lines", "paths"))
    paths = sorted({row[3] for row in rows if row[4] == status})
    ask, answer = {
        "lines": ("Copy all lines with", "\n".join(hits)),
        "paths": ("Write once each, sorted as by `LC_ALL=C sort`, the paths of all lines with", "\n".join(paths)),
    }[kind]
    command = (
        f"awk '$5 == {status}' {log} > status.txt"
        if kind == "lines"
        else f"awk '$5 == {status} {{ print $4 }}' {log} | LC_ALL=C sort -u > status.txt"
    )
    return _scenario(
        {log: "\n".join(lines) + "\n"},
        f"Each line of /workspace/{log} has six fields: time, address, method, path, status and bytes. {ask} the "
        f"status {status} to /workspace/status.txt{', in their order' if kind == 'lines' else ''}.",
        {"status.txt": answer + "\n"},
        [command],
    )


def _options(draw: Draw, count: int) -> list[tuple[str, str]]:
    names = [f"{topic}_{word}" for topic in TOPICS for word in ("limit", "timeout", "retries", "port")]
    return [(name, str(draw.between(2, 9_000))) for name in draw.some(names, count)]


def _set_option(draw: Draw) -> Scenario:
    options = _options(draw, 12)
    key, old = draw.pick(options)
    new = str(int(old) + draw.between(1, 500))
    decoy = [(f"old_{key}", old), (f"{key}_max", old)]
    everything = draw.shuffled([*options, *decoy])
    name = f"{draw.company().lower()}.conf"
    lines = [f"# settings of {draw.pick(TOPICS)}", *(f"{k} = {v}" for k, v in everything)]
    after = [f"{key} = {new}" if line == f"{key} = {old}" else line for line in lines]
    return _scenario(
        {name: "\n".join(lines) + "\n"},
        f"In /workspace/{name}, change the value of the option `{key}` to {new}. Every other line, and the form of "
        "this one, stays as it is.",
        {name: "\n".join(after) + "\n"},
        [f"sed -i 's/^{key} = .*/{key} = {new}/' {name}"],
    )


# -- level 2 -------------------------------------------------------------------------------------------------------


def _totals(draw: Draw) -> Scenario:
    rows = _orders(draw, draw.between(30, 50))
    index, column = draw.pick(((1, "day"), (2, "town")))
    totals: Counter[str] = Counter()
    for row in rows:
        totals[str(row[index])] += row[3] * row[4]
    top = draw.between(3, 4)
    ranked = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    tie = ranked[top - 1]
    other = ranked[top][0]  # the first that is left out is made as large as the last that is in
    rows.append(("99990", *(("2024-03-01", other) if index == 2 else (other, rows[0][2])), 1, tie[1] - totals[other]))
    totals[other] = tie[1]
    ranked = sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:top]
    text = "order;day;town;quantity;cents\n" + "".join(f"{';'.join(map(str, row))}\n" for row in rows)
    return _scenario(
        {"orders.csv": text},
        f"/workspace/orders.csv, separated by semicolons, lists orders of {draw.company()}: an order is worth "
        f"quantity times cents. For each value of `{column}`, add up what its orders are worth. Write the {top} "
        f"largest to /workspace/top.txt, one per line as `{column} total` with one blank in between, the largest "
        f"first; equal totals are in the order of `LC_ALL=C sort` of the {column}, also when it is decided which one "
        f"is still among the {top}.",
        {"top.txt": "".join(f"{key} {value}\n" for key, value in ranked)},
        [
            f"tail -n +2 orders.csv | awk -F';' '{{ t[${index + 1}] += $4 * $5 }} END {{ for (k in t) print k, t[k] "
            f"}}' | LC_ALL=C sort -k2,2nr -k1,1 | head -n {top} > top.txt"
        ],
    )


def _join(draw: Draw) -> Scenario:
    people = draw.some(LOGINS, 12)
    ids = [f"u{draw.between(100, 999)}{number}" for number in range(12)]
    teams = draw.some(TOPICS, 4)
    staff = [(ident, name, draw.pick(teams)) for ident, name in zip(ids, people, strict=True)]
    hours = [(draw.pick(ids[:10]), _DAY.format(draw.between(1, 28)), draw.between(1, 9)) for _ in range(30)]
    hours += [(f"u{draw.between(10, 99)}x", _DAY.format(draw.between(1, 28)), 5) for _ in range(3)]
    hours = draw.shuffled(hours)
    everyone = draw.chance(0.5)
    sums = {ident: sum(h for who, _, h in hours if who == ident) for ident in ids}
    rows = sorted(f"{name},{team},{sums[ident]}" for ident, name, team in staff if everyone or sums[ident])
    rule = "with 0 if there are none" if everyone else "but nobody without hours"
    awk = "for (i in n) if (s[i] > 0) print" if not everyone else "for (i in n) print"
    return _scenario(
        {
            "staff.csv": "".join(f"{','.join(row)}\n" for row in draw.shuffled(staff)),
            "hours.csv": "".join(f"{ident},{day},{count}\n" for ident, day, count in hours),
        },
        "/workspace/staff.csv has the fields id,name,team and /workspace/hours.csv has id,day,hours; neither has a "
        f"header. Write /workspace/summary.csv with one line name,team,hours for each person of staff.csv, {rule}; "
        "the hours are the sum over all days. Ids that staff.csv does not know are left out. Sort the lines as "
        "`LC_ALL=C sort` does.",
        {"summary.csv": "\n".join(rows) + "\n"},
        [
            f'awk -F, \'NR == FNR {{ n[$1] = $2 "," $3; next }} $1 in n {{ s[$1] += $3 }} END {{ {awk} n[i] "," '
            "s[i] + 0 }' staff.csv hours.csv | LC_ALL=C sort > summary.csv"
        ],
    )


def _clean_list(draw: Draw) -> Scenario:
    domain = f"{draw.company().lower()}.example"
    names = draw.some(LOGINS, 14)
    lines = []
    for name in [*names, *draw.some(names, 8)]:
        address = f"{name}.{draw.pick(TOPICS[:3])}@{domain}"
        address = draw.pick((address, address, address.upper(), address.capitalize()))
        lines.append(draw.pick(("", "", "  ", "\t")) + address + draw.pick(("", "", " ", "   ")))
    for noise in ("", "   ", f"# exported from {draw.pick(TOPICS)}", "  # no longer used"):
        lines.insert(draw.between(1, len(lines)), noise)
    seen: list[str] = []
    for line in lines:
        address = line.strip().lower()
        if address and not address.startswith("#") and address not in seen:
            seen.append(address)
    in_order = draw.chance(0.5)
    order = "in the order of their first appearance" if in_order else "sorted as by `LC_ALL=C sort`"
    return _scenario(
        {"addresses.txt": "\n".join(lines) + "\n"},
        "/workspace/addresses.txt was collected by hand. Write /workspace/clean.txt: every address once, in lower "
        f"case, without blanks or tabs around it, one per line, {order}. Addresses that differ only in case or in the "
        "blanks around them are the same. Leave out empty lines and comments (the first character that is no blank is "
        "#).",
        {"clean.txt": "\n".join(seen if in_order else sorted(seen)) + "\n"},
        [
            "tr 'A-Z' 'a-z' < addresses.txt | sed 's/^[[:space:]]*//; s/[[:space:]]*$//' | grep -v -e '^$' -e '^#' | "
            + ("awk '!s[$0]++' > clean.txt" if in_order else "LC_ALL=C sort -u > clean.txt")
        ],
    )


def _busiest(draw: Draw) -> Scenario:
    rows = _access_log(draw, draw.between(60, 90))
    errors = draw.chance(0.5)
    counts: Counter[str] = Counter(row[0][:2] for row in rows if not errors or row[4] >= 400)
    text = "".join("{} {} {} {} {} {}\n".format(*row) for row in rows)
    what = "lines with a status of 400 or more" if errors else "lines"
    test = "$5 >= 400 " if errors else ""
    answer = "".join(f"{hour} {count}\n" for hour, count in sorted(counts.items(), key=lambda kv: (-kv[1], kv[0])))
    return _scenario(
        {"requests.log": text},
        "Each line of /workspace/requests.log has six fields: time (hh:mm:ss), address, method, path, status, bytes. "
        f"Count the {what} of each hour. Write /workspace/hours.txt with one line `hh count` for each hour that has "
        "any, the highest count first; hours with equal counts in ascending order.",
        {"hours.txt": answer},
        [
            f"awk '{test}{{ n[substr($1, 1, 2)]++ }} END {{ for (h in n) print h, n[h] }}' requests.log | "
            "LC_ALL=C sort -k2,2nr -k1,1 > hours.txt"
        ],
    )


# -- level 3 -------------------------------------------------------------------------------------------------------


def _messy_orders(draw: Draw) -> Scenario:
    rows = _orders(draw, 36)
    totals: Counter[str] = Counter()
    bad = 0
    parts: dict[str, list[str]] = {f"orders/{name}": [] for name in ("week 1.csv", "-week2.csv", "week_3.csv")}
    for name in parts:
        parts[name].append("order,customer,town,quantity,cents")
    for number, (order, _, town, quantity, cents) in enumerate(rows):
        name = sorted(parts)[number % 3]
        firm = f"{draw.company()}{draw.pick(('', ', Ltd', ' & Sons, Inc'))}"
        shown = f'"{firm}"' if "," in firm or draw.chance(0.2) else firm
        fault = draw.chance(0.2)
        fields = [order, shown, town, str(quantity), str(cents)]
        if fault:
            bad += 1
            kind = draw.between(0, 2)
            fields = fields[:4] if kind == 0 else fields
            fields[3] = {0: fields[3], 1: "n/a", 2: f"-{quantity}"}[kind]
        else:
            totals[town] += quantity * cents
        parts[name].append(",".join(fields))
    ending = "\r\n" if draw.chance(0.5) else "\n"
    texts = {name: ending.join(lines) + ending for name, lines in parts.items()}
    answer = json.dumps({"skipped": bad, "totals": dict(sorted(totals.items()))})
    program = """\
cat > /tmp/totals.py <<'END'
import csv, glob, json
totals, skipped = {}, 0
for name in glob.glob('/workspace/orders/*.csv'):
    for row in list(csv.reader(open(name, newline='')))[1:]:
        if len(row) == 5 and row[3].isdigit() and row[4].isdigit():
            totals[row[2]] = totals.get(row[2], 0) + int(row[3]) * int(row[4])
        else:
            skipped += 1
json.dump({'totals': totals, 'skipped': skipped}, open('/workspace/totals.json', 'w'))
END"""
    scenario = _scenario(
        texts,
        "The CSV files in /workspace/orders have a header line and the columns order,customer,town,quantity,cents; a "
        "field "
        'with a comma in it is in double quotes. Write /workspace/totals.json: an object with "totals", an object '
        "from town "
        "to the sum of quantity times cents over all good rows of all files (towns without good rows are left out), "
        "and "
        '"skipped", the number of bad rows. A row is bad if it does not have exactly five fields, or if quantity or '
        "cents is "
        "not made of digits alone. Header lines are not rows. Leave the files as they are.",
        {},
        [program, "cd /tmp && python3 totals.py"],
    )
    return _with(scenario, FileCheck(path="/workspace/totals.json", text=answer, compare="json"))


def _with(scenario: Scenario, *checks: Check) -> Scenario:
    return Scenario(scenario.instruction, scenario.files, [*scenario.checks, *checks], scenario.solution)


def _latest_state(draw: Draw) -> Scenario:
    machines = [f"{draw.pick(TOPICS)}-{number}" for number in draw.some(range(1, 40), 8)]
    events: list[tuple[int, str, str]] = []
    moment = draw.between(100, 500)
    for _ in range(40):
        moment += draw.between(0, 2) * draw.between(1, 90)
        events.append((moment, draw.pick(machines), draw.pick(("up", "up", "down", "drain"))))
    state: dict[str, str] = {}
    for _, machine, word in events:
        state[machine] = word
    lines = [f"{when} {machine} {word}" for when, machine, word in events]
    for _ in range(6):
        fake = draw.pick(machines)
        last = draw.pick(("{m} down", "9999999 {m}", "soon {m} down", "# 9999999 {m} down", "9999999 {m} down now"))
        lines.insert(draw.between(0, len(lines)), last.format(m=fake))
    cut = draw.between(18, 26)
    word = draw.pick(sorted(set(state.values())))
    answer = sorted(machine for machine, now in state.items() if now == word)
    return _scenario(
        {"events/.older.log": "\n".join(lines[:cut]) + "\n", "events/recent.log": "\n".join(lines[cut:]) + "\n"},
        "/workspace/events holds the log of machines in two parts: all of .older.log comes before recent.log. A good "
        "line is `seconds machine state`: exactly three fields, the first made of digits alone; skip all other lines. "
        "Within a part later lines are later events, also where the seconds are equal. Write the names of all "
        f"machines whose last state is `{word}` to /workspace/machines.txt, one per line, sorted as by `LC_ALL=C "
        "sort`.",
        {"machines.txt": "\n".join(answer) + "\n"},
        [
            "cat events/.older.log events/recent.log | awk 'NF == 3 && $1 ~ /^[0-9]+$/ { s[$2] = $3 } END "
            f'{{ for (m in s) if (s[m] == "{word}") print m }}\' | LC_ALL=C sort > machines.txt'
        ],
    )


def _section_option(draw: Draw) -> Scenario:
    sections = draw.some(TOPICS, 4)
    key = draw.pick(("timeout", "workers", "retries", "cache_mb"))
    target = draw.pick(sections)
    new = draw.between(1_000, 1_999)
    before: list[str] = []
    after: list[str] = []
    for section in sections:
        rest = [(name, draw.between(1, 900)) for name in draw.some(("host_id", "queue", "burst", "window"), 2)]
        old = draw.between(1, 900)
        block = [f"{name} = {value}" for name, value in rest] + [f"{key} = {old}"]
        block = draw.shuffled(block)
        block.insert(0, f"# {key} = {draw.between(1, 900)} was too little")
        block.insert(2, f"{key}_old = {old}")
        before += [f"[{section}]", *block, ""]
        changed = [f"{key} = {new}" if section == target and line == f"{key} = {old}" else line for line in block]
        after += [f"[{section}]", *changed, ""]
    name = f".{draw.company().lower()} settings.ini"
    return _scenario(
        {f"etc/{name}": "\n".join(before)},
        f"The settings file in /workspace/etc (its name is a little odd) has sections in square brackets. Set `{key}` "
        f"to {new} in the section [{target}] only, in the form `name = value`. Comments, other options and other "
        "sections stay exactly as they are.",
        {f"etc/{name}": "\n".join(after)},
        [f"sed -i '/^\\[{target}\\]/,/^$/ s/^{key} = .*/{key} = {new}/' 'etc/{name}'"],
    )


def _layers(draw: Draw) -> Scenario:
    base = dict(_options(draw, 12))
    keys = sorted(base)
    merged = dict(base)
    files = {"conf.d/00-base.conf": [f"{key}={value}" for key, value in draw.shuffled(list(base.items()))]}
    for name in (f"05-{draw.pick(TOPICS)}.conf", "10-local.conf", "9-late.conf"):  # 9 sorts behind 10
        lines = [f"# changes by {draw.pick(LOGINS)}"]
        for key in draw.some(keys, 4):
            if draw.chance(0.25) and key in merged:
                lines.append(f"!{key}")
                del merged[key]
            else:
                merged[key] = str(draw.between(2, 9_000))
                lines.append(f"{key}={merged[key]}")
        files[f"conf.d/{name}"] = lines
    files["conf.d/20-off.conf.disabled"] = [f"{key}=1" for key in draw.some(keys, 3)]
    files["conf.d/99-notes.txt"] = [f"{key}=2" for key in draw.some(keys, 3)]
    return _scenario(
        {name: "\n".join(lines) + "\n" for name, lines in files.items()},
        "The service reads all files in /workspace/conf.d whose names end in .conf, in the order of `LC_ALL=C sort` "
        "of their names, and each from top to bottom: `name=value` sets an option, whatever was set before; `!name` "
        "removes it; lines that begin with # say nothing. Write what it ends up with to /workspace/effective.conf, "
        "one `name=value` per line, sorted as by `LC_ALL=C sort`. Leave the files in conf.d as they are.",
        {"effective.conf": "".join(f"{key}={merged[key]}\n" for key in sorted(merged))},
        [
            "export LC_ALL=C; cat conf.d/*.conf | awk -F= '/^#/ { next } /^!/ { delete v[substr($0, 2)]; next } "
            '{ v[$1] = $2 } END { for (k in v) print k "=" v[k] }\' | sort > effective.conf'
        ],
    )
