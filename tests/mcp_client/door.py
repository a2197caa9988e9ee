"""A server that lets in only whom its own authorization server gave a token, and browsers that go where told."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2

# How everything begins that nobody but the two servers and we may see.
SECRET = "s3cr3t-"  # noqa: S105  # of a test


@dataclass
class Gate:
    """ASGI in front of a server. `says_no`: what its user answers instead of yes; `silent`: they do not answer;
    `lifetime` of a token, in seconds."""

    app: Any
    registered: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    good: set[str] = field(default_factory=set[str])
    granted: list[str] = field(default_factory=list[str])
    lifetime: int = 3600
    says_no: str = ""
    scopes: tuple[str, ...] = ()
    silent: bool = False
    _codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    _renewing: dict[str, str] = field(default_factory=dict[str, str])

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        if scope["path"] == "/mcp":
            if headers.get("authorization", "").removeprefix("Bearer ") in self.good:
                return await self.app(scope, receive, send)
            return await _reply(send, 401, {})
        base = f"http://{headers['host']}"
        if scope["path"] == "/authorization" and not self.silent:
            return await _reply(send, 302, {}, self._sent_back(_one(scope["query_string"].decode())))
        body = (await receive()).get("body", b"").decode()
        status, answer = self._answer(scope["path"], base, body)
        return await _reply(send, status, answer)

    def _answer(self, path: str, base: str, body: str) -> tuple[int, dict[str, Any]]:
        if path.startswith("/.well-known/oauth-protected-resource"):
            scopes = {"scopes_supported": self.scopes} if self.scopes else {}
            return 200, {"resource": f"{base}/mcp", "authorization_servers": [f"{base}/as"], **scopes}
        if path == "/.well-known/oauth-authorization-server/as":
            places = {f"{name}_endpoint": f"{base}/{name}" for name in ("authorization", "registration")}
            token = {"token_endpoint": f"{base}/as/tokens"}
            return 200, {"issuer": f"{base}/as", **places, **token, "code_challenge_methods_supported": ["S256"]}
        if path == "/registration":
            client = {**json.loads(body), "client_id": f"client-{len(self.registered)}"}
            self.registered.append(client)
            return 201, client
        if path == "/as/tokens":
            return self._tokens(_one(body))
        return 404, {}

    def forget(self) -> None:
        """Nothing can be renewed any more."""
        self._renewing.clear()

    def sent_back(self, url: str) -> str:
        """Where the browser of a user who says yes is sent from there."""
        return self._sent_back(_one(urlsplit(url).query))

    def _sent_back(self, query: dict[str, str]) -> str:
        client = next(one for one in self.registered if one["client_id"] == query["client_id"])
        assert query["redirect_uri"] in client["redirect_uris"]
        assert query["code_challenge_method"] == "S256"
        if self.says_no:
            found = {"error": "access_denied", "error_description": self.says_no}
        else:
            code = f"{SECRET}code-{len(self._codes)}"
            self._codes[code] = query
            found = {"code": code}
        return f"{query['redirect_uri']}?{urlencode({**found, 'state': query['state']})}"

    def _tokens(self, asked: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """A code and a refresh token count once, and for the client that they were given to."""
        if asked["grant_type"] == "refresh_token":
            if self._renewing.pop(asked["refresh_token"], None) != asked["client_id"]:
                return 400, {"error": "invalid_grant"}
        else:
            given = self._codes.pop(asked["code"])
            digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
            assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == given["code_challenge"]
            assert (asked["client_id"], asked["redirect_uri"]) == (given["client_id"], given["redirect_uri"])
        number = len(self.granted)
        token, renewing = f"{SECRET}token-{number}", f"{SECRET}refresh-{number}"
        self.granted.append(asked["grant_type"])
        self.good.add(token)
        self._renewing[renewing] = asked["client_id"]
        answer = {"access_token": token, "token_type": "Bearer", "refresh_token": renewing}
        return 200, {**answer, "expires_in": self.lifetime}


async def visit(url: str, **headers: str) -> httpx2.Response:
    """What a browser does: it goes there, and where it is sent from there."""
    async with httpx2.AsyncClient() as browser:
        return await browser.get(url, follow_redirects=True, headers=headers)


def _one(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}


def state_of(url: str) -> str:
    return _one(urlsplit(url).query)["state"]


async def _reply(send: Any, status: int, body: dict[str, Any], location: str = "") -> None:
    headers = [(b"content-type", b"application/json"), *([(b"location", location.encode())] if location else [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
