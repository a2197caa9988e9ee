"""Owns what the clients of four fronts have on their screens after the events of a chat. Each uses the projection of
the product."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
from jupyter_eca.fronts.acp.projection import AcpProjection, fold_calls
from jupyter_eca.fronts.ahp.locales import ENGLISH, LANGUAGES
from jupyter_eca.fronts.ahp.reducers import reduce_session
from jupyter_eca.fronts.ahp.session.projection import SessionProjection
from jupyter_eca.fronts.eca.projection import make_content
from jupyter_eca.fronts.rest.projection import RestProjection
from jupyter_eca.protocol import rest
from jupyter_eca.protocol.acp.updates import MessageChunk
from jupyter_eca.protocol.event import merge_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.event import Event

ROOT = Path("/workspace")


def show_cells(events: Sequence[Event]) -> Any:
    """What the cells of each turn show."""
    turns: dict[str, CellTranscript] = {}
    for event in events:
        if event.turn:
            transcript = turns.setdefault(event.turn, CellTranscript())
            transcript.add(make_content(event, event.chat, envelope=True))
    return {turn: (transcript.parts, transcript.usage, transcript.outcome) for turn, transcript in turns.items()}


def show_session(events: Sequence[Event]) -> Any:
    """The state of the session in the Agent Host Protocol."""
    state: dict[str, Any] = {"summary": {"title": "", "status": 1, "modifiedAt": 0}, "turns": []}
    projection = SessionProjection("eca:/chat", lambda: state, ROOT, {}, lambda: "", lambda: LANGUAGES[ENGLISH])
    for event in events:
        for action in projection.project(event):
            state = reduce_session(state, action.as_json_object(), 0)
    return state


def show_editor(events: Sequence[Event]) -> Any:
    """The updates of the Agent Client Protocol, with the pieces of a message joined."""
    projection = AcpProjection("chat", ROOT, lambda _: ROOT)
    updates = [update for event in events for update in projection.project(event, live=False)]
    shown: list[dict[str, Any]] = []
    for update in fold_calls(updates):
        data = update.model_dump()
        last: dict[str, Any] = shown[-1] if shown else {}
        is_piece = isinstance(update, MessageChunk) and data["content"].get("text")
        if is_piece and last.get("message_id") == data["message_id"] and last["content"].get("text"):
            last["content"]["text"] += data["content"]["text"]
        else:
            shown.append(data)
    return shown


def show_script(events: Sequence[Event]) -> Any:
    """The answers that a program gets over HTTP, by turn."""
    turns: dict[str, RestProjection] = {}
    found: dict[str, list[Any]] = {}
    for event in events:
        if event.turn:
            projection = turns.setdefault(event.turn, RestProjection({}, 3))
            items = found.setdefault(event.turn, [])
            for item in projection.project(event):
                content = item.content
                if isinstance(content, rest.Text) and items and isinstance(items[-1], str):
                    items[-1] += content.content
                else:
                    items.append(content.content if isinstance(content, rest.Text) else content)
    return found


READERS = (show_cells, show_session, show_editor, show_script)


def assert_same_on_all_screens(live: Sequence[Event], stored: Sequence[Event]) -> None:
    """A client that was there from the beginning and one that has just come show the same, in every front."""
    merged = merge_pieces(stored)
    # Most often both have got the same events. Then it is enough that each front can show them.
    are_same = list(live) == merged
    for show in READERS:
        shown = show(live)
        assert are_same or shown == show(merged), show.__name__
