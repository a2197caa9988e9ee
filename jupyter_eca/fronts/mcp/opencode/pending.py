"""Owns what OpenCode asks its user while it works: permissions and questions. A call must not wait for them in silence.

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

# What may be answered to a permission, by OpenCode's names.
_ONCE, _ALWAYS, _REJECT = "once", "always", "reject"
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"decision": {"type": "string", "enum": [_ONCE, _ALWAYS, _REJECT]}},
    "required": ["decision"],
}
# The longest description of a permission in characters: the user reads it in a dialog.
_MOST: Final = 4_000


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A permission or a question that waits for its user. `kind` is also the path of its API."""

    kind: str
    data: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.data["id"])


async def find(api: Api, folder: Folder, session: str) -> list[PendingRequest]:
    """Return what waits in a session or in one of its subagents' sessions. Raises: RefusedCall."""
    requests = [
        PendingRequest(kind, data)
        for kind in ("permission", "question")
        for data in await api.get(f"/{kind}", directory=folder.path)
    ]
    return [request for request in requests if await _belongs(api, str(request.data["sessionID"]), session)]


async def _belongs(api: Api, session: str, parent: str) -> bool:
    while session and session != parent:
        session = str((await api.get(f"/session/{session}")).get("parentID") or "")
    return session == parent


async def ask_user(api: Api, caller: Caller, folder: Folder, requests: list[PendingRequest]) -> bool:
    """Ask the caller's user about permissions. Return whether all requests were answered."""
    for request in requests:
        if request.kind != "permission" or not caller.can_ask:
            return False
        wanted = f"{request.data['permission']} {', '.join(request.data['patterns'])}".strip()
        more = json.dumps(request.data.get("metadata") or {}, indent=2, ensure_ascii=False)[:_MOST]
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
    """Return the requests as fields of an answer, with how the user can answer them."""
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
