"""Addresses in one form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentworld_envs.domains.search.engine.urls import MAX_LENGTH, BadURL, canonical


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTPS://Example.ORG", "https://example.org/"),
        ("http://example.org:80/a/../b/./c#frag", "http://example.org/b/c"),
        ("https://example.org:443/a/", "https://example.org/a"),
        ("https://example.org:8443/", "https://example.org:8443/"),
        ("  https://example.org/a b?q=x y  ", "https://example.org/a%20b?q=x%20y"),
        ("https://example.org/%7euser/%c3%a9", "https://example.org/~user/%C3%A9"),
        ("https://example.org/é", "https://example.org/%C3%A9"),
        ("https://exämple.org/", "https://xn--exmple-cua.org/"),
        ("https://user:secret@example.org/", "https://example.org/"),
        ("https://example.org./?", "https://example.org/"),
        ("https://example.org/100%/%zz", "https://example.org/100%25/%25zz"),
        ("https://example.org/%2e%2e/%2E/a", "https://example.org/a"),
        ("https://[2001:DB8::1]:443/a", "https://[2001:db8::1]/a"),
        ("https://example.org/a?b=1&a=2", "https://example.org/a?b=1&a=2"),
    ],
)
def test_one_form(url: str, expected: str) -> None:
    assert canonical(url) == expected
    assert canonical(expected) == expected


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "empty"),
        ("example.org/a", "Malformed"),
        ("example.org:80/a", "Malformed"),
        ("file:///etc/passwd", "not file"),
        ("FILE:///etc/passwd", "not file"),
        ("javascript:alert(1)", "not javascript"),
        ("data:text/html,x", "not data"),
        ("ftp://example.org/", "not ftp"),
        ("https:example.org", "Malformed"),
        ("https:///a", "no host"),
        ("https://exa mple.org/", "host"),
        ("https://[::1/", "Malformed"),
        ("https://example.org:99999/", "Malformed"),
        ("https://example.org:port/", "Malformed"),
        ("https://a..b/", "host"),
        ("https://-a.org/", "host"),
        ("https://example.org/a\nb", "control"),
        ("https://example.org/\x00", "control"),
        ("https://example.org/" + "a" * MAX_LENGTH, "characters"),
        ("https://" + "ä" * 300 + ".org/", "host"),
    ],
)
def test_refused(url: str, says: str) -> None:
    with pytest.raises(BadURL, match=says):
        canonical(url)


@given(st.text(max_size=200) | st.text(max_size=200).map(lambda tail: "https://example.org/" + tail))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        once = canonical(text)
    except BadURL:
        return
    assert canonical(once) == once
    assert once.isascii()
