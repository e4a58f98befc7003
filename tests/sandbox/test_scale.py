"""Many sandboxes at once: each answers for itself, and none outlives its owner."""

from __future__ import annotations

import glob
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sandbox.support import SLOW, descendants, groups, mounts, parents, small

from agentworld_envs.backends.sandbox import Limits
from agentworld_envs.backends.sandbox.namespace import NamespaceProvider

LIVE, COMMANDS = 300, 2_000
TINY = Limits(memory_mb=64, disk_mb=8, inodes=500, pids=16)


def test_three_hundred_at_once_mix_nothing_up() -> None:
    """Every command reads what only its sandbox has, through the shell's memory, a file and the command itself."""
    with NamespaceProvider(small(limits=TINY)) as provider, ThreadPoolExecutor(16) as threads:
        usability = provider.probe()
        if not usability.usable:
            pytest.skip(usability.why)
        sandboxes = list(threads.map(lambda _: provider.start(), range(LIVE)))
        list(threads.map(lambda pair: pair[1].run(f"me={pair[0]}; echo {pair[0]} > f", 60.0), enumerate(sandboxes)))

        def work(job: int) -> bool:
            result = sandboxes[job % LIVE].run(f"echo $me {job}; cat f", 60.0 * SLOW)
            return result.stdout == f"{job % LIVE} {job}\n{job % LIVE}\n" and result.exit_code == 0

        right = list(threads.map(work, range(COMMANDS)))
        assert right.count(False) == 0
        assert len({sandbox.pid for sandbox in sandboxes}) == LIVE
        below = descendants(provider.zygote.process_id)
        assert len(below) >= 2 * LIVE
    assert not below & parents().keys()


OWNER = """
import site, sys, threading, time
sys.path[:0] = {path!r}
[site.addsitedir(path) for path in {path!r} if path.endswith("site-packages")]
from agentworld_envs.backends.sandbox import Limits, sandbox_config
limits = Limits(memory_mb=64, disk_mb=8, inodes=500, pids=16)
provider = sandbox_config("namespace", limits=limits).build()
local = sandbox_config("local", limits=limits).build()
boxes = [provider.start() for _ in range(30)] + [local.start() for _ in range(2)]
for box in boxes:
    box.run("head -c 1000000 /dev/zero > f; sleep 1000 & setsid sleep 1000 & trap '' TERM HUP")
work = "while :; do sleep 0.01; done"
[threading.Thread(target=box.run, args=(work, 100), daemon=True).start() for box in boxes]
print("busy", flush=True)
while True:
    provider.start().close()
"""


@pytest.mark.parametrize("attempt", range(10))
def test_thirty_two_busy_ones_do_not_outlive_their_owner(namespaces: NamespaceProvider, attempt: int) -> None:
    """Killed at any moment, also while another is started."""
    mounted = mounts()
    code = OWNER.format(path=sys.path)
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "busy\n"
    time.sleep(0.05 + 0.037 * attempt)
    below = descendants(owner.pid)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    end = time.monotonic() + SLOW
    while time.monotonic() < end and _left(owner.pid, below):
        time.sleep(0.01)
    assert _left(owner.pid, below) == []
    assert mounts() == mounted
    assert len(below) >= 4 * 32


def _left(owner: int, below: set[int]) -> list[object]:
    """Processes, control groups and folders of an owner who is dead."""
    folders = glob.glob(f"{tempfile.gettempdir()}/agentworld-local.agentworld-{owner}-*")
    return [*(below & parents().keys()), *groups(owner), *folders]
