"""Processes in the background: find the right one, stop it gently, reload it, restart it otherwise, spare the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from agentworld_envs.domains.terminal.checks import Check, FileCheck, ProcessCheck, TreeCheck
from agentworld_envs.domains.terminal.draw import TOPICS, Draw
from agentworld_envs.domains.terminal.scenario import Entry, Level, Scenario, file, folder
from agentworld_envs.domains.terminal.workers import (
    GONE,
    SCRIPT,
    WORKER,
    Worker,
    draw_workers,
    end,
    find,
    runs,
    start,
    until_more,
    wait_for_all,
)

_KEEPER = """\
#!/bin/bash
# keeper.sh NAME N: runs worker.sh for a queue, and runs it again whenever it ends.
# TERM: ends its worker in the same way, waits for it, and ends.
cd /workspace || exit 1
finish() {
    kill -TERM "$worker"
    wait "$worker"
    exit 0
}
trap finish TERM
while :; do
    bash services/worker.sh --queue "$1" --rate "$2" &
    worker=$!
    wait "$worker"
    sleep 0.2
done
"""


def build(rng: np.random.Generator, level: Level) -> Scenario:
    """Level 1: stop or reload one process, or say which there are; 2: restart one with another option, stop those that
    a condition fits, one that only its settings tell; 3: keepers that start again what was stopped, an order to stop
    in, a rolling change of all that are out of date."""
    draw = Draw(rng)
    makers = {1: (_stop, _reload, _which), 2: (_restart, _stop_some, _by_settings), 3: (_kept, _ordered, _rolling)}
    return draw.pick(makers[level])(draw)


def _scenario(
    workers: Sequence[Worker],
    instruction: str,
    logs: Mapping[str, str],
    states: Mapping[str, str],
    checks: Sequence[Check],
    solution: Sequence[str],
    *,
    services: Sequence[str] | None = None,
    more: Mapping[str, Entry] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Scenario:
    """Args: logs: by queue, of those that do not just run on. states: files that ended processes left, by queue.
    settings: contents of etc at the end, by queue, where they change."""
    files: dict[str, Entry] = {SCRIPT: file(WORKER, mode="755")}
    files |= {f"/workspace/{name}": folder() for name in ("log", "state")}
    files |= {f"/workspace/etc/{w.queue}.conf": file(f"# queue {w.queue}\nlimit = {w.limit}\n") for w in workers}
    files |= dict(more or {})
    after = {path: entry.text for path, entry in files.items() if not entry.folder}
    after |= {f"/workspace/etc/{queue}.conf": text for queue, text in (settings or {}).items()}
    kept: list[Check] = [FileCheck(path=path, text=text or "") for path, text in after.items()]
    kept.append(TreeCheck(path="/workspace/state", files={f"{queue}.state": text for queue, text in states.items()}))
    for worker in workers:
        kept.append(FileCheck(path=f"/workspace/log/{worker.queue}.log", text=logs.get(worker.queue, worker.started)))
        if services is None and worker.queue not in logs:  # else they are the children of what is listed
            kept.append(runs(worker.queue, worker.rate))
    commands = [worker.command for worker in workers] if services is None else services
    logs_of = [f"/workspace/log/{worker.queue}.log" for worker in workers]
    return Scenario(instruction, files, [*checks, *kept], solution, services=commands, ready=logs_of)


def _intro(draw: Draw, count: int) -> str:
    return draw.pick(
        (
            f"On this machine {count} processes of /workspace/services/worker.sh run in the background, one for each "
            "queue.",
            f"{draw.company()} runs {count} background processes here, all of /workspace/services/worker.sh.",
            f"/workspace/services/worker.sh runs {count} times in the background, each time for another queue.",
        )
    )


_SPARE = "All other workers have to go on running, undisturbed."


# -- level 1 -------------------------------------------------------------------------------------------------------


def _stop(draw: Draw) -> Scenario:
    workers = draw_workers(draw, draw.between(3, 5))
    hit = draw.pick(workers)
    by_rate = draw.chance(0.4)
    which = f"whose rate is {hit.rate}" if by_rate else f"for the queue `{hit.queue}`"
    return _scenario(
        workers,
        f"{_intro(draw, len(workers))} Stop the one {which} in such a way that it can save its state (the script says "
        f"how), and make sure that it has ended. {_SPARE}",
        {hit.queue: hit.started + "stopped\n"},
        {hit.queue: hit.state},
        [runs(hit.queue, running=False)],
        [
            wait_for_all(workers),
            end(str(hit.rate) if by_rate else hit.queue),
        ],
    )


def _reload(draw: Draw) -> Scenario:
    workers = draw_workers(draw, draw.between(3, 5))
    hit = draw.pick(workers)
    limit = hit.limit + draw.between(1, 400)
    return _scenario(
        workers,
        f"{_intro(draw, len(workers))} Set the limit in /workspace/etc/{hit.queue}.conf to {limit} and make the "
        f"worker of that queue read its settings again, without ending it (the script says how). {_SPARE}",
        {hit.queue: f"{hit.started}reloaded limit={limit}\n"},
        {},
        [runs(hit.queue, hit.rate)],
        [
            wait_for_all(workers),
            f"sed -i 's/^limit = .*/limit = {limit}/' etc/{hit.queue}.conf",
            f"{find(hit.queue)}; {until_more(f'{hit.queue}.log', 'reloaded', 'kill -HUP $p &&')}",
        ],
        settings={hit.queue: f"# queue {hit.queue}\nlimit = {limit}\n"},
    )


def _which(draw: Draw) -> Scenario:
    workers = draw_workers(draw, draw.between(4, 6))
    idle = Worker(draw.pick([topic for topic in TOPICS if topic not in [w.queue for w in workers]]), 1, 50)
    total = draw.chance(0.4)
    rates = sorted(worker.rate for worker in workers)
    limit = rates[len(rates) // 2] - 1
    names = sorted(worker.queue for worker in workers if worker.rate > limit)
    answer = f"{sum(rates)}\n" if total else "\n".join(names) + "\n"
    ask = (
        "Write the sum of the rates of all running workers, as a number alone"
        if total
        else f"Write the queues of all running workers whose rate is greater than {limit}, one per line and sorted as "
        "by `LC_ALL=C sort`,"
    )
    listing = "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -A 4 'worke[r]\\.sh$'"
    pipe = (
        "awk 'p == \"--rate\" { n += $0 } { p = $0 } END { print n }'"
        if total
        else f'awk \'p == "--queue" {{ q = $0 }} p == "--rate" && $0 > {limit} {{ print q }} {{ p = $0 }}\' | '
        "LC_ALL=C sort"
    )
    return _scenario(
        workers,
        "Workers (/workspace/services/worker.sh) run in the background, each with a queue and a rate as its "
        f"arguments. {ask} to /workspace/workers.txt. A file in /workspace/etc does not mean that a worker runs. Do "
        "not disturb any of them.",
        {},
        {},
        [FileCheck(path="/workspace/workers.txt", text=answer)],
        [wait_for_all(workers), f"{listing} | {pipe} > workers.txt"],
        more={f"/workspace/etc/{idle.queue}.conf": file(f"# queue {idle.queue}\nlimit = {idle.limit}\n")},
    )


# -- level 2 -------------------------------------------------------------------------------------------------------


def _restart(draw: Draw) -> Scenario:
    workers = draw_workers(draw, draw.between(4, 6))
    hit = draw.pick(workers)
    new = hit._replace(rate=hit.rate + 100 + draw.between(1, 99))
    return _scenario(
        workers,
        f"{_intro(draw, len(workers))} Restart the worker of the queue `{hit.queue}` with the rate {new.rate} in "
        f"place of {hit.rate}: end the old one so that it saves its state, and only after that start the new one, in "
        f"the background and in the same form as the others. It has to go on running when you are done. {_SPARE}",
        {hit.queue: f"{hit.started}stopped\n{new.started}"},
        {hit.queue: hit.state},
        [runs(hit.queue, new.rate), runs(hit.queue, hit.rate, running=False)],
        [
            wait_for_all(workers),
            end(hit.queue),
            start(new),
        ],
    )


def _stop_some(draw: Draw) -> Scenario:
    workers = draw_workers(draw, draw.between(5, 7))
    rates = sorted(worker.rate for worker in workers)
    above = draw.chance(0.5)
    limit = rates[len(rates) - 3] if above else rates[2]
    hits = [worker for worker in workers if (worker.rate > limit if above else worker.rate < limit)]
    test = f"$0 {'>' if above else '<'} {limit}"
    return _scenario(
        workers,
        f"{_intro(draw, len(workers))} The rate is one of their arguments. Stop all whose rate is "
        f"{'greater' if above else 'less'} than {limit}, in such a way that they save their states, and write the "
        f"number of workers that you stopped to /workspace/stopped.txt. {_SPARE}",
        {worker.queue: worker.started + "stopped\n" for worker in hits},
        {worker.queue: worker.state for worker in hits},
        [
            FileCheck(path="/workspace/stopped.txt", text=f"{len(hits)}\n"),
            *(runs(worker.queue, running=False) for worker in hits),
        ],
        [
            wait_for_all(workers),
            "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/cmdline 2> /tmp/e | grep -q 'worke[r]\\.sh$' && tr '\\0' "
            f"'\\n' < $p/cmdline | awk 'p == \"--rate\" && {test} {{ f = 1 }} {{ p = $0 }} END {{ exit !f }}' && echo "
            f"${{p#/proc/}}; done > /tmp/pids; wc -l < /tmp/pids > stopped.txt; p=$(cat /tmp/pids); kill $p; " + GONE,
        ],
    )


def _by_settings(draw: Draw) -> Scenario:
    """Which one it is says only the file of settings; one file is of a queue that nobody works on."""
    workers = draw_workers(draw, draw.between(4, 6))
    lowest = draw.chance(0.5)
    limits = draw.some(range(100, 900), len(workers))
    workers = [worker._replace(limit=limit) for worker, limit in zip(workers, limits, strict=True)]
    hit = (min if lowest else max)(workers, key=lambda worker: worker.limit)
    idle = draw.pick([topic for topic in TOPICS if topic not in [w.queue for w in workers]])
    decoy = draw.between(1, 99) if lowest else draw.between(901, 999)
    return _scenario(
        workers,
        f"{_intro(draw, len(workers))} Each has a limit in its file in /workspace/etc (not every file there has a "
        f"worker that runs). Find the running worker with the {'lowest' if lowest else 'highest'} limit and stop it "
        f"in such a way that it saves its state. Write its queue to /workspace/stopped.txt. {_SPARE}",
        {hit.queue: hit.started + "stopped\n"},
        {hit.queue: hit.state},
        [FileCheck(path="/workspace/stopped.txt", text=f"{hit.queue}\n"), runs(hit.queue, running=False)],
        [
            wait_for_all(workers),
            "for f in log/*.log; do q=$(basename $f .log); echo \"$(sed -n 's/^limit = //p' etc/$q.conf) $q\"; done | "
            f"sort -n | {'head' if lowest else 'tail'} -n 1 | cut -d' ' -f2 > stopped.txt",
            'q=$(cat stopped.txt); p=$(grep -slzx -e "[${q:0:1}]${q:1}" /proc/[0-9]*/cmdline | cut -d/ -f3); kill $p; '
            + GONE,
        ],
        more={f"/workspace/etc/{idle}.conf": file(f"# queue {idle}\nlimit = {decoy}\n")},
    )


# -- level 3 -------------------------------------------------------------------------------------------------------


def _keeper(worker: Worker) -> str:
    return f"bash /workspace/services/keeper.sh {worker.queue} {worker.rate}"


def _kept(draw: Draw) -> Scenario:
    workers = draw_workers(draw, draw.between(3, 5))
    hits = draw.some(workers, draw.between(1, 2))
    names = " and ".join(f"the queue `{worker.queue}`" for worker in hits)
    keeper = "/workspace/services/keeper.sh"
    checks: list[Check] = []
    for worker in workers:
        running = worker not in hits
        checks.append(ProcessCheck(pattern=rf"keeper\.sh {worker.queue} {worker.rate}( |$)", running=running))
        if not running:
            checks.append(runs(worker.queue, running=False))
    return _scenario(
        workers,
        f"{_intro(draw, len(workers))} Each of them is looked after by a process of its own. We give up {names}: "
        "stop everything that works on it for good. Every worker of what we give up has to save its state, and none "
        "may be started a second time, not even for a moment. Workers of other queues, and what looks after them, go "
        "on undisturbed.",
        {worker.queue: worker.started + "stopped\n" for worker in hits},
        {worker.queue: worker.state for worker in hits},
        checks,
        [
            wait_for_all(workers),
            *(
                f"p=$(grep -slz 'keepe[r]\\.sh$' $(grep -slzx '{w.queue[:-1]}[{w.queue[-1]}]' /proc/[0-9]*/cmdline) | "
                f"cut -d/ -f3); kill $p; {GONE}"
                for w in hits
            ),
        ],
        services=[_keeper(worker) for worker in workers],
        more={keeper: file(_KEEPER, mode="755")},
    )


def _ordered(draw: Draw) -> Scenario:
    """A chain of needs; what does not belong to it stays."""
    workers = draw_workers(draw, draw.between(5, 7))
    chain = draw.some(workers, draw.between(3, 4))
    rest = [worker for worker in workers if worker not in chain]
    needs = [f"{one.queue} needs {other.queue}" for one, other in pairwise(chain)]
    needs += [f"{chain[-1].queue} needs {rest[0].queue}", f"# {rest[-1].queue} needs {chain[-1].queue}"]
    if len(rest) > 2:
        needs.append(f"{rest[1].queue} needs {rest[2].queue}")
    root = chain[-1]
    needed = file("\n".join(["# which queue cannot do without which other one", *draw.shuffled(needs)]) + "\n")
    return _scenario(
        workers,
        f"{_intro(draw, len(workers))} /workspace/needs.txt says which queues need which others (lines with # say "
        f"nothing). The queue `{root.queue}` has to be taken out of service, and with it every queue that needs it, "
        "directly or through others, but no more than these. Stop their workers so that each saves its state, one "
        f"after the other: a worker may be stopped only when all workers that need it have ended. {_SPARE}",
        {worker.queue: worker.started + "stopped\n" for worker in chain},
        {worker.queue: worker.state for worker in chain},
        [
            FileCheck(path="/workspace/log/order.log", text="".join(f"{worker.queue}\n" for worker in chain)),
            *(runs(worker.queue, running=False) for worker in chain),
        ],
        [
            wait_for_all(workers),
            *(end(worker.queue) for worker in chain),
        ],
        more={"/workspace/needs.txt": needed},
    )


def _rolling(draw: Draw) -> Scenario:
    """Some run with an old limit: their settings were changed, and nobody told them."""
    workers = draw_workers(draw, draw.between(4, 6))
    old = draw.some(workers, draw.between(2, 3))
    rates = {worker.queue: worker.rate + 100 for worker in old}
    table = [f"{worker.queue} {rates.get(worker.queue, worker.rate)}" for worker in draw.shuffled(workers)]
    free = draw.pick([topic for topic in TOPICS if topic not in [w.queue for w in workers]])
    table.insert(draw.between(0, len(table)), f"# {free} 5")
    logs = {}
    checks: list[Check] = []
    solution = [wait_for_all(workers)]
    for worker in old:
        new = worker._replace(rate=rates[worker.queue])
        logs[worker.queue] = f"{worker.started}stopped\n{new.started}"
        checks += [runs(new.queue, new.rate), runs(worker.queue, worker.rate, running=False)]
        solution += [end(worker.queue), start(new)]
    return _scenario(
        workers,
        f"{_intro(draw, len(workers))} /workspace/rates.txt says with which rate the worker of each queue should run "
        "(lines with # say nothing), but some run with another one. Restart exactly those, with the rate from the "
        "file and in the same form: first end the old process so that it saves its state, then, once it has ended, "
        "start the new one in the background. Workers whose rate is right must not be touched, and there must never "
        "be two for one queue.",
        logs,
        {worker.queue: worker.state for worker in old},
        checks,
        solution,
        more={"/workspace/rates.txt": file("\n".join(table) + "\n")},
    )
