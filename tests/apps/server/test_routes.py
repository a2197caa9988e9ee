"""Every address of ours, and who is refused there. An address that is not in the table fails a test, so none can be
added without a look at its door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from tornado.httpclient import HTTPClientError

from jupyter_eca.fronts.base import Front, LinkFront
from jupyter_eca.plugins import loader

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    Fetch = Callable[..., Awaitable[Any]]

# The addresses of the fronts that are ASGI applications, as `METHOD path`. `{...}` stands for any segment.
ASGI: Final = {
    "mcp": ("GET", "POST", "DELETE"),
    "rest": (
        "GET /servers",
        "POST /connect/{server_id:path}",
        "GET /status",
        "POST /disconnect",
        "POST /chat/stream",
        "POST /chat",
        "GET /chats",
        "DELETE /chats/{chat_id}",
        "POST /chats/{chat_id}/stop",
        "GET /health",
        "GET /openapi.json",
        "GET /",
        "GET /docs",
    ),
}
WEB_SOCKETS: Final = ("/eca/ws", "/eca/ahp", "/eca/acp")
# The address to which a browser returns from a sign-in.
CALLBACK: Final = "/eca/oauth/callback"
# The address for outside agents. Each of their sessions has a token of its own, and Jupyter's is refused.
AGENT: Final = "/eca/agent"

# What a stranger may send. A page of another origin has the user's cookie, which the browser sends by itself.
STRANGERS: Final = {
    "nothing": {"Authorization": ""},
    "a wrong token": {"Authorization": "token wrong"},
    "the cookie, from a page of another origin": {"Authorization": "", "Origin": "https://evil.example"},
}


def find_patterns(server: Any) -> list[str]:
    """The patterns of the addresses for which a Jupyter server has a handler of ours."""
    routers = [rule.target for rule in server.web_app.default_router.rules]
    rules = [rule for router in routers for rule in getattr(router, "rules", ())]
    ours = (rule for rule in rules if getattr(rule.target, "__module__", "").startswith("jupyter_eca."))
    return [rule.matcher.regex.pattern.removeprefix(server.base_url.rstrip("/")) for rule in ours]


def list_requests() -> Iterator[tuple[str, str]]:
    for front, operations in ASGI.items():
        for operation in operations:
            method, _, path = operation.partition(" ")
            yield method, f"/eca/{front}{path.replace('{server_id:path}', 'one').replace('{chat_id}', 'one')}"
    yield "GET", CALLBACK


async def get_cookies(jp_fetch: Fetch) -> str:
    page = await jp_fetch("api", "status")
    return "; ".join(value.split(";")[0] for value in page.headers.get_list("Set-Cookie"))


async def send(jp_fetch: Fetch, method: str, path: str, headers: dict[str, str]) -> int:
    """Return the status of the answer, without following a redirection."""
    body = "{}" if method == "POST" else None
    try:
        answer = await jp_fetch(path, method=method, body=body, headers=headers, follow_redirects=False)
    except HTTPClientError as error:
        return error.code
    return answer.code


async def test_every_address_is_in_the_table(jp_serverapp: Any) -> None:
    assert find_patterns(jp_serverapp) == [
        r"/eca/ws$",
        r"/eca/(ahp|acp)$",
        r"/eca/oauth/callback$",
        r"/eca/agent$",
        r"/eca/([\w-]+)(?:/.*)?$",
    ]
    fronts = loader.find("fronts", "FRONT")
    assert {name for name, front in fronts.items() if isinstance(front, Front)} == set(ASGI)
    assert {f"/eca/{name}" for name, front in fronts.items() if isinstance(front, LinkFront)} < set(WEB_SOCKETS)
    application: Any = (
        await jp_serverapp.extension_manager.extension_apps["jupyter_eca"]
        .copy()
        .pop()
        .eca_server.fronts.application("rest")
    )
    routes = {f"{method} {route.path}" for route in application.routes for method in route.methods if method != "HEAD"}
    assert routes == set(ASGI["rest"])


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_a_stranger_is_refused_at_every_address(jp_fetch: Fetch, stranger: str) -> None:
    headers = dict(STRANGERS[stranger])
    if "Origin" in headers:
        headers["Cookie"] = await get_cookies(jp_fetch)
    for method, path in list_requests():
        status = await send(jp_fetch, method, path, headers)
        if path == CALLBACK:
            # Jupyter sends to its login who comes to a page. With the cookie, a browser comes here from the page of
            # another origin where its user has signed in: then what it brings must have been asked for.
            assert status == (404 if "Origin" in headers else 302)
        else:
            assert status == (404 if "Origin" in headers else 403), (method, path)  # 404 is Jupyter's own


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("path", WEB_SOCKETS)
async def test_a_stranger_gets_no_connection(jp_fetch: Fetch, jp_ws_fetch: Fetch, path: str, stranger: str) -> None:
    headers = dict(STRANGERS[stranger])
    if "Origin" in headers:
        headers["Cookie"] = await get_cookies(jp_fetch)
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch(*path.strip("/").split("/"), headers=headers)
    assert refused.value.code == 403


async def test_a_user_with_the_token_comes_in_at_the_same_addresses(jp_fetch: Fetch) -> None:
    for method, path in list_requests():
        if method == "GET" and path != CALLBACK:
            assert await send(jp_fetch, method, path, {}) in {200, 400, 405, 406}, path


async def test_who_the_authorizer_refuses_comes_in_nowhere(
    jp_serverapp: Any, jp_fetch: Fetch, jp_ws_fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(*_: object) -> bool:
        return False

    monkeypatch.setattr(jp_serverapp.authorizer, "is_authorized", deny)
    for method, path in list_requests():
        assert await send(jp_fetch, method, path, {}) == 403, path
    for path in WEB_SOCKETS:
        with pytest.raises(HTTPClientError) as refused:
            await jp_ws_fetch(*path.strip("/").split("/"))
        assert refused.value.code == 403


@pytest.mark.parametrize("stranger", [*STRANGERS, "the token of Jupyter"])
async def test_at_the_address_for_agents_everybody_is_refused_but_an_agent(jp_fetch: Fetch, stranger: str) -> None:
    headers = dict(STRANGERS.get(stranger, {}))
    if "Origin" in headers:
        headers["Cookie"] = await get_cookies(jp_fetch)
    for method in ("GET", "POST", "DELETE"):
        assert await send(jp_fetch, method, AGENT, headers) == (403 if "Origin" in headers else 401)
