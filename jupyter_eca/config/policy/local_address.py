"""Decides from a URL whether a server is on this machine, and gives a URL the form in which a policy compares it. Pure.
All providers use it."""

from __future__ import annotations

import unicodedata
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit, urlunsplit


def is_here(url: str) -> bool:
    """Return whether the host of a URL is this machine: a loopback address, or `localhost`."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


_PORTS: Final = {"http": 80, "https": 443}


def make_plain(url: str) -> str:
    """Return the URL as a policy compares it: one form for all URLs that lead to the same host. Upper case, user names,
    the usual port and a dot after the host are gone: `HTTPS://me@Host.example.:443/v1` -> `https://host.example/v1`. A
    text that is no URL is returned as it is."""
    try:
        parts = urlsplit(url.strip())
        host, port = unicodedata.normalize("NFKC", parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return url
    if not host:
        return url
    shown = f"[{host}]" if ":" in host else host
    shown += f":{port}" if port is not None and port != _PORTS.get(parts.scheme) else ""
    path = parts.path or ("/" if parts.query or parts.fragment else "")
    return urlunsplit((parts.scheme, shown, path, parts.query, parts.fragment))
