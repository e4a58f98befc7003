"""HTML as Markdown."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentworld_envs.domains.search.engine.markup import to_markdown

BASE = "https://a.org/dir/page"
HTML = """<!DOCTYPE html><html><head><title>A &amp; B</title><link rel="canonical" href="https://x.org/a/">
<meta property="article:published_time" content="2031-01-02T03:04:05Z"><style>p { color: red }</style></head>
<body><!-- a <b>comment</b> --><nav><a href="/">menu</a></nav>
<h1>Hello <i>World</i></h1><p>A <b>bold </b>word and <a href="../up?x=1">a link</a>, <a href="#here">none</a>,
<a href="javascript:x()">bad</a>.<p>Next<br>line <code>a_b</code>
<ul><li>one<li>two<ol><li>x</li><li>y</li></ol></li></ul>
<table><tr><th>Name<th>Value</tr><tr><td>a|b<td>1<br>2</table>
<pre>code
  <b>kept</b></pre><blockquote>said<p>twice</blockquote>
<script>if (a < b) { document.write("<p>no</p>") }</script>tail &lt;tag&gt; <img alt="a picture" src="x.png">"""


def test_a_page() -> None:
    page = to_markdown(HTML, BASE)
    assert (page.title, page.url, page.date) == ("A & B", "https://x.org/a/", "2031-01-02T03:04:05Z")
    assert page.text.split("\n\n") == [
        "# Hello *World*",
        "A **bold** word and [a link](https://a.org/up?x=1), none, bad.",
        "Next line `a_b`",
        "- one\n- two\n  1. x\n  2. y",
        "| Name | Value |\n|---|---|\n| a\\|b | 1 2 |",
        "```\ncode\n  kept\n```",
        "> said",
        "> twice",
        "tail <tag> a picture",
    ]


def test_title_of_a_page_without_one() -> None:
    assert to_markdown("<h2>No</h2><h1>The <b>one</b></h1>", BASE).title == "The **one**"
    assert to_markdown("text", BASE).title == ""


def test_tables_for_layout_are_text() -> None:
    page = to_markdown("<table><tr><td>All <table><tr><td>in</td><td>one</td></tr></table></td></tr></table>", BASE)
    assert page.text == "All in one"


@pytest.mark.parametrize(
    "piece",
    ["<", "<!--", "<a ", "</", "<![", "<?", "&#", "<table>", "<td>", "<b>", "<b>x", "<li>", "<ul><li>", "<script>",
     '<a href="x">', "<table><tr><td>", "<blockquote>", "<a b='", "<p", "]]>", "<pre>", "<title>", "<head>"],
)  # fmt: skip
def test_what_is_never_closed_takes_no_time(piece: str) -> None:
    started = time.process_time()
    to_markdown(piece * 6000, BASE)
    to_markdown(piece * 3000 + ">", BASE)
    assert time.process_time() - started < 2


PIECES = """< > </ a table td tr ul li p pre b " = x <b> </b> <td> </table> <table> <li> </ul> <a/href='y'> </a>"""


@given(st.lists(st.sampled_from([*PIECES.split(), " ", "\n"])))
def test_anything(pieces: list[str]) -> None:
    to_markdown("".join(pieces), BASE)
