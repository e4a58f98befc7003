"""`Daemon`: the Docker daemon of this machine, asked in bounded time, its failures in words that help."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from typing import IO, Any

from agentworld_envs.interface import MissingExtraError, SandboxError

USUAL = "unix:///var/run/docker.sock"


class Daemon:
    """May be used from several threads. Connects with the first request."""

    def __init__(self, address: str, timeout_s: float) -> None:
        """Connects to nothing.

        Args:
            address: `unix://PATH`; empty for `$DOCKER_HOST` or the usual place.
            timeout_s: seconds that each request may take.
        """
        self.address = address or os.environ.get("DOCKER_HOST") or USUAL
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._client: Any = None

    @property
    def socket_path(self) -> str:
        """The daemon's socket. Raises SandboxError when the daemon is not on this machine."""
        if not self.address.startswith("unix://"):
            raise SandboxError(
                f"The Docker daemon at {self.address} is not on this machine, so that no socket can be shared with its "
                "containers. Unset DOCKER_HOST, or give host='unix://PATH'."
            )
        return self.address.removeprefix("unix://")

    @property
    def api(self) -> Any:
        """The client. Raises MissingExtraError and SandboxError."""
        with self._lock:
            if self._client is None:
                path = self.socket_path
                module = sdk()
                with self._explained("does not answer"):
                    self._client = module.APIClient(base_url=f"unix://{path}", version="auto", timeout=self._timeout_s)
            return self._client

    @contextlib.contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """Turn whatever goes wrong into SandboxError."""
        errors = sdk().errors
        import requests

        try:
            self._knock()
            yield
        except errors.ImageNotFound as error:
            raise SandboxError(
                f"The Docker image is not there ({error.explanation}). Make it with: agentworld sandbox build"
            ) from error
        except errors.APIError as error:
            raise SandboxError(f"The Docker daemon refused: it {what}: {_cause(error)}") from error
        except SandboxError:
            raise
        except (errors.DockerException, requests.exceptions.RequestException, OSError) as error:
            if _timed_out(error):
                raise SandboxError(
                    f"The Docker daemon did not answer within {self._timeout_s:g} s: it {what}. It is overloaded or "
                    "hangs; look at its log, restart it."
                ) from error
            raise SandboxError(self._why_unreachable(error)) from error

    def _knock(self) -> None:
        """Raise OSError when nobody listens. The SDK would say so less clearly, and leave sockets open."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(self._timeout_s)
            stream.connect(self.socket_path)

    def _why_unreachable(self, error: Exception) -> str:
        path = self.socket_path
        if not os.path.exists(path):
            return f"There is no Docker daemon at {path}. Start it: systemctl start docker, or dockerd as root."
        if not os.access(path, os.R_OK | os.W_OK):
            return f"This user may not use the Docker daemon at {path}. Join its group: usermod -aG docker USER."
        return f"The Docker daemon at {path} is not reachable ({error}). Is it running? Start it: dockerd as root."

    def info(self) -> dict[str, Any]:
        """What the daemon says about itself and its machine."""
        with self._explained("gives no information"):
            return dict(self.api.info())

    def image(self, name: str) -> dict[str, Any]:
        """What is known about an image. Raises SandboxError when it is not there."""
        with self._explained(f"does not know the image {name}"):
            return dict(self.api.inspect_image(name))

    def has_image(self, name: str) -> bool:
        """Whether an image is there."""
        with self._explained(f"does not know the image {name}"):
            try:
                self.api.inspect_image(name)
            except sdk().errors.ImageNotFound:
                return False
            return True

    def create(self, name: str, settings: dict[str, Any]) -> str:
        """Make a container, do not start it; gives its id."""
        with self._explained("makes no container"):
            return str(self.api.create_container_from_config(settings, name)["Id"])

    def start(self, container: str) -> None:
        """Start a container."""
        with self._explained("starts no container"):
            self.api.start(container)

    def state(self, container: str) -> dict[str, Any] | None:
        """Its state, `None` when it is gone."""
        with self._explained("does not tell the state of a container"):
            try:
                return dict(self.api.inspect_container(container)["State"])
            except sdk().errors.NotFound:
                return None

    def containers(self, label: str) -> list[dict[str, Any]]:
        """All containers with a label, also those that do not run."""
        with self._explained("lists no containers"):
            return list(self.api.containers(all=True, filters={"label": label}))

    def remove(self, container: str) -> None:
        """Remove a container with its volumes, running or not. Nothing happens when it is gone or on its way."""
        errors = sdk().errors
        with self._explained("removes no container"):
            try:
                self.api.remove_container(container, v=True, force=True)
            except errors.NotFound:
                return
            except errors.APIError as error:
                if error.status_code != 409:  # it is removed already, by the daemon or by somebody else
                    raise

    def pull(self, repository: str, tag: str) -> None:
        """Get an image from its registry."""
        with self._explained("gets no image"):
            self.api.pull(repository, tag=tag)

    def build(self, recipe: IO[bytes], name: str) -> None:
        """Build an image from a Dockerfile alone."""
        with self._explained("builds no image"):
            for line in self.api.build(fileobj=recipe, tag=name, rm=True, forcerm=True, decode=True):
                if "error" in line:
                    raise SandboxError(f"The image cannot be built: {line['error']}")

    def load_root(self, tar: IO[bytes], name: str) -> None:
        """Make an image of one layer from a tar of its root."""
        repository, _, tag = name.partition(":")
        changes = ["WORKDIR /workspace", 'CMD ["/bin/bash"]', "ENV LANG=C.UTF-8"]
        with self._explained("imports no image"):
            self.api.import_image_from_stream(
                iter(lambda: tar.read(2**20), b""), repository=repository, tag=tag or "latest", changes=changes
            )

    def close(self) -> None:
        """Close idle connections."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None


def sdk() -> Any:
    """The package `docker`. Raises MissingExtraError."""
    try:
        import docker
    except ImportError as error:
        raise MissingExtraError(
            "Sandboxes of kind 'docker' need the package docker: pip install 'agentworld-envs[docker]'"
        ) from error
    return docker


def _timed_out(error: BaseException | None) -> bool:
    """Whether an error, or what led to it, was that a time had passed."""
    import requests

    while error is not None:
        if isinstance(error, (TimeoutError, requests.exceptions.Timeout)):
            return True
        error = error.__cause__ or error.__context__
    return False


def _cause(error: Any) -> str:
    text = str(error.explanation or error)
    if "executable file not found" in text or ("no such file or directory" in text and "python3" in text):
        return f"The image has no python3, which the agent in it needs ({text.strip()})."
    return text
