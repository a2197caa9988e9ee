"""Owns the part of a step that handles the pieces of a model's reply: its text, its reasoning, and what it costs.

Each function writes its events into a `StepBuilder`, which collects the result of the step. This module must not know
the status of the turn: `turn_driver` does. Its neighbours are `model/delta`, which has the kinds of pieces, and
`tool_calls`, which handles the tool calls of a reply.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine import tool_calls
from jupyter_eca.engine.model.budget import format_cost
from jupyter_eca.engine.model.compaction import WindowUsage
from jupyter_eca.engine.model.context_window import break_down
from jupyter_eca.engine.model.delta import (
    Activity,
    Delta,
    ImageDelta,
    Paused,
    ReasoningDelta,
    ReasoningEnd,
    Remark,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from jupyter_eca.protocol.content import (
    ImageContent,
    Limit,
    ProgressContent,
    ReasonFinishedContent,
    ReasonStartedContent,
    ReasonTextContent,
    Role,
    TextContent,
    UsageContent,
)
from jupyter_eca.protocol.event import SignatureAside

if TYPE_CHECKING:
    from jupyter_eca.engine.inputs import CostAdded
    from jupyter_eca.engine.step_builder import StepBuilder


def add_delta(builder: StepBuilder, delta: Delta) -> None:
    """Add a piece to the reply under way."""
    if delta == TextDelta(""):
        # Some servers begin a reply with an empty text. Others refuse every later request that contains one.
        return
    if not isinstance(delta, UsageDelta | Paused):
        begin_reply(builder)
    match delta:
        case TextDelta(text=text):
            close_reasoning(builder)
            builder.emit(TextContent(text=text))
        case ReasoningDelta(text=text):
            _add_reasoning(builder, text)
        case ReasoningEnd(signature=signature):
            close_reasoning(builder, signature)
        case ImageDelta(media_type=media_type, base64=base64):
            close_reasoning(builder)
            # No model of ours reads it: vendors take images only from the user.
            builder.emit(ImageContent(media_type=media_type, base64=base64), local=True)
        case ToolCallDelta():
            close_reasoning(builder)
            tool_calls.add_call_delta(builder, delta)
        case Remark(text=text, is_question=is_question):
            # A text of the system is for the user only, see `history.add_event`.
            builder.emit(TextContent(text=text, question=is_question or None), Role.SYSTEM)
        case Activity(text=text):
            builder.emit(ProgressContent(state="running", text=text), Role.SYSTEM)
        case UsageDelta():
            add_usage(builder, delta)
        case Paused():
            # When the reply ends, `turn_driver` requests the rest of it.
            builder.update(paused=True)


def begin_reply(builder: StepBuilder) -> None:
    """Note and show that the reply under way has begun, unless it has begun before."""
    if not builder.state.reply_begun:
        builder.update(reply_begun=True)
        builder.emit(ProgressContent(state="running", text="Generating"), Role.SYSTEM)


def _add_reasoning(builder: StepBuilder, text: str) -> None:
    """Add a piece of reasoning. The first piece begins the reasoning."""
    state = builder.state
    if not state.reasoning:
        parts = state.history[-1].parts if state.history else ()
        id = f"{state.turn}-r{state.request}-{len(state.history)}-{len(parts)}"
        builder.state = replace(state, reasoning=id, reasoning_since=builder.at)
        builder.emit(ReasonStartedContent(id=id))
    builder.emit(ReasonTextContent(id=builder.state.reasoning, text=text))


def close_reasoning(builder: StepBuilder, signature: str = "") -> None:
    """End the reasoning under way, if there is any. `signature` is the vendor's signature of the reasoning, see
    `ReasoningEnd`."""
    id = builder.state.reasoning
    if id:
        builder.update(reasoning="")
        took = builder.at - builder.state.reasoning_since
        # Only the model's vendor reads the signature, so it is no part of the content that the user gets.
        aside = SignatureAside(signature=signature) if signature else None
        builder.emit(ReasonFinishedContent(id=id, total_time_ms=took), aside=aside)


def _add_to_chat_cost(builder: StepBuilder, cost: float | None) -> str | None:
    """Add a cost to the cost of the chat. Return the sum as it is shown; None when a price is unknown."""
    before = builder.state.cost
    total = None if cost is None or before is None else before + cost
    builder.update(cost=total)
    return None if total is None else format_cost(total)


def add_cost(builder: StepBuilder, spent: CostAdded, turn: str | None) -> None:
    """Add and show what a reply outside of the conversation cost, such as a subagent's. The usage of the context window
    does not change. `turn` is the id of the turn that the event belongs to; None for the turn under way, "" for no
    turn."""
    before = builder.state.usage or UsageContent(session_tokens=0, message_input_tokens=0, message_output_tokens=0)
    # The last three fields are about the last reply of this chat, so they are reset.
    fields = {
        "message_input_tokens": spent.tokens_in,
        "message_output_tokens": spent.tokens_out,
        "last_message_cost": None if spent.cost is None else format_cost(spent.cost),
        "session_cost": _add_to_chat_cost(builder, spent.cost),
        "message_cached_tokens": None,
        "replayed": None,
        "agent": None,
    }
    builder.emit(before.model_copy(update=fields), Role.SYSTEM, turn=turn)


def add_usage(builder: StepBuilder, usage: UsageDelta) -> None:
    """Add and show the tokens that a request used and what it cost."""
    tokens_in = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    limit = Limit(context=usage.context_limit, output=usage.output_limit) if usage.context_limit else None
    builder.update(window=WindowUsage(tokens_in + usage.output_tokens, usage.context_limit or 0))
    content = UsageContent(
        session_tokens=tokens_in + usage.output_tokens,
        message_input_tokens=tokens_in,
        message_output_tokens=usage.output_tokens,
        message_cached_tokens=usage.cache_read_tokens or None,
        last_message_cost=None if usage.cost is None else format_cost(usage.cost),
        session_cost=_add_to_chat_cost(builder, usage.cost),
        limit=limit,
        auto_compact_percentage=builder.state.setup.compact_at or None,
        replayed=usage.replayed or None,
        agent=usage.agent or None,
    )
    breakdown = break_down(builder.model_request, content)
    content = content.model_copy(update={"context_breakdown": breakdown})
    builder.update(usage=content)
    builder.emit(content, Role.SYSTEM)
