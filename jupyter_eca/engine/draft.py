"""Drafts the request that a prompt would send to the model now, without sending it.

It runs the same steps as a real turn, on a copy of the chat, and drops their events and effects. So the draft cannot
differ from the real request. It must not know what a request costs: `host/operations` estimates that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine.effects import CallModel
from jupyter_eca.engine.inputs import Gathered, Prompted, Setup
from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, TextPart, list_offered
from jupyter_eca.engine.model.texts import format_notes
from jupyter_eca.engine.step import step
from jupyter_eca.engine.turn import TurnStatus

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import DocumentPart, ImagePart
    from jupyter_eca.engine.state import ChatState


def draft_request(
    state: ChatState,
    setup: Setup,
    message: str = "",
    context: str = "",
    images: tuple[ImagePart, ...] = (),
    documents: tuple[DocumentPart, ...] = (),
) -> ModelRequest:
    """Return the request that this message would send to the model now.

    `context`, `images` and `documents` are what the mentions in the message add to it. Without a message, return a
    request with everything that the model knows of the chat so far. If a turn is under way, it is treated as if it had
    ended here. A summary that would be made before the request is left out.
    """
    if not message:
        notes = format_notes(state.notes)
        notes_message = (ChatMessage("user", (TextPart(notes),)),) if notes else ()
        return ModelRequest(
            setup.model, setup.system, (*state.history, *notes_message), list_offered(setup.tools), setup.variant
        )
    idle = replace(state, status=TurnStatus.IDLE, calls=(), reasoning="", summary_under_way=None)
    # `compact_at=0`: no summary is made.
    prompted, _, _ = step(idle, Prompted(0, "draft", message, "draft", replace(setup, compact_at=0)))
    _, _, effects = step(prompted, Gathered(0, context, images, documents=documents))
    return next(effect.request for effect in effects if isinstance(effect, CallModel))
