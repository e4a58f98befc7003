"""Addresses in one form, so that a page has one name: `canonical`."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache
from typing import Final
from urllib.parse import SplitResult, urlsplit

MAX_LENGTH: Final = 2048
"""Characters. Longer addresses are refused, as browsers and servers do."""

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_BYTES: Final = _UNRESERVED | frozenset(b"/!$&'()*+,;=:@")
_QUERY_BYTES: Final = _PATH_BYTES | frozenset(b"?")
_ESCAPE: Final = re.compile(rb"%[0-9A-Fa-f]{2}|[\x00-\xff]", re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)")
_HOST: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*")
_IPV6: Final = re.compile(r"[0-9a-f:.]*:[0-9a-f:.]*")


class BadURL(ValueError):
    """An address that names no page of the web. The message is for the agent."""


@lru_cache(maxsize=4096)
def canonical(url: str) -> str:
    """The one form of an address (RFC 3986, section 6.2: syntax-based normalisation).

    Scheme and host in lower case, hosts in other scripts as IDNA; no user, default port or fragment; dot segments
    resolved; escapes in upper case and only where they are needed. The path of a host alone is `/`; every other path
    and an empty query lose what ends them: `https://a.org/b/?` is `https://a.org/b`. Idempotent.

    Args:
        url: at most 2,048 characters; white space around it is ignored.

    Raises:
        BadURL: malformed, not http or https, or too long.
    """
    text = url.strip()
    shown = text if len(text) <= 100 else text[:100] + "..."
    if len(text) > MAX_LENGTH:
        raise BadURL(f"The address has {len(text):,} characters; at most {MAX_LENGTH:,} are possible: {shown}")
    if not text:
        raise BadURL("The address is empty. Give a full one, such as https://example.org/page.")
    if _CONTROL.search(text):
        raise BadURL(f"The address contains a line break or another control character: {shown!r}")
    scheme = _SCHEME.match(text)
    if scheme is not None and scheme[0].lower() not in _DEFAULT_PORTS and not _looks_like_host(text, scheme[0]):
        raise BadURL(f"Only http and https addresses can be opened, not {scheme[0].lower()}: {shown}")
    if scheme is None or not text[scheme.end() :].startswith("://"):
        raise BadURL(f"Malformed address: {shown}. Give a full one, such as https://example.org/page.")
    try:
        parsed = urlsplit(text)
        port = parsed.port
    except ValueError:  # an unclosed bracket, a port that is no number
        raise BadURL(f"Malformed address: {shown}") from None
    host = _host(parsed, shown)
    address = host if port in (None, _DEFAULT_PORTS[parsed.scheme]) else f"{host}:{port}"
    path = _without_dots(_escaped(parsed.path, _PATH_BYTES)).rstrip("/") or "/"
    query = _escaped(parsed.query, _QUERY_BYTES)
    result = f"{parsed.scheme}://{address}{path}{'?' + query if query else ''}"
    if len(result) > 3 * MAX_LENGTH:
        raise BadURL(f"The address is too long once it is escaped: {shown}")
    return result


def address_hash(url: str) -> int:
    """64 bits of a canonical address, the same in every process: 10 M addresses collide with a chance of 3 in 1 M."""
    return int.from_bytes(hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def _looks_like_host(text: str, scheme: str) -> bool:
    """`example.org:8080/a` has no scheme, though it looks as if it had one."""
    return "." in scheme and not text[len(scheme) :].startswith("://")


def _host(parsed: SplitResult, shown: str) -> str:
    host = (parsed.hostname or "").rstrip(".")
    if not host.isascii():
        try:
            host = unicodedata.normalize("NFKC", host).encode("idna").decode("ascii").lower().rstrip(".")
        except UnicodeError:
            raise BadURL(f"Malformed host name in {shown}") from None
    if ":" in host and _IPV6.fullmatch(host):
        return f"[{host}]"
    if len(host) > 253 or not _HOST.fullmatch(host):
        raise BadURL(f"Malformed host name in {shown}" if host else f"The address names no host: {shown}")
    return host


def _escaped(text: str, allowed: frozenset[int]) -> str:
    """Percent-encoding in one form: unreserved characters bare, everything that is not allowed escaped."""
    if not text:
        return ""

    def one(match: re.Match[bytes]) -> bytes:
        token = match[0]
        if len(token) == 3:
            byte = int(token[1:], 16)
            return bytes([byte]) if byte in _UNRESERVED else b"%%%02X" % byte
        return token if token[0] in allowed else b"%%%02X" % token[0]

    return _ESCAPE.sub(one, text.encode("utf-8", "replace")).decode("ascii")


def _without_dots(path: str) -> str:
    """Resolve `.` and `..` (RFC 3986, section 5.2.4)."""
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            if kept:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    return "/" + "/".join(kept)
