"""Owns what OpenCode, another coding agent, asks its user while it works: permissions and questions. The user of our
MCP client answers them, or gets told how to answer them in OpenCode. A call must not only wait, because nobody would
know why.

It must not know how a prompt is sent: `offers/run.py` does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types

if TYPE_CHECKING:
    from jupyter_eca.fronts.mcp.offers_base import Caller
    from jupyter_eca.fronts.mcp.opencode.api import Api
    from jupyter_eca.fronts.mcp.opencode.backend import Folder

# The answers to a request for permission, by OpenCode's names.
_ONCE, _ALWAYS, _REJECT = "once", "always", "reject"
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"decision": {"type": "string", "enum": [_ONCE, _ALWAYS, _REJECT]}},
    "required": ["decision"],
}
# The longest description of a permission in characters. It is cut, because the user reads it in a dialog.
_MAX_DESCRIPTION: Final = 4_000


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request for permission, or a question, that waits for OpenCode's user."""

    kind: str
    """`permission` or `question`. It is also the path in the API."""

    data: dict[str, Any]
    """The request as the API returns it."""

    @property
    def id(self) -> str:
        """OpenCode's id of the request."""
        return str(self.data["id"])


async def find(api: Api, folder: Folder, session: str) -> list[PendingRequest]:
    """Return the requests that wait in a session or in the sessions of its subagents. Raises: RefusedCall."""
    requests = [
        PendingRequest(kind, data)
        for kind in ("permission", "question")
        for data in await api.get(f"/{kind}", directory=folder.path)
    ]
    return [request for request in requests if await _belongs_to(api, str(request.data["sessionID"]), session)]


async def _belongs_to(api: Api, session: str, parent: str) -> bool:
    """Return whether a session is `parent`, or a session of a subagent below it."""
    while session and session != parent:
        session = str((await api.get(f"/session/{session}")).get("parentID") or "")
    return session == parent


async def ask_user(api: Api, caller: Caller, folder: Folder, requests: list[PendingRequest]) -> bool:
    """Ask the client's user about the permissions. Return whether all requests were answered. Questions cannot be asked
    in this way."""
    for request in requests:
        if request.kind != "permission" or not caller.can_ask:
            return False
        wanted = f"{request.data['permission']} {', '.join(request.data['patterns'])}".strip()
        more = json.dumps(request.data.get("metadata") or {}, indent=2, ensure_ascii=False)[:_MAX_DESCRIPTION]
        question = types.ElicitRequestFormParams(
            message=f"OpenCode asks for permission: {wanted}\n\n{more}", requested_schema=_SCHEMA
        )
        if (answer := await caller.ask(question)) is None:
            return False
        decision = (answer.content or {}).get("decision") if answer.action == "accept" else _REJECT
        reply = decision if decision in {_ONCE, _ALWAYS} else _REJECT
        await api.post(f"/permission/{request.id}/reply", {"reply": reply}, directory=folder.path)
    return True


def describe(api: Api, session: str, requests: list[PendingRequest]) -> dict[str, Any]:
    """Return the requests as fields of the answer to a call, with instructions how the user can answer them."""
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
