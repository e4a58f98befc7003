"""Plain words that fictional worlds are told with; all that is not invented."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentworld_envs.domains.search.fiction.draw import Draw

NOUNS: dict[str, tuple[str, ...]] = {
    "region": ("province", "county", "district", "canton"),
    "town": ("market town", "port", "hill town", "river town", "mill town", "spa town"),
    "person": ("public figure",),
    "organisation": (
        "institute", "society", "press", "foundry", "college", "guild", "observatory", "bank", "academy", "trust",
        "workshop", "archive",
    ),
    "work": (
        "lament", "meridian", "orchard", "lantern", "passage", "harvest", "winter", "letters", "garden", "elegy",
        "atlas", "voyage",
    ),
    "event": ("festival", "fair", "expedition"),
    "product": (
        "lamp", "loom", "kiln", "compass", "barometer", "bicycle", "stove", "clock", "lathe", "telescope", "plough",
        "pump",
    ),
}  # fmt: skip
"""What a thing of each kind is; the nouns of all but people and places are part of its name."""

PROFESSIONS = (
    "glassblower", "cartographer", "botanist", "luthier", "bridge engineer", "typographer", "astronomer", "beekeeper",
    "harbour pilot", "puppeteer", "bookbinder", "geologist", "horticulturist", "clockmaker", "playwright", "sculptor",
    "veterinarian", "surveyor", "weaver", "chemist", "ornithologist", "perfumer", "stonemason", "translator",
    "meteorologist", "cellist", "dyer", "potter", "entomologist", "engraver", "lighthouse keeper", "saddler",
    "philologist", "cheesemaker", "falconer", "optician", "tanner", "shipwright", "hydrographer", "calligrapher",
)  # fmt: skip
FIELDS = (
    "tidal studies", "soil science", "bell founding", "paper conservation", "river navigation", "seed breeding",
    "lens grinding", "rural medicine", "bridge safety", "folk music", "mine rescue", "cloud physics", "salt refining",
    "wool grading", "map printing", "forest law", "canal building", "peat research", "timber seasoning",
    "dialect study", "snow survey", "pottery glazes", "rope testing", "grain storage", "spring water", "lichen study",
    "cave survey", "coin minting", "theatre design", "insect control", "bookbinding", "kite meteorology",
    "reef charting", "orchard grafting", "fever nursing", "wind power", "clock repair", "glass staining",
    "horse breeding", "dune planting",
)  # fmt: skip
EMBLEMS = (
    "a heron", "a black otter", "three sheaves", "a silver pike", "a walnut tree", "a red lantern", "two oars",
    "a grey badger", "a blue thistle", "a stag beetle", "an open gate", "a white hare", "a copper bell",
    "a coiled rope",
    "a green lizard", "an oak leaf", "a golden bream", "a crossed key", "a kingfisher", "a millstone", "a pine cone",
    "a red squirrel", "a broken wheel", "a barn owl", "a honeycomb", "a running fox", "a tall ship", "a sundial",
    "a lynx", "a juniper branch", "a stone arch", "a pair of gloves", "a curlew", "a snow goose", "a water lily",
    "an anchor", "a plumb line", "a swallow", "a hedgehog", "a briar rose",
)  # fmt: skip
SUBJECTS = (
    "a drowned village", "a lost inheritance", "twin lighthouse keepers", "a failed harvest", "a travelling circus",
    "a forged map", "the last ferry", "a deaf piano tuner", "a strike of weavers", "an avalanche", "a stolen bell",
    "a blind surveyor", "the salt road", "a banished judge", "a winter siege", "a missing schoolteacher",
    "a quarrel of beekeepers", "an old observatory", "the great flood", "a mute shepherd", "a false prophet",
    "a wandering printer", "a duel at dawn", "the plague year", "a buried railway", "a house of clocks",
    "an orphaned prince", "the glass mountain", "a smuggling ring", "a divided orchard", "a night train",
    "the silent choir", "a murdered miller", "the wolf hunt", "an abandoned mine", "a ship in the ice",
    "a letter never sent", "the paper war", "a vanished comet", "the bridge builders",
)  # fmt: skip
MATERIALS = (
    "beech wood", "cast iron", "brass", "tinplate", "enamelled steel", "walnut", "ash wood", "pewter", "soapstone",
    "stoneware", "oiled leather", "copper", "nickel silver", "slate", "cork", "boxwood", "horn", "bronze", "aluminium",
    "lacquered pine", "wrought iron", "zinc", "bone china", "cherry wood", "galvanised wire", "basalt", "linen canvas",
    "gunmetal", "fired clay", "maple", "hard rubber", "marble", "willow cane", "tempered glass", "larch", "felt",
    "granite", "pear wood", "oak", "lead crystal",
)  # fmt: skip

LEAVES = (
    "amber", "ashen", "aster", "autumn", "birch", "bramble", "candle", "cedar", "clover", "cobalt", "crimson",
    "damson", "dapple", "drift", "elder", "ember", "fallow", "fern", "flint", "frost", "gentle", "gorse", "hazel",
    "heather", "indigo", "ivory", "lapis", "lilac", "linden", "maroon", "meadow", "mist", "moss", "nettle", "ochre",
    "opal", "orchid", "pebble", "plum", "poplar", "quartz", "rowan", "russet", "saffron", "sage", "sedge", "sorrel",
    "tawny", "teasel", "tulip", "umber", "velvet", "violet", "yarrow",
)  # fmt: skip
BIRDS = (
    "auk", "avocet", "bittern", "bunting", "buzzard", "chough", "coot", "crane", "cuckoo", "dipper", "dotterel",
    "dove", "dunlin", "dunnock", "egret", "eider", "falcon", "fieldfare", "finch", "gannet", "godwit", "goshawk",
    "grebe", "grouse", "harrier", "hobby", "hoopoe", "jackdaw", "kestrel", "knot", "lapwing", "linnet", "magpie",
    "martin", "merlin", "nuthatch", "oriole", "osprey", "ouzel", "partridge", "petrel", "pipit", "plover", "puffin",
    "quail", "rail", "redstart", "robin", "rook", "sandpiper", "shrike", "siskin", "skylark", "smew", "snipe",
    "starling", "stint", "swift", "teal", "tern", "thrush", "wagtail", "warbler", "wheatear", "whinchat", "wigeon",
    "wren",
)  # fmt: skip
"""Two of these tell pages apart whose titles must name nothing and count nothing; no answer has one of these words."""

FILLERS = (
    "The wording follows the usual form of these entries.",
    "Readers who know better are asked to write in.",
    "Spelling has been left as it was found.",
    "Nothing further is on record here.",
    "The editors have seen the papers themselves.",
    "Some of this was told before, if less fully.",
    "The rest has to be looked up elsewhere.",
    "Names that look alike are easily confused, so care is advised.",
    "A longer account may follow.",
    "This was compared with the registers before it went to print.",
)

_TITLES = {
    "organisation": ("{root} {Noun}",),
    "work": ("The {root} {Noun}", "{Noun} of {root}", "{root} {Noun}", "{Noun} for {root}"),
    "event": ("{root} {Noun}", "Great {root} {Noun}", "Northern {root} {Noun}"),
    "product": ("{root} {Noun}", "{root} Travel {Noun}", "{root} Master {Noun}"),
}
GENERIC = frozenset(
    word
    for text in (*(noun for nouns in NOUNS.values() for noun in nouns), "the of for great northern travel master")
    for word in text.split()
)
"""Words of names that are not invented, in lower case."""


def named(kind: str, root: str, noun: str, draw: Draw) -> str:
    """The name of something of a kind: an invented root and what it is."""
    return draw.pick(_TITLES[kind]).format(root=root, Noun=noun.title())
