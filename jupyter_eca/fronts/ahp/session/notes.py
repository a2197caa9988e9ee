"""Owns the note of a session. A note has what the events of the session's chat do not contain, such as flags, choices
and queued messages. Pure.

The state of a session is a JSON object that all clients share. A note is one JSON object, too. A session without a turn
consists only of its note, because its chat begins with the first prompt. This module must not know how notes are
stored: `persistence.py` writes them to disk.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

from jupyter_eca.fronts.ahp.customizations import list_disabled
from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, get_object, omit_none, replace_fields
from jupyter_eca.fronts.ahp.reducers.status import ACTIVITY, SessionStatus

if TYPE_CHECKING:
    from jupyter_eca.host.store import ChatRow

# The actions that change something which the note contains. After each of them the note is written again. `ready` comes
# at the end of the creation of a session, and `inputRequested` when the session waits for an answer of the user.
NOTED_ACTIONS = frozenset(
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


def parse_note(text: str) -> Json:
    """Return the note from its stored text; an empty note if the text is not a JSON object."""
    note = json.loads(text)
    return cast("Json", note) if isinstance(note, dict) else {}


def make_note(state: Json, messages: dict[str, Json], starting: dict[str, Json]) -> Json:
    """Make the note of a session.

    `messages` are the messages with attachments, by the id of the turn: the events of the chat contain only their text.
    `starting` are the messages of turns that were requested, but have not begun yet, by the id of the turn. In the
    note, `created` and `modified` are times in milliseconds since the epoch, `flags` are the bits of the status that
    are not the activity (the activity says whether a turn runs or waits), `folder` is the URI of the working directory,
    `values` are those of the configuration, `steering` and `queue` are pending messages, and `off` has the URIs of
    disabled customizations. The other fields have the names that they have in the summary of the state.
    """
    summary = state["summary"]
    return omit_none(
        created=summary["createdAt"],
        modified=summary["modifiedAt"],
        title=summary["title"],
        flags=int(summary["status"]) & ~ACTIVITY,
        model=summary.get("model"),
        folder=summary.get("workingDirectory"),
        diffs=summary.get("diffs"),
        values=get_object(get_object(state, "config"), "values"),
        steering=state.get("steeringMessage"),
        queue=state.get("queuedMessages"),
        off=sorted(list_disabled(state)) or None,
        messages=messages or None,
        starting=starting or None,
    )


def make_summary(uri: str, provider: str, row: ChatRow | None, note: Json) -> Json:
    """Make the summary of a session that is not in memory: its entry in a client's list of sessions. No turn runs in
    such a session, so its status is idle.

    `uri` is the URI of the session, and `provider` the name of our agent in the protocol. `row` is the row of its chat
    in the store, or None before its first turn. `note` is the note of the session, or {} if it has none.
    """
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
    """Return a state that was built from events, with more fields from the note: the flags of the status, the steering
    message and the queued messages. The other fields of the note are already in this state, because they were used to
    build it (`AhpFront` in `front.py`)."""
    summary = state["summary"]
    status = int(summary["status"]) & ACTIVITY | int(note.get("flags", 0))
    # The server ended before these turns began: their messages are in the note, but their events were not stored. The
    # messages become queued messages.
    begun = {str(turn["id"]) for turn in get_list(state, "turns")}
    lost = [
        {"id": id, "userMessage": message} for id, message in get_object(note, "starting").items() if id not in begun
    ]
    return replace_fields(
        state,
        summary=replace_fields(summary, status=status),
        steeringMessage=note.get("steering"),
        queuedMessages=[*lost, *get_list(note, "queue")] or None,
    )
