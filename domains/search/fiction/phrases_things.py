"""How works and products are spoken of."""

from __future__ import annotations

from agentworld_envs.domains.search.fiction import lexicon
from agentworld_envs.domains.search.fiction.relations import Relation

_WORK = (
    Relation(
        "work", "published", "year", "Published",
        "the publication of {x}", "In what year was {x} published?",
        (
            "{s} was published in {o}.",
            "The first edition of {s} is from {o}.",
            "It was in {o} that {s} came out.",
            "Readers first met {s} in {o}.",
        ),
        low=2005, high=2047, clause="that was published in {o}", most="was published last",
        least="was published first", beyond="were published after {o}",
    ),
    Relation(
        "work", "length", "number", "Pages",
        "the number of pages of {x}", "How many pages does {x} have?",
        (
            "{s} has {o} pages.",
            "At {o} pages, {s} is a book for long evenings.",
            "Printers needed {o} pages for {s}.",
            "The printed text of {s} runs to {o} pages.",
        ),
        low=112, high=1890, unit="pages", clause="that has {o} pages",
        most="has the most pages", least="has the fewest pages",
        beyond="have more than {o} pages",
    ),
    Relation(
        "work", "subject", "text", "Subject",
        "the subject of {x}", "What is {x} about?",
        (
            "{s} is a story of {o}.",
            "The subject of {s} is {o}.",
            "At its heart, {s} is about {o}.",
            "Whoever opens {s} reads of {o}.",
        ),
        pool=lexicon.SUBJECTS,
    ),
    Relation(
        "work", "author", "entity", "Author",
        "the author of {x}", "Who wrote {x}?",
        (
            "{s} was written by {o}.",
            "The author of {s} is {o}.",
            "It was {o} who wrote {s}.",
            "On the title page of {s} stands the name of {o}.",
        ),
        target="person", clause="that was written by {o}",
    ),
    Relation(
        "work", "publisher", "entity", "Publisher",
        "the publisher of {x}", "Which organisation published {x}?",
        (
            "{s} appeared with {o}.",
            "The publisher of {s} is {o}.",
            "Rights to {s} are held by its publisher, {o}.",
            "{s} was brought out by {o}.",
        ),
        target="organisation", clause="that appeared with {o}",
    ),
    Relation(
        "work", "setting", "entity", "Setting",
        "the town where {x} is set", "In which town is {x} set?",
        (
            "{s} is set in {o}.",
            "The plot of {s} unfolds in {o}.",
            "Streets of {o} are easily recognised in {s}.",
            "Readers of {s} walk through {o} in their minds.",
        ),
        target="town", clause="that is set in {o}",
    ),
)  # fmt: skip
_PRODUCT = (
    Relation(
        "product", "launched", "year", "Launched",
        "the launch of {x}", "In what year was {x} first sold?",
        (
            "{s} was first sold in {o}.",
            "The launch of {s} took place in {o}.",
            "It was in {o} that {s} reached the shops.",
            "{s} has been sold since {o}.",
        ),
        low=2005, high=2047, clause="that was first sold in {o}", most="was first sold last",
        least="was first sold earliest", beyond="were first sold after {o}",
    ),
    Relation(
        "product", "weight", "number", "Weight (g)",
        "the weight of {x} in grams", "How many grams does {x} weigh?",
        (
            "{s} weighs {o} grams.",
            "On the scales, {s} comes to {o} grams.",
            "Packed and ready, {o} grams are what {s} weighs.",
            "Carrying {s} means carrying {o} grams.",
        ),
        low=230, high=88000, unit="g", clause="that weighs {o} grams", most="is the heaviest", least="is the lightest",
        beyond="weigh more than {o} grams",
    ),
    Relation(
        "product", "price", "number", "Price (crowns)",
        "the price of {x} in crowns", "How many crowns does {x} cost?",
        (
            "{s} costs {o} crowns.",
            "Shops ask {o} crowns for {s}.",
            "The list price of {s} is {o} crowns.",
            "Whoever wants {s} pays {o} crowns.",
        ),
        low=110, high=9800, unit="crowns", volatile=True, most="is the most expensive", least="is the cheapest",
        beyond="cost more than {o} crowns",
    ),
    Relation(
        "product", "material", "text", "Material",
        "the main material of {x}", "What is {x} mainly made of?",
        (
            "{s} is mainly made of {o}.",
            "The main material of {s} is {o}.",
            "Makers of {s} have always preferred {o}.",
            "What one touches first on {s} is {o}.",
        ),
        pool=lexicon.MATERIALS,
    ),
    Relation(
        "product", "maker", "entity", "Maker",
        "the maker of {x}", "Which organisation makes {x}?",
        (
            "{s} is made by {o}.",
            "The maker of {s} is {o}.",
            "It is {o} that makes {s}.",
            "Every {s} leaves the works of {o}.",
        ),
        target="organisation", clause="that is made by {o}",
    ),
    Relation(
        "product", "designer", "entity", "Designer",
        "the designer of {x}", "Who designed {x}?",
        (
            "{s} was designed by {o}.",
            "The designer of {s} was {o}.",
            "First sketches of {s} are by {o}.",
            "{s} is a design of {o}.",
        ),
        target="person", clause="that was designed by {o}",
    ),
)  # fmt: skip
RELATIONS = (*_WORK, *_PRODUCT)
