"""Owns what is known of a session beside the events of its chat: flags, choices, queued messages. Pure.

It must not know the disk (`persistence.py`). A session without a turn consists of its note only: a chat begins with its
first prompt.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

from jupyter_eca.fronts.ahp.customizations import list_disabled
from jupyter_eca.fronts.ahp.reducers.base import Json, items, omit_none, put, record
from jupyter_eca.fronts.ahp.reducers.status import ACTIVITY, SessionStatus

if TYPE_CHECKING:
    from jupyter_eca.host.store import ChatRow

# Actions that change what the note has to keep.
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
    notes = json.loads(text)
    return cast("Json", notes) if isinstance(notes, dict) else {}


def make_note(state: Json, messages: dict[str, Json], starting: dict[str, Json]) -> Json:
    """Make the note of a session. `messages` are those with attachments, by turn: the store keeps only the text.
    `starting` are the messages of turns that have not begun yet, by turn."""
    summary = state["summary"]
    return omit_none(
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
        off=sorted(list_disabled(state)) or None,
        messages=messages or None,
        starting=starting or None,
    )


def make_summary(uri: str, provider: str, row: ChatRow | None, note: Json) -> Json:
    """Make the summary of a session that is not in memory. Such a session is idle."""
    model = note.get("model") or (row and row.model and {"id": row.model}) or None
    return omit_none(
        resource=uri,
        provider=provider,
        title=(row and row.title) or note.get("title", ""),
        status=int(SessionStatus.IDLE) | int(note.get("flags", 0)),
        createdAt=note.get("created", row.created if row else 0),  # the time of creation never changes
        modifiedAt=max(row.updated if row else 0, note.get("modified", 0)),
        model=model,
        workingDirectory=Path(row.folder).as_uri() if row and row.folder else note.get("folder"),
        diffs=note.get("diffs"),
    )


def apply_note(state: Json, note: Json) -> Json:
    """Return a state that was made from events, with the fields added that only the note knows."""
    about = state["summary"]
    status = int(about["status"]) & ACTIVITY | int(note.get("flags", 0))
    # The server ended before these turns began. Their messages wait, as if they had been queued.
    begun = {str(turn["id"]) for turn in items(state, "turns")}
    lost = [{"id": id, "userMessage": message} for id, message in record(note, "starting").items() if id not in begun]
    return put(
        state,
        summary=put(about, status=status),
        steeringMessage=note.get("steering"),
        queuedMessages=[*lost, *items(note, "queue")] or None,
    )
