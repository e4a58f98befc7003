"""Wordings: what is written is read again, by the same relation and by no other one."""

from __future__ import annotations

import pytest

from agentworld_envs.domains.search.fiction import reading, values
from agentworld_envs.domains.search.fiction.facts import current
from agentworld_envs.domains.search.fiction.population import KINDS
from agentworld_envs.domains.search.fiction.relations import relations
from agentworld_envs.domains.search.fiction.template import dated, undated
from agentworld_envs.domains.search.fiction.world import FictionalWorld


@pytest.mark.parametrize("year", [None, 2041])
def test_every_wording_has_an_inverse(year: int | None) -> None:
    for entity in FictionalWorld(4, "tiny").population.entities:
        for fact in current(entity):
            for template in (dated if year else undated)(fact.relation):
                before = "" if template.pattern.startswith(("-", "**")) else "Something else. "
                text = f"{before}{template.write(entity.name, fact.text, year or 0)} And more."
                for relation in entity.relations():
                    said = reading.statements(text, entity.name, relation)
                    right = [(values.read(relation, fact.text), year)] if relation is fact.relation else []
                    assert said == right, (template.pattern, relation.name)


def test_wordings_are_many_and_different() -> None:
    for kind in KINDS:
        known = list(relations(kind).values())
        assert all(len(relation.says) >= 4 for relation in known)
        patterns = [form.pattern for relation in known for form in (*undated(relation), *dated(relation))]
        assert len(set(patterns)) == len(patterns)
        assert len({relation.label for relation in known}) == len(known)


TOWN = relations("town")


@pytest.mark.parametrize(
    "text",
    [
        "Old Lomimoor lies in Pravia.",
        "It is not true that Lomimoor lies in Pravia.",
        "Lomimoor lies in Pravia",
        "Lomimoor lies\nin Pravia.",
        "| Name | Region |\n| --- | --- |\n| Lomimoor West | Pravia |",
        "| Town | Region |\n| Lomimoor | Pravia |",
        "",
    ],
)
def test_what_is_said_of_others_or_not_in_full_is_not_read(text: str) -> None:
    assert reading.statements(text, "Lomimoor", TOWN["region"]) == []


def test_a_dated_statement_is_none_without_a_date() -> None:
    text = "As of 2041: Lomimoor lies in Pravia. Lomimoor lies in Ondia."
    assert set(reading.statements(text, "Lomimoor", TOWN["region"])) == {("Pravia", 2041), ("Ondia", None)}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("founded", "1402", 1402),
        ("founded", "in 1402", None),
        ("population", "12,300", 12300),
        ("population", "many", None),
        ("mayors", "A B (1990-1999) and C D (since 1999)", (("A B", 1990, 1999), ("C D", 1999, None))),
        ("mayors", "A B and C D", None),
    ],
)
def test_values(name: str, text: str, value: object) -> None:
    assert values.read(TOWN[name], text) == value


def test_dates_and_lists() -> None:
    born, members = relations("person")["born"], relations("organisation")["members"]
    assert values.read(born, values.written(born, "1987-05-03")) == values.read(born, "1987-05-03") == "1987-05-03"
    assert values.written(born, "1987-05-03") == "3 May 1987"
    for names in (("A B",), ("A B", "C D"), ("A B", "C D", "E F")):
        assert values.read(members, values.written(members, list(names))) == names
