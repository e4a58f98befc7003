"""The conformance kit: the contract of an environment as runnable checks, for any domain and any backend.

    import pytest
    from agentworld_envs import AgentWorldEnv
    from agentworld_envs.testing import CHECKS

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_domain(check):
        check(lambda **kwargs: AgentWorldEnv(MyDomain(), backend=MyBackend(), **kwargs))

A check takes a factory that passes its keyword arguments on to `AgentWorldEnv`, makes as many environments as it
needs, closes them, and raises `AssertionError` with what was expected and what was found. This package's own tests
are these checks over every registered id and every backend. The checks over ids (`ID_CHECKS`) take an id and keyword
arguments instead, because they cross process borders or build Gymnasium's vector environments.
"""

from agentworld_envs.testing.checks import CHECKS, EnvFactory
from agentworld_envs.testing.counter import CounterDomain
from agentworld_envs.testing.id_checks import ID_CHECKS
from agentworld_envs.testing.play import play, random_actions

__all__ = ["CHECKS", "ID_CHECKS", "CounterDomain", "EnvFactory", "play", "random_actions"]
