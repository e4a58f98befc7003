"""Pages of fictional worlds: every fact stands on several, and no title gives one away."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from agentworld_envs.domains.search.engine import canonical, memory_index
from agentworld_envs.domains.search.engine.snippets import occurs
from agentworld_envs.domains.search.fiction import lexicon, reading, values
from agentworld_envs.domains.search.fiction.facts import current, past, plain
from agentworld_envs.domains.search.fiction.pages import main_url
from agentworld_envs.domains.search.fiction.population import NOW, Entity
from agentworld_envs.domains.search.fiction.world import FictionalWorld
from agentworld_envs.domains.search.pages import Page


@pytest.fixture(scope="module", params=[1, 2])
def world(request: pytest.FixtureRequest) -> FictionalWorld:
    return FictionalWorld(request.param)


def _main(world: FictionalWorld) -> tuple[dict[str, Page], list[Page]]:
    urls = {main_url(world.population.host, entity): entity.name for entity in world.population.entities}
    return {urls[p.url]: p for p in world.pages if p.url in urls}, [p for p in world.pages if p.url not in urls]


def test_addresses_are_canonical_and_of_nobody(world: FictionalWorld) -> None:
    assert len({page.url for page in world.pages}) == len({page.id for page in world.pages}) == len(world.pages)
    for page in world.pages:
        assert canonical(page.url) == page.url
        assert page.url.split("/")[2].endswith(".example")


def test_every_entity_has_a_main_page_with_everything_about_it(world: FictionalWorld) -> None:
    main, _ = _main(world)
    for entity in world.population.entities:
        page = main[entity.name]
        assert page.title == entity.name == reading.subject(page.text)
        for fact in current(entity):
            said = reading.statements(page.text, entity.name, fact.relation)
            assert said
            assert set(said) == {(values.read(fact.relation, fact.text), fact.year)}
            assert set(fact.withheld) <= set(page.withheld)


def test_every_fact_stands_on_two_other_pages(world: FictionalWorld) -> None:
    _, others = _main(world)
    # Every page is read for whom it names, and every fact is looked for on all of them.
    for entity in world.population.entities:
        naming = [page for page in others if entity.name in page.text]
        for fact in current(entity):
            right = (values.read(fact.relation, fact.text), fact.year)
            told = [page for page in naming if right in reading.statements(page.text, entity.name, fact.relation)]
            assert len(told) >= 2, (entity.name, fact.relation.name)
            assert all(set(fact.withheld) <= set(page.withheld) for page in told)


def test_what_differs_says_of_which_year_it_is(world: FictionalWorld) -> None:
    wrong = 0
    for entity in world.population.entities:
        for relation in entity.relations():
            right = values.read(relation, values.written(relation, plain(entity.values[relation.name])))
            for page in world.pages:
                for value, year in reading.statements(page.text, entity.name, relation):
                    if value != right:
                        wrong += 1
                        assert year is not None
                        assert year < NOW
                        assert page.date is not None
                        assert page.date.startswith(str(year))
    assert wrong == sum(len(past(entity)) for entity in world.population.entities) > 20


def test_pages_speak_of_outgoing_facts_only(world: FictionalWorld) -> None:
    main, _ = _main(world)

    def objects(value: object) -> list[Entity]:
        if isinstance(value, Entity):
            return [value]
        return [found for item in value for found in objects(item)] if isinstance(value, list | tuple) else []

    for entity in world.population.entities:
        for relation in entity.relations():
            for other in objects(entity.values[relation.name]):
                assert entity.name not in main[other.name].text, f"{other} speaks of {entity}"


def test_titles_of_restatements_tell_nothing(world: FictionalWorld) -> None:
    _, others = _main(world)
    invented = {word for names in world.entities.values() for name in names for word in name.lower().split()}
    for page in others:
        assert not re.search(r"\d", page.title)
        assert not set(re.findall(r"\w+", page.title.lower())) & (invented - lexicon.GENERIC)
    assert max(Counter(page.title for page in others).values()) == 1


def test_words_that_tell_pages_apart_are_in_no_answer() -> None:
    pools = (lexicon.PROFESSIONS, lexicon.FIELDS, lexicon.EMBLEMS, lexicon.SUBJECTS, lexicon.MATERIALS)
    told = {word for pool in pools for text in pool for word in text.split()}
    assert not told & {*lexicon.LEAVES, *lexicon.BIRDS}
    for pool in pools:
        assert len(set(pool)) == len(pool) >= 40


def test_snippets_show_no_value(world: FictionalWorld) -> None:
    index = memory_index(world.pages)
    pages = {page.url: page for page in world.pages}
    for entity in world.population.entities[::3]:
        for relation in entity.relations():
            query = relation.ask.replace("{x}", entity.name)
            for hit in index.search(query, 10):
                for text in pages[hit.url].withheld:
                    assert not occurs(text, hit.snippet) or occurs(text, query)
    index.close()
