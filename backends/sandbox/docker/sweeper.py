"""The janitor's process: `python3 -I -S sweeper.py OWNER SOCKET LABEL PREFIX`. Uses nothing but the standard library.

It waits until its owner is gone, then removes all containers with a label, and folders whose path begins with PREFIX.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

_QUIET_S = 0.6
"""Nothing new appears any more when none did for this long: a request may still be on its way."""
_LOOK_EVERY_S = 0.15
_TIMEOUT_S = 5.0
_GIVE_UP_S = 30.0


def wait(owner: int) -> bool:
    """Wait for the owner's end; gives whether it ended without a word."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    with contextlib.suppress(OSError):  # without it, the end of standard input has to do
        poll.register(os.pidfd_open(owner), select.POLLIN)
    if os.getppid() != owner:
        return True
    for fd, _ in poll.poll():
        if fd == 0:
            return os.read(0, 1) == b""
    return True


def sweep(socket_path: str, label: str, prefix: str) -> None:
    """Remove what the owner left, until nothing appears any more."""
    import shutil

    end = time.monotonic() + _GIVE_UP_S
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < _QUIET_S and time.monotonic() < end:
        try:
            if remove_all(socket_path, label):
                quiet_since = time.monotonic()
        except OSError:  # the daemon is away: try again for a while, then leave it to the next owner
            quiet_since = time.monotonic()
        folder, name = os.path.split(prefix)
        with contextlib.suppress(OSError):
            for entry in os.listdir(folder):
                if entry.startswith(name):
                    shutil.rmtree(os.path.join(folder, entry), ignore_errors=True)
        time.sleep(_LOOK_EVERY_S)


def remove_all(socket_path: str, label: str) -> int:
    """Remove all containers with a label; gives how many there were. Raises OSError when the daemon does not answer."""
    import json
    import urllib.parse

    filters = urllib.parse.quote(json.dumps({"label": [label]}))
    status, data = ask(socket_path, "GET", f"/containers/json?all=1&filters={filters}")
    if status != 200:
        raise OSError(f"status {status}")
    found = json.loads(data)
    for container in found:
        ask(socket_path, "DELETE", f"/containers/{container['Id']}?force=1&v=1")
    return len(found)


def ask(socket_path: str, method: str, path: str) -> tuple[int, bytes]:
    """One request to the daemon. Raises OSError."""
    import http.client
    import socket

    connection = http.client.HTTPConnection("localhost", timeout=_TIMEOUT_S)
    try:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(_TIMEOUT_S)
        connection.sock.connect(socket_path)
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()


def main() -> None:
    """Work, once."""
    owner, socket_path, label, prefix = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    if wait(int(owner)):
        sweep(socket_path, label, prefix)


if __name__ == "__main__":
    main()
