"""Finds out what a tool call would change, before the engine decides whether the call may run. The user sees the
change on the card of the call.

It must not decide the call: the engine does. The tools themselves know what they would change.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import StaleSourceError, ToolError
from jupyter_eca.host.turn import path_rules

if TYPE_CHECKING:
    from jupyter_eca.plugins.tools.base import Tool, ToolContext
    from jupyter_eca.protocol.content import ToolCallDetails

_log = logging.getLogger(__name__)

# The seconds that a preview may take. A page that is busy answers after a while, or never. The call then fails, because
# nobody should have to approve a change that cannot be shown.
PREVIEW_SECONDS = 60.0


async def preview_call(context: ToolContext, tool: Tool, arguments: dict[str, Any]) -> ToolCallDetails | None:
    """Return what a call would change; None if its tool has no preview, if the preview has nothing to show, or if it
    fails because of a bug.

    Raises: ToolError when the call would fail with the files and notebooks as they are now. The caller decides whether
    the call must fail, or may still work after another call of the same reply has changed something. StaleSourceError,
    a kind of ToolError, when the call must fail in any case: the model does not know the text that it wants to replace,
    or the preview has taken too long.
    """
    if tool.preview is None:
        return None
    try:
        async with asyncio.timeout(PREVIEW_SECONDS):
            # A preview may read files, so the rules about paths are checked first.
            await path_rules.check_call(context, tool, arguments)
            return await tool.preview(context, arguments)
    except ToolError:
        raise
    except TimeoutError:
        # No text has changed here. This error is used because callers let the call fail after it, and never preview it
        # again.
        raise StaleSourceError(
            f"What {tool.spec.name} would change could not be worked out in {PREVIEW_SECONDS:g} seconds. "
            "It did not run.",
            "Try it again.",
        ) from None
    except Exception:  # noqa: BLE001  # the boundary to plugs: the call itself will say what is wrong
        _log.exception("the preview of %s failed", tool.spec.name)
        return None
