"""Turns the events of the Anthropic Messages API into deltas, the neutral pieces of an answer. Pure. Unknown events and
blocks are ignored.

An answer consists of numbered blocks: texts, thoughts, tool calls and web searches. Each block has an event for its
start, events for its pieces, and one for its end.

A thought has a signature, by which the vendor checks later that it has made the thought. `seal` joins it with the name
of the model, because another model would refuse it. A web search is kept as a thought too: its signature is the prefix
`SEARCH_PREFIX` and the two blocks of the search, as JSON.

The events are plain JSON, not the SDK's models, which would double the time for each event. This module must not know a
connection: `providers.anthropic` does. `request` builds the request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.engine.model.delta import (
    Paused,
    ReasoningDelta,
    ReasoningEnd,
    Remark,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from jupyter_eca.plugins.providers.messages.citations import describe_source
from jupyter_eca.plugins.providers.messages.request import SEARCH_PREFIX, seal
from jupyter_eca.plugins.providers.stop_remarks import DECLINED, FULL, TOO_LONG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.engine.model.delta import Delta

Json = dict[str, Any]

# The remarks for answers that ended too early, by the server's reason for the end (`stop_reason`). Any other reason is
# a normal end and is not passed on: the engine looks at the answer itself, because some servers send a wrong reason.
_EARLY_END_REMARKS = {"max_tokens": TOO_LONG, "model_context_window_exceeded": FULL, "refusal": DECLINED}


@dataclass(slots=True)
class _Block:
    """A content block of the answer, while it is streamed."""

    kind: str
    """The `type` in the API: `text`, `thinking`, `tool_use`, `server_tool_use` or `web_search_tool_result`."""
    input: object = None
    """The arguments of a call, if the server sends them whole at the start."""
    signature: str = ""
    """The vendor's proof that it has made a thought."""
    has_arguments: bool = False
    """Whether arguments of a tool call have arrived."""
    id: str = ""
    """The id of a call or a search."""
    search_arguments: str = ""
    """The arguments of a search so far, as JSON."""
    content: object = None
    """The results of a search."""
    sources: list[str] = field(default_factory=list[str])
    """The sources that a text cites, as Markdown."""


@dataclass(slots=True)
class MessagesReader:
    """Turns the events of one answer into deltas."""

    model: str
    """The full name of the model."""
    is_complete: bool = False
    """Whether the server has sent the end of the answer."""
    _blocks: dict[int, _Block] = field(default_factory=dict[int, _Block])
    """The blocks by their number."""
    _tokens: dict[str, int] = field(default_factory=dict[str, int])
    """The counts of the usage, by their names in the API."""
    _cost: float | None = None
    """The US dollars that a gateway says the answer costs."""
    _searches: dict[str, Json] = field(default_factory=dict[str, "Json"])
    """The blocks of the searches that have no result yet, by id."""

    def take(self, event: Any) -> tuple[Delta, ...]:
        """Return the deltas of an event."""
        match event:
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                return (TextDelta(text),)
            case {"type": "content_block_delta", "index": int(index), "delta": {"type": str(kind)} as delta}:
                return self._read_piece(index, kind, delta)
            case {"type": "content_block_start", "index": int(index), "content_block": {"type": str(kind)} as block}:
                return self._start_block(index, kind, block)
            case {"type": "content_block_stop", "index": int(index)} if index in self._blocks:
                return self._end_block(index, self._blocks[index])
            case {"type": "message_start", "message": {"usage": usage}}:
                self._add_counts(usage)
            case {"type": "message_delta", "delta": {} as delta}:
                self._add_counts(event.get("usage"))
                self._read_cost(event.get("usage"))
                return self._read_end(delta)
            case {"type": "message_stop"}:
                self.is_complete = True
            case _:
                pass
        return ()

    def get_usage(self) -> UsageDelta:
        """Return the usage. Only a gateway says the cost. As in the API, cached tokens are not counted as input
        tokens."""
        count = self._tokens.get
        return UsageDelta(
            input_tokens=count("input_tokens", 0),
            output_tokens=count("output_tokens", 0),
            cache_read_tokens=count("cache_read_input_tokens", 0),
            cache_write_tokens=count("cache_creation_input_tokens", 0),
            cache_write_hour_tokens=count("ephemeral_1h_input_tokens", 0),
            web_searches=count("web_search_requests", 0),
            cost=self._cost,
        )

    def _start_block(self, index: int, kind: str, block: dict[str, Any]) -> tuple[Delta, ...]:
        """Store a block that begins, and return the deltas of its content at the start."""
        new_block = _Block(kind, block.get("input"), str(block.get("signature") or ""), content=block.get("content"))
        new_block.id = str(block.get("tool_use_id") or block.get("id") or "")
        self._blocks[index] = new_block
        match kind, block:
            case "server_tool_use", {"name": "web_search"}:
                return (ReasoningDelta(""),)  # a search is kept as a thought, which begins here
            case "text", {"text": str(text)} if text:
                return (TextDelta(text),)
            case "thinking", _:
                # Sent even without a text, which newer models leave out unless the request asks for it. The signature
                # needs a part that it belongs to, and the user sees that the model thinks.
                return (ReasoningDelta(str(block.get("thinking") or "")),)
            case "tool_use", {"id": str(id), "name": str(name)}:
                return (ToolCallDelta(index, id=id, name=name),)
            case _:
                return ()

    def _read_piece(self, index: int, kind: str, delta: dict[str, Any]) -> tuple[Delta, ...]:
        """Return the deltas of a piece of a block, or store the piece until the block ends."""
        block = self._blocks.get(index)
        match kind, delta:
            case "input_json_delta", {"partial_json": str(text)} if text and block and block.kind == "tool_use":
                block.has_arguments = True
                return (ToolCallDelta(index, arguments_text=text),)
            case "input_json_delta", {"partial_json": str(text)} if block:
                block.search_arguments += text
            case "citations_delta", {"citation": {} as citation} if block and (source := describe_source(citation)):
                if source not in block.sources:
                    block.sources.append(source)
            case "thinking_delta", {"thinking": str(text)}:
                return (ReasoningDelta(text),)
            case "signature_delta", {"signature": str(signature)} if block:
                block.signature = signature
            case _:
                pass
        return ()

    def _end_block(self, index: int, block: _Block) -> tuple[Delta, ...]:
        """Return the deltas of the parts that are complete only when the block has ended: its signature, its sources,
        its search."""
        if block.kind == "thinking":
            return (ReasoningEnd(seal(self.model, block.signature)),)
        if block.kind == "text" and block.sources:
            return (TextDelta("".join(f" {source}" for source in block.sources)),)
        if block.kind == "server_tool_use":
            return self._take_search(block)
        if block.kind == "web_search_tool_result":
            return self._take_search_result(block)
        if (
            block.kind == "tool_use" and block.input and not block.has_arguments
        ):  # some servers send it whole at the start
            block.has_arguments = True
            return (ToolCallDelta(index, arguments_text=json.dumps(block.input)),)
        return ()

    def _take_search(self, block: _Block) -> tuple[Delta, ...]:
        """Keep the block of a search until its result comes, and show what the server searches for as a thought."""
        arguments = _parse_object(block.search_arguments) or block.input
        use = {"type": "server_tool_use", "id": block.id, "name": "web_search", "input": arguments or {}}
        self._searches[block.id] = use
        match arguments:
            case {"query": str(query)}:
                return (ReasoningDelta(f"Searched the web for “{query}”:\n"),)
            case _:
                return ()

    def _take_search_result(self, block: _Block) -> tuple[Delta, ...]:
        """Store both blocks of a search together in the signature of the thought. After a pause there is only the
        second block: the answer before the pause has the first one."""
        result = {"type": "web_search_tool_result", "tool_use_id": block.id, "content": block.content}
        use = self._searches.pop(block.id, None)
        signature = seal(self.model, SEARCH_PREFIX + json.dumps([use, result] if use else [result]))
        return (ReasoningDelta("\n".join(_list_findings(block.content)) + "\n"), ReasoningEnd(signature))

    def _end_open_searches(self) -> tuple[Delta, ...]:
        """Store the searches that are under way at a pause. Their results come after the pause."""
        uses, self._searches = list(self._searches.values()), {}
        return (ReasoningEnd(seal(self.model, SEARCH_PREFIX + json.dumps(uses))),) if uses else ()

    def _read_end(self, delta: dict[str, Any]) -> tuple[Delta, ...]:
        """Return a remark if the answer ended too early, or `Paused` if the vendor continues it later."""
        match delta:
            case {"stop_reason": "pause_turn"}:
                return (*self._end_open_searches(), Paused())
            case {"stop_reason": str(reason), "stop_details": {"explanation": str(explanation)}} if (
                reason in _EARLY_END_REMARKS and explanation
            ):
                explanation = f": {explanation.rstrip('.')}"
            case {"stop_reason": str(reason)} if reason in _EARLY_END_REMARKS:
                explanation = ""
            case _:
                return ()
        return (*self._invalidate_cut_call(), Remark(_EARLY_END_REMARKS[reason].format(why=explanation)))

    def _invalidate_cut_call(self) -> tuple[Delta, ...]:
        """Make a call that was cut off before its first argument invalid. It would look like a call without arguments,
        and would be run."""
        last = max(self._blocks, default=-1)
        block = self._blocks.get(last)
        was_cut = block is not None and block.kind == "tool_use" and not block.has_arguments
        return (ToolCallDelta(last, arguments_text="{"),) if was_cut else ()

    def _add_counts(self, usage: Any) -> None:
        """Note the counts of the usage. Later counts replace earlier ones."""
        match usage:
            case {**counts}:  # some counts are in objects within the usage
                self._tokens |= {name: count for name, count in counts.items() if isinstance(count, int)}
                self._add_counts(counts.get("server_tool_use"))
                self._add_counts(counts.get("cache_creation"))
            case _:
                pass

    def _read_cost(self, usage: Any) -> None:
        """Note the cost that LiteLLM adds to the last usage. It counts what this usage has, so a usage without the
        input tokens has a wrong cost."""
        match usage:
            case {"cost": int() | float() as cost, "input_tokens": int()}:
                self._cost = float(cost)
            case _:
                pass


def _parse_object(text: str) -> Json | None:
    """Return a JSON object, None for any other text."""
    try:
        value: Any = json.loads(text)
    except ValueError:
        return None
    return cast("Json", value) if isinstance(value, dict) else None


def _list_findings(content: object) -> Iterator[str]:
    """Yield the lines that show the results of a search to the user."""
    match content:
        case list():
            yield from (f"- {describe_source(source)}" for source in cast("list[Json]", content))
        case {"error_code": str(code)}:
            yield f"The search failed: {code}."
        case _:
            pass
