"""What can be seen and reached from inside of a namespace."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from sandbox.support import small

from agentworld_envs.backends.sandbox.namespace import NamespaceProvider, NamespaceSandbox


def _python(sandbox: NamespaceSandbox, code: str) -> str:
    return sandbox.exec(["/usr/bin/python3", "-c", code], 10.0).stdout.strip()


def test_no_privileges(sandbox: NamespaceSandbox) -> None:
    status = dict(
        line.split(":\t", 1) for line in sandbox.run("cat /proc/self/status").stdout.splitlines() if ":\t" in line
    )
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert status["Uid"].split() == ["1000"] * 4
    assert sandbox.run("id -un; hostname").stdout == "agent\nsandbox\n"


REFUSED = {
    "unshare": "unshare -r true",
    "another user namespace": "python3 -c 'import ctypes; exit(ctypes.CDLL(None).unshare(0x10000000) == 0)' && false",
    "clone": "python3 -c 'import ctypes; exit(ctypes.CDLL(None).syscall(56, 0x10000011, 0, 0, 0, 0) != -1)' && false",
    "mount": "mount -t tmpfs none /tmp",
    "unmount": "umount /proc",
    "chroot": "chroot / true",
    "device file": "mknod /tmp/sda b 8 0",
    "write to the host's files": "touch /usr/x || touch /usr/bin/x",
    "write to the root": "touch /x || touch /etc/x",
    "kernel settings": "echo 1 > /proc/sys/kernel/panic || echo 1 > /proc/sys/net/ipv4/ip_forward",
    "kernel settings of its own namespace": "echo 99999 > /proc/sys/kernel/pid_max",
    "magic keys": "echo b > /proc/sysrq-trigger",
    "memory of the machine": "head -c 1 /dev/mem || head -c 1 /dev/kmem || test -s /proc/kcore",
    "disks": "ls /dev/vda || ls /dev/sda",
    "kernel log": "dmesg",
    "host name": "hostname other",
    "clock": "date -s 2000-01-01",
    "modules": "modprobe loop",
    "su": "su root -c true </dev/null",
    "the agent's environment": "cat /proc/1/environ",
    "the agent's files": "ls /proc/1/fd/",
    "the agent's memory": "head -c 1 /proc/1/mem",
    "the agent's root": "ls -L /proc/1/root",
    "the agent's limits": "prlimit --pid 1 --nofile=3",
    "raise its priority": "nice -n -10 true 2>&1 | grep -q cannot && false",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(sandbox: NamespaceSandbox, name: str) -> None:
    assert sandbox.run(REFUSED[name], 10.0).exit_code != 0
    assert sandbox.run("echo alive").stdout == "alive\n"


def test_tracing_is_refused(sandbox: NamespaceSandbox) -> None:
    code = "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.ptrace(16, 1, 0, 0), ctypes.get_errno())"
    assert _python(sandbox, code) == "-1 1"


def test_sockets_other_than_ordinary_ones_are_refused(sandbox: NamespaceSandbox) -> None:
    """Packet, ALG and VSOCK sockets: the last are not even bound to a network namespace."""
    code = (
        "import socket\nfor family, kind in ((1, 1), (2, 1), (10, 1), (16, 3), (17, 3), (38, 5), (40, 1)):\n"
        "  try: socket.socket(family, kind); print(family)\n  except OSError: pass"
    )
    assert set(_python(sandbox, code).split()) <= {"1", "2", "10", "16"}


def test_no_network_but_loopback(sandbox: NamespaceSandbox) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        code = (
            f"import socket\nfor a in (('127.0.0.1', {port}), ('1.1.1.1', 53), ('169.254.169.254', 80)):\n"
            "  try: socket.create_connection(a, 2); print('connected')\n  except OSError as e: print(e.errno)"
        )
        assert _python(sandbox, code).split() == ["111", "101", "101"]
    assert _python(sandbox, "import os; print(sorted(os.listdir('/sys')))") == "[]"
    inside = (
        "import socket as s; l = s.create_server(('127.0.0.1', 0)); s.create_connection(l.getsockname()); print('ok')"
    )
    assert _python(sandbox, inside) == "ok"


def test_abstract_sockets_of_the_host_are_not_seen(sandbox: NamespaceSandbox) -> None:
    name = f"agentworld-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + name)
        listener.listen()
        code = f"import socket; print(socket.socket(socket.AF_UNIX).connect_ex('\\0{name}'))"
        assert _python(sandbox, code) == "111"


def test_nothing_of_the_host_shows(sandbox: NamespaceSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = sandbox.run(
        "ls -A /home /root /work /etc /mnt /srv /opt 2>/dev/null; cat /etc/passwd; ps -A -o args="
    ).stdout
    for secret in (str(Path.home()), os.getcwd(), "pytest", "shadow", "ssh", socket.gethostname()):
        assert secret not in seen or secret == "/root"
    assert sandbox.run("ls /home; ls -A /root | wc -l").stdout == "agent\n0\n"
    assert "PYTEST" not in sandbox.run("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'").stdout


def test_descriptors_of_the_host_are_not_passed_on(namespaces: NamespaceProvider, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    fd = os.open(secret, os.O_RDONLY)
    os.set_inheritable(fd, True)
    try:
        with NamespaceProvider(small()) as provider, provider.start() as sandbox:
            listed = sandbox.run("ls -l /proc/self/fd/ /proc/$$/fd/").stdout
            assert "secret" not in listed
            assert "socket" not in listed
            opened = [
                line.rsplit(" -> ")[0].split()[-1]
                for line in sandbox.run("ls -l /proc/self/fd/").stdout.splitlines()[1:]
            ]
            assert set(opened) <= {"0", "1", "2", "3", "202"}
    finally:
        os.close(fd)


def test_sandboxes_do_not_see_each_other(namespaces: NamespaceProvider, sandbox: NamespaceSandbox) -> None:
    with namespaces.start() as other:
        other.run("echo mine > /workspace/f; echo mine > /tmp/f; echo mine > /dev/shm/f; sleep 100 &")
        seen = sandbox.run("ls -A /workspace /tmp /dev/shm; pgrep sleep").stdout
        assert seen == "/dev/shm:\n\n/tmp:\n\n/workspace:\n"


def test_a_hundred_threads_get_their_own_answers(namespaces: NamespaceProvider) -> None:
    answers: dict[int, list[str]] = {}

    def work(index: int) -> None:
        with namespaces.start() as sandbox:
            answers[index] = [sandbox.run(f"echo {index} {step}").stdout for step in range(10)]

    threads = [threading.Thread(target=work, args=(index,)) for index in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == {index: [f"{index} {step}\n" for step in range(10)] for index in range(30)}


def test_a_root_folder_of_ones_own(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name in ("usr", "bin", "lib", "lib64", "etc"):
        (root / name).mkdir(parents=True, mode=0o755)
    root.chmod(0o755)
    for program in ("/bin/bash", "/bin/cat"):
        for line in subprocess.run(["ldd", program], capture_output=True, text=True).stdout.split():
            if line.startswith("/"):
                (root / line[1:]).parent.mkdir(parents=True, exist_ok=True)
                (root / line[1:]).write_bytes(Path(line).read_bytes())
                (root / line[1:]).chmod(0o755)
        (root / program[1:]).write_bytes(Path(program).read_bytes())
        (root / program[1:]).chmod(0o755)
    (root / "etc" / "mark").write_text("mine\n")
    with NamespaceProvider(small(rootfs=str(root))) as provider, provider.start() as sandbox:
        assert (
            sandbox.run("cat /etc/mark; echo x > /workspace/y; cat /workspace/y; pwd").stdout == "mine\nx\n/workspace\n"
        )
        assert sandbox.run("echo x > /etc/mark").exit_code != 0
    assert sorted(os.listdir(root)) == ["bin", "etc", "lib", "lib64", "usr"]
