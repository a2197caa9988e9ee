"""Finds addresses that cannot work or are not safe, and variables about the network that keep every request from being
sent.

Only an address of this machine is tried: a connection to it is opened and closed, and nothing is sent. A sentence shows
the host of an address, and never its user name or its query, which may be secret.
"""

from __future__ import annotations

import importlib.util
import re
import socket
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from jupyter_eca.config.policy.local_address import is_on_this_machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_eca.config import Config

# Seconds that a program on this machine has to accept a connection.
_CONNECT_SECONDS: Final = 0.5

# Ends of a URL that we add ourselves, or that lead to another part of an API.
_ENDPOINTS: Final = ("/chat/completions", "/completions", "/responses", "/messages", "/models", "/embeddings")

# The environment variables that name a proxy. Programs also read them in small letters.
_PROXIES: Final = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY")
# Ends of names that only a network of a company or a home knows. Many servers in such a network have no certificate.
_PRIVATE_NAME_ENDS: Final = (".local", ".lan", ".internal", ".intranet", ".home.arpa", ".test")


def find_address_problems(config: Config) -> Iterator[str]:
    """Yield what is wrong with the addresses of providers and MCP servers. Blocks."""
    for name, provider in config.providers.items():
        if not provider.url:
            continue
        place, url = f"`providers.{name}.url`", provider.url.strip()
        if problem := _find_form_problem(url):
            yield f"{place} {problem}"
            continue
        path = urlsplit(url).path.rstrip("/")
        if not provider.completion_url_relative_path and (end := next(filter(path.endswith, _ENDPOINTS), "")):
            yield f"{place} ends with `{end}`, which we add ourselves. Write the address without it."
        if is_on_this_machine(url) and not _accepts_connection(url):
            yield (
                f"No program answers at {_get_host(url)} ({place}). Start the server of the provider {name!r}, or "
                "correct the port."
            )
    for name, server in config.mcp_servers.items():
        if server.url and not server.disabled and (problem := _find_form_problem(server.url.strip())):
            yield f"`mcpServers.{name}.url` {problem}"


def _find_form_problem(url: str) -> str:
    """Return what is wrong with the text of a URL, and what to do, as a sentence without its subject; "" for
    nothing."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port  # raises ValueError if the port is no number
    except ValueError:
        return "is not a URL. Write it as `https://HOST/PATH`."
    if parts.scheme not in {"http", "https"} or not host:
        return "does not begin with `https://` or `http://` and a host. Write it as `https://HOST/PATH`."
    if parts.username or parts.password:
        return "has a user name or a password in it, which programs write into logs. Send it as a header instead."
    if parts.scheme == "http" and not is_on_this_machine(url) and not _is_private(host):
        return f"sends keys and prompts to {host} without encryption. Begin it with `https://`."
    return ""


def _is_private(host: str) -> bool:
    """Return whether a host is in a private network: its name has no dot or a private end, or its address is
    private."""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith(_PRIVATE_NAME_ENDS)


def _get_host(url: str) -> str:
    """Return the host and the port of a URL."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


def _accepts_connection(url: str) -> bool:
    """Return whether a program on this machine accepts connections at the address. Blocks."""
    parts = urlsplit(url)
    place = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection(place, _CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def find_network_problems(config: Config, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each network variable that makes requests fail. `environment` has the variables."""
    proxies = {name: value for name in _PROXIES for name, value in _read_both_cases(name, environment) if value.strip()}
    for name, value in proxies.items():
        scheme = value.partition("://")[0].casefold() if "://" in value else "http"
        if scheme not in {"http", "https", "socks5", "socks5h"}:
            yield (
                f"`{name}` names a proxy of the kind `{_shorten(scheme)}`, with which no request can be sent. Use "
                "`http://`, `https://` or `socks5://`."
            )
        elif scheme.startswith("socks5") and importlib.util.find_spec("socksio") is None:
            yield (
                f"`{name}` names a SOCKS proxy, for which a package is missing. Run `pip install socksio`, and restart "
                "Jupyter or your editor."
            )
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        if (value := environment.get(name, "")) and not Path(value).exists():
            yield f"`{name}` names {value}, which does not exist, so no encrypted request works. Correct or remove it."
    if proxies:
        listed = next((value for _, value in _read_both_cases("NO_PROXY", environment)), "")
        for name, server in config.mcp_servers.items():
            if server.url and not server.disabled and is_on_this_machine(server.url):
                host, proxy = urlsplit(server.url).hostname or "", next(iter(proxies))
                if not _is_in_no_proxy(host, listed):
                    yield (
                        f"Requests to the MCP server {name!r} on this machine go to the proxy of "
                        f"`{proxy}`, which cannot reach it. Add `{host}` to `NO_PROXY`."
                    )


def _is_in_no_proxy(host: str, listed: str) -> bool:
    """Return whether `NO_PROXY` has a host: its name, the end of its name after a dot, or `*` for all."""
    entries = (entry.strip().rpartition("://")[2].partition(":")[0].lstrip(".") for entry in listed.split(","))
    return any(entry == "*" or host == entry or host.endswith(f".{entry}") for entry in entries if entry)


def _read_both_cases(name: str, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the names of a variable that are set, in small letters and in capitals, with their values."""
    for written in (name.lower(), name):
        if written in environment:
            yield written, environment[written]


def _shorten(text: str) -> str:
    """Return a text without characters that the scheme of a URL cannot have, at most 20 characters long."""
    return re.sub(r"[^\w.+-]", "", text)[:20]
