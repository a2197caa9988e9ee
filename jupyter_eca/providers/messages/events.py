"""The event stream of the Messages API, event by event, as deltas. Pure; unknown events and blocks say nothing.

Events are matched as the raw JSON they are, not built into the SDK's models first: that halves the time per event.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.delta import ReasoningDelta, ReasoningEnd, Remark, TextDelta, ToolCallDelta, UsageDelta
from jupyter_eca.providers.messages.request import sealed
from jupyter_eca.providers.remarks import DECLINED, FULL, TOO_LONG

if TYPE_CHECKING:
    from jupyter_eca.engine.delta import Delta

# Why an answer ended before its time, for the reader. Every other reason is an ordinary end, and the engine goes by
# what it received: some servers mislabel theirs.
_CUT = {"max_tokens": TOO_LONG, "model_context_window_exceeded": FULL, "refusal": DECLINED}


@dataclass(slots=True)
class _Block:
    kind: str
    input: object = None
    signature: str = ""
    pieces: bool = False


@dataclass(slots=True)
class Reading:
    """One answer being read. `model` is the full name, `complete` that the server said it was the end."""

    model: str
    complete: bool = False
    _blocks: dict[int, _Block] = field(default_factory=dict[int, _Block])
    _tokens: dict[str, int] = field(default_factory=dict[str, int])

    def take(self, event: Any) -> tuple[Delta, ...]:
        match event:
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                return (TextDelta(text),)
            case {"type": "content_block_delta", "index": int(index), "delta": {"type": str(kind)} as delta}:
                return self._piece(index, kind, delta)
            case {"type": "content_block_start", "index": int(index), "content_block": {"type": str(kind)} as block}:
                return self._start(index, kind, block)
            case {"type": "content_block_stop", "index": int(index)} if index in self._blocks:
                return self._stop(index, self._blocks[index])
            case {"type": "message_start", "message": {"usage": usage}}:
                self._count(usage)
            case {"type": "message_delta", "delta": {} as delta}:
                self._count(event.get("usage"))
                return self._end(delta)
            case {"type": "message_stop"}:
                self.complete = True
            case _:
                pass
        return ()

    def usage(self) -> UsageDelta:
        """Tokens only. Those of the cache are counted apart from the input, as the API counts them."""
        count = self._tokens.get
        return UsageDelta(
            input_tokens=count("input_tokens", 0),
            output_tokens=count("output_tokens", 0),
            cache_read_tokens=count("cache_read_input_tokens", 0),
            cache_write_tokens=count("cache_creation_input_tokens", 0),
        )

    def _start(self, index: int, kind: str, block: dict[str, Any]) -> tuple[Delta, ...]:
        self._blocks[index] = _Block(kind, block.get("input"), str(block.get("signature") or ""))
        match kind, block:
            case "text", {"text": str(text)} if text:
                return (TextDelta(text),)
            case "thinking", _:
                # Also when there is no text, which newer models leave out unless asked: the signature must find a
                # part to sign, and the reader sees that the model thinks.
                return (ReasoningDelta(str(block.get("thinking") or "")),)
            case "tool_use", {"id": str(id), "name": str(name)}:
                return (ToolCallDelta(index, id=id, name=name),)
            case _:
                return ()

    def _piece(self, index: int, kind: str, delta: dict[str, Any]) -> tuple[Delta, ...]:
        block = self._blocks.get(index)
        match kind, delta:
            case "input_json_delta", {"partial_json": str(text)} if text and block and block.kind == "tool_use":
                block.pieces = True
                return (ToolCallDelta(index, arguments_text=text),)
            case "thinking_delta", {"thinking": str(text)}:
                return (ReasoningDelta(text),)
            case "signature_delta", {"signature": str(signature)} if block:
                block.signature = signature
            case _:
                pass
        return ()

    def _stop(self, index: int, block: _Block) -> tuple[Delta, ...]:
        if block.kind == "thinking":
            return (ReasoningEnd(sealed(self.model, block.signature)),)
        if block.kind == "tool_use" and block.input and not block.pieces:  # some servers send it whole, in the start
            block.pieces = True
            return (ToolCallDelta(index, arguments_text=json.dumps(block.input)),)
        return ()

    def _end(self, delta: dict[str, Any]) -> tuple[Delta, ...]:
        match delta:
            case {"stop_reason": str(reason), "stop_details": {"explanation": str(why)}} if reason in _CUT and why:
                why = f": {why.rstrip('.')}"
            case {"stop_reason": str(reason)} if reason in _CUT:
                why = ""
            case _:
                return ()
        return (*self._spoilt(), Remark(_CUT[reason].format(why=why)))

    def _spoilt(self) -> tuple[Delta, ...]:
        """A call that was cut off before its first argument looks like one that has none, and would be run."""
        last = max(self._blocks, default=-1)
        block = self._blocks.get(last)
        spoilt = block is not None and block.kind == "tool_use" and not block.pieces
        return (ToolCallDelta(last, arguments_text="{"),) if spoilt else ()

    def _count(self, usage: Any) -> None:
        match usage:
            case {**counts}:
                self._tokens |= {name: count for name, count in counts.items() if isinstance(count, int)}
            case _:
                pass
