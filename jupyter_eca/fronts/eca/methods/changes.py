"""Owns the methods of ECA on the changes that turns made to files and cells: list, keep and revert them. To keep a
change means that it is no longer listed for a decision.

`host/operations/changes.py` does the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol import changes
from jupyter_eca.protocol.base import Done

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession


async def list(session: EcaSession, params: changes.ChatChangesParams) -> changes.ChatChangesResult:
    """Return the changes of one turn, of the last turn, or of the whole chat, as the params say."""
    listed = await session.host.changes.list(session.find_chat(params.chat_id), params.turn, params.extent)
    return changes.ChatChangesResult(changes=listed)


async def revert(session: EcaSession, params: changes.ChatReviewParams) -> changes.ChatRevertResult:
    """Undo changes. Return the changes that were undone, and those that were left, with the reason."""
    reverted, refused = await session.host.changes.revert(session.find_chat(params.chat_id), params.changes)
    return changes.ChatRevertResult(reverted=reverted, left=refused)


async def keep(session: EcaSession, params: changes.ChatReviewParams) -> Done:
    """Keep changes, because the user has decided so."""
    await session.host.changes.keep(session.find_chat(params.chat_id), params.changes)
    return Done()


HANDLERS: Final = {"chat/changes": list, "chat/revert": revert, "chat/keep": keep}
