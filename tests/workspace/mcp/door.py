"""A server that lets in only whom its own authorization server gave a token, and a browser that says yes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2

TOKEN = "a-token"  # noqa: S105  # of a test


@dataclass
class Gate:
    """ASGI in front of a server."""

    app: Any
    registered: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    challenge: str = ""

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        if scope["path"] == "/mcp":
            if headers.get("authorization") == f"Bearer {TOKEN}":
                return await self.app(scope, receive, send)
            return await _reply(send, 401, {})
        base = f"http://{headers['host']}"
        body = (await receive()).get("body", b"").decode()
        status, answer = self._answer(scope["path"], base, body)
        return await _reply(send, status, answer)

    def _answer(self, path: str, base: str, body: str) -> tuple[int, dict[str, Any]]:
        if path.startswith("/.well-known/oauth-protected-resource"):
            return 200, {"resource": f"{base}/mcp", "authorization_servers": [base]}
        if path.startswith("/.well-known/oauth-authorization-server"):
            places = {f"{name}_endpoint": f"{base}/{name}" for name in ("authorization", "token", "registration")}
            return 200, {"issuer": base, **places, "code_challenge_methods_supported": ["S256"]}
        if path == "/registration":
            self.registered.append(json.loads(body))
            return 201, {**json.loads(body), "client_id": "us"}
        if path == "/token" and parse_qs(body)["code"] == ["a-code"]:
            return 200, {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600}
        return 404, {}


async def say_yes(url: str) -> httpx2.Response:
    """What a browser does after its user agreed."""
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    assert query["code_challenge_method"] == "S256"
    async with httpx2.AsyncClient() as browser:
        return await browser.get(f"{query['redirect_uri']}?{urlencode({'code': 'a-code', 'state': query['state']})}")


async def _reply(send: Any, status: int, body: dict[str, Any]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
