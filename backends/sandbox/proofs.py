"""`prove`: tries to get past each bound of a kind of sandbox, on the machine that it runs on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from agentworld_envs.backends.sandbox.config import AnyConfig, Limits
from agentworld_envs.interface.sandbox import Sandbox
from agentworld_envs.interface.sandbox_facts import Bound, CommandResult

PROOF_LIMITS = Limits(memory_mb=96, disk_mb=24, inodes=500, pids=24, cpus=0.5, cpu_seconds=1, open_files=256)
"""Small, so that a bound which does not hold does no harm."""
_SECONDS = 20.0
_Judge = Callable[[CommandResult, Limits], "tuple[bool, str]"]


class Proof(NamedTuple):
    """What came of trying one bound."""

    bound: Bound
    held: bool | None
    """`None`: it was not tried, because the kind does not promise it or nothing inside could tell."""
    seen: str
    """What happened, in a few words."""


_MEMORY = r"""
import os, sys, time
for _ in range(4):
    if os.fork() == 0:
        block = bytearray(b"x") * (40 << 20)
        time.sleep(1.0)
        os._exit(0)
time.sleep(0.7)
living = 0
for _ in range(4):
    pid, status = os.waitpid(-1, 0)
    living += status == 0
print(living)
"""
_PIDS = r"""
import os, signal
count = 1
signal.alarm(5)
try:
    while count < 400:
        if os.fork() == 0:
            signal.pause()
            os._exit(0)
        count += 1
except OSError:
    pass
print(count)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(0, signal.SIGTERM)
"""
_CPU = r"""
import os, time
start = time.monotonic()
for _ in range(2):
    if os.fork() == 0:
        while time.monotonic() - start < 0.8:
            pass
        os._exit(0)
used = 0.0
for _ in range(2):
    _, _, usage = os.wait3(0)
    used += usage.ru_utime + usage.ru_stime
print(used / (time.monotonic() - start))
"""
_DISK = r"""
import os
written = 0
try:
    with open("/tmp/proof", "wb", buffering=0) as file:
        while written < 200 << 20:
            written += file.write(b"x" * (1 << 20))
except OSError:
    pass
print(written >> 20)
"""
_FILES = r"""
files = []
try:
    while len(files) < 5000:
        files.append(open("/dev/null"))
except OSError:
    pass
print(len(files))
"""
_NETWORK = r"""
import socket
names = [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line]
try:
    socket.create_connection(("192.0.2.1", 80), 2).close()
    print("connected")
except OSError as error:
    print("only " + "+".join(names), error.strerror, sep=", ") if names == ["lo"] else print(names)
"""
_HOST_FILES = r"""
import os
done = []
for path in ("/usr/proof", "/etc/proof", "/proof", "/proc/sys/kernel/hostname"):
    try:
        with open(path, "w") as file:
            file.write("x")
        done.append(path)
    except OSError:
        pass
print(" ".join(done) or "nothing")
"""
_STATUS = r"""
import os
fields = dict(line.split(":", 1) for line in open("/proc/self/status"))
bad = [name for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(fields[name], 16)]
if int(fields["NoNewPrivs"]) != 1:
    bad.append("NoNewPrivs")
if os.getuid() == 0:
    bad.append("root")
print(" ".join(bad) or "none")
"""
_SECCOMP = r"""
import ctypes
mode = dict(line.split(":", 1) for line in open("/proc/self/status"))["Seccomp"].strip()
refused = ctypes.CDLL(None).unshare(0x10000000) != 0
print(mode, refused)
"""


def _number(result: CommandResult) -> float:
    try:
        return float(result.stdout.split()[0])
    except (ValueError, IndexError):
        return -1.0


def _memory(result: CommandResult, limits: Limits) -> tuple[bool, str]:
    living = _number(result)
    if result.out_of_memory or result.exit_code != 0:
        return True, "160 MiB in four processes: stopped"
    return living * 40 <= limits.memory_mb, f"{living * 40:.0f} MiB stayed in use"


def _counted(most: Callable[[Limits], int], what: str) -> _Judge:
    def judge(result: CommandResult, limits: Limits) -> tuple[bool, str]:
        count = _number(result)
        return 0 <= count <= most(limits), f"{count:.0f} {what}, then refused"

    return judge


def _cpu(result: CommandResult, limits: Limits) -> tuple[bool, str]:
    used = _number(result)
    return 0 < used <= limits.cpus + 0.35, f"two busy processes got {used:.2f} cores of {limits.cpus}"


def _says(expected: str) -> _Judge:
    def judge(result: CommandResult, limits: Limits) -> tuple[bool, str]:
        said = result.stdout.strip() or result.stderr.strip()[-100:]
        return said.startswith(expected), said

    return judge


_ATTEMPTS: dict[str, tuple[str, str, _Judge]] = {
    "memory": (_MEMORY, "", _memory),
    "pids": (_PIDS, "", _counted(lambda limits: limits.pids, "processes")),
    "cpu": (_CPU, "", _cpu),
    "disk": (_DISK, "", _counted(lambda limits: limits.disk_mb, "MiB written")),
    "open_files": (_FILES, "", _counted(lambda limits: limits.open_files, "files open")),
    "network": (_NETWORK, "", _says("only lo")),
    "host_files": (_HOST_FILES, "could write to ", _says("nothing")),
    "privileges": (_STATUS, "has ", _says("none")),
    "system_calls": (_SECCOMP, "filter mode, unshare refused: ", _says("2 True")),
}


def prove(config: AnyConfig) -> list[Proof]:
    """Try every bound of a configuration's kind, with small limits, each in a sandbox of its own.

    Takes a few seconds.

    Raises:
        SandboxError: no sandbox can be started.
    """
    small = config.model_copy(update={"limits": PROOF_LIMITS})
    with small.build() as provider:
        proofs = []
        for bound in provider.bounds():
            attempt = _ATTEMPTS.get(bound.name)
            if attempt is None or not bound.kept:
                proofs.append(Proof(bound, None, ""))
                continue
            with provider.start() as sandbox:
                proofs.append(_try(sandbox, bound, *attempt))
        return proofs


def _try(sandbox: Sandbox, bound: Bound, program: str, words: str, judge: _Judge) -> Proof:
    argv = ["python3", "-I", "-S", "-c", program]
    result = sandbox.exec(argv, _SECONDS)
    held, seen = judge(result, PROOF_LIMITS)
    return Proof(bound, held, words + seen)
