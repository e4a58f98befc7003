"""Tables in CSV, TSV and JSON lines that have to be filtered, joined, grouped, cleaned or turned."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from agentworld_envs.domains.terminal.checks import FileCheck
from agentworld_envs.domains.terminal.ingredients import (
    GOODS,
    LOGINS,
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

_KEEP = " Leave the input as it is."
_MONTHS = ("2024-01", "2024-02", "2024-03", "2024-04", "2024-05")


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: filter and add up one table; 2: join, group, convert or drop doubles; 3: several or broken tables."""
    return pick(rng, _GOALS[level])(rng)


def _scenario(
    rng: np.random.Generator, texts: dict[str, str], ask: str, checks: Sequence[FileCheck], command: str, *needs: str
) -> Scenario:
    files: dict[str, Entry] = {path: file(text) for path, text in texts.items()}
    return Scenario(opening(rng) + ask + _KEEP, files, [*checks, *unchanged(files)], [command], needs=needs)


def _folder(rng: np.random.Generator) -> str:
    return f"/workspace/{pick(rng, ('data', 'export', 'tables', 'incoming', 'q1'))}"


def _python(body: str, out: str) -> str:
    return f"python3 - > {out} <<'END'\nimport collections, csv, glob, json, sys\n{body}\nEND"


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def _csv(rows: Iterable[Sequence[object]], quote_all: bool = False) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL).writerows(rows)
    return text.getvalue()


def _sum_column(rng: np.random.Generator) -> Scenario:
    town, *others = some(rng, TOWNS, 4)
    rows, total = [], 0
    for number in range(between(rng, 18, 40)):
        where = pick(rng, (town, *others)) if number else town
        cents = between(rng, 100, 99999)
        total += cents if where == town else 0
        rows.append((1001 + number, where, pick(rng, GOODS), _money(cents)))
    path, out = f"{_folder(rng)}/{pick(rng, ('sales', 'orders', 'invoices'))}.csv", answer_path(rng)
    ask = pick(
        rng,
        (
            f"Add up the column `amount` of {path} over all rows whose `town` is {town}. Write the sum with two "
            f"decimals "
            f"to {out}.",
            f"What is the total `amount` for the town {town} in {path}? Put it with two decimals (like 1234.50, "
            f"no other "
            f"text) into {out}.",
        ),
    )
    command = f"""awk -F, '$2 == "{town}" {{ s += $4 }} END {{ printf "%.2f\\n", s }}' {path} > {out}"""
    check = FileCheck(path=out, text=_money(total) + "\n", compare="numbers", tolerance=1e-3)
    return _scenario(rng, {path: _csv([("id", "town", "item", "amount"), *rows])}, ask, [check], command)


def _columns(rng: np.random.Generator) -> Scenario:
    names = ["login", "team", "desk", "phone"]
    teams = some(rng, ("sales", "support", "depot", "design", "legal"), 3)
    rows = [
        (login, pick(rng, teams), f"D{between(rng, 10, 99)}", str(between(rng, 2000, 8999)))
        for login in some(rng, LOGINS, between(rng, 10, 18))
    ]
    keep = some(rng, range(4), 2)
    team = rows[0][1]
    found = sorted("\t".join(row[i] for i in keep) for row in rows if row[1] == team)
    path, out = f"{_folder(rng)}/staff.tsv", answer_path(rng, "tsv")
    ask = (
        f"{path} has tab-separated columns and a header line. For the rows with team {team} write the columns "
        f"{names[keep[0]]} and {names[keep[1]]}, in this order and separated by one tab, to {out}: no header, the "
        f"lines "
        "sorted as by `LC_ALL=C sort`."
    )
    command = (
        f"""awk -F'\\t' -v OFS='\\t' '$2 == "{team}" {{ print ${keep[0] + 1}, ${keep[1] + 1} }}' {path} |\n"""
        f"LC_ALL=C sort > {out}"
    )
    text = lines("\t".join(row) for row in [names, *rows])
    return _scenario(rng, {path: text}, ask, [FileCheck(path=out, text=lines(found))], command)


def _json_filter(rng: np.random.Generator) -> Scenario:
    limit = between(rng, 20, 60)
    field = pick(rng, ("stock", "weight", "score"))
    # One value equals the limit: "more than" and "at least" differ.
    rows = [
        {"item": name, field: between(rng, 0, 90), "shelf": f"S{between(rng, 1, 9)}"} for name in shuffled(rng, GOODS)
    ]
    rows[3][field] = limit
    rows[5][field] = limit + 7
    found = sorted(str(row["item"]) for row in rows if int(str(row[field])) > limit)
    path, out = f"{_folder(rng)}/items.jsonl", answer_path(rng)
    ask = pick(
        rng,
        (
            f"{path} has one JSON object per line. List the `item` of those whose `{field}` is more than {limit}, one "
            f"per line in alphabetical order, in {out}.",
            f"Which items of {path} (JSON, one object per line) have a `{field}` above {limit}? Write their names to "
            f"{out}, sorted, each on its own line. {limit} itself is not above.",
        ),
    )
    command = f"jq -r 'select(.{field} > {limit}) | .item' {path} | LC_ALL=C sort > {out}"
    texts = {path: lines(json.dumps(row) for row in rows)}
    return _scenario(rng, texts, ask, [FileCheck(path=out, text=lines(found))], command, "jq")


def _group(rng: np.random.Generator) -> Scenario:
    goods, towns = some(rng, GOODS, 5), some(rng, TOWNS, 4)
    key = pick(rng, ("item", "town"))
    total: dict[str, int] = defaultdict(int)
    count: Counter[str] = Counter()
    rows = []
    for _ in range(between(rng, 30, 60)):
        row = {"item": pick(rng, goods), "town": pick(rng, towns), "state": pick(rng, ("paid", "paid", "void"))}
        pieces, cents = between(rng, 1, 9), between(rng, 50, 9999)
        rows.append((row["town"], row["item"], pieces, _money(cents), row["state"]))
        if row["state"] == "paid":
            total[row[key]] += pieces * cents
            count[row[key]] += 1
    path, out = f"{_folder(rng)}/sales.csv", answer_path(rng, "csv")
    ask = (
        f"{path} lists sales. Over the rows whose `state` is paid, write for each `{key}` how many rows there are and "
        f"the revenue, which is the sum of pieces times price. Output: CSV in {out} with the header "
        f"`{key},rows,revenue`,"
        f" revenue with two decimals, sorted by {key} as by `LC_ALL=C sort`. What has no paid rows is left out."
    )
    column = 2 if key == "item" else 1
    command = (
        f"{{ echo {key},rows,revenue\n"
        f'awk -F, \'$5 == "paid" {{ n[${column}]++; s[${column}] += $3 * $4 }}\n'
        f'END {{ for (k in n) printf "%s,%d,%.2f\\n", k, n[k], s[k] }}\' {path} | LC_ALL=C sort; }} > {out}'
    )
    answer = [f"{k},{count[k]},{_money(v)}" for k, v in sorted(total.items())]
    text = _csv([("town", "item", "pieces", "price", "state"), *rows])
    return _scenario(
        rng, {path: text}, ask, [FileCheck(path=out, text=lines([f"{key},rows,revenue", *answer]))], command
    )


def _join(rng: np.random.Generator) -> Scenario:
    people = some(rng, LOGINS, between(rng, 7, 11))
    ids = some(rng, range(100, 999), len(people))
    orders = [
        (5000 + n, ids[between(rng, 0, len(ids) - 2)], between(rng, 100, 20000)) for n in range(between(rng, 18, 30))
    ]
    # Orders of a customer who is not in the table are left out; the last customer has none.
    orders.append((4999, 99, 500))
    folder, out = _folder(rng), answer_path(rng, "csv")
    spent: Counter[int] = Counter()
    for _, who, cents in orders:
        spent[who] += cents
    ranked = sorted(zip(people, ids, strict=True), key=lambda item: (-spent[item[1]], item[0]))
    answer = [f"{name},{_money(spent[number])}" for name, number in ranked]
    ask = (
        f"{folder}/customers.csv has `id,name`, {folder}/orders.csv has `order,customer,amount`, where customer "
        f"is an id. "
        f"Write to {out} a line `name,total` for every customer, also for those without orders (0.00): total is "
        f"the sum "
        "of their amounts with two decimals. No header; largest total first, equal ones by name. Ignore orders whose "
        "customer is unknown."
    )
    body = (
        f"total = collections.Counter()\nfor row in csv.DictReader(open('{folder}/orders.csv')):\n"
        "    total[row['customer']] += round(float(row['amount']) * 100)\n"
        f"rows = [(-total[r['id']], r['name']) for r in csv.DictReader(open('{folder}/customers.csv'))]\n"
        "for cents, name in sorted(rows):\n    print(f'{name},{-cents / 100:.2f}')"
    )
    texts = {
        f"{folder}/customers.csv": _csv([("id", "name"), *shuffled(rng, list(zip(ids, people, strict=True)))]),
        f"{folder}/orders.csv": _csv(
            [("order", "customer", "amount"), *((a, b, _money(c)) for a, b, c in shuffled(rng, orders))]
        ),
    }
    return _scenario(rng, texts, ask, [FileCheck(path=out, text=lines(answer))], _python(body, out))


def _latest(rng: np.random.Generator) -> Scenario:
    devices = [f"dev-{n}" for n in some(rng, range(10, 99), between(rng, 5, 8))]
    field = pick(rng, ("firmware", "room", "battery"))
    rows = [
        {"device": pick(rng, devices), "version": version, field: between(rng, 1, 400)}
        for version in some(rng, range(8, 200), between(rng, 24, 40))
    ]
    # As texts, 9 comes after 100.
    rows += [{"device": devices[0], "version": 9 if n else 210, field: 500 + n} for n in range(2)]
    best: dict[str, dict[str, object]] = {}
    for row in sorted(rows, key=lambda row: int(str(row["version"]))):
        best[str(row["device"])] = row
    path, out = f"{_folder(rng)}/readings.jsonl", answer_path(rng, "json")
    ask = (
        f"{path} has one JSON object per line; a device may be there several times, in any order. Keep for each device "
        f"only the object with the highest `version` (a number; no device has the same one twice). Write to {out} one "
        f"JSON object that maps each device to its `{field}` of that version."
    )
    body = (
        f"best = {{}}\nfor line in open('{path}'):\n    r = json.loads(line)\n"
        "    if r['device'] not in best or r['version'] > best[r['device']]['version']:\n        "
        "best[r['device']] = r\n"
        f"print(json.dumps({{d: r['{field}'] for d, r in best.items()}}))"
    )
    answer = json.dumps({device: row[field] for device, row in best.items()})
    texts = {path: lines(json.dumps(row) for row in shuffled(rng, rows))}
    return _scenario(rng, texts, ask, [FileCheck(path=out, text=answer, compare="json")], _python(body, out))


def _units(rng: np.random.Generator) -> Scenario:
    units, base = pick(
        rng, (({"g": 1, "kg": 1000}, "g"), ({"mm": 1, "cm": 10, "m": 1000}, "mm"), ({"s": 1, "min": 60}, "s"))
    )
    goods = some(rng, GOODS, between(rng, 4, 6))
    total: Counter[str] = Counter()
    rows = []
    for n in range(between(rng, 20, 36)):
        name, unit, amount = pick(rng, goods), list(units)[n % len(units)], between(rng, 1, 900)
        total[name] += amount * units[unit]
        rows.append(f"{name};{amount}{pick(rng, ('', ' '))}{unit}")
    path, out = f"{_folder(rng)}/measures.txt", answer_path(rng)
    known = ", ".join(f"1 {unit} = {size} {base}" for unit, size in units.items() if size > 1)
    ask = (
        f"Lines of {path} are a name, a semicolon, and a whole number with a unit ({', '.join(units)}), with or "
        f"without a "
        f"blank between them. Convert all to {base} ({known}) and write for each name a line `name total` to "
        f"{out}: the "
        "sum as a plain whole number without unit. Sort by name."
    )
    body = (
        f"import re\ntotal = collections.Counter()\nfor line in open('{path}'):\n"
        f"    name, n, unit = re.match(r'(\\w+);(\\d+) ?(\\w+)', line).groups()\n    total[name] += int(n) * "
        f"{units!r}[unit]\n"
        "for name in sorted(total):\n    print(name, total[name])"
    )
    answer = lines(f"{name} {amount}" for name, amount in sorted(total.items()))
    return _scenario(rng, {path: lines(rows)}, ask, [FileCheck(path=out, text=answer)], _python(body, out))


def _rejects(rng: np.random.Generator) -> Scenario:
    shops = [
        f"{town} {kind}, {pick(rng, ('north', 'south'))}"
        for town, kind in zip(some(rng, TOWNS, 4), ("Mart", "Depot", "Mart", "Store"), strict=True)
    ]
    total: Counter[str] = Counter()
    good, bad = [], []
    for n in range(between(rng, 22, 40)):
        cents = between(rng, 100, 500000)
        price = f"{cents // 100:,}.{cents % 100:02d}"
        row = [str(n + 1), shops[n % 4], price]
        if n % 6 == 4:
            bad.append(pick(rng, ([row[0], row[1]], [row[0], row[1], "n/a"], [row[0], row[1], ""], [*row, "extra"])))
        else:
            good.append(row)
            total[row[1]] += cents
    folder, out = _folder(rng), answer_path(rng, "csv")
    bad = bad[:]
    ask = (
        f"{folder}/takings.csv is CSV with quoted fields and the header `row,shop,amount`; amounts may have commas for "
        "thousands. A data row is malformed unless it has exactly three fields and its amount, without commas, is a "
        f"number. Write to {out}, as CSV with the header `shop,total`, the sum per shop over the good rows (two "
        f"decimals,"
        " no commas in the number, sorted by shop), and to "
        f"{folder}/rejected.txt the `row` numbers of the malformed ones, one per line, ascending."
    )
    body = (
        f"total, bad = collections.Counter(), []\nrows = csv.reader(open('{folder}/takings.csv', "
        f"newline=''))\nnext(rows)\n"
        "for row in rows:\n    try:\n        _, shop, amount = row\n"
        "        total[shop] += round(float(amount.replace(',', '')) * 100)\n"
        "    except ValueError:\n        bad.append(int(row[0]))\n"
        "w = csv.writer(sys.stdout, lineterminator='\\n')\nw.writerow(['shop', 'total'])\n"
        "for shop in sorted(total):\n    w.writerow([shop, f'{total[shop] / 100:.2f}'])\n"
        f"open('{folder}/rejected.txt', 'w').writelines(f'{{n}}\\n' for n in sorted(bad))"
    )
    answer = _csv([("shop", "total"), *((shop, _money(cents)) for shop, cents in sorted(total.items()))])
    checks = [
        FileCheck(path=out, text=answer),
        FileCheck(path=f"{folder}/rejected.txt", text=lines(sorted(int(row[0]) for row in bad))),
    ]
    text = _csv([("row", "shop", "amount"), *shuffled(rng, [*good, *bad])], quote_all=True)
    return _scenario(rng, {f"{folder}/takings.csv": text}, ask, checks, _python(body, out))


def _several(rng: np.random.Generator) -> Scenario:
    folder, out = _folder(rng), answer_path(rng, "csv")
    goods = some(rng, GOODS, 5)
    total: Counter[str] = Counter()
    texts = {}
    names = ("-january.csv", "february 2024.csv", ".march.csv", "april.csv", "may.csv.bak", "notes.txt")
    for name in names:
        columns = shuffled(rng, ["item", "pieces", "clerk"])
        rows = []
        for _ in range(between(rng, 5, 12)):
            row = {"item": pick(rng, goods), "pieces": between(rng, 1, 50), "clerk": pick(rng, LOGINS)}
            rows.append([row[column] for column in columns])
            total[str(row["item"])] += int(str(row["pieces"])) if name.endswith(".csv") else 0
        texts[f"{folder}/{name}"] = _csv([columns, *rows])
    ask = (
        f"Every file directly in {folder} whose name ends in .csv, hidden ones too, has the columns item, pieces "
        f"and clerk, "
        f"in an order of its own that its header tells. Other files do not count. Add up the pieces per item over "
        f"all of "
        f"them and write lines `item,total` to {out}: no header, largest total first, equal ones by item."
    )
    body = (
        f"import pathlib\ntotal = collections.Counter()\nfor path in pathlib.Path('{folder}').iterdir():\n"
        "    if path.name.endswith('.csv'):\n        for row in csv.DictReader(path.open()):\n"
        "            total[row['item']] += int(row['pieces'])\n"
        "for item, n in sorted(total.items(), key=lambda x: (-x[1], x[0])):\n    print(f'{item},{n}')"
    )
    ranked = sorted(((k, n) for k, n in total.items() if n), key=lambda item: (-item[1], item[0]))
    checks = [FileCheck(path=out, text=lines(f"{item},{n}" for item, n in ranked))]
    return _scenario(rng, texts, ask, checks, _python(body, out))


def _pivot(rng: np.random.Generator) -> Scenario:
    goods, months = some(rng, GOODS, between(rng, 3, 5)), sorted(some(rng, _MONTHS, between(rng, 3, 4)))
    cells: Counter[tuple[str, str]] = Counter()
    texts = []
    for n in range(between(rng, 24, 44)):
        item, month, pieces = goods[n % len(goods)], months[n % len(months)], between(rng, 1, 40)
        kind = pick(rng, ("sale", "sale", "sale", "return"))
        cells[item, month] += pieces if kind == "sale" else -pieces
        day = f"{month}-{between(rng, 1, 28):02d}"
        texts.append(json.dumps({"date": day, "kind": kind, "item": item, "pieces": pieces}))
    for broken in (
        '{"date": "2024-0',
        "null",
        f'{{"date": "{months[0]}-09", "kind": "sale", "item": "{goods[0]}"}}',
        "",
    ):
        texts.insert(between(rng, 0, len(texts)), broken)
    path, out = f"{_folder(rng)}/movements.jsonl", answer_path(rng, "csv")
    ask = (
        f"{path} has JSON objects, one per line, with `date`, `kind`, `item` and `pieces`. Skip lines that are "
        f"not a JSON "
        f"object with all four. Make a table of items by months in {out}, as CSV: the header is `item` and then "
        f"the months"
        " (YYYY-MM) that occur, ascending; each row an item, alphabetically, and its pieces in each month, where "
        "those of "
        "kind `sale` count plus and `return` minus. A combination that does not occur is 0."
    )
    body = (
        f"cells = collections.Counter()\nfor line in open('{path}'):\n    try:\n        r = json.loads(line)\n"
        "        sign = {'sale': 1, 'return': -1}[r['kind']]\n"
        "        cells[r['item'], r['date'][:7]] += sign * r['pieces']\n"
        "    except (ValueError, TypeError, KeyError):\n        continue\n"
        "months = sorted({m for _, m in cells})\nprint(','.join(['item', *months]))\n"
        "for item in sorted({i for i, _ in cells}):\n    print(','.join([item, *(str(cells[item, m]) for m in "
        "months)]))"
    )
    table = [",".join(["item", *months])]
    table += [",".join([item, *(str(cells[item, month]) for month in months)]) for item in sorted(goods)]
    return _scenario(rng, {path: lines(texts)}, ask, [FileCheck(path=out, text=lines(table))], _python(body, out))


_GOALS = {
    1: (_sum_column, _columns, _json_filter),
    2: (_group, _join, _latest, _units),
    3: (_rejects, _several, _pivot),
}
