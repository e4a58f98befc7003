"""`agentworld sandbox`: the machines behind the real backend."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentworld_envs.backends.sandbox import DockerConfig, leases
from agentworld_envs.backends.sandbox.docker.daemon import Daemon
from agentworld_envs.backends.sandbox.docker.removal import sweep
from agentworld_envs.backends.sandbox.roots.build import build_folder, build_image
from agentworld_envs.cli.console import say, stderr, stdout
from agentworld_envs.interface import AgentWorldError, ConfigError

HostOption = Annotated[
    str, typer.Option(metavar="unix://PATH", help="The Docker daemon; $DOCKER_HOST or the usual place when not given.")
]


def build(
    image: Annotated[str, typer.Option(help="Name of the image.")] = DockerConfig.model_fields["image"].default,
    folder: Annotated[
        Path | None, typer.Option(help="Build a folder for `namespace` sandboxes instead, without Docker.")
    ] = None,
    package: Annotated[list[str] | None, typer.Option("--with", help="One more Debian package, e.g. gcc.")] = None,
    mirror: Annotated[str, typer.Option(help="Debian mirror; what apt uses here when not given.")] = "",
    if_missing: Annotated[bool, typer.Option("--if-missing", help="Do nothing when it is there already.")] = False,
    host: HostOption = "",
) -> None:
    """Build the root file system of sandboxes, and print its digest."""
    extra = tuple(package or ())
    if folder is not None:
        if if_missing and (folder / "usr").is_dir():
            say(stdout(), f"{folder} is there already.")
            return
        built = build_folder(str(folder), extra, mirror)
    else:
        if image.rpartition(":")[0] == "" or "@" in image:
            raise ConfigError(f"The image needs a name of the form repository:tag, got {image!r}.")
        if if_missing and _is_there(image, host):
            say(stdout(), f"{image} is there already.")
            return
        built = build_image(image, host, extra, mirror, lambda text: say(stderr(), text))
    say(stdout(), f"{built.what} {built.digest}")


def _is_there(image: str, host: str) -> bool:
    daemon = Daemon(host, DockerConfig.model_fields["api_timeout_s"].default)
    try:
        daemon.info()
        return daemon.has_image(image)
    finally:
        daemon.close()


def cleanup(host: HostOption = "") -> None:
    """Remove what sandboxes of processes that were killed have left. Those of living processes are not touched."""
    removed = leases.sweep()
    daemon = Daemon(host, DockerConfig.model_fields["api_timeout_s"].default)
    try:
        removed += sweep(daemon)
    except AgentWorldError as error:
        say(stderr(), f"Containers were not looked at: {error}")
    finally:
        daemon.close()
    for name in removed:
        say(stdout(), f"removed {name}")
    say(stdout(), f"{len(removed)} removed.")


def sub_app() -> typer.Typer:
    """The group `agentworld sandbox`, fresh on every call."""
    app = typer.Typer(no_args_is_help=True, help="Build and clean up sandboxes.")
    app.command("build")(build)
    app.command("cleanup")(cleanup)
    return app
