"""The request that a prompt would make, made by the very steps that would make it.

Nothing comes of these steps: their events and effects are dropped. What one costs is worked out in `host/operations`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine.effects import CallModel
from jupyter_eca.engine.inputs import Gathered, Prompted, Setup
from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, TextPart
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
    """Return the request that a prompt would make now. Without a message it is what the model knows by now.

    While the chat answers, it is taken as if it had ended here. A summary that would be made first is left out.
    """
    if not message:
        notes = format_notes(state.notes)
        notes_message = (ChatMessage("user", (TextPart(notes),)),) if notes else ()
        return ModelRequest(setup.model, setup.system, (*state.history, *notes_message), setup.tools, setup.variant)
    idle = replace(state, status=TurnStatus.IDLE, calls=(), reasoning="", summary_under_way=None)
    prompted, _, _ = step(idle, Prompted(0, "draft", message, "draft", replace(setup, compact_at=0)))
    _, _, effects = step(prompted, Gathered(0, context, images, documents=documents))
    return next(effect.request for effect in effects if isinstance(effect, CallModel))
