"""One provider for all tests of a worker; every test gets a sandbox of its own and has to leave nothing behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox.support import SMALL, descendants, mounts, small

from agentworld_envs.backends.sandbox import LocalConfig, Provider, Sandbox
from agentworld_envs.backends.sandbox.namespace import NamespaceProvider, NamespaceSandbox


@pytest.fixture(scope="session")
def namespaces() -> Iterator[NamespaceProvider]:
    provider = NamespaceProvider(small())
    with provider:
        usability = provider.probe()
        if not usability.usable:
            pytest.skip(f"no namespaces here: {usability.why} {usability.what_to_do}")
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


@pytest.fixture(params=["namespace", "local"])
def anything(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox of every kind."""
    provider: Provider
    if request.param == "namespace":
        yield request.getfixturevalue("sandbox")
        return
    provider = LocalConfig(limits=SMALL).build()
    with provider, provider.start() as started:
        yield started
