"""What is known of a session beside the events of its chat, and survives the server: flags, choices, what waits.

A session without a turn is nothing but this: a chat begins with its first question.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from jupyter_eca.fronts.ahp.customizations import switched_off
from jupyter_eca.fronts.ahp.reducers.base import Json, present, put, record
from jupyter_eca.fronts.ahp.reducers.status import ACTIVITY, SessionStatus

if TYPE_CHECKING:
    from jupyter_eca.host.store import ChatRow

# Actions after which there is something else to keep.
NOTED = frozenset(
    f"session/{name}"
    for name in (
        "ready",
        "turnStarted",
        "titleChanged",
        "modelChanged",
        "isReadChanged",
        "isArchivedChanged",
        "configChanged",
        "customizationToggled",
        "pendingMessageSet",
        "pendingMessageRemoved",
        "queuedMessagesReordered",
        "truncated",
        "inputRequested",
        "diffsChanged",
    )
)


def read(text: str) -> Json:
    found = json.loads(text)
    return cast("Json", found) if isinstance(found, dict) else {}


def of(state: Json, messages: dict[str, Json]) -> Json:
    """`messages` are those with attachments, by turn, of which the store keeps only the text."""
    summary = state["summary"]
    return present(
        created=summary["createdAt"],
        modified=summary["modifiedAt"],
        title=summary["title"],
        flags=int(summary["status"]) & ~ACTIVITY,
        model=summary.get("model"),
        folder=summary.get("workingDirectory"),
        diffs=summary.get("diffs"),
        values=record(record(state, "config"), "values"),
        steering=state.get("steeringMessage"),
        queue=state.get("queuedMessages"),
        off=sorted(switched_off(state)) or None,
        messages=messages or None,
    )


def summary(uri: str, provider: str, row: ChatRow | None, note: Json) -> Json:
    """Of a session that is not in memory: nothing is under way in it."""
    model = note.get("model") or (row and row.model and {"id": row.model}) or None
    return present(
        resource=uri,
        provider=provider,
        title=(row and row.title) or note.get("title", ""),
        status=int(SessionStatus.IDLE) | int(note.get("flags", 0)),
        createdAt=note.get("created", row.created if row else 0),  # it never changes
        modifiedAt=max(row.updated if row else 0, note.get("modified", 0)),
        model=model,
        workingDirectory=note.get("folder"),
        diffs=note.get("diffs"),
    )


def applied(state: Json, note: Json) -> Json:
    """A state that was made from the events, with what they cannot tell."""
    about = state["summary"]
    status = int(about["status"]) & ACTIVITY | int(note.get("flags", 0))
    return put(
        state,
        summary=put(about, status=status),
        steeringMessage=note.get("steering"),
        queuedMessages=note.get("queue"),
    )
