"""Pages of the web: read from a real server here, and none that only this machine could reach."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.web import WebPlug
from jupyter_eca.protocol.context import WebContext
from jupyter_eca.workspace.reading import web_fetch as fetching
from jupyter_eca.workspace.reading.html_text import convert_html
from jupyter_eca.workspace.reading.web_fetch import MAX_REDIRECTS, Address, NetworkAccess, fetch, is_public
from tests.plugins.contexts.near import given, near

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

HTML = """<html><head><title>T</title><style>p {}</style></head><body><nav>Menu</nav>
<main><h1>Title</h1><p>Some <b>words</b>.</p><script>evil()</script></main><footer>Legal</footer></body></html>"""


class Site(BaseHTTPRequestHandler):
    """`/to?URL` redirects; `asked` are the hosts that were asked for."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(f"{self.headers['host']}{self.path}")
        path, _, query = self.path.partition("?")
        if path == "/to":
            self.send_response(302)
            self.send_header("location", query)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        kind, body = {
            "/page": ("text/html; charset=utf-8", HTML.encode()),
            "/long": ("text/plain", b"word " * 1_000_000),
            "/data": ("application/octet-stream", b"\0\1"),
        }.get(path, ("", b""))
        self.send_response(200 if kind else 404)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Quiet(ThreadingHTTPServer):
    """We hang up on a page that is too long."""

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@contextmanager
def site() -> Generator[tuple[str, list[str]]]:
    asked: list[str] = []
    server = Quiet(("127.0.0.1", 0), type("Here", (Site,), {"asked": asked}))
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    try:
        yield f"127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def only_here(address: Address) -> bool:
    return str(address) == "127.0.0.1"


HERE = NetworkAccess(allows=only_here)


async def page(folder: Path, url: str, reach: NetworkAccess = HERE) -> str:
    async with near(folder) as around:
        return (await WebPlug(reach).resolve(around, WebContext(url=url))).text


@pytest.mark.asyncio
async def test_a_page_is_given_as_what_a_reader_sees(tmp_path: Path) -> None:
    with site() as (host, _):
        assert await page(tmp_path, f"http://{host}/page") == "# Title\n\nSome **words**."


@pytest.mark.asyncio
async def test_a_redirect_is_followed_and_told(tmp_path: Path) -> None:
    with site() as (host, _):
        text = await page(tmp_path, f"http://{host}/to?/page")
        assert text.startswith(f"[from http://{host}/page]\n# Title")


@pytest.mark.asyncio
async def test_a_redirect_to_where_nobody_may_go_is_not_followed(tmp_path: Path) -> None:
    with site() as (host, asked):
        elsewhere = host.replace("127.0.0.1", "127.0.0.2")
        with pytest.raises(ToolError, match="not on the public internet"):
            await page(tmp_path, f"http://{host}/to?http://{elsewhere}/page")
        assert asked == [f"{host}/to?http://{elsewhere}/page"]


@pytest.mark.asyncio
async def test_a_redirect_in_circles_ends(tmp_path: Path) -> None:
    with site() as (host, asked):
        with pytest.raises(ToolError) as refusal:
            await page(tmp_path, f"http://{host}/to?/to?/to?/to?")
        assert str(refusal.value) == f"http://{host}/to?/to?/to?/to? leads to more than 5 redirects."
        assert len(asked) == 1 + MAX_REDIRECTS


@pytest.mark.asyncio
async def test_a_page_behind_exactly_as_many_redirects_as_are_allowed_is_read(tmp_path: Path) -> None:
    with site() as (host, asked):
        assert "Some **words**." in await page(tmp_path, f"http://{host}/{'to?/' * MAX_REDIRECTS}page")
        assert len(asked) == 1 + MAX_REDIRECTS


@pytest.mark.asyncio
async def test_a_name_is_looked_up_once_and_asked_at_the_address_that_was_checked(tmp_path: Path) -> None:
    """A name that resolves to a public address when it is checked and to this machine right after would get in."""
    answers = [["127.0.0.1"], ["127.0.0.2"]]

    async def lookup(host: str, port: int) -> list[str]:  # noqa: ARG001
        return answers.pop(0)

    with site() as (host, asked):
        port = host.partition(":")[2]
        await page(tmp_path, f"http://rebinding.example:{port}/page", NetworkAccess(lookup, only_here))
        assert asked == [f"rebinding.example:{port}/page"]


@pytest.mark.asyncio
async def test_a_name_with_one_address_of_ours_is_not_asked_at_all(tmp_path: Path) -> None:
    async def lookup(host: str, port: int) -> list[str]:  # noqa: ARG001
        return ["127.0.0.1", "127.0.0.2"]

    with pytest.raises(ToolError, match="not on the public internet"):
        await page(tmp_path, "http://two.example/page", NetworkAccess(lookup, only_here))


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "url",
    ["http://localhost/", "http://127.1/", "http://2130706433/", "http://[::1]/", "http://169.254.169.254/latest"],
)
async def test_without_a_word_from_us_nothing_here_can_be_reached(tmp_path: Path, url: str) -> None:
    (material,) = await given(tmp_path, {"type": "web", "url": url})
    assert "is not on the public internet" in material.text


@pytest.mark.parametrize(
    "address",
    [
        "0.1.2.3", "10.0.0.1", "100.100.100.200", "127.0.0.1", "168.63.129.16", "169.254.169.254", "172.16.0.1",
        "192.0.0.192", "192.168.1.1", "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
        "::ffff:a9fe:a9fe", "64:ff9b::a00:1", "2002:7f00:1::", "fc00::1", "fd00:ec2::254", "fe80::1%eth0", "fec0::1",
        "ff02::1", "2001:0:7f00:1::",
    ],
)  # fmt: skip
def test_an_address_that_not_everybody_can_ask_is_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "no http or https address"),
        ("http://", "no http or https address"),
        ("http://me:secret@example.com/", "an address with a password"),
        ("http://[", "cannot be fetched"),
        ("http://" + "a" * 300 + "/", "cannot be fetched"),
    ],
)
async def test_an_address_that_makes_no_sense_is_refused_with_a_reason(url: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason) as raised:
        await fetch(url)
    assert "secret" not in str(raised.value)


@pytest.mark.asyncio
async def test_what_is_missing_or_no_text_is_told(tmp_path: Path) -> None:
    with site() as (host, _):
        with pytest.raises(ToolError, match="404 Not Found"):
            await page(tmp_path, f"http://{host}/gone")
        with pytest.raises(ToolError, match="is application/octet-stream and no text"):
            await page(tmp_path, f"http://{host}/data")


@pytest.mark.asyncio
async def test_of_a_page_without_end_only_the_beginning_is_read(tmp_path: Path) -> None:
    with site() as (host, _):
        text = await page(tmp_path, f"http://{host}/long")
        assert len(text) < 51_000
        assert text.endswith("[only the first 2000000 bytes were read]")


@pytest.mark.asyncio
async def test_a_server_that_says_nothing_is_left_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "TIMEOUT_S", 0.5)
    took_too_long = pytest.raises(ToolError, match=r"took more than 0\.5 s")
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as silent, took_too_long:  # it listens, and nobody serves
        await page(tmp_path, f"http://127.0.0.1:{silent.server_port}/page")


def test_without_the_extra_a_page_is_given_as_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "markdownify", None)
    assert convert_html(HTML) == "T\n\nTitle\n\nSome words."


@pytest.mark.parametrize("html", ["<div>" * 20_000 + "deep", "<main><p>deep", "&amp;deep<", "<!-- <p>deep", "<script>"])
def test_no_page_breaks_it(html: str) -> None:
    assert convert_html(html) is not None
