"""Dense ranking: vectors of pages in a file, and an exact search by cosine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agentworld_envs.domains.search.engine.exchange import VECTORS as VECTORS
from agentworld_envs.interface import ConfigError, MissingExtraError

Embedder = Callable[[Sequence[str]], Any]
"""Texts to vectors: anything that numpy reads as (number of texts, dimensions) of finite numbers, the same for every
call. Need not be normalised."""
Vectors = npt.NDArray[np.float32]

_BATCH: Final = 256
_EMBEDDED: Final = 4000
"""Characters of a page, and of a query, that are embedded: models see no more than some hundred words."""
_CHUNK: Final = 65_536


def load_embedder(model: str) -> Embedder:
    """A sentence-transformers model by name or folder.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        ConfigError: there is no such model.
    """
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError(
            f"Dense ranking with {model!r} needs sentence-transformers: pip install 'agentworld-envs[dense]'. Or pass "
            "a function from texts to vectors."
        ) from error
    try:
        loaded = SentenceTransformer(model)
    except (OSError, ValueError) as error:
        raise ConfigError(f"The sentence-transformers model {model!r} cannot be loaded: {error}") from error

    def embed(texts: Sequence[str]) -> Any:
        return loaded.encode(list(texts), show_progress_bar=False)

    return embed


def write_vectors(texts: Iterable[str], count: int, embed: Embedder, path: Path) -> int:
    """Embed the pages in batches into a `.npy` file of (count, dimensions) float32 rows of length 1.

    Returns:
        The dimensions.

    Raises:
        ConfigError: the embedder gives another number of vectors, other dimensions than before, or no finite numbers.
    """
    stream: Iterator[str] = iter(texts)
    file: Any = None
    done = 0
    while batch := list(islice(stream, _BATCH)):
        vectors = embedded(embed, batch)
        if file is None:
            file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(count, vectors.shape[1]))
        if vectors.shape[1] != file.shape[1]:
            raise ConfigError(f"The embedder gave {file.shape[1]} dimensions first, and now {vectors.shape[1]}.")
        file[done : done + len(batch)] = vectors
        done += len(batch)
    file.flush()
    return int(file.shape[1])


def embedded(embed: Embedder, texts: Sequence[str]) -> Vectors:
    """Vectors of length 1 (0 for a vector of zeros)."""
    vectors = np.asarray(embed([text[:_EMBEDDED] for text in texts]), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise ConfigError(
            f"An embedder gives one vector of finite numbers for each text: expected ({len(texts)}, dimensions), got "
            f"{vectors.shape}{'' if np.isfinite(vectors).all() else ' with infinities or NaN'}."
        )
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms == 0, 1, norms), dtype=np.float32)


class DenseVectors:
    """Searches a file of vectors, memory-mapped; exact, so that every run finds the same.

    Raises:
        ConfigError: the file is missing, or does not hold `count` vectors.
    """

    def __init__(self, path: Path, count: int, embed: Embedder) -> None:
        try:
            self._vectors: Any = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, EOFError, ValueError) as error:
            raise ConfigError(f"The vectors {path} cannot be read ({error}). Build the index again.") from error
        if self._vectors.ndim != 2 or len(self._vectors) != count:
            raise ConfigError(f"{path} holds vectors of shape {self._vectors.shape}, expected {count}: build it again.")
        self._embed = embed

    def top(self, query: str, limit: int) -> list[tuple[int, float]]:
        """Rows and cosines, best first, the first page of equals first."""
        wanted = embedded(self._embed, [query])[0]
        if wanted.shape[0] != self._vectors.shape[1]:
            raise ConfigError(
                f"The index holds vectors of {self._vectors.shape[1]} dimensions, the embedder gave {wanted.shape[0]}: "
                "open it with the embedder that it was built with."
            )
        scores = np.empty(len(self._vectors), dtype=np.float32)
        for start in range(0, len(scores), _CHUNK):
            np.dot(self._vectors[start : start + _CHUNK], wanted, out=scores[start : start + _CHUNK])
        # The last digits depend on how a product is split among threads.
        scores = np.round(scores, 5)
        limit = min(limit, len(scores))
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        rows = np.flatnonzero(scores >= least)
        order = np.lexsort((rows, -scores[rows]))[:limit]
        return [(int(row), float(scores[row])) for row in rows[order]]

    def close(self) -> None:
        """Let go of the file."""
        self._vectors = None
