"""Owns the forms that the answer or the error of a tool has in each version of MCP (Model Context Protocol). Pure.

In the oldest version (2024-11-05), an answer is one text item that contains JSON. Images are in this JSON, as base64.
Since 2025-06-18, the same data is also structured content, and images are items of their own. This module must not know
what a tool does. `offers_base.py` has the class `ToolAnswer`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp_types.version import is_version_at_least

from jupyter_eca.fronts.mcp.offers_base import RefusedCall, ToolAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jupyter_eca.errors import ToolError

# The first version of the protocol with structured content.
STRUCTURED_SINCE: Final = "2025-06-18"

# The suggestion for an error that has no other suggestion.
_DEFAULT_SUGGESTION: Final = "Read the message: it says what was wrong with this call."


def make_result(answer: ToolAnswer, version: str) -> types.CallToolResult:
    """Make the result of a call in the form that clients of this version of the protocol expect."""
    data: dict[str, Any] = dict(answer.data)
    is_structured = is_version_at_least(version, STRUCTURED_SINCE)
    if answer.images and not is_structured:
        data["images"] = [{"mimeType": image.media_type, "base64": image.base64} for image in answer.images]
    content: list[types.ContentBlock] = [types.TextContent(text=as_json(data))]
    if is_structured:
        content += [types.ImageContent(data=image.base64, mime_type=image.media_type) for image in answer.images]
    return types.CallToolResult(
        content=content, structured_content=data if is_structured else None, is_error=answer.failed
    )


def make_error_result(error: ToolError, version: str) -> types.CallToolResult:
    """Make the result of a call that raised an error: its message, and what the caller can do about it. `version` is
    that of the client."""
    suggestions = error.suggestions if isinstance(error, RefusedCall) else (error.fix,) if error.fix else ()
    # The text of the error ends with the suggested fix, which is already one of the suggestions.
    text = str(error)
    if error.fix and text.endswith(error.fix):
        text = text[: -len(error.fix)].strip()
    return make_result(make_failure(text, suggestions), version)


def make_failure(message: str, suggestions: Sequence[str] = ()) -> ToolAnswer:
    """Make the answer for an error: its message, and what the caller can do about it."""
    return ToolAnswer({"error": message, "suggestions": list(suggestions) or [_DEFAULT_SUGGESTION]}, failed=True)


def as_json(data: Mapping[str, Any]) -> str:
    """Return data as JSON with indents."""
    return json.dumps(data, indent=2, ensure_ascii=False)
