"""Names of fictional worlds: real ones never, look-alikes on purpose."""

from __future__ import annotations

import difflib

from search.fiction.bench import fictional_worlds

from agentworld_envs.domains.search.fiction.lexicon import GENERIC
from agentworld_envs.domains.search.fiction.names import vocabulary
from agentworld_envs.domains.search.fiction.population import Population
from agentworld_envs.domains.search.fiction.world import FictionalWorld

REAL = fictional_worlds.real_names()


def test_the_list_is_long_and_has_what_everybody_knows() -> None:
    assert len(REAL) > 8000
    assert {"france", "tokyo", "smith", "maria", "siemens", "garcia", "new zealand"} <= REAL


def test_no_word_that_can_be_built_is_real() -> None:
    assert vocabulary() & REAL == set()


def test_no_name_of_a_thousand_worlds_is_real() -> None:
    met = set()
    for seed in range(1000):
        population = Population(seed, "small")
        for entity in population.entities:
            met.update((entity.name.lower(), (entity.alias or entity.name).lower()))
    met |= {word for name in met for word in name.split() if word not in GENERIC}
    assert met & REAL == set()
    assert len(met) > 50_000


def test_names_are_unique_and_none_is_part_of_another() -> None:
    for seed in range(20):
        world = FictionalWorld(seed)
        names = sorted(name for found in world.entities.values() for name in found)
        names += [entity.alias for entity in world.population.entities if entity.alias]
        assert len(set(names)) == len(names)
        for name in names:
            assert not any(f" {name} " in f" {other} " for other in names if other != name)


def test_some_names_differ_by_one_letter() -> None:
    close = 0
    for seed in range(5):
        for names in FictionalWorld(seed).entities.values():
            close += sum(bool(difflib.get_close_matches(name, names[:i], 1, 0.93)) for i, name in enumerate(names))
    assert close >= 20
