"""Formats structured results of tools (JSON), and decides whether the text of a result repeats its JSON. Pure.

It must not know how results are shown: `tool_details` does. `labextension/src/render/json_results.ts` decides the same
for the panel. `tests/fixtures/json_results.json` tests both.
"""

from __future__ import annotations

import json
from typing import Any, cast


def format_json(text: str) -> str:
    """Return the JSON with indents. A text that is not JSON is returned unchanged."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except ValueError:
        return text


def repeats_text(json_text: str, text: str) -> bool:
    """Return whether the text of a result repeats what its JSON says. MCP asks servers to send both. FastMCP puts a
    result that is not an object into an object with the key `result`, and writes each entry of a list as a text of its
    own."""
    try:
        value = json.loads(json_text)
    except ValueError:
        return json_text == text
    # All values whose text could be the text of the result.
    values = [value]
    if isinstance(value, dict) and list(cast("dict[str, Any]", value)) == ["result"]:
        values.append(value["result"])
    texts = [_as_text(candidate) for candidate in values]
    texts += [
        "".join(map(_as_text, cast("list[Any]", candidate))) for candidate in values if isinstance(candidate, list)
    ]
    return _remove_space(text) in map(_remove_space, texts)


def _as_text(value: Any) -> str:
    """Return a text unchanged, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _remove_space(text: str) -> str:
    """Return the text without spaces and line breaks."""
    return "".join(text.split())
