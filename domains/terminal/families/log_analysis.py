"""Questions about access logs, application logs and system logs, answered in a file."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from agentworld_envs.domains.terminal.checks import Check, FileCheck, RunCheck
from agentworld_envs.domains.terminal.ingredients import (
    LOGINS,
    SERVICES,
    answer_path,
    between,
    lines,
    moments,
    opening,
    pick,
    shuffled,
    some,
    unchanged,
)
from agentworld_envs.domains.terminal.scenario import Entry, Level, Scenario, file

_PATHS = ("/", "/cart", "/login", "/search", "/help", "/items/7", "/items/12", "/offers", "/static/app.js", "/export")
_COMBINED = "client address, two words, time in brackets, quoted request, status, bytes, and milliseconds taken"


@dataclass(frozen=True, slots=True)
class _Hit:
    """One request."""

    when: datetime
    client: str
    path: str
    status: int
    size: int
    ms: int

    def line(self) -> str:
        return (
            f'{self.client} - - [{self.when:%d/%b/%Y:%H:%M:%S} +0000] "GET {self.path} HTTP/1.1" {self.status} '
            f"{self.size} {self.ms}"
        )


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: one number out of one log; 2: a table out of one log; 3: rotated, packed logs with broken lines."""
    return pick(rng, _GOALS[level])(rng)


def _hits(rng: np.random.Generator, count: int, gap: int = 90) -> list[_Hit]:
    net = pick(rng, ("203.0.113.", "198.51.100.", "192.0.2."))
    clients = [f"{net}{number}" for number in some(rng, range(2, 250), between(rng, 5, 9))]
    odds = np.arange(1, len(clients) + 1) / sum(range(1, len(clients) + 1))
    found = []
    for when in moments(rng, count, gap, between(rng, 0, 9)):
        status = int(rng.choice([200, 200, 200, 200, 304, 404, 500, 503]))
        size = 0 if status == 304 else between(rng, 100, 9000)
        client = clients[int(rng.choice(len(clients), p=odds))]
        found.append(_Hit(when, client, pick(rng, _PATHS), status, size, between(rng, 2, 1900)))
    return found


def _one(rng: np.random.Generator, name: str, text: str, ask: str, answer: str, command: str) -> Scenario:
    """A task about one file. `{log}` and `{out}` stand for paths in what is asked, `@log` and `@out` in the command."""
    log = f"/workspace/{pick(rng, ('logs', 'var/log', 'incident', 'dump'))}/{name}"
    out = answer_path(rng)
    files = {log: file(text)}
    return Scenario(
        opening(rng) + ask.format(log=log, out=out) + " Leave the log as it is.",
        files,
        [FileCheck(path=out, text=answer), *unchanged(files)],
        [command.replace("@log", log).replace("@out", out)],
    )


def _count_status(rng: np.random.Generator) -> Scenario:
    hits = _hits(rng, between(rng, 60, 110))
    status = pick(rng, (404, 500, 503))
    count = sum(hit.status == status for hit in hits)
    ask = pick(
        rng,
        (
            f"How many requests in the access log {{log}} got the status {status}? Write the number to {{out}}.",
            f"Count the requests with status {status} in {{log}} (one per line) and put just that number into {{out}}.",
        ),
    )
    command = f"""awk '$9 == {status}' @log | wc -l > @out"""
    return _one(rng, "access.log", lines(hit.line() for hit in hits), ask, f"{count}\n", command)


def _clients(rng: np.random.Generator) -> Scenario:
    hits = _hits(rng, between(rng, 60, 110))
    path = pick(rng, ("/cart", "/login", "/search", "/offers"))
    found = len({hit.client for hit in hits if hit.path == path})
    ask = pick(
        rng,
        (
            f"How many different client addresses asked for exactly {path} in the access log {{log}}? "
            "Write the number to {out}.",
            f"Write to {{out}} one number: the count of distinct clients (first field) in {{log}} that requested the "
            f"path {path}, whatever the status.",
        ),
    )
    command = f"""awk '$7 == "{path}" {{ print $1 }}' @log | sort -u | wc -l > @out"""
    return _one(rng, "access.log", lines(hit.line() for hit in hits), ask, f"{found}\n", command)


def _failed(rng: np.random.Generator) -> Scenario:
    users = some(rng, LOGINS, 5)
    target = users[0]
    texts: list[str] = []
    count = 0
    for when in moments(rng, between(rng, 50, 90), 300):
        user = pick(rng, users)
        kind = pick(
            rng, ("Failed password for", "Accepted password for", "Failed password for", "Connection closed by")
        )
        # A similar name has the same beginning: whoever looks for the name alone counts too much.
        user += pick(rng, ("", "", "2"))
        if len(texts) < 2:
            kind, user = "Failed password for", target + "2" * len(texts)
        count += kind.startswith("Failed") and user == target
        address = f"10.0.{between(rng, 0, 9)}.{between(rng, 2, 99)}"
        texts.append(
            f"{when:%b %d %H:%M:%S} bastion sshd[{between(rng, 300, 999)}]: {kind} {user} from {address} port "
            f"{between(rng, 30000, 60000)}"
        )
    ask = pick(
        rng,
        (
            f"How many times did a login with a password fail for the user {target} (exactly this name) according to "
            "{log}? Write the number to {out}.",
            f"Look through {{log}} and write to {{out}} how many lines report a failed password for user {target}. "
            "Other users whose names only begin alike do not count.",
        ),
    )
    command = f"grep -c 'Failed password for {target} from' @log > @out"
    answer = f"{count}\n"
    return _one(rng, pick(rng, ("auth.log", "secure")), lines(texts), ask, answer, f"{command} || true")


def _talkers(rng: np.random.Generator) -> Scenario:
    hits = _hits(rng, between(rng, 90, 140))
    what = pick(rng, ("client", "path"))
    by_bytes = pick(rng, (True, False))
    top = between(rng, 3, 5)
    total: Counter[str] = Counter()
    for hit in hits:
        total[getattr(hit, what)] += hit.size if by_bytes else 1
    ranked = sorted(total.items(), key=lambda item: (-item[1], item[0]))[:top]
    ask = (
        f"The access log {{log}} has in each line: {_COMBINED}. Find the {top} "
        f"{'client addresses' if what == 'client' else 'request paths'} with the most "
        f"{'bytes in total' if by_bytes else 'requests'}. Write one line for each to {{out}}: the {what}, a blank, and "
        f"the {'sum of bytes' if by_bytes else 'number of requests'}; largest first, equal ones in the order of "
        "`LC_ALL=C sort`."
    )
    column = 1 if what == "client" else 7
    command = (
        f"awk '{{ n[${column}] += {'$10' if by_bytes else '1'} }} END {{ for (k in n) print k, n[k] }}' @log | "
        f"LC_ALL=C sort -k2,2nr -k1,1 | head -n {top} > @out"
    )
    return _one(rng, "access.log", lines(h.line() for h in hits), ask, lines(f"{k} {n}" for k, n in ranked), command)


def _percentile(rng: np.random.Generator) -> Scenario:
    services = some(rng, SERVICES, between(rng, 3, 5))
    percent = pick(rng, (50, 90, 95))
    taken: dict[str, list[int]] = defaultdict(list)
    texts = []
    for index, when in enumerate(moments(rng, between(rng, 90, 130), 60)):
        service = services[index % len(services)] if index < 15 else pick(rng, services)
        ms = between(rng, 1, 2500)
        taken[service].append(ms)
        texts.append(
            f"{when:%Y-%m-%dT%H:%M:%SZ} INFO {service} request finished took={ms}ms id={between(rng, 10**5, 10**6)}"
        )
        if rng.random() < 0.2:
            texts.append(f"{when:%Y-%m-%dT%H:%M:%SZ} DEBUG {service} cache warm")
    answer = [f"{name} {sorted(v)[math.ceil(percent * len(v) / 100) - 1]}" for name, v in sorted(taken.items())]
    ask = (
        f"Lines of {{log}} with `took=` say how long a request took, in milliseconds; the third word is the service. "
        f"For each service find the {percent}th percentile of these times by the nearest-rank method: of n values in "
        f"ascending order the one at place ceil({percent}*n/100), counted from 1. Write lines `service value` (the "
        "value without `ms`), sorted by service, to {out}."
    )
    command = (
        "sed -n 's/^[^ ]* [A-Z]* \\([a-z]*\\) .*took=\\([0-9]*\\)ms.*/\\1 \\2/p' @log | LC_ALL=C sort -k1,1 -k2,2n |\n"
        "awk '{ v[$1, ++n[$1]] = $2 } END { for (s in n) { p = "
        f"{percent} * n[s] / 100; r = int(p); if (r < p) r++; print s, v[s, r] }} }}' | LC_ALL=C sort > @out"
    )
    return _one(rng, "app.log", lines(texts), ask, lines(answer), command)


def _hours(rng: np.random.Generator) -> Scenario:
    service = pick(rng, SERVICES)
    texts, count = [], Counter()  # type: tuple[list[str], Counter[str]]
    worst = pick(rng, ("ERROR", "WARN"))
    for when in moments(rng, between(rng, 100, 150), 900):
        word = pick(rng, ("INFO", "INFO", "WARN", "ERROR", "ERROR"))
        # The word may also be in the message of another line.
        message = pick(rng, ("retry after ERROR from peer", "WARN level set", "slow query", "connection reset", "done"))
        texts.append(f"{when:%Y-%m-%d %H:%M:%S},{between(rng, 0, 999):03d} {word} [{service}] {message}")
        if word == worst:
            count[f"{when:%Y-%m-%d %H}"] += 1
    ask = (
        f"In {{log}} the third word of a line is its level. Count the lines of level {worst} in each hour. Write lines "
        "`YYYY-MM-DD HH count` to {out}, in the order of time, only for hours that have any. A level named in a "
        "message does not count."
    )
    command = (
        f"""awk '$3 == "{worst}" {{ print $1, substr($2, 1, 2) }}' @log | sort | uniq -c |\n"""
        "awk '{ print $2, $3, $1 }' > @out"
    )
    answer = lines(f"{hour} {number}" for hour, number in sorted(count.items()))
    return _one(rng, f"{service}.log", lines(texts), ask, answer, command)


_NOISE = ("-- log reopened --", '10.0.0.1 - - [broken "GET / HTTP/1.1" 500 12 7', "", "#", "disk check passed 500 0 1")


def _rotated(
    rng: np.random.Generator, hits: Sequence[_Hit], ask: str, answer: str, program: str, rule: str = ""
) -> Scenario:
    """Spread over `access.log` (newest), `.1`, and packed older ones; `program` reads all good lines in `rows`."""
    folder = pick(rng, ("/workspace/logs", "/workspace/web logs", "/workspace/var/log/site"))
    out = answer_path(rng)
    parts = between(rng, 3, 5)
    edges = [round(i * len(hits) / parts) for i in range(parts + 1)]
    texts = {}
    for age in range(parts):
        part = [hit.line() for hit in hits[edges[parts - 1 - age] : edges[parts - age]]]
        for noise in some(rng, _NOISE, between(rng, 1, 3)):
            part.insert(between(rng, 0, len(part)), noise)
        texts[f"{folder}/access.log" + (f".{age}" if age else "")] = lines(part)
    # Neither a copy made by hand nor another log may be counted.
    oldest = max(texts)
    decoys = {f"{folder}/access.log.bak": texts[f"{folder}/access.log"], f"{folder}/error.log": lines(_NOISE)}
    packed = [path for path in texts if path.removeprefix(f"{folder}/access.log.") not in (path, "1")]
    files: dict[str, Entry] = {path: file(text) for path, text in {**texts, **decoys}.items()}
    checks: list[Check] = [FileCheck(path=out, text=answer)]
    checks += unchanged({path: entry for path, entry in files.items() if path not in packed})
    checks += [RunCheck(argv=("gzip", "-dc", f"{path}.gz"), stdout=texts[path], compare="exact") for path in packed]
    reader = (
        "import glob, gzip, re, collections, datetime, os\nrows = []\n"
        f"for name in glob.glob({folder + '/access.log*'!r}):\n"
        "    if not re.search(r'access\\.log(\\.\\d+(\\.gz)?)?$', name):\n        continue\n"
        "    with (gzip.open if name.endswith('.gz') else open)(name, 'rt') as log:\n"
        "        for line in log:\n"
        "            m = re.match(r'(\\S+) - - \\[(\\S+) [+]0000\\] '\n"
        "                         r'\"GET (\\S+) HTTP/1.1\" (\\d+) (\\d+) (\\d+)$', line)\n"
        "            if m:\n"
        "                when = datetime.datetime.strptime(m[2], '%d/%b/%Y:%H:%M:%S')\n"
        "                rows.append((when, m[1], m[3], int(m[4]), int(m[5]), int(m[6])))\n"
        "rows.sort()\n"
    )
    return Scenario(
        f"{opening(rng)}The folder {folder} has an access log and its rotated parts: access.log, access.log.1 and so "
        f"on, the older ones packed with gzip; {_base(oldest)}.gz is the oldest. No other file there counts. A good "
        f"line has {_COMBINED}; skip lines of another form. {ask.format(out=out)} {rule}Leave the logs as they are.",
        files,
        checks,
        [f"python3 - > {out} <<'END'\n{reader}{program}\nEND"],
        setup=[f"gzip -n '{path}'" for path in packed],
    )


def _base(path: str) -> str:
    """Last part of a path."""
    return path.rpartition("/")[2]


def _sessions(rng: np.random.Generator) -> Scenario:
    limit = pick(rng, (10, 15, 20, 30))
    hits = _hits(rng, between(rng, 110, 160), gap=limit * 25)
    seen: dict[str, list[datetime]] = defaultdict(list)
    for hit in hits:
        seen[hit.client].append(hit.when)
    gap = timedelta(minutes=limit)
    count = {c: 1 + sum(b - a > gap for a, b in itertools.pairwise(w)) for c, w in seen.items()}
    order = sorted(count.items(), key=lambda item: (-item[1], item[0]))
    ask = (
        f"Count the sessions of each client: a new session begins with its first request, and with each that comes "
        f"more than {limit} minutes after the one before it of the same client. Write lines `address sessions` to "
        "{out}, most sessions first, equal ones in the order of `LC_ALL=C sort`."
    )
    program = (
        "last, n = {}, collections.Counter()\nfor when, ip, *_ in rows:\n"
        f"    if ip not in last or when - last[ip] > datetime.timedelta(minutes={limit}):\n        n[ip] += 1\n"
        "    last[ip] = when\nfor ip, k in sorted(n.items(), key=lambda x: (-x[1], x[0])):\n    print(ip, k)"
    )
    return _rotated(rng, hits, ask, lines(f"{c} {n}" for c, n in order), program)


def _bursts(rng: np.random.Generator) -> Scenario:
    hits = _hits(rng, between(rng, 160, 220), gap=20)
    least = pick(rng, (2, 3))
    by_minute = Counter(hit.when.replace(second=0) for hit in hits if hit.status >= 500)
    bad = sorted(minute for minute, number in by_minute.items() if number >= least)
    runs: list[list[datetime]] = []
    for minute in bad:
        if runs and minute - runs[-1][-1] == timedelta(minutes=1):
            runs[-1].append(minute)
        else:
            runs.append([minute])
    answer = [f"{run[0]:%H:%M} {run[-1]:%H:%M} {sum(by_minute[m] for m in run)}" for run in runs] or ["none"]
    ask = (
        f"Find the bursts of errors. A minute is bad when at least {least} requests in it had status 500 or more; "
        "bad minutes in a row make one burst. Write a line `HH:MM HH:MM count` for each burst to {out}, in the order "
        "of time: its first minute, its last minute, and the number of those requests in it."
    )
    program = (
        "n = collections.Counter(r[0].replace(second=0) for r in rows if r[3] >= 500)\nruns = []\n"
        f"for m in sorted(k for k in n if n[k] >= {least}):\n"
        "    if runs and (m - runs[-1][-1]).seconds == 60:\n        runs[-1].append(m)\n    else:\n"
        "        runs.append([m])\nfor r in runs:\n"
        "    print(r[0].strftime('%H:%M'), r[-1].strftime('%H:%M'), sum(n[m] for m in r))\n"
        "if not runs:\n    print('none')"
    )
    return _rotated(rng, hits, ask, lines(answer), program, "If there is no burst, write `none`. ")


def _slow(rng: np.random.Generator) -> Scenario:
    hits = _hits(rng, between(rng, 140, 200))
    percent = pick(rng, (75, 90, 95))
    taken: dict[str, list[int]] = defaultdict(list)
    for hit in hits:
        if hit.status < 400:
            taken[hit.path].append(hit.ms)
    answer = [
        f"{path} {len(v)} {sorted(v)[math.ceil(percent * len(v) / 100) - 1]}"
        for path, v in sorted(taken.items(), key=lambda item: item[0])
    ]
    ask = (
        f"For each path, over its requests with a status below 400, write a line `path number value` to {{out}}: how "
        f"many they are, and the {percent}th percentile of the milliseconds by nearest rank (of n values in ascending "
        f"order the one at place ceil({percent}*n/100), counted from 1). Sort the lines by path as `LC_ALL=C "
        f"sort` does; "
        "a path without such requests has no line."
    )
    program = (
        "t = collections.defaultdict(list)\nfor r in rows:\n    if r[3] < 400:\n        t[r[2]].append(r[5])\n"
        f"for p in sorted(t):\n    v = sorted(t[p])\n    print(p, len(v), v[(len(v) * {percent} + 99) // 100 - 1])"
    )
    return _rotated(rng, shuffled(rng, hits), ask, lines(answer), program, "Lines may be in any order of time. ")


_GOALS = {
    1: (_count_status, _clients, _failed),
    2: (_talkers, _percentile, _hours),
    3: (_sessions, _bursts, _slow),
}
