"""How people and organisations are spoken of."""

from __future__ import annotations

from agentworld_envs.domains.search.fiction import lexicon
from agentworld_envs.domains.search.fiction.relations import Relation

_PERSON = (
    Relation(
        "person", "born", "date", "Born",
        "the birth of {x}", "On what date was {x} born?",
        (
            "{s} was born on {o}.",
            "The birth of {s} is recorded for {o}.",
            "It was on {o} that {s} came into the world.",
            "Parish books enter the birth of {s} under {o}.",
        ),
        low=1951, high=1985, clause="who was born on {o}", most="was born last", least="was born first",
        beyond="were born after the end of {o}",
    ),
    Relation(
        "person", "profession", "text", "Profession",
        "the profession of {x}", "What is the profession of {x}?",
        (
            "By profession, {s} is a trained {o}.",
            "{s} learned the trade of {o} and never left it.",
            "Asked about work, {s} always answers with one word: {o}.",
            "{s} earns a living as {o}.",
        ),
        pool=lexicon.PROFESSIONS,
    ),
    Relation(
        "person", "letters", "number", "Letters kept",
        "the number of letters kept of {x}", "How many letters of {x} are kept?",
        (
            "Of {s}, {o} letters are kept.",
            "Archivists have counted {o} letters by {s}.",
            "The papers of {s} include {o} letters.",
            "Whoever works through the letters of {s} has {o} of them to read.",
        ),
        low=210, high=9800, unit="letters", clause="of whom {o} letters are kept",
        most="is the one with the most letters kept",
        least="is the one with the fewest letters kept", beyond="are known by more than {o} letters",
    ),
    Relation(
        "person", "birthplace", "entity", "Birthplace",
        "the birthplace of {x}", "In which town was {x} born?",
        (
            "The birthplace of {s} is {o}.",
            "{s} is a native of {o}.",
            "The cradle of {s} stood in {o}.",
            "{s} was born in {o}.",
        ),
        target="town", clause="who was born in {o}",
    ),
    Relation(
        "person", "residence", "entity", "Residence",
        "the town where {x} lives", "In which town does {x} live?",
        (
            "{s} lives in {o}.",
            "The home of {s} is in {o}.",
            "{s} keeps a house in {o}.",
            "Mail for {s} goes to {o}.",
        ),
        target="town", volatile=True,
    ),
    Relation(
        "person", "employer", "entity", "Employer",
        "the employer of {x}", "Which organisation employs {x}?",
        (
            "{s} is employed by {o}.",
            "{s} draws a salary from {o}.",
            "The employer of {s} is {o}.",
            "{s} is on the payroll of {o}.",
        ),
        target="organisation", clause="who is employed by {o}",
    ),
    Relation(
        "person", "mentor", "entity", "Mentor",
        "the mentor of {x}", "Who was the mentor of {x}?",
        (
            "The mentor of {s} was {o}.",
            "{s} was taught by {o}.",
            "As a pupil of {o}, {s} learned patience first.",
            "{s} owes the first lessons to {o}, a strict mentor.",
        ),
        target="person", clause="whose mentor was {o}",
    ),
)  # fmt: skip
_ORGANISATION = (
    Relation(
        "organisation", "founded", "year", "Founded",
        "the founding of {x}", "In what year was {x} founded?",
        (
            "{s} was founded in {o}.",
            "The deed of foundation of {s} is dated {o}.",
            "It was in {o} that {s} first opened its doors.",
            "{s} has existed since {o}.",
        ),
        low=2005, high=2047, clause="that was founded in {o}",
    ),
    Relation(
        "organisation", "staff", "number", "Staff",
        "the number of staff of {x}", "How many people work for {x}?",
        (
            "{s} has a staff of {o}.",
            "The payroll of {s} lists {o} people.",
            "At {s}, {o} people earn their living.",
            "{s} employs {o} people.",
        ),
        low=130, high=9700, unit="people", volatile=True,
    ),
    Relation(
        "organisation", "field", "text", "Field",
        "the field of {x}", "In what field does {x} work?",
        (
            "{s} is devoted to {o}.",
            "The field of {s} is {o}.",
            "Whoever asks about {o} is sent to {s}.",
            "{s} is known for its work in {o}.",
        ),
        pool=lexicon.FIELDS,
    ),
    Relation(
        "organisation", "seat", "entity", "Seat",
        "the seat of {x}", "In which town does {x} have its seat?",
        (
            "{s} has its seat in {o}.",
            "The head office of {s} stands in {o}.",
            "Letters to {s} are addressed to {o}.",
            "The nameplate of {s} hangs on a door in {o}.",
        ),
        target="town", clause="that has its seat in {o}",
    ),
    Relation(
        "organisation", "founder", "entity", "Founder",
        "the founder of {x}", "Who founded {x}?",
        (
            "The founder of {s} was {o}.",
            "{s} was founded by {o}.",
            "It was {o} who called {s} into being.",
            "{s} goes back to a plan of {o}, its founder.",
        ),
        target="person", clause="that was founded by {o}",
    ),
    Relation(
        "organisation", "partner", "entity", "Partner",
        "the partner organisation of {x}", "Which organisation is the partner of {x}?",
        (
            "The partner of {s} is {o}.",
            "{s} works hand in hand with {o}.",
            "A treaty binds {s} to {o}, its partner.",
            "{s} shares its library with its partner, {o}.",
        ),
        target="organisation",
    ),
    Relation(
        "organisation", "directors", "terms", "Directors",
        "the directors of {x}", "Who have been the directors of {x}?",
        (
            "The directors of {s} were {o}.",
            "At the head of {s} stood {o}.",
            "Directors of {s}, in order: {o}.",
            "The chair of director of {s} was held by {o}.",
        ),
        target="person", member="director",
    ),
    Relation(
        "organisation", "members", "list", "Fellows",
        "the fellows of {x}", "Who are the fellows of {x}?",
        (
            "The fellows of {s} are {o}.",
            "Elected fellows of {s}: {o}.",
            "{s} counts among its fellows {o}.",
            "Fellowship of {s} was given to {o}.",
        ),
        target="person", plural="the fellows of {x}", member="fellow",
    ),
)  # fmt: skip
RELATIONS = (*_PERSON, *_ORGANISATION)
