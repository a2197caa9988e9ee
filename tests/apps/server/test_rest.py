"""The chat contract at `<base_url>eca/rest/…`: behind Jupyter's own door, through its own web server."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest

from tests.apps.server.cells import PATIENCE, Watcher
from tests.mcp_client.house import tour_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Fetch = Callable[..., Awaitable[Any]]

JSON = {"Content-Type": "application/json"}
PAGE = "http://localhost:3000"


@pytest.fixture
def jp_server_config() -> dict[str, Any]:
    settings = {"compress_response": True}
    app = {"jpserver_extensions": {"jupyter_eca": True}, "tornado_settings": settings}
    return {"ServerApp": {**app, "allow_origin": PAGE, "allow_credentials": True}}


@pytest.fixture
def rules() -> dict[str, Any]:
    return {"allow": {"tour__add": {}}}


@pytest.fixture(autouse=True)
def tour(eca_config: None, jp_root_dir: Path, tmp_path: Path) -> None:  # noqa: ARG001  # after it
    """A tool server, and a model that uses it."""
    file = jp_root_dir / ".eca" / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "mcpServers": {"tour": tour_server()}}))
    script = tmp_path / "script.json"
    told = json.loads(script.read_text())
    reply = [{"text": "I add. "}, {"tool": "tour__add", "arguments": {"a": 2, "b": 3}}]
    script.write_text(json.dumps({"rules": [{"message": "add", "reply": reply}, *told["rules"]]}))


def events(body: bytes) -> list[Any]:
    blocks = body.decode().split("\n\n")[:-1]
    assert all(block.startswith("data: ") for block in blocks)
    return [block[6:] if block.startswith("data: [") else json.loads(block[6:]) for block in blocks]


async def ask(fetch: Fetch, message: str, path: str = "stream", **more: Any) -> Any:
    where = ("chat", path) if path else ("chat",)
    body = json.dumps({"message": message})
    return await fetch(
        "eca", "rest", *where, method="POST", body=body, headers={**JSON, **more.pop("headers", {})}, **more
    )


async def test_a_frontend_with_the_token_connects_and_is_answered_by_the_contract(jp_fetch: Fetch) -> None:
    assert json.loads((await jp_fetch("eca", "rest", "servers")).body)[0]["id"] == "tour"
    connected = await jp_fetch("eca", "rest", "connect", "tour", method="POST", body="", request_timeout=60)
    assert "add" in [tool["name"] for tool in json.loads(connected.body)["tools"]]
    answer = await ask(jp_fetch, "add")
    assert answer.headers["Content-Type"] == "text/event-stream"
    start, end, text, done = events(answer.body)
    assert (start["name"], start["args"], start["id"]) == ("add", {"a": 2, "b": 3}, end["id"])
    assert (text, done) == ({"type": "text", "content": "The tool said: 5"}, "[DONE]")
    whole = json.loads((await ask(jp_fetch, "you", "")).body)
    assert whole == {"response": "Hello, you", "tool_calls": []}
    document = json.loads((await jp_fetch("eca", "rest", "openapi.json")).body)
    assert document["servers"][0]["url"].endswith("/eca/rest")
    page = await jp_fetch("eca", "rest", "docs")
    assert page.headers["Content-Type"].startswith("text/html")


async def test_errors_have_the_contracts_form(jp_fetch: Fetch) -> None:
    for path, status in (("nothing", 404), ("connect/none", 404)):
        with pytest.raises(HTTPClientError) as refused:
            await jp_fetch("eca", "rest", *path.split("/"), method="POST", body="")
        assert refused.value.code == status
        assert refused.value.response is not None
        assert list(json.loads(refused.value.response.body)) == ["detail"]


@pytest.mark.parametrize("authorization", ["", "token wrong"])
async def test_without_the_token_nobody_comes_in(jp_fetch: Fetch, authorization: str) -> None:
    for method, body in (("GET", None), ("POST", "")):
        path = "status" if method == "GET" else "disconnect"
        with pytest.raises(HTTPClientError) as refused:
            await jp_fetch("eca", "rest", path, method=method, body=body, headers={"Authorization": authorization})
        assert refused.value.code == 403
        assert refused.value.response is not None
        detail = json.loads(refused.value.response.body)["detail"]
        assert "Authorization: token TOKEN" in detail
        assert "_xsrf" not in detail


async def test_a_cookie_alone_neither_chats_from_another_page_nor_without_xsrf(jp_fetch: Fetch) -> None:
    page = await jp_fetch("api", "status")
    cookies = "; ".join(value.split(";")[0] for value in page.headers.get_list("Set-Cookie"))
    assert cookies
    for headers in ({"Origin": "https://evil.example"}, {}):
        with pytest.raises(HTTPClientError) as refused:
            await ask(jp_fetch, "you", headers={**headers, "Cookie": cookies, "Authorization": ""})
        assert refused.value.code in {403, 404}


async def test_an_authorizer_that_says_no_keeps_a_user_out(
    jp_serverapp: Any, jp_fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def deny(_handler: Any, _user: Any, action: str, resource: str) -> bool:
        asked.append((action, resource))
        return False

    monkeypatch.setattr(jp_serverapp.authorizer, "is_authorized", deny)
    with pytest.raises(HTTPClientError) as refused:
        await jp_fetch("eca", "rest", "status")
    assert refused.value.code == 403
    assert asked == [("read", "eca")]


async def test_a_page_that_jupyter_allows_may_read_with_its_token(jp_fetch: Fetch) -> None:
    asks = {"Origin": PAGE, "Access-Control-Request-Method": "POST", "Authorization": ""}
    asks["Access-Control-Request-Headers"] = "authorization,content-type"
    preflight = await jp_fetch("eca", "rest", "chat", "stream", method="OPTIONS", headers=asks)
    answer = await ask(jp_fetch, "you", headers={"Origin": PAGE})
    for heard in (preflight, answer):
        assert heard.headers["Access-Control-Allow-Origin"] == PAGE
        assert heard.headers["Access-Control-Allow-Credentials"] == "true"


async def test_events_come_one_by_one_uncompressed_and_leaving_stops_the_answer(
    jp_serverapp: Any, jp_base_url: str, jp_http_port: int, jp_auth_header: dict[str, str], jp_fetch: Fetch
) -> None:
    await jp_fetch("eca", "rest", "health")
    watcher = await Watcher.of(jp_serverapp)
    heard: list[bytes] = []
    enough = asyncio.Event()

    def hear(piece: bytes) -> None:
        heard.append(piece)
        if len(heard) == 20:
            enough.set()
            raise ConnectionAbortedError

    headers = {**jp_auth_header, **JSON, "Accept-Encoding": "gzip"}
    url = f"http://127.0.0.1:{jp_http_port}{jp_base_url}eca/rest/chat/stream"
    request = HTTPRequest(
        url, "POST", headers, json.dumps({"message": "slow"}), streaming_callback=hear, decompress_response=False
    )
    leaving = asyncio.ensure_future(AsyncHTTPClient(force_instance=True).fetch(request, raise_error=False))
    async with asyncio.timeout(PATIENCE):
        await enough.wait()
        assert (await watcher.ended()).outcome == "stopped"
    leaving.cancel()
    assert all(piece.startswith(b"data: {") for piece in heard)
    assert all(piece.endswith(b"\n\n") and piece.count(b"\n\n") == 1 for piece in heard)


async def test_a_broken_configuration_is_named_and_mended_without_a_restart(
    jp_fetch: Fetch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    file = tmp_path / "own" / "eca" / "config.json"
    file.parent.mkdir(parents=True)
    file.write_text("{")
    with pytest.raises(HTTPClientError) as refused:
        await jp_fetch("eca", "rest", "status")
    assert refused.value.code == 503
    assert refused.value.response is not None
    assert str(file) in json.loads(refused.value.response.body)["detail"]
    file.write_text("{}")
    assert (await jp_fetch("eca", "rest", "status")).code == 200
