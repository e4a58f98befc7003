"""One provider of each kind for all tests of a worker; every test gets a sandbox of its own and has to leave nothing
behind."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from sandbox.support import SLOW, SMALL, descendants, docker_folders, mounts, parents, small, small_docker, until

from agentworld_envs.backends.sandbox import LocalConfig, Provider, Sandbox
from agentworld_envs.backends.sandbox.docker.provider import DockerProvider
from agentworld_envs.backends.sandbox.docker.sandbox import DockerSandbox
from agentworld_envs.backends.sandbox.namespace import NamespaceProvider, NamespaceSandbox


@pytest.fixture(scope="session")
def namespaces() -> Iterator[NamespaceProvider]:
    provider = NamespaceProvider(small())
    with provider:
        usability = provider.probe()
        if not usability.usable:
            pytest.skip(f"no namespaces here: {usability.why} {usability.what_to_do}")
        yield provider


@pytest.fixture(scope="session")
def dockers() -> Iterator[DockerProvider]:
    """Skips where there is no docker, unless `AGENTWORLD_REQUIRE` names it."""
    provider = DockerProvider(small_docker())
    with provider:
        usability = provider.probe()
        if not usability.usable:
            message = f"no docker here: {usability.why} {usability.what_to_do}"
            if "docker" in os.environ.get("AGENTWORLD_REQUIRE", ""):
                pytest.fail(message)
            pytest.skip(message)
        yield provider


@pytest.fixture
def sandbox(namespaces: NamespaceProvider) -> Iterator[NamespaceSandbox]:
    """A fresh sandbox; after the test no process and no mount of it is left."""
    mounted = mounts()
    zygote = namespaces.zygote.process_id
    before = descendants(zygote)
    with namespaces.start() as started:
        yield started
    assert descendants(zygote) <= before
    assert mounts() == mounted


@pytest.fixture
def container(dockers: DockerProvider) -> Iterator[DockerSandbox]:
    """A fresh container; after the test no container, process or folder of it is left."""
    with dockers.start() as started:
        below = {started.pid or 0} | descendants(started.pid or 0)
        yield started
        below |= descendants(started.pid) if started.pid else set()
    until(lambda: dockers.daemon.state(started.container) is None, 2 * SLOW)
    until(lambda: not below & parents().keys(), SLOW)
    assert len(docker_folders(os.getpid())) <= dockers.config.warm  # only what is just being started


@pytest.fixture(params=["namespace", "docker", "local"])
def anything(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox of every kind."""
    provider: Provider
    if request.param in ("namespace", "docker"):
        yield request.getfixturevalue("sandbox" if request.param == "namespace" else "container")
        return
    provider = LocalConfig(limits=SMALL).build()
    with provider, provider.start() as started:
        yield started
