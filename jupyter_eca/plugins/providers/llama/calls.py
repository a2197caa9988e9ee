"""Writes tools and tool calls in llama.cpp's format, and reads the calls of an answer. Pure.

llama.cpp finds out from the chat template how the model writes a call. From the beginning of a call it forces the model
to follow a grammar, which is made from the tools' schemas: the name of an existing tool, and arguments that fit. A
reply has at most one call. The answer may still end in the middle of a call, so a call is only returned when it is
complete.

This module must not cut the history: `prompt` does.
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

# The remark for a call that is not complete.
_LOST = "The call of {name} was cut off at the limit of the answer and did not run. Ask for a shorter one."
# The fields of a JSON schema whose keys are names that the schema's author has chosen. So `pattern` may be such a name.
_FIELDS_WITH_NAMES: Final = ("properties", "patternProperties", "$defs", "definitions")
# The schema that allows any arguments.
_ANY: Final = {"type": "object"}


def as_functions(tools: tuple[ToolSpec, ...], *, all_schemas: bool) -> list[dict[str, Any]]:
    """Return the `tools` of a request. Without `all_schemas`, only our own tools have their schemas, and all other
    tools accept any arguments. If llama.cpp cannot make a grammar of one schema, it refuses the whole request."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": _remove_patterns(tool.parameters)
                if all_schemas or tool.origin is Origin.NATIVE
                else _ANY,
            },
        }
        for tool in tools
    ]


def _remove_patterns(schema: Any) -> Any:
    """Return a schema without the patterns of strings. llama.cpp knows few patterns. For each unknown one it writes to
    the standard error, which a notebook shows."""
    if isinstance(schema, list):
        return [_remove_patterns(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {key: _remove_patterns(item) for key, item in cast("dict[str, Any]", value).items()}
        if name in _FIELDS_WITH_NAMES and isinstance(value, dict)
        else _remove_patterns(value)
        for name, value in cast("dict[str, Any]", schema).items()
        if not (name == "pattern" and isinstance(value, str))
    }


def as_messages(message: ChatMessage) -> Iterator[dict[str, Any]]:
    """Yield the messages for one message of the history. Results of tools come before its text."""
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
    """Replace half surrogate pairs, which the output of a cell can contain. The server's JSON parser refuses them."""
    return text.encode(errors="replace").decode()


@dataclass(slots=True)
class StreamedCalls:
    """The calls of one answer, while they are streamed."""

    _open: dict[int, ToolCallDelta] = field(default_factory=dict[int, ToolCallDelta])
    """Each call as far as it has arrived, by its index."""

    def take(self, choice: dict[str, Any]) -> Iterator[Delta]:
        """Add the pieces of a chunk. Yield the complete calls at the end of the answer."""
        for piece in choice["delta"].get("tool_calls") or ():
            index: int = piece["index"]
            # The call as far as it had arrived before this piece.
            before, function = self._open.get(index, ToolCallDelta(index)), cast("dict[str, str]", piece["function"])
            self._open[index] = ToolCallDelta(
                index,
                id=before.id or piece.get("id") or "",
                name=before.name or function.get("name") or "",
                arguments_text=before.arguments_text + (function.get("arguments") or ""),
            )
        if choice.get("finish_reason"):
            for call in self._open.values():
                yield call if _is_complete(call) else Remark(_LOST.format(name=call.name or "a tool"))
            self._open.clear()


def _is_complete(call: ToolCallDelta) -> bool:
    """Return whether a call has a name, and a whole JSON object as its arguments."""
    try:
        return bool(call.name) and isinstance(json.loads(call.arguments_text), dict)
    except ValueError:
        return False
