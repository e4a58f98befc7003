"""Making a Debian root from packages, with debootstrap and the mirror that this machine's own apt uses."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess

from agentworld_envs.interface import SandboxError

SUITE = "bookworm"
PACKAGES = (
    "bzip2",
    "file",
    "gawk",
    "git",
    "jq",
    "less",
    "make",
    "procps",
    "python3",
    "sqlite3",
    "unzip",
    "xz-utils",
    "zip",
)
"""What is installed besides the smallest system."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_BUILD_TIMEOUT_S = 1800.0
_ASK_TIMEOUT_S = 30.0
_log = logging.getLogger(__name__)


def bootstrap(root: str, packages: tuple[str, ...], mirror: str = "") -> None:
    """Install into an empty folder.

    Args:
        root: the folder; is made.
        packages: besides the smallest system.
        mirror: where packages come from; empty for what apt uses here, or else what debootstrap knows.

    Raises:
        SandboxError: not as root, debootstrap is missing or failed.
    """
    if os.geteuid() != 0:
        raise SandboxError(
            "Only root can unpack a system with its owners and modes. Try: sudo agentworld sandbox build"
        )
    if shutil.which("debootstrap") is None:
        raise SandboxError("debootstrap was not found. Install it: apt-get install debootstrap")
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", SUITE, root]
    mirror = mirror or apt_mirror()
    if mirror:
        command.append(mirror)
    if shutil.which("unshare") is not None:  # what it mounts goes with it, also when it is killed
        command = ["unshare", "--mount", "--propagation", "private", *command]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_BUILD_TIMEOUT_S,
            env={
                "PATH": PATH,
                "LC_ALL": "C.UTF-8",
                **_proxies(),
            },
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"debootstrap failed: {error}") from error
    if done.returncode != 0:
        last = done.stdout.decode(errors="replace").strip().splitlines()[-5:]
        raise SandboxError(f"debootstrap failed with code {done.returncode}: {' | '.join(last)}")


def installed(root: str) -> list[str]:
    """`package version` of everything that is installed below a root, sorted."""
    found = []
    name = ""
    with open(os.path.join(root, "var/lib/dpkg/status"), encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("Package: "):
                name = line.split()[1]
            elif line.startswith("Version: "):
                found.append(f"{name} {line.split()[1]}")
    return sorted(found)


def apt_mirror() -> str:
    """Where this machine's apt gets the suite from, empty when it does not."""
    try:
        done = subprocess.run(
            ["apt-get", "indextargets", "--format", "$(SITE)|$(CODENAME)|$(COMPONENT)", "Created-By: Packages"],
            capture_output=True,
            text=True,
            timeout=_ASK_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        _log.info("apt was not asked for its mirror: %s", error)
        return ""
    for line in done.stdout.splitlines():
        site, suite, component = [*line.split("|"), "", ""][:3]
        if (suite, component) == (SUITE, "main"):
            return site
    return ""


def _proxies() -> dict[str, str]:
    names = ("http_proxy", "https_proxy", "no_proxy")
    return {name: os.environ[name] for name in names if name in os.environ}
