"""The manifest of an index folder: what it holds, and by which engine and format it was built."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from agentworld_envs.domains.search.engine.exchange import MANIFEST, cut_off
from agentworld_envs.interface import ConfigError

FORMAT: Final = 1
"""Version of the layout, the analysis and the snippets together. Goes up when any of them changes."""
FILE: Final = MANIFEST

EngineKind = Literal["tantivy", "fts5"]


class Manifest(BaseModel):
    """Written last, so that a folder with a manifest is whole."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: Literal["agentworld search index"] = "agentworld search index"
    format: Literal[1] = 1
    engine: EngineKind
    engine_version: str
    pages: int
    characters: int
    """Of all texts and titles."""
    digest: str
    skipped: dict[str, int] = {}
    """Records of the corpus that were left out, per reason."""
    dimensions: int | None = None
    """Of the vectors for dense ranking; `None` without."""
    embedder: str | None = None
    """Name of the sentence-transformers model; `None` when a function made the vectors."""


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write it into the folder."""
    (folder / FILE).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Read and check it.

    Raises:
        ConfigError: the folder is no index, an unfinished one, or one of another version.
    """
    again = f"agentworld corpus build SOURCE {folder}"
    try:
        text = (folder / FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        if (old := cut_off(folder)) is not None:
            raise ConfigError(
                f"{folder} does not exist: a build that was replacing it was killed. The index that was there is in "
                f"{old}: move it back to {folder}, or build anew, which puts it back first: {again}"
            ) from None
        what = "is not a search index, or a build that did not finish" if folder.is_dir() else "does not exist"
        raise ConfigError(f"{folder} {what}. Build one: {again}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The manifest of {folder} cannot be read ({error}). Build it again: {again}") from error
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        raise ConfigError(
            f"The search index {folder} was built by another version or is damaged; this one reads format {FORMAT}. "
            f"Build it again: {again} ({error.errors()[0]['loc']}: {error.errors()[0]['msg']})"
        ) from None
