"""`read_corpus`: pages out of whatever a corpus comes as, with a count of what was left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from agentworld_envs.domains.search.engine.folder import read_folder
from agentworld_envs.domains.search.engine.jsonl import TEXTS, read_jsonl
from agentworld_envs.domains.search.engine.records import Skip
from agentworld_envs.domains.search.engine.urls import address_hash
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.interface import ConfigError

_JSON: Final = (".jsonl", ".json", ".ndjson")
DUPLICATE: Final = "duplicate address"
PLACES: Final = 3
"""Places that are kept for each reason."""


class Corpus:
    """Pages in their order, read anew by every iteration and never held in memory.

    A broken record is never an error: it is left out, and counted in `skipped` under its reason: `not JSON`,
    `no text`, `empty`, `too long`, `bad address`, `duplicate address`, `unreadable`, `other kind of file`. A compressed
    file that is cut short is one (ConfigError): nobody would miss the pages behind the cut.
    """

    def __init__(self, path: Path, read: Callable[[Path], Iterator[Page | Skip]]) -> None:
        self.path = path
        self._read = read
        self.pages = 0
        """Pages of the last iteration, so far."""
        self.skipped: Counter[str] = Counter()
        """Records that it left out, per reason."""
        self.places: dict[str, list[str]] = {}
        """Where the first of them stand, per reason: a line, the name of a file, or the id of a page."""
        self._fields: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Page]:
        self.pages = 0
        skipped: Counter[str] = Counter()
        self.skipped, self.places, self._fields = skipped, {}, ()
        seen: set[int] = set()
        for found in self._read(self.path):
            if isinstance(found, Skip):
                skipped[found.reason] += 1
                self._keep(found.reason, found.place)
                self._fields = self._fields or found.fields
            elif (key := address_hash(found.url)) in seen:
                skipped[DUPLICATE] += 1
                self._keep(DUPLICATE, found.id)
            else:
                seen.add(key)
                self.pages += 1
                yield found

    @property
    def hint(self) -> str:
        """What to do about records without text; empty when there are none."""
        if not self._fields:
            return ""
        names = ", ".join(ascii(name)[:60] for name in self._fields[:12])
        return (
            f"The first record without text has the fields {names}. Expected the text in {_either(TEXTS)}; 'id', "
            "'title', 'url', 'date' and 'withheld' may stand beside it."
        )

    def _keep(self, reason: str, place: str) -> None:
        places = self.places.setdefault(reason, [])
        if place and len(places) < PLACES:
            places.append(place)


def _either(names: tuple[str, ...]) -> str:
    return " or ".join(map(repr, names))


def read_corpus(path: Path | str) -> Corpus:
    """A corpus in one of the public layouts.

    * A file of lines `{"id", "text", "metadata": {"title", "url"}}` (LiteResearcher) or `{"id", "contents"}` with the
      title in quotes on the first line (the Wikipedia dumps of Search-R1): `.jsonl`, `.json`, `.ndjson`, each also
      with `.gz`. `date` (ISO 8601) and `withheld` (a list of texts) may stand beside the title. One array of such
      records is read, too, up to 256 MB.
    * A folder of Markdown, HTML and text files, read with its sub-folders in the order of their names.

    A page without an address gets one of its own: `https://corpus.local/` and its id, or its path in the folder.

    Raises:
        ConfigError: no such file or folder, or a kind of file that is not read.
    """
    path = Path(path)
    if path.is_dir():
        return Corpus(path, read_folder)
    if not path.is_file():
        raise ConfigError(f"The corpus {path} does not exist.")
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(_JSON):
        return Corpus(path, read_jsonl)
    raise ConfigError(
        f"{path} is no corpus: expected a file that ends in {', '.join(_JSON)} (also with .gz), or a folder of "
        "Markdown and HTML files."
    )
