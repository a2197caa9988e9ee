"""Decides from a URL whether a server is on this machine, and gives a URL the form in which a policy compares it. Pure.
All providers use it."""

from __future__ import annotations

import re
import unicodedata
from ipaddress import ip_address
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

# The usual port of each scheme.
_PORTS: Final = {"http": 80, "https": 443}

# Some programs take a backslash for a slash, and some drop a line end. So they disagree about the host of
# `https://a.example\@b.example/`.
_UNCLEAR_CHARACTER: Final = re.compile(r"[\\\x00-\x20\x7f]")
# A name or an address, also an IPv6 one. A name may have letters of any language.
_CLEAR_HOST: Final = re.compile(r"[\w.:-]*")
# An escape such as `%61` for a character that needs none. Both forms lead to the same place (RFC 3986, 6.2.2.2).
_ESCAPE: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_NEEDS_NO_ESCAPE: Final = re.compile(r"[A-Za-z0-9._~-]")
# `%252e` becomes `.` when it is decoded twice, as two servers in a row may do.
_DECODINGS: Final = 3


def is_on_this_machine(url: str) -> bool:
    """Return whether the host of a URL is this machine: a loopback address, or `localhost`."""
    if is_unclear(url):
        return False
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme not in _PORTS:
        return False
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_unclear(url: str) -> bool:
    """Return whether it is not certain where a URL leads: programs disagree about its host, or its path goes up by
    `..`. A pattern for one place could match such a URL although it leads to another place."""
    text = url.strip()
    if _UNCLEAR_CHARACTER.search(text):
        return True
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError:
        return True
    path = parts.path
    for _ in range(_DECODINGS):
        path = unquote(path)
    # Some servers leave out what follows a semicolon: `..;x`.
    goes_up = any(name.partition(";")[0] == ".." for name in re.split(r"[/\\]", path))
    return goes_up or _CLEAR_HOST.fullmatch(host) is None


def normalize_url(url: str) -> str:
    """Return the URL as a policy compares it: one form for all URLs that lead to the same place. Upper case, user
    names, the usual port, a dot after the host, steps that stay in their folder (`/./`) and needless escapes are gone:
    `HTTPS://me@Host.example.:443/./%761` -> `https://host.example/v1`. A text that is no URL is returned as it is."""
    try:
        parts = urlsplit(url.strip())
        host, port = unicodedata.normalize("NFKC", parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return url
    if not host:
        return url
    shown = f"[{host}]" if ":" in host else host
    shown += f":{port}" if port is not None and port != _PORTS.get(parts.scheme) else ""
    path = re.sub(r"/(?:\./)+", "/", _ESCAPE.sub(_decode_needless, parts.path))
    path = path or ("/" if parts.query or parts.fragment else "")
    return urlunsplit((parts.scheme, shown, path, parts.query, parts.fragment))


def _decode_needless(escape: re.Match[str]) -> str:
    """Return the character that an escape stands for; the escape itself if the character needs it."""
    decoded = unquote(escape[0])
    return decoded if _NEEDS_NO_ESCAPE.fullmatch(decoded) else escape[0]
