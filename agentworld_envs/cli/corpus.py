"""`agentworld corpus`: search indexes over one's own pages."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from agentworld_envs.cli.console import plain_table, say, stderr, stdout
from agentworld_envs.domains.search.engine import BuildReport, Corpus, Ranking, build, open_index, read_corpus
from agentworld_envs.domains.search.engine.manifest import read_manifest
from agentworld_envs.interface import ConfigError

app = typer.Typer(no_args_is_help=True, help="Search indexes: build one over a corpus, and look into it.")

Folder = Annotated[Path, typer.Argument(help="Folder of the index.")]
_EVERY_S = 2.0


@app.command("build")
def build_command(
    source: Annotated[
        Path, typer.Argument(help="JSON lines or a JSON array (also .gz), or a folder of Markdown and HTML files.")
    ],
    folder: Folder,
    engine: Annotated[
        Literal["auto", "tantivy", "fts5"],
        typer.Option(help="What ranks by words; auto takes Tantivy when it is there."),
    ] = "auto",
    dense: Annotated[
        str | None, typer.Option(metavar="MODEL", help="A sentence-transformers model, to rank by meaning, too.")
    ] = None,
) -> None:
    """Build an index, and report what was left out of it, and where.

    An index that is there already is replaced. Parent folders are made.
    """
    last = started = time.monotonic()

    def progress(count: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _EVERY_S:
            last = time.monotonic()
            say(stderr(), f"{count:,} pages, {count / (last - started):,.0f} a second")

    corpus = read_corpus(source)
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"Cannot make the folder {folder.parent}: {error.strerror}.") from error
    report = build(corpus, folder, kind=engine, dense=dense, progress=progress)
    _show(report, corpus, time.monotonic() - started)


@app.command()
def info(folder: Folder) -> None:
    """Show what an index holds."""
    manifest = read_manifest(folder)
    rows = {
        "pages": f"{manifest.pages:,}",
        "characters": f"{manifest.characters:,}",
        "engine": f"{manifest.engine} {manifest.engine_version}",
        "vectors": f"{manifest.dimensions} dimensions, {manifest.embedder or 'made by a function'}"
        if manifest.dimensions
        else "none",
        "digest": manifest.digest,
        "skipped": ", ".join(f"{count:,} {reason}" for reason, count in manifest.skipped.items()) or "none",
    }
    table = plain_table("what", "value")
    for name, value in rows.items():
        table.add_row(name, value)
    stdout().print(table)


@app.command()
def search(
    folder: Folder,
    query: Annotated[list[str], typer.Argument(help="What to look for; operators have no meaning.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Most results.")] = 10,
    ranking: Annotated[
        Literal["auto", "lexical", "dense", "fused"], typer.Option(help="By words, by meaning, or by both.")
    ] = "auto",
) -> None:
    """Search an index, with the ranking that an agent's searches have.

    Two things differ from what an agent sees: dates are in ISO 8601, and nothing of a task is withheld, neither the
    pages that it masks nor its answer in the snippets.
    """
    index = open_index(folder, ranking=Ranking(ranking))
    try:
        hits = index.search(" ".join(query), limit)
        if not hits:
            say(stdout(), "Nothing found.")
        for number, hit in enumerate(hits, 1):
            date = f"\nDate: {hit.date}" if hit.date else ""
            say(stdout(), f"[{number}] {hit.url}\nTitle: {hit.title}\nSnippet: {hit.snippet}{date}\n")
    finally:
        index.close()


def _show(report: BuildReport, corpus: Corpus, seconds: float) -> None:
    console = stdout()
    say(console, f"{report.folder}: {report.pages:,} pages, {report.kind}, {seconds:.1f} s")
    for reason, count in sorted(report.skipped.items()):
        places = corpus.places.get(reason, [])
        named = ", ".join(places + ["..."] * (count > len(places)))
        say(console, f"  left out: {count:,} {reason}" + (f" ({named})" if places else ""))
    say(console, f"  digest {report.digest}")
