"""Tool calls in llama.cpp's words, there and back. Pure.

llama.cpp finds out from the chat template how the model writes a call, and from where it begins one holds it to a
grammar made of the tools' schemas: the name of a tool that there is, and arguments that fit. One call a reply. What is
left to go wrong is an end in mid-call, so a call is handed on only when it is whole.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.engine.model.delta import Remark, ToolCallDelta
from jupyter_eca.engine.model.request import TextPart, ToolResultPart, ToolUsePart
from jupyter_eca.protocol.content import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ChatMessage, ToolSpec

_LOST = "The call of {name} was cut off at the limit of the answer and did not run. Ask for a shorter one."
_NAMES: Final = ("properties", "patternProperties", "$defs", "definitions")
_ANY: Final = {"type": "object"}


def as_functions(tools: tuple[ToolSpec, ...], *, trusted: bool) -> list[dict[str, Any]]:
    """Return the `tools` of a request. Unless `trusted`, the schemas of others are left out: one that llama.cpp cannot
    make a grammar of would fail every request."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": _plain(tool.parameters) if trusted or tool.origin is Origin.NATIVE else _ANY,
            },
        }
        for tool in tools
    ]


def _plain(schema: Any) -> Any:
    """Return the schema without the patterns of strings. llama.cpp knows few of them, and writes about each other one
    to the standard error, which a notebook shows."""
    if isinstance(schema, list):
        return [_plain(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {key: _plain(one) for key, one in cast("dict[str, Any]", value).items()}
        if name in _NAMES and isinstance(value, dict)
        else _plain(value)
        for name, value in cast("dict[str, Any]", schema).items()
        if not (name == "pattern" and isinstance(value, str))
    }


def as_messages(message: ChatMessage) -> Iterator[dict[str, Any]]:
    """Yield the messages for one of the history. Results of tools come before the text that was said with them."""
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            yield {"role": "tool", "tool_call_id": part.id, "content": replace_surrogates(part.text)}
    text = replace_surrogates("".join(part.text for part in message.parts if isinstance(part, TextPart)).strip())
    calls = [
        {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": json.dumps(part.arguments)}}
        for part in message.parts
        if isinstance(part, ToolUsePart)
    ]
    if calls:
        yield {"role": message.role, "content": text or None, "tool_calls": calls}
    elif text:
        yield {"role": message.role, "content": text}


def replace_surrogates(text: str) -> str:
    """Replace half a surrogate pair, which the output of a cell can contain: the server's JSON refuses it."""
    return text.encode(errors="replace").decode()


@dataclass(slots=True)
class StreamedCalls:
    """The calls of one answer, while they are written."""

    _open: dict[int, ToolCallDelta] = field(default_factory=dict[int, ToolCallDelta])

    def take(self, choice: dict[str, Any]) -> Iterator[Delta]:
        for piece in choice["delta"].get("tool_calls") or ():
            at: int = piece["index"]
            said, function = self._open.get(at, ToolCallDelta(at)), cast("dict[str, str]", piece["function"])
            self._open[at] = ToolCallDelta(
                at,
                id=said.id or piece.get("id") or "",
                name=said.name or function.get("name") or "",
                arguments_text=said.arguments_text + (function.get("arguments") or ""),
            )
        if choice.get("finish_reason"):
            for call in self._open.values():
                yield call if _whole(call) else Remark(_LOST.format(name=call.name or "a tool"))
            self._open.clear()


def _whole(call: ToolCallDelta) -> bool:
    try:
        return bool(call.name) and isinstance(json.loads(call.arguments_text), dict)
    except ValueError:
        return False
