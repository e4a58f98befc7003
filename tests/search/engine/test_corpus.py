"""Corpora as they come, broken ones among them."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from agentworld_envs.domains.search.engine import BadURL, build, canonical, read_corpus
from agentworld_envs.domains.search.engine.records import MAX_BYTES, MAX_TEXT
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.interface import ConfigError


def _line(**fields: object) -> str:
    return json.dumps(fields)


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    lines = [
        _line(id="a", text="One page.", metadata={"title": " A\n title ", "url": "HTTPS://a.org/x/#y"}),
        _line(id=7, contents='"Wiki title"\nWiki text.'),
        _line(id="b c/d?", text="No address, no title."),
        _line(text="Neither", title="Top", url="https://a.org/top", date="2031-04-07T10:00:00Z", withheld=["x", 3]),
    ]
    path.write_text("\ufeff" + "\n\n".join(lines))
    corpus = read_corpus(path)
    assert list(corpus) == [
        Page("a", "https://a.org/x", "A title", "One page."),
        Page("7", "https://corpus.local/7", "Wiki title", "Wiki text."),
        Page("b c/d?", "https://corpus.local/b%20c/d%3F", "No address, no title.", "No address, no title."),
        Page("line-7", "https://a.org/top", "Top", "Neither", "2031-04-07", ("x",)),
    ]
    assert corpus.pages == 4
    assert not corpus.skipped
    assert list(corpus) == list(read_corpus(str(path))), "a corpus can be read again"


def test_broken_records_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    lines = [
        _line(id="1", text="good").encode(),
        b"{not json",
        b"[1, 2]",
        b"[" * 100_000,
        b'{"id": "2", "text": "\xff\xfe"}',
        b"\x00\x01\x02",
        _line(id="3").encode(),
        _line(id="4", text=None).encode(),
        _line(id="5", text=["list"]).encode(),
        _line(id="6", text=" \n ").encode(),
        _line(id="7", text="x" * (MAX_TEXT + 1)).encode(),
        b'{"id": "8", "text": "' + b"y" * (MAX_BYTES + 10) + b'"}',
        _line(id="9", text="t", metadata={"url": "file:///etc/passwd"}).encode(),
        _line(id="10", text="t", metadata={"url": "not an address"}).encode(),
        _line(id="1", text="again").encode(),
        _line(id="11", text="t", url="https://corpus.local/1/").encode(),
        _line(id="12", text="\ud800 half a pair").encode(),
        _line(id="13", text="last", metadata="odd").encode(),
    ]
    path.write_bytes(b"\n".join(lines))
    corpus = read_corpus(path)
    assert [page.id for page in corpus] == ["1", "12", "13"]
    assert corpus.skipped == {
        "not JSON": 5,
        "no text": 3,
        "empty": 1,
        "too long": 2,
        "bad address": 2,
        "duplicate address": 2,
    }


def test_compressed_and_cut(tmp_path: Path) -> None:
    whole = tmp_path / "wiki.jsonl.gz"
    lines = "\n".join(_line(id=n, contents=f'"T{n}"\n' + os.urandom(200).hex()) for n in range(500))
    whole.write_bytes(gzip.compress(lines.encode()))
    assert len(list(read_corpus(whole))) == 500
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(whole.read_bytes()[:-20_000])
    for data in (cut.read_bytes(), b"no gzip at all", whole.read_bytes()[:8]):
        cut.write_bytes(data)
        with pytest.raises(ConfigError, match=r"cut\.jsonl\.gz is damaged or cut short"):
            list(read_corpus(cut))
        with pytest.raises(ConfigError, match="damaged"):
            build(read_corpus(cut), tmp_path / "index", kind="fts5")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.jsonl.gz", "wiki.jsonl.gz"]
    cut.write_bytes(b"")
    assert list(read_corpus(cut)) == []


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_records(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "pages.json"
    records = [{"id": "a", "text": "One."}, 3, {"id": "b", "body": "?"}, {"id": "c", "contents": '"T"\nTwo.'}]
    path.write_text("\ufeff\n " + json.dumps(records, indent=indent))
    corpus = read_corpus(path)
    assert [(page.id, page.title, page.text) for page in corpus] == [("a", "One.", "One."), ("c", "T", "Two.")]
    assert corpus.skipped == {"not JSON": 1, "no text": 1}
    path.write_text(json.dumps(records)[:-20])
    assert [page.id for page in corpus] == ["a"]
    assert corpus.skipped["not JSON"] == 2


def test_an_array_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentworld_envs.domains.search.engine.jsonl.MAX_ARRAY", 100)
    path = tmp_path / "pages.json"
    path.write_text(json.dumps([{"text": "x" * 200}]))
    with pytest.raises(ConfigError, match="one record a line"):
        list(read_corpus(path))


def test_places_and_fields_of_what_was_left_out(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    lines = [_line(id=str(n), body="b") for n in range(5)]
    path.write_text("\n".join([*lines, "{bad", _line(id="x", text="t"), _line(id="x", text="t")]))
    corpus = read_corpus(path)
    assert len(list(corpus)) == 1
    assert corpus.places == {
        "no text": ["line 1", "line 2", "line 3"],
        "not JSON": ["line 6"],
        "duplicate address": ["x"],
    }
    path.write_text(lines[0])
    with pytest.raises(
        ConfigError, match=r"1 no text\. The first .* fields 'id', 'body'\. Expected the text in 'text'"
    ):
        build(corpus, tmp_path / "index", kind="fts5")


def test_characters_of_files(tmp_path: Path) -> None:
    files = {
        "declared.html": '<meta charset="iso-8859-2"><p>Łódź'.encode("iso-8859-2"),
        "false.html": '<meta charset="utf-8"><p>été'.encode("latin-1"),
        "plain.md": "Caf\u00e9 \u2013 na\u00efve".encode("cp1252"),
        "wide.txt": "Zürich".encode("utf-16"),
        "whole.md": "Zürich, Köln, Genève".encode() + b" \xff",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    assert {page.id: page.text for page in read_corpus(tmp_path)} == {
        "declared.html": "Łódź",
        "false.html": "été",
        "plain.md": "Café \u2013 naïve",
        "wide.txt": "Zürich",
        "whole.md": "Zürich, Köln, Genève \ufffd",
    }


def test_a_folder(tmp_path: Path) -> None:
    files = {
        "b/guide.md": "---\ntitle: 'The Guide'\nurl: https://docs.org/guide/\ndate: 2031-02-03\n---\nText of it.\n",
        "a.md": "# Heading one #\n\nBody.\n## More\n",
        "c.html": "<title>Tea &amp; cake</title><h1>Hi</h1><p>One <b>two</b>.<script>no()</script>",
        "d.txt": "Plain.",
        "e.md": "",
        "f.bin": "x",
        ".hidden.md": "no",
        ".git/x.md": "no",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.html").write_bytes(b'<meta charset="latin-1"><title>Caf\xe9</title><p>\xe9t\xe9')
    (tmp_path / "broken.md").write_bytes(b"bytes \xff\xfe that are no text")
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    corpus = read_corpus(tmp_path)
    assert [(page.url, page.title, page.text) for page in corpus] == [
        ("https://corpus.local/a.md", "Heading one", "Body.\n## More"),
        ("https://corpus.local/broken.md", "broken", "bytes \u00ff\u00fe that are no text"),
        ("https://corpus.local/c.html", "Tea & cake", "# Hi\n\nOne **two**."),
        ("https://corpus.local/d.txt", "d", "Plain."),
        ("https://corpus.local/latin.html", "Café", "été"),
        ("https://docs.org/guide", "The Guide", "Text of it."),
    ]
    assert corpus.skipped == {"empty": 1, "other kind of file": 1}
    assert next(page for page in corpus if page.title == "The Guide").date == "2031-02-03"


@pytest.mark.parametrize("name", ["1", "ä ö", "../../x", "a?b#c", "https://x", "", "x" * 5000, "\ud800", "100%"])
def test_made_addresses_are_canonical(tmp_path: Path, name: str) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text(_line(id=name, text="t"))
    (page,) = read_corpus(path)
    assert page.url == canonical(page.url)
    assert page.url.startswith("https://corpus.local/")


def test_what_is_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        read_corpus(tmp_path / "missing.jsonl")
    (tmp_path / "pages.csv").write_text("a,b")
    with pytest.raises(ConfigError, match="jsonl"):
        read_corpus(tmp_path / "pages.csv")
    with pytest.raises(BadURL):
        canonical("pages.csv")
