"""SQLite databases that are asked, changed, migrated and repaired."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

import numpy as np

from agentworld_envs.domains.terminal.checks import Check, FileCheck, RunCheck
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
)
from agentworld_envs.domains.terminal.scenario import Level, Scenario, file

_ASK = """\
import json, sqlite3, sys
print(json.dumps([sqlite3.connect(sys.argv[1]).execute(query).fetchall() for query in sys.argv[2:]]))
"""
_TABLES = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name"
_KINDS = ("tools", "kitchen", "garden", "office")


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: one query or one statement; 2: joins, a new column, doubles or orphans; 3: migration, merge, repair."""
    return pick(rng, _GOALS[level])(rng)


def _values(rows: Iterable[Sequence[object]]) -> str:
    """Rows as SQL."""

    def literal(value: object) -> str:
        if value is None:
            return "NULL"
        return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"

    return ",\n".join("(" + ", ".join(map(literal, row)) + ")" for row in rows)


def _insert(table: str, rows: Iterable[Sequence[object]]) -> str:
    return f"INSERT INTO {table} VALUES\n{_values(rows)};\n"


def _holds(path: str, queries: Sequence[str], expected: Sequence[Sequence[Sequence[object]]]) -> RunCheck:
    """The queries, run on the database afterwards, give these rows."""
    argv = ("python3", "-I", "-S", "-c", _ASK, path, *queries)
    return RunCheck(argv=argv, stdout=json.dumps([[list(row) for row in rows] for rows in expected]), compare="json")


def _same(path: str, schema: str, tables: Sequence[str]) -> RunCheck:
    """These tables hold what the schema text put into them."""
    with sqlite3.connect(":memory:") as database:
        database.executescript(schema)
        queries = [f"select * from {table} order by 1, 2" for table in tables]
        rows = [database.execute(query).fetchall() for query in queries]
    database.close()
    return _holds(path, queries, rows)


def _scenario(
    rng: np.random.Generator, databases: dict[str, str], ask: str, checks: Sequence[Check], solution: str
) -> Scenario:
    """Databases are built from SQL, which is then removed."""
    files = {f"{path}.sql": file(text) for path, text in databases.items()}
    setup = [
        f"python3 -c \"import sqlite3; d = sqlite3.connect('{path}'); d.executescript(open('{path}.sql').read())\" "
        f"&& rm '{path}.sql'"
        for path in databases
    ]
    return Scenario(
        opening(rng) + ask, files, checks, [f"python3 - <<'END'\nimport sqlite3\n{solution}\nEND"], setup=setup
    )


def _path(rng: np.random.Generator) -> str:
    return f"/workspace/{pick(rng, ('db', 'data', 'var', 'store'))}/{pick(rng, ('shop', 'stock', 'office', 'main'))}.db"


def _items(rng: np.random.Generator) -> tuple[str, list[tuple[int, str, str, int, int]]]:
    """A table `items` of at least two kinds, as SQL and as rows."""
    names = some(rng, GOODS, between(rng, 10, 18))
    rows = [
        (n + 1, name, _KINDS[n % 4] if n < 8 else pick(rng, _KINDS), between(rng, 100, 9000), between(rng, 0, 60))
        for n, name in enumerate(names)
    ]
    schema = "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, cents INTEGER, stock INTEGER);\n"
    return schema + _insert("items", rows), rows


def _value(rng: np.random.Generator) -> Scenario:
    schema, rows = _items(rng)
    path, out, kind = _path(rng), answer_path(rng), pick(rng, _KINDS)
    value = sum(cents * stock for _, _, k, cents, stock in rows if k == kind)
    ask = pick(
        rng,
        (
            f"The SQLite database {path} has a table items. What are all items of kind {kind} in stock worth together, "
            f"that is the sum of cents times stock? Write the number to {out}.",
            f"Sum up cents * stock over the rows of the table items (SQLite, {path}) whose kind is {kind}, and write "
            f"this one whole number to {out}.",
        ),
    )
    code = (
        f"d = sqlite3.connect('{path}')\nsql = \"select sum(cents * stock) from items where kind = '{kind}'\"\n"
        f"print(d.execute(sql).fetchone()[0], file=open('{out}', 'w'))"
    )
    ask += " Do not change the database."
    return _scenario(
        rng, {path: schema}, ask, [FileCheck(path=out, text=f"{value}\n"), _same(path, schema, ["items"])], code
    )


def _raise_prices(rng: np.random.Generator) -> Scenario:
    schema, rows = _items(rng)
    path, kind, more, least = _path(rng), pick(rng, _KINDS), between(rng, 10, 300), between(rng, 5, 30)
    after = [
        (i, name, k, cents + (more if k == kind and stock < least else 0), stock) for i, name, k, cents, stock in rows
    ]
    if after == rows:
        return _value(rng)
    ask = pick(
        rng,
        (
            f"In the table items of the SQLite database {path}, raise `cents` by {more} for those of kind {kind} "
            f"with a "
            f"`stock` below {least}. Nothing else may change.",
            f"{path} is a SQLite database. Items (table items) of kind {kind} of which fewer than {least} are in stock "
            f"become {more} cents dearer. Update them and leave the other rows alone.",
        ),
    )
    code = (
        f"d = sqlite3.connect('{path}')\n"
        f"d.execute(\"update items set cents = cents + {more} where kind = '{kind}' and stock < {least}\")\nd.commit()"
    )
    checks = [_holds(path, ["select * from items order by id", _TABLES], [after, [["items"]]])]
    return _scenario(rng, {path: schema}, ask, checks, code)


def _dearest(rng: np.random.Generator) -> Scenario:
    schema, rows = _items(rng)
    path, out, top = _path(rng), answer_path(rng), between(rng, 3, 6)
    column = pick(rng, ("cents", "stock"))
    index = 3 if column == "cents" else 4
    ranked = sorted(rows, key=lambda row: (-int(row[index]), row[1]))[:top]
    ask = (
        f"From the table items of the SQLite database {path} write the {top} items with the highest {column} to "
        f"{out}: one "
        f"line `name {column}` for each, highest first, equal ones by name. Do not change the database."
    )
    code = (
        f"d = sqlite3.connect('{path}')\nwith open('{out}', 'w') as f:\n"
        f"    for row in d.execute('select name, {column} from items order by {column} desc, name limit {top}'):\n"
        "        print(*row, file=f)"
    )
    answer = lines(f"{row[1]} {row[index]}" for row in ranked)
    return _scenario(rng, {path: schema}, ask, [FileCheck(path=out, text=answer), _same(path, schema, ["items"])], code)


def _customers(rng: np.random.Generator) -> tuple[str, list[tuple[int, str, str]], list[tuple[int, int, int, str]]]:
    """Tables `customers` and `orders`. The last customer has no orders."""
    people = [(n + 1, name, pick(rng, TOWNS[:5])) for n, name in enumerate(some(rng, LOGINS, between(rng, 6, 10)))]
    orders = [
        (n + 1, between(rng, 1, len(people) - 1), between(rng, 100, 30000), pick(rng, ("paid", "paid", "open", "void")))
        for n in range(between(rng, 20, 34))
    ]
    schema = (
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, town TEXT NOT NULL);\n"
        + _insert("customers", people)
        + "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER, state TEXT);\n"
        + _insert("orders", orders)
    )
    return schema, people, orders


def _totals(rng: np.random.Generator) -> Scenario:
    schema, people, orders = _customers(rng)
    path, out = _path(rng), answer_path(rng, "csv")
    state = pick(rng, ("paid", "open"))
    paid = {i: [c for _, who, c, s in orders if who == i and s == state] for i, _, _ in people}
    ranked = sorted(people, key=lambda row: (-sum(paid[row[0]]), row[1]))
    ask = (
        f"The SQLite database {path} has customers (id, name, town) and orders (id, customer, cents, state), where "
        f"orders.customer is an id of customers. Write a line `name,orders,cents` for every customer to {out}, "
        f"with the "
        f"number and the sum of the orders in state {state}; both are 0 when there are none. No header; largest "
        f"sum first, "
        "equal ones by name. Do not change the database."
    )
    code = (
        f"d = sqlite3.connect('{path}')\nsql = '''select name, count(o.id), coalesce(sum(cents), 0) as total from "
        f"customers c\nleft join orders o on o.customer = c.id and o.state = '{state}'\n"
        f"group by c.id order by total desc, name'''\nwith open('{out}', 'w') as f:\n"
        "    for row in d.execute(sql):\n        print(*row, sep=',', file=f)"
    )
    answer = lines(f"{name},{len(paid[i])},{sum(paid[i])}" for i, name, _ in ranked)
    checks: list[Check] = [FileCheck(path=out, text=answer), _same(path, schema, ["customers", "orders"])]
    return _scenario(rng, {path: schema}, ask, checks, code)


def _new_column(rng: np.random.Generator) -> Scenario:
    schema, people, orders = _customers(rng)
    path = _path(rng)
    name = pick(rng, ("balance", "open_cents", "due"))
    due = {i: sum(c for _, who, c, s in orders if who == i and s == "open") for i, _, _ in people}
    ask = (
        f"Migrate the SQLite database {path}: add a column `{name}` (INTEGER, NOT NULL, default 0) to the table "
        f"customers "
        "as its last one and fill it with the sum of `cents` of the orders of that customer (orders.customer) "
        "whose state "
        "is open, 0 when there are none. All else stays as it is."
    )
    code = (
        f"d = sqlite3.connect('{path}')\nd.execute('alter table customers add column {name} integer not null "
        f"default 0')\n"
        f"d.execute('''update customers set {name} = coalesce((select sum(cents) from orders\n"
        "where customer = customers.id and state = 'open'), 0)''')\nd.commit()"
    )
    column = (
        f"select upper(type), \"notnull\", dflt_value, pk from pragma_table_info('customers') where name = '{name}'"
    )
    queries = ["select * from customers order by id", "select * from orders order by id", column, _TABLES]
    after = [[*row, due[row[0]]] for row in people]
    checks = [_holds(path, queries, [after, orders, [["INTEGER", 1, "0", 0]], [["customers"], ["orders"]]])]
    return _scenario(rng, {path: schema}, ask, checks, code)


def _doubles(rng: np.random.Generator) -> Scenario:
    path = _path(rng)
    names = some(rng, LOGINS, between(rng, 6, 10))
    mails = [f"{name}@{pick(rng, ('mail', 'post'))}.example" for name in names]
    rows: list[tuple[int, str, int]] = []
    for n, mail in enumerate([*mails, *some(rng, mails, between(rng, 3, 5))]):
        shown = mail.capitalize() if n >= len(mails) else pick(rng, (mail, mail, mail.upper()))
        rows.append((n * 3 + between(rng, 1, 3), shown, between(rng, 0, 40)))
    ids = shuffled(rng, [row[0] for row in rows])
    rows = sorted((i, mail, points) for i, (_, mail, points) in zip(ids, rows, strict=True))
    kept: dict[str, list[int]] = {}
    for i, mail, points in rows:
        kept.setdefault(mail.lower(), [i, 0])[1] += points
    schema = "CREATE TABLE members (id INTEGER PRIMARY KEY, email TEXT, points INTEGER);\n" + _insert("members", rows)
    ask = (
        f"In the table members of the SQLite database {path} some people are there more than once: their `email` "
        f"is the "
        "same but for upper and lower case. Keep of each the row with the lowest id, give it the sum of the "
        "points of all "
        "its rows, and delete the others. All emails shall be in lower case afterwards, and a unique index "
        "`members_email` on members(email) shall see to it that no two are equal."
    )
    code = (
        f"d = sqlite3.connect('{path}')\nd.executescript('''begin;\n"
        "update members set points = (select sum(points) from members m where lower(m.email) = lower(members.email))\n"
        "where id in (select min(id) from members group by lower(email));\n"
        "delete from members where id not in (select min(id) from members group by lower(email));\n"
        "update members set email = lower(email);\ncreate unique index members_email on members(email);\ncommit;''')"
    )
    after = sorted([i, mail, points] for mail, (i, points) in kept.items())
    index = "select \"unique\" from pragma_index_list('members') where name = 'members_email'"
    columns = "select name from pragma_index_info('members_email')"
    checks = [_holds(path, ["select * from members order by id", index, columns], [after, [[1]], [["email"]]])]
    return _scenario(rng, {path: schema}, ask, checks, code)


def _tags(rng: np.random.Generator) -> Scenario:
    path = _path(rng)
    words = some(rng, ("blue", "fragile", "heavy", "new", "red", "sale", "small", "wood"), 6)
    rows, pairs = [], set()
    for n, name in enumerate(some(rng, GOODS, between(rng, 8, 13))):
        mine = some(rng, words, between(rng, 1, 3)) if n % 4 != 2 else []
        pairs |= {(n + 1, word) for word in mine}
        shown = [pick(rng, (word, f" {word}", word.upper())) for word in [*mine, *mine[:1]]]
        rows.append((n + 1, name, ",".join(shown) if mine else pick(rng, (None, "", " , "))))
    schema = "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, tags TEXT);\n" + _insert("items", rows)
    used = sorted({word for _, word in pairs})
    ask = (
        f"Normalise the SQLite database {path}. The column `tags` of the table items is a text of tags with "
        f"commas; there "
        "are blanks around some, upper case, empty ones and repetitions, and it may be NULL. Make a table "
        "`tags(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)` with each tag once, trimmed and in lower "
        "case, the ids "
        "1, 2, ... in alphabetical order, and a table `item_tags(item INTEGER, tag INTEGER)` with one row for "
        "each item "
        "and tag it has. Then drop the column `tags` from items; its other columns stay, and id stays the primary key."
    )
    code = (
        f"d = sqlite3.connect('{path}')\nhas = set()\nfor i, tags in d.execute('select id, tags from "
        f"items').fetchall():\n"
        "    has |= {(i, t.strip().lower()) for t in (tags or '').split(',') if t.strip()}\n"
        "d.execute('create table tags (id integer primary key, name text not null unique)')\n"
        "d.execute('create table item_tags (item integer, tag integer)')\nids = {}\n"
        "for n, t in enumerate(sorted({t for _, t in has}), 1):\n    ids[t] = n\n"
        "    d.execute('insert into tags values (?, ?)', (n, t))\n"
        "for i, t in sorted(has):\n    d.execute('insert into item_tags values (?, ?)', (i, ids[t]))\n"
        "d.execute('create table new_items (id integer primary key, name text)')\n"
        "d.execute('insert into new_items select id, name from items')\nd.execute('drop table items')\n"
        "d.execute('alter table new_items rename to items')\nd.commit()"
    )
    queries = [
        "select * from items order by id",
        "select name, pk from pragma_table_info('items')",
        "select * from tags order by id",
        "select item, name from item_tags join tags on tags.id = tag order by 1, 2",
        "select count(*) from item_tags",
        _TABLES,
    ]
    expected: list[Sequence[Sequence[object]]] = [
        [row[:2] for row in rows],
        [["id", 1], ["name", 0]],
        list(enumerate(used, 1)),
        sorted(pairs),
        [[len(pairs)]],
        [["item_tags"], ["items"], ["tags"]],
    ]
    return _scenario(rng, {path: schema}, ask, [_holds(path, queries, expected)], code)


def _merge(rng: np.random.Generator) -> Scenario:
    first = _path(rng)
    second = f"{first.rpartition('/')[0]}/{pick(rng, ('branch', 'old copy', 'depot 2'))}.db"
    people = some(rng, LOGINS, 12)
    shared = between(rng, 2, 4)
    mine = [(n + 1, name) for n, name in enumerate(people[:7])]
    theirs = [(n + 1, name) for n, name in enumerate(shuffled(rng, people[7 - shared : 11]))]
    first_orders = [(n + 1, between(rng, 1, 7), between(rng, 100, 9000)) for n in range(between(rng, 8, 12))]
    second_orders = [(n + 1, between(rng, 1, len(theirs)), between(rng, 100, 9000)) for n in range(between(rng, 6, 11))]
    tables = (
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);\n"
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER);\n"
    )
    schemas = {
        first: tables + _insert("customers", mine) + _insert("orders", first_orders),
        second: tables + _insert("customers", theirs) + _insert("orders", second_orders),
    }
    ids = {name: i for i, name in mine}
    for _, name in theirs:
        ids.setdefault(name, len(ids) + 1)
    merged = list(first_orders)
    names = dict(theirs)
    for _, who, cents in second_orders:
        merged.append((len(merged) + 1, ids[names[who]], cents))
    ask = (
        f"Merge the SQLite database {second} into {first}; both have customers (id, name) and orders (id, "
        f"customer, cents),"
        " where orders.customer is a customer's id in the same database. What is in the first keeps its ids. "
        "Customers with"
        " the same name are the same person; the others of the second are added in the order of their ids, each "
        "with the "
        "next free id (highest plus one). All orders of the second are added in the order of their ids, also "
        "with the next "
        "free ids, and for the right customers. The second database stays unchanged."
    )
    code = (
        f"d = sqlite3.connect('{first}')\nd.execute(\"attach '{second}' as o\")\n"
        "d.execute('insert into customers (name) select name from o.customers where name not in\\\n"
        " (select name from main.customers) order by id')\n"
        "rows = d.execute('select c.id, b.cents from o.orders b join o.customers oc on oc.id = b.customer '\n"
        "    'join main.customers c on c.name = oc.name order by b.id').fetchall()\n"
        "d.executemany('insert into main.orders (customer, cents) values (?, ?)', rows)\nd.commit()"
    )
    queries = ["select * from customers order by id", "select * from orders order by id", _TABLES]
    people_after = sorted((i, name) for name, i in ids.items())
    checks = [
        _holds(first, queries, [people_after, merged, [["customers"], ["orders"]]]),
        _same(second, schemas[second], ["customers", "orders"]),
    ]
    return _scenario(rng, schemas, ask, checks, code)


def _repair(rng: np.random.Generator) -> Scenario:
    path = _path(rng)
    goods = [(n + 1, name, between(rng, 50, 5000)) for n, name in enumerate(some(rng, GOODS, 6))]
    rows: list[tuple[int, int, int, int, int | None, int]] = []
    total: dict[int, int] = {}
    count = between(rng, 7, 11)
    for order in range(1, count + 1):
        total[order] = 0
        # An order without lines costs nothing.
        for _ in range(0 if order == 3 else between(rng, 1, 4)):
            item, pieces, price = pick(rng, goods), between(rng, 1, 6), pick(rng, (None, between(rng, 50, 5000)))
            cancelled = pick(rng, (0, 0, 0, 1))
            rows.append((len(rows) + 1, order, item[0], pieces, price, cancelled))
            total[order] += 0 if cancelled else pieces * (item[2] if price is None else price)
    # Half of the orders have wrong totals; the first always, and one is not known.
    orders = [(i, None if i == 2 else sum_ + between(rng, 1, 500) * (i % 2)) for i, sum_ in total.items()]
    orders[2] = (3, 777)
    schema = (
        "CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, cents INTEGER NOT NULL);\n"
        + _insert("products", goods)
        + "CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER);\n"
        + _insert("orders", orders)
        + "CREATE TABLE lines (id INTEGER PRIMARY KEY, order_id INTEGER, product INTEGER, pieces INTEGER, "
        "cents INTEGER, cancelled INTEGER);\n" + _insert("lines", rows)
    )
    wrong = [i for i, stored in orders if stored != total[i]]
    out = answer_path(rng)
    ask = (
        f"In the SQLite database {path} some values of orders.total are wrong or NULL. Right is: the sum of "
        f"pieces times "
        "price over its rows in the table lines (lines.order_id) that are not cancelled (cancelled = 0), where "
        "the price is "
        "lines.cents, or products.cents of its product when lines.cents is NULL; 0 when there are no such rows. "
        "Correct "
        f"them, change nothing else, and write the ids of the orders that were wrong or NULL to {out}, one per line, "
        "ascending."
    )
    code = (
        f"d = sqlite3.connect('{path}')\nright = dict(d.execute('''select o.id, coalesce(sum(l.pieces * "
        f"coalesce(l.cents, "
        "p.cents)), 0)\nfrom orders o left join lines l on l.order_id = o.id and l.cancelled = 0\n"
        "left join products p on p.id = l.product group by o.id'''))\n"
        "bad = [i for i, t in d.execute('select id, total from orders order by id') if t != right[i]]\n"
        "d.executemany('update orders set total = ? where id = ?', [(right[i], i) for i in bad])\nd.commit()\n"
        f"open('{out}', 'w').writelines(f'{{i}}\\n' for i in bad)"
    )
    checks: list[Check] = [
        FileCheck(path=out, text=lines(wrong)),
        _holds(
            path,
            ["select * from orders order by id", _TABLES],
            [list(total.items()), [["lines"], ["orders"], ["products"]]],
        ),
        _same(path, schema, ["products", "lines"]),
    ]
    return _scenario(rng, {path: schema}, ask, checks, code)


_GOALS = {
    1: (_value, _raise_prices, _dearest),
    2: (_totals, _new_column, _doubles),
    3: (_tags, _merge, _repair),
}
