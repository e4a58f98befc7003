"""Workers: background processes of tasks, and shell text that finds, starts and ends them and waits for what it did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agentworld_envs.domains.terminal.checks import ProcessCheck
from agentworld_envs.domains.terminal.draw import TOPICS, Draw

WORKER = """\
#!/bin/bash
# worker.sh --queue NAME --rate N: works on a queue.
# TERM: writes what it knows to state/NAME.state and ends. HUP: reads etc/NAME.conf again.
cd /workspace || exit 1
while [ $# -gt 1 ]; do
    case $1 in
        --queue) queue=$2 ;;
        --rate) rate=$2 ;;
    esac
    shift 2
done
read_limit() { sed -n 's/^limit = //p' "etc/$queue.conf"; }
finish() {
    kill "$nap" 2> /dev/null
    echo "queue=$queue rate=$rate limit=$limit" > "state/$queue.state"
    echo "stopped" >> "log/$queue.log"
    echo "$queue" >> log/order.log
    exit 0
}
reload() {
    limit=$(read_limit)
    echo "reloaded limit=$limit" >> "log/$queue.log"
}
limit=$(read_limit)
nap=0
trap finish TERM
trap reload HUP
echo "started rate=$rate limit=$limit" >> "log/$queue.log"
while :; do
    sleep 3600 &
    nap=$!
    wait "$nap"
    kill "$nap" 2> /dev/null
done
"""
SCRIPT = "/workspace/services/worker.sh"


class Worker(NamedTuple):
    """One process that works on a queue."""

    queue: str
    rate: int
    limit: int

    @property
    def command(self) -> str:
        """How it is started."""
        return f"bash {SCRIPT} --queue {self.queue} --rate {self.rate}"

    @property
    def started(self) -> str:
        """What it logs first."""
        return f"started rate={self.rate} limit={self.limit}\n"

    @property
    def state(self) -> str:
        """What it leaves when it ends."""
        return f"queue={self.queue} rate={self.rate} limit={self.limit}\n"


def draw_workers(draw: Draw, count: int) -> list[Worker]:
    """Workers that differ in queue and rate."""
    rates = draw.some(range(2, 99), count)
    return [
        Worker(queue, rate, draw.between(10, 900)) for queue, rate in zip(draw.some(TOPICS, count), rates, strict=True)
    ]


def wait_for_line(log: str, word: str = "started") -> str:
    """Shell text that waits until something is in a log."""
    return f"until grep -q '{word}' /workspace/log/{log} 2> /tmp/none; do sleep 0.1; done"


def wait_for_all(workers: Sequence[Worker]) -> str:
    """What a command has just started may not be up yet."""
    return "cd /workspace; " + "; ".join(wait_for_line(f"{worker.queue}.log") for worker in workers)


GONE = "while kill -0 $p 2> /tmp/none; do sleep 0.1; done"
"""Waits for the end of the processes in `p`. A solution waits in the command that caused a change: what is still on its
way when a command returns would make the next observation a matter of luck."""


def find(word: str) -> str:
    """The processes that have exactly this argument, in `p`; `[ ]` keeps grep from finding itself."""
    return f"p=$(grep -slzx -e '{word[:-1]}[{word[-1]}]' /proc/[0-9]*/cmdline | cut -d/ -f3)"


def end(word: str) -> str:
    """Ends them gently."""
    return f"{find(word)}; kill -TERM $p; {GONE}"


def until_more(log: str, word: str, command: str) -> str:
    """A command that makes a process write a line with this word to its log, and the wait for that."""
    count = f"$(grep -c '{word}' /workspace/log/{log})"
    return f"n={count}; {command} until [ {count} -gt $n ]; do sleep 0.1; done"


def runs(queue: str, rate: int | None = None, *, running: bool = True) -> ProcessCheck:
    """Whether a worker of that queue runs, with that rate where one is given, or does not."""
    pattern = rf"worker\.sh --queue {queue} --rate {rate or '[0-9]+'}( |$)"
    return ProcessCheck(pattern=pattern, running=running)


def start(worker: Worker) -> str:
    """Starts it in the background, and waits until it is up."""
    command = f"setsid {worker.command} > /tmp/{worker.queue}.out 2>&1 < /dev/null &"
    return until_more(f"{worker.queue}.log", f"rate={worker.rate}", command)
