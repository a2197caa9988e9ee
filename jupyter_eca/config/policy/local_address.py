"""Decides from a URL whether a server is on this machine. Pure. All providers use it."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_here(url: str) -> bool:
    """Return whether the host of a URL is this machine: a loopback address, or `localhost`."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
