"""Fetches a page of the public web.

Some services can be reached only from this machine or its network. A prompt, or a page that redirects, must not make us
fetch from them. So for the first URL and for each redirect the host is looked up once, its address is checked, and the
connection is made to exactly that address. The module must not know HTML: `html_text.py` converts pages to text.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from httpx2 import URL, AsyncClient, Response

Address = IPv4Address | IPv6Address

# The limits of one fetch: its redirects, and the seconds for all of it.
MAX_REDIRECTS: Final = 5
TIMEOUT_S: Final = 20.0
# Bytes of a page that are read. Most of a page is markup, so this is twenty times the text that a model gets.
MAX_BYTES: Final = 2_000_000

# Addresses at which a cloud gives data about a virtual machine, and passwords too, to programs on it (Azure, Oracle).
# Python 3.11 counts these addresses as public.
_CLOUD_METADATA: Final = (ip_network("168.63.129.16/32"), ip_network("192.0.0.0/24"))
# IPv6 addresses that a translator forwards to an IPv4 address, which may be a private one.
_TRANSLATED: Final = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"), ip_network("2002::/16"))
_HEADERS: Final = {
    "accept": "text/html, text/markdown, text/plain;q=0.9, */*;q=0.5",
    # A compressed answer could be unpacked to a thousand times its size, and so exceed `MAX_BYTES`.
    "accept-encoding": "identity",
    "user-agent": "jupyter-eca",
}


def is_public(address: Address) -> bool:
    """Return whether an address can be reached from everywhere on the internet."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address.is_site_local or address.teredo or any(address in network for network in _TRANSLATED):
            return False
    special = address.is_multicast or address.is_reserved or address.is_unspecified or address.is_link_local
    return address.is_global and not special and not any(address in network for network in _CLOUD_METADATA)


async def _look_up(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host."""
    addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in addresses]


def _refuse_nothing(_url: str) -> str:
    """Allow every URL. See `NetworkAccess.refuse_url`."""
    return ""


@dataclass(frozen=True, slots=True)
class NetworkAccess:
    """Decides which hosts pages may be fetched from."""

    lookup: Callable[[str, int], Awaitable[list[str]]] = _look_up
    """Resolves a host and port to addresses."""
    allows: Callable[[Address], bool] = is_public
    """Returns whether an address may be connected to. All addresses of a host must be allowed."""
    refuse_url: Callable[[str], str] = _refuse_nothing
    """Returns why a URL must not be fetched, in a sentence; "" if it may be."""


# Allows all hosts of the public internet.
PUBLIC: Final = NetworkAccess()


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page that was fetched."""

    url: str
    """Its address after all redirects."""
    media_type: str
    """The media type without parameters, such as `text/html`; "" if the server gives none."""
    data: bytes
    """The body of the page, `MAX_BYTES` at most."""
    is_complete: bool
    """False when the page was longer than `MAX_BYTES`, and cut."""


async def fetch(url: str, reach: NetworkAccess = PUBLIC) -> WebPage:
    """Fetch a page. `reach` decides which hosts may be reached.

    Raises: ToolError with the reason.
    """
    import httpx2

    try:
        async with asyncio.timeout(TIMEOUT_S):
            # The client is created in a thread, because that reads all certificates from the disk. It uses no proxy
            # (`trust_env`), because a proxy would look up the host again.
            client = await asyncio.to_thread(httpx2.AsyncClient, trust_env=False, headers=_HEADERS)
            async with client:
                return await _follow_redirects(client, httpx2.URL(url), reach)
    except TimeoutError:
        raise ToolError(f"{url} took more than {TIMEOUT_S:g} s.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, UnicodeError) as error:
        raise ToolError(f"{url} cannot be fetched: {error or type(error).__name__}.") from error


async def _follow_redirects(client: AsyncClient, url: URL, reach: NetworkAccess) -> WebPage:
    """Fetch a URL, and follow its redirects. The address of each host is checked. Raises: ToolError."""
    first_url = url
    for _ in range(MAX_REDIRECTS + 1):
        address = await _choose_address(url, reach)
        # Cookies of another host must not be sent, even if both hosts have the same address.
        client.cookies.clear()
        headers = {"host": url.netloc.decode("ascii")}
        pinned = url.copy_with(host=address)
        async with client.stream("GET", pinned, headers=headers, extensions={"sni_hostname": url.host}) as response:
            if not response.has_redirect_location:
                return await _read(response, url)
            url = url.join(response.headers["location"])
    raise ToolError(f"{first_url} leads to more than {MAX_REDIRECTS} redirects.")


async def _choose_address(url: URL, reach: NetworkAccess) -> str:
    """Return an address of the host that may be connected to.

    Raises: ToolError when the URL or the host is not allowed.
    """
    if url.scheme not in {"http", "https"} or not url.host:
        raise ToolError(f"{url} is no http or https address.")
    if refusal := reach.refuse_url(str(url)):
        raise ToolError(refusal)
    if url.userinfo:
        raise ToolError(f"{url.host}: an address with a password in it is not fetched.")
    addresses = await reach.lookup(url.host, url.port or {"http": 80, "https": 443}[url.scheme])
    if not addresses or not all(reach.allows(ip_address(address)) for address in addresses):
        raise ToolError(f"{url.host} is not on the public internet; it is not fetched.", "Paste what it says instead.")
    return addresses[0]


async def _read(response: Response, url: URL) -> WebPage:
    """Read the answer of a server, up to `MAX_BYTES`. Raises: ToolError for an error status."""
    if response.is_error:
        raise ToolError(f"{url} answered {response.status_code} {response.reason_phrase}.")
    data = bytearray()
    async for chunk in response.aiter_bytes(65_536):
        data += chunk
        if len(data) > MAX_BYTES:
            break
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return WebPage(str(url), media_type, bytes(data[:MAX_BYTES]), len(data) <= MAX_BYTES)
