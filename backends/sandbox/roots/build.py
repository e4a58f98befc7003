"""`agentworld sandbox build`: a root for sandboxes, as a Docker image or as a folder."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

from agentworld_envs.backends.sandbox.docker.daemon import Daemon
from agentworld_envs.backends.sandbox.roots import debian
from agentworld_envs.backends.sandbox.roots.digest import digest_of_image
from agentworld_envs.backends.sandbox.roots.pack import pack, write_mark
from agentworld_envs.backends.sandbox.roots.tidy import tidy
from agentworld_envs.interface import SandboxError

BASE = ("debian", "bookworm-slim")
"""Image that is built on where a registry answers."""
_PULL_TIMEOUT_S = 20.0
_BUILD_TIMEOUT_S = 900.0
_log = logging.getLogger(__name__)

_RECIPE = """FROM {base}
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends {packages} \\
 && useradd -u 1000 -m -s /bin/bash agent && install -d -o agent -g agent /workspace \\
 && rm -rf /var/cache/apt/* /var/lib/apt/lists/* /var/log/* /usr/share/doc /usr/share/man /etc/passwd- /etc/shadow-
WORKDIR /workspace
CMD ["/bin/bash"]
"""


class Built(NamedTuple):
    """What was built."""

    what: str
    """Name of the image, or the folder."""
    digest: str
    how: str
    """From what."""


def build_folder(folder: str, extra: tuple[str, ...] = (), mirror: str = "") -> Built:
    """Build a root for `namespace` sandboxes.

    Args:
        folder: a new or empty folder.
        extra: more packages.
        mirror: as for `debian.bootstrap`.

    Raises:
        SandboxError: it is not empty, or it cannot be built.
    """
    if os.path.isdir(folder) and os.listdir(folder):
        raise SandboxError(f"{folder} is not empty; give a new folder.")
    parent = os.path.dirname(os.path.abspath(folder))
    try:
        os.makedirs(parent, exist_ok=True)
        with _system(extra, mirror, parent) as root:
            digest = write_mark(root)
            if os.path.isdir(folder):
                os.rmdir(folder)
            os.rename(root, folder)
    except OSError as error:
        raise SandboxError(f"{folder} cannot be written: {error}") from error
    return Built(folder, digest, "packages")


def build_image(
    name: str, address: str = "", extra: tuple[str, ...] = (), mirror: str = "", say: Callable[[str], None] = _log.info
) -> Built:
    """Build the image of `docker` sandboxes: on a small Debian from a registry, or else from packages alone.

    Args:
        name: of the image, `repository:tag`.
        address: of the daemon, as for `DockerConfig`.
        extra: more packages.
        mirror: as for `debian.bootstrap`; when given, no registry is asked.
        say: is told what happens.

    Raises:
        SandboxError: the daemon does not answer, or it cannot be built.
    """
    daemon = Daemon(address, _BUILD_TIMEOUT_S)
    try:
        daemon.info()
        if not mirror and _pull(daemon.address):
            say(f"Building on {':'.join(BASE)}.")
            _build_on_base(daemon, name, extra)
            how = ":".join(BASE)
        else:
            say("No registry answers: building from packages, which takes a minute or two.")
            with _system(extra, mirror, None) as root, tempfile.TemporaryFile() as file:
                pack(root, file)
                file.seek(0)
                daemon.load_root(file, name)
            how = "packages"
        return Built(name, digest_of_image(daemon.image(name)), how)
    except OSError as error:
        raise SandboxError(f"The image cannot be built: {error}") from error
    finally:
        daemon.close()


@contextlib.contextmanager
def _system(extra: tuple[str, ...], mirror: str, parent: str | None) -> Iterator[str]:
    """A new system in a folder that is removed afterwards, unless it was moved away."""
    outer = tempfile.mkdtemp(prefix=".agentworld-root-", dir=parent)
    try:
        root = os.path.join(outer, "root")
        debian.bootstrap(root, tuple(sorted({*debian.PACKAGES, *extra})), mirror)
        tidy(root)
        yield root
    finally:
        shutil.rmtree(outer)


def _pull(address: str) -> bool:
    """Get the base. Gives whether it is there now."""
    daemon = Daemon(address, _PULL_TIMEOUT_S)
    try:
        daemon.pull(*BASE)
        return daemon.has_image(":".join(BASE))
    except SandboxError as error:
        _log.info("No base image: %s", error)
        return False
    finally:
        daemon.close()


def _build_on_base(daemon: Daemon, name: str, extra: tuple[str, ...]) -> None:
    packages = " ".join(sorted({*debian.PACKAGES, *extra}))
    recipe = _RECIPE.format(base=":".join(BASE), packages=packages)
    daemon.build(io.BytesIO(recipe.encode()), name)
