"""Owns the requests of OpenCode, another coding agent, to its user: while it works, it asks for permissions and asks
questions. We pass a request on to the user of our MCP client. If that is not possible, the call returns immediately,
and says how to answer in OpenCode. Otherwise the call would wait, and nobody would know why.

It must not know how a prompt is sent: `offers/run.py` does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types

if TYPE_CHECKING:
    from jupyter_eca.fronts.mcp.offers_base import Caller
    from jupyter_eca.fronts.mcp.opencode.api import OpenCodeApi
    from jupyter_eca.fronts.mcp.opencode.backend import Folder

# The answers to a request for permission, by OpenCode's names.
_ONCE, _ALWAYS, _REJECT = "once", "always", "reject"
# The JSON schema of the form in which the user answers.
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"decision": {"type": "string", "enum": [_ONCE, _ALWAYS, _REJECT]}},
    "required": ["decision"],
}
# How many characters of the details of a permission are shown. The user reads them in a dialog.
_MAX_DETAIL_CHARACTERS: Final = 4_000


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request for permission, or a question, that waits for OpenCode's user."""

    kind: str
    """`permission` or `question`. This is also the path of such requests in the API."""

    data: dict[str, Any]
    """The request as the API returns it."""

    @property
    def id(self) -> str:
        """OpenCode's id of the request."""
        return str(self.data["id"])


async def list_requests(api: OpenCodeApi, folder: Folder, session: str) -> list[PendingRequest]:
    """Return the requests that wait for an answer in a session, or in the sessions of its subagents. Raises:
    RefusedCall."""
    requests = [
        PendingRequest(kind, data)
        for kind in ("permission", "question")
        for data in await api.get(f"/{kind}", directory=folder.path)
    ]
    return [request for request in requests if await _belongs_to(api, str(request.data["sessionID"]), session)]


async def _belongs_to(api: OpenCodeApi, session: str, parent: str) -> bool:
    """Return whether a session is `parent` itself, or belongs to a subagent of `parent`, at any depth."""
    while session and session != parent:
        session = str((await api.get(f"/session/{session}")).get("parentID") or "")
    return session == parent


async def ask_user(api: OpenCodeApi, caller: Caller, folder: Folder, requests: list[PendingRequest]) -> bool:
    """Ask the user of our client for the permissions, and send the answers to OpenCode. Return whether all requests
    were answered. Only permissions can be asked for in this way: a question is never answered."""
    for request in requests:
        if request.kind != "permission" or not caller.can_ask:
            return False
        wanted = f"{request.data['permission']} {', '.join(request.data['patterns'])}".strip()
        details = json.dumps(request.data.get("metadata") or {}, indent=2, ensure_ascii=False)
        details = details[:_MAX_DETAIL_CHARACTERS]
        question = types.ElicitRequestFormParams(
            message=f"OpenCode asks for permission: {wanted}\n\n{details}", requested_schema=_SCHEMA
        )
        if (answer := await caller.ask(question)) is None:
            return False
        decision = (answer.content or {}).get("decision") if answer.action == "accept" else _REJECT
        reply = decision if decision in {_ONCE, _ALWAYS} else _REJECT
        await api.post(f"/permission/{request.id}/reply", {"reply": reply}, directory=folder.path)
    return True


def describe_requests(api: OpenCodeApi, session: str, requests: list[PendingRequest]) -> dict[str, Any]:
    """Return the requests as fields of the result of a call, with instructions how the user can answer them."""
    return {
        "status": "waiting for the user",
        "pending": [{"kind": request.kind, **request.data} for request in requests],
        "howToAnswer": [
            f"The user answers in OpenCode: opencode attach {api.url} --session {session}",
            *dict.fromkeys(
                f'Or with its API: POST {api.url}/permission/ID/reply {{"reply": "once"}}, "always" or "reject".'
                if request.kind == "permission"
                else f'Or with its API: POST {api.url}/question/ID/reply {{"answers": [["LABEL"]]}}, or .../reject.'
                for request in requests
            ),
            "OpenCode goes on then. To stop it instead: opencode_session_abort. For the outcome ask with "
            f"opencode_session_prompt and sessionId {session!r}.",
        ],
    }
