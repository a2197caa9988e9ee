"""What a model's reply is made of: its text, its reasoning, what it costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine import tool_calls
from jupyter_eca.engine.model.compaction import Window
from jupyter_eca.engine.model.context_window import breakdown
from jupyter_eca.engine.model.delta import (
    Delta,
    Paused,
    ReasoningDelta,
    ReasoningEnd,
    Remark,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from jupyter_eca.protocol.content import (
    Limit,
    ProgressContent,
    ReasonFinishedContent,
    ReasonStartedContent,
    ReasonTextContent,
    Role,
    TextContent,
    UsageContent,
)

if TYPE_CHECKING:
    from jupyter_eca.engine.inputs import Spent
    from jupyter_eca.engine.turn_driver import Walk


def hear(walk: Walk, delta: Delta) -> None:
    if delta == TextDelta(""):
        return  # Some servers begin with one; a message with an empty text is refused by others, for ever after.
    if not walk.state.said and not isinstance(delta, UsageDelta | Paused):
        walk.state = replace(walk.state, said=True)
        walk.emit(ProgressContent(state="running", text="Generating"), Role.SYSTEM)
    match delta:
        case TextDelta(text=text):
            close_reasoning(walk)
            walk.emit(TextContent(text=text))
        case ReasoningDelta(text=text):
            _reason(walk, text)
        case ReasoningEnd(signature=signature):
            close_reasoning(walk, signature)
        case ToolCallDelta():
            close_reasoning(walk)
            tool_calls.prepare(walk, delta)
        case Remark(text=text):
            walk.emit(TextContent(text=text), Role.SYSTEM)
        case UsageDelta():
            count(walk, delta)
        case Paused():
            walk.state = replace(walk.state, paused=True)


def _reason(walk: Walk, text: str) -> None:
    state = walk.state
    if not state.reasoning:
        parts = state.history[-1].parts if state.history else ()
        id = f"{state.turn}-r{state.request}-{len(state.history)}-{len(parts)}"
        walk.state = replace(state, reasoning=id, reasoning_since=walk.at)
        walk.emit(ReasonStartedContent(id=id))
    walk.emit(ReasonTextContent(id=walk.state.reasoning, text=text))


def close_reasoning(walk: Walk, signature: str = "") -> None:
    id = walk.state.reasoning
    if id:
        walk.state = replace(walk.state, reasoning="")
        took = walk.at - walk.state.reasoning_since
        walk.emit(ReasonFinishedContent(id=id, total_time_ms=took), aside=signature)


def _add(walk: Walk, cost: float | None) -> str | None:
    """To what the chat has cost; the sum as it is told."""
    before = walk.state.cost
    total = None if cost is None or before is None else before + cost
    walk.state = replace(walk.state, cost=total)
    return None if total is None else f"{total:.4f}"


def add_cost(walk: Walk, spent: Spent) -> None:
    """What fills the window is as it was."""
    before = walk.state.usage or UsageContent(session_tokens=0, message_input_tokens=0, message_output_tokens=0)
    about = {
        "message_input_tokens": spent.tokens_in,
        "message_output_tokens": spent.tokens_out,
        "last_message_cost": None if spent.cost is None else f"{spent.cost:.4f}",
        "session_cost": _add(walk, spent.cost),
        "message_cached_tokens": None,
        "replayed": None,
    }
    walk.emit(before.model_copy(update=about), Role.SYSTEM)


def count(walk: Walk, usage: UsageDelta) -> None:
    tokens_in = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    limit = Limit(context=usage.context_limit, output=usage.output_limit) if usage.context_limit else None
    walk.state = replace(walk.state, window=Window(tokens_in + usage.output_tokens, usage.context_limit or 0))
    content = UsageContent(
        session_tokens=tokens_in + usage.output_tokens,
        message_input_tokens=tokens_in,
        message_output_tokens=usage.output_tokens,
        message_cached_tokens=usage.cache_read_tokens or None,
        last_message_cost=None if usage.cost is None else f"{usage.cost:.4f}",
        session_cost=_add(walk, usage.cost),
        limit=limit,
        auto_compact_percentage=walk.state.setup.compact_at or None,
        replayed=usage.replayed or None,
    )
    filled = breakdown(walk.request, content)
    content = content.model_copy(update={"context_breakdown": filled})
    walk.state = replace(walk.state, usage=content)
    walk.emit(content, Role.SYSTEM)
