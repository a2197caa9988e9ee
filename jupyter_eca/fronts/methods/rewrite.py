"""Help at the cursor: what it does is in `fronts/assist.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca import EcaSession
    from jupyter_eca.protocol import rewrite


async def prompt(session: EcaSession, params: rewrite.RewritePromptParams) -> rewrite.RewritePromptResult:
    return await session.assist.rewrite(params)


async def complete(session: EcaSession, params: rewrite.CompletionInlineParams) -> rewrite.CompletionInlineResult:
    return await session.assist.complete(params)


HANDLERS: Final = {"rewrite/prompt": prompt, "completion/inline": complete}
