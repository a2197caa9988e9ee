"""Structured results of tools (JSON), and whether the text of a result says the same. Pure. `tool_details` shows them.

`labextension/src/render/json_results.ts` decides the same for the panel; `fixtures/json_results.json` holds for both.
"""

from __future__ import annotations

import json
from typing import Any, cast


def format_json(text: str) -> str:
    """Return the JSON with indents, or a text that is no JSON as it is."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except ValueError:
        return text


def repeats_text(json_text: str, text: str) -> bool:
    """Return whether the text of a result says what its JSON says. MCP asks servers to send both. FastMCP puts a result
    that is no object into an object with the key `result`, and writes each entry of a list as a text of its own."""
    try:
        value = json.loads(json_text)
    except ValueError:
        return json_text == text
    values = [value]
    if isinstance(value, dict) and list(cast("dict[str, Any]", value)) == ["result"]:
        values.append(value["result"])
    texts = [_as_text(one) for one in values]
    texts += ["".join(map(_as_text, cast("list[Any]", one))) for one in values if isinstance(one, list)]
    return _without_space(text) in map(_without_space, texts)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _without_space(text: str) -> str:
    return "".join(text.split())
