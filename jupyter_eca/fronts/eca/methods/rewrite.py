"""Owns the methods of ECA that rewrite a selection. `fronts/eca/rewrites_and_completions.py` does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.base import Done

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol import cursor_help as wire


async def prompt(session: EcaSession, params: wire.RewritePromptParams) -> wire.RewritePromptResult:
    """Start a rewrite. Its text follows in notifications."""
    return await session.cursor_help.rewrite(params)


async def stop(session: EcaSession, params: wire.RewriteStopParams) -> Done:
    """Stop a rewrite."""
    session.cursor_help.stop(params.id)
    return Done()


HANDLERS: Final = {"rewrite/prompt": prompt, "rewrite/stop": stop}
