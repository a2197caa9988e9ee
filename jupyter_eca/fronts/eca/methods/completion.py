"""Owns the method of ECA that completes text at the cursor. `fronts/eca/rewrites_and_completions.py` does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol import cursor_help as wire


async def complete(session: EcaSession, params: wire.CompletionInlineParams) -> wire.CompletionInlineResult:
    """Return the completion at the cursor."""
    return await session.cursor_help.complete(params)


HANDLERS: Final = {"completion/inline": complete}
