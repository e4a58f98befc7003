"""How regions, towns and events are spoken of."""

from __future__ import annotations

from agentworld_envs.domains.search.fiction import lexicon
from agentworld_envs.domains.search.fiction.relations import Relation

_REGION = (
    Relation(
        "region", "area", "number", "Area (km²)",
        "the area of {x} in square kilometres", "How many square kilometres does {x} cover?",
        (
            "{s} covers {o} square kilometres.",
            "Surveyors put the extent of {s} at {o} square kilometres.",
            "With a surface of {o} square kilometres, {s} is neither the largest nor the smallest of its kind.",
            "Measured from border to border, {s} has an area of {o} square kilometres.",
        ),
        low=1100, high=98000, unit="km²", clause="that covers {o} square kilometres",
    ),
    Relation(
        "region", "emblem", "text", "Emblem",
        "the emblem of {x}", "What does the emblem of {x} show?",
        (
            "The flag of {s} shows {o}.",
            "Since the first assembly, {s} has had {o} as its emblem.",
            "On seals of {s} one finds {o}.",
            "The coat of arms of {s} bears {o}.",
        ),
        pool=lexicon.EMBLEMS,
    ),
    Relation(
        "region", "port", "entity", "Port",
        "the port of {x}", "Which town is the port of {x}?",
        (
            "The port of {s} is {o}.",
            "{s} ships its goods through {o}.",
            "Whatever leaves {s} by water leaves from {o}.",
            "Captains who load for {s} anchor at {o}.",
        ),
        target="town", clause="whose port is {o}",
    ),
    Relation(
        "region", "patron", "entity", "Patron",
        "the patron of {x}", "Who is honoured as the patron of {x}?",
        (
            "As its patron, {s} honours {o}.",
            "{s} keeps a holiday for its patron, {o}.",
            "The patron of {s} is {o}.",
            "Schools of {s} bear the name of its patron, {o}.",
        ),
        target="person",
    ),
)  # fmt: skip
_TOWN = (
    Relation(
        "town", "founded", "year", "Chartered",
        "the charter of {x}", "In what year was {x} granted its charter?",
        (
            "{s} was granted its charter in {o}.",
            "The charter of {s} dates from {o}.",
            "It was in {o} that {s} became a town.",
            "Town rights of {s} go back to the year {o}.",
        ),
        low=1210, high=1890, clause="that was granted its charter in {o}", most="was granted its charter last",
        least="was granted its charter first", beyond="were granted their charter after {o}",
    ),
    Relation(
        "town", "elevation", "number", "Elevation (m)",
        "the elevation of {x} in metres", "At how many metres above the sea does {x} lie?",
        (
            "{s} lies {o} metres above the sea.",
            "The market place of {s} is at {o} metres above the sea.",
            "Maps give {o} metres as the elevation of {s}.",
            "Those who walk up to {s} climb to {o} metres above the sea.",
        ),
        low=101, high=2890, unit="m", clause="that lies {o} metres above the sea",
        most="lies highest", least="lies lowest",
        beyond="lie more than {o} metres above the sea",
    ),
    Relation(
        "town", "population", "number", "Population",
        "the population of {x}", "How many inhabitants does {x} have?",
        (
            "{s} has {o} inhabitants.",
            "The census counted {o} people in {s}.",
            "The population of {s} stands at {o}.",
            "With {o} inhabitants, {s} keeps its own theatre.",
        ),
        low=3100, high=940000, unit="inhabitants", volatile=True,
        most="has the most inhabitants", least="has the fewest inhabitants",
        beyond="have more than {o} inhabitants",
    ),
    Relation(
        "town", "region", "entity", "Region",
        "the region in which {x} lies", "In which region does {x} lie?",
        (
            "{s} lies in {o}.",
            "{s} belongs to {o}.",
            "For all purposes of law, {s} is part of {o}.",
            "{s} is one of the towns of {o}.",
        ),
        target="region", clause="that lies in {o}",
    ),
    Relation(
        "town", "twin", "entity", "Twin town",
        "the twin town of {x}", "Which town is twinned with {x}?",
        (
            "{s} is twinned with {o}.",
            "A treaty of friendship ties {s} to {o}, its twin town.",
            "The twin town of {s} is {o}.",
            "School classes from {s} travel every spring to {o}, its twin town.",
        ),
        target="town",
    ),
    Relation(
        "town", "planner", "entity", "Planner",
        "the planner of {x}", "Who drew the street plan of {x}?",
        (
            "The street plan of {s} was drawn by {o}.",
            "{s} owes its street plan to {o}.",
            "It was {o} who drew the streets of {s}.",
            "The streets of {s} follow a plan by {o}.",
        ),
        target="person",
    ),
    Relation(
        "town", "mayors", "terms", "Mayors",
        "the mayors of {x}", "Who have been the mayors of {x}?",
        (
            "The mayors of {s} were {o}.",
            "Mayors of {s}, in order: {o}.",
            "The town hall of {s} has on its wall the names of {o}.",
            "Those who have governed {s} as mayor are {o}.",
        ),
        target="person", member="mayor",
    ),
)  # fmt: skip
_EVENT = (
    Relation(
        "event", "held", "date", "Opened",
        "the opening of {x}", "On what date did {x} open?",
        (
            "{s} opened on {o}.",
            "The first day of {s} was {o}.",
            "It was on {o} that {s} began.",
            "The gates of {s} were first opened on {o}.",
        ),
        low=2005, high=2047, clause="that opened on {o}",
    ),
    Relation(
        "event", "attendance", "number", "Attendance",
        "the attendance of {x}", "How many visitors did {x} have?",
        (
            "{s} drew {o} visitors.",
            "At the gates of {s}, {o} visitors were counted.",
            "With {o} visitors, {s} did better than feared.",
            "Tickets for {s} were sold to {o} visitors.",
        ),
        low=1200, high=88000, unit="visitors", clause="that drew {o} visitors",
    ),
    Relation(
        "event", "venue", "entity", "Venue",
        "the town where {x} was opened", "In which town was {x} opened?",
        (
            "{s} was opened in {o}.",
            "The venue of {s} was {o}.",
            "For {s}, the choice of place fell on {o}.",
            "Flags were up in {o} for the opening of {s}.",
        ),
        target="town", clause="that was opened in {o}",
    ),
    Relation(
        "event", "organiser", "entity", "Organiser",
        "the organiser of {x}", "Which organisation organised {x}?",
        (
            "{s} was organised by {o}.",
            "The organiser of {s} was {o}.",
            "It fell to {o} to organise {s}.",
            "Behind {s} stood {o} as organiser.",
        ),
        target="organisation",
    ),
    Relation(
        "event", "honoured", "entity", "Guest of honour",
        "the guest of honour at {x}", "Who was the guest of honour at {x}?",
        (
            "The guest of honour at {s} was {o}.",
            "{s} was opened with a speech by its guest of honour, {o}.",
            "As guest of honour, {s} received {o}.",
            "The seat of honour at {s} was taken by {o}.",
        ),
        target="person",
    ),
    Relation(
        "event", "programme", "list", "Programme",
        "the works on the programme of {x}", "Which works were on the programme of {x}?",
        (
            "On the programme of {s} were {o}.",
            "{s} presented {o}.",
            "Audiences of {s} could choose between {o}.",
            "Those who came to {s} heard readings from {o}.",
        ),
        target="work", plural="the works on the programme of {x}", member="work",
    ),
    Relation(
        "event", "exhibits", "list", "Exhibits",
        "the products exhibited at {x}", "Which products were exhibited at {x}?",
        (
            "Exhibited at {s} were {o}.",
            "Stands of {s} showed {o}.",
            "Visitors of {s} could try {o}.",
            "Makers had sent to {s} their best: {o}.",
        ),
        target="product", plural="the products exhibited at {x}", member="product",
    ),
    Relation(
        "event", "route", "list", "Route",
        "the towns on the route of {x}", "Which towns were on the route of {x}?",
        (
            "The route of {s} led through {o}.",
            "{s} called at {o}.",
            "Camps of {s} stood near {o}.",
            "Those who followed {s} on a map put pins at {o}.",
        ),
        target="town", plural="the towns on the route of {x}", member="town",
    ),
)  # fmt: skip
RELATIONS = (*_REGION, *_TOWN, *_EVENT)
