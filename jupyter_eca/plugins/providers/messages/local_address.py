"""What an address says about where a server is. Pure."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
