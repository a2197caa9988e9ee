"""Turns the chunks of OpenAI's Chat Completions API into deltas, the neutral pieces of an answer. Pure. Unknown fields
of a chunk are ignored.

Servers differ in this API. A new call begins with another index or another id, or with a name after complete arguments:
some servers give all calls of a reply the same index, and some send no ids.

This module must not know a connection: `providers.openai` does. `request` builds the request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.model.delta import ReasoningDelta, ReasoningEnd, Remark, ToolCallDelta, UsageDelta
from jupyter_eca.plugins.providers.completions.thinking_tags import ThinkingTags
from jupyter_eca.plugins.providers.messages.request import seal
from jupyter_eca.plugins.providers.stop_remarks import TOO_LONG, describe_refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.delta import Delta

# The fields in which servers send thoughts. Servers that have both send the same text in both.
_THOUGHTS = ("reasoning_content", "reasoning")


@dataclass(slots=True)
class _Call:
    """A tool call, while it is streamed."""

    id: str
    """The server's id of the call, "" for none."""
    arguments: str = ""
    """The JSON of its arguments so far."""

    @property
    def is_complete(self) -> bool:
        """Whether the arguments are a complete JSON object."""
        try:
            return isinstance(json.loads(self.arguments), dict)
        except ValueError:
            return False


@dataclass(slots=True)
class CompletionsReader:
    """Turns the chunks of one answer into deltas."""

    model: str
    """The full name of the model."""
    settings: ProviderConfig
    """The settings of the provider, which may name the tags of thoughts."""
    is_complete: bool = False
    """Whether the server has sent the end of the answer."""
    error: tuple[str, str] | None = None
    """Always None, because the SDK recognizes the errors of this API. `ResponsesReader` has such a field for an error
    that comes within a stream."""
    _calls: list[_Call] = field(default_factory=list[_Call])
    """The calls so far, in their order."""
    _call_indexes: dict[int | str, int] = field(default_factory=dict["int | str", int])
    """The place in `_calls` of the newest call, by the server's index, or by its id if the server sends no index."""
    _thought_field: str = ""
    """The field in which the server sends the thought that is not complete yet; "" when there is none."""
    _refusal: str = ""
    """The model's explanation why it refuses to answer."""
    _usage: dict[str, Any] | None = None
    """The tokens that the server has counted, None before that."""
    _tags: ThinkingTags = field(init=False)
    """Finds thoughts that the model writes into its text between tags."""

    def __post_init__(self) -> None:
        self._tags = ThinkingTags(self.settings.think_tag_start, self.settings.think_tag_end)

    def take(self, event: Any) -> Iterable[Delta]:
        """Return the deltas of a chunk."""
        match event:
            case {"usage": {} as usage} if usage:
                self._usage = usage
            case _:
                pass
        match event:
            case {"choices": [{} as choice, *_]}:
                return tuple(self._read_choice(choice))
            case _:
                return ()

    def get_usage(self) -> UsageDelta | None:
        """Return the usage, None if the server has not counted it. DeepSeek has another field for cached tokens."""
        if self._usage is None:
            return None
        details: Any = self._usage.get("prompt_tokens_details")
        cache_read = _get_count(details, "cached_tokens") or _get_count(self._usage, "prompt_cache_hit_tokens")
        cache_write = _get_count(details, "cache_write_tokens")
        cost = self._usage.get("cost")
        return UsageDelta(
            input_tokens=max(_get_count(self._usage, "prompt_tokens") - cache_read - cache_write, 0),
            output_tokens=_get_count(self._usage, "completion_tokens"),
            cache_read_tokens=cache_read,
            cache_write_tokens=cache_write,
            cost=float(cost) if isinstance(cost, int | float) else None,
        )

    def _read_choice(self, choice: dict[str, Any]) -> Iterator[Delta]:
        """Read the thought, the text, the pieces of calls and the end of the answer, as far as a chunk has them."""
        delta: Any = choice.get("delta") or choice.get("message") or {}
        if thought := next(((name, delta[name]) for name in _THOUGHTS if isinstance(delta.get(name), str)), None):
            yield from self._read_thought(*thought)
        match delta.get("content"):
            case str(text):
                yield from self._read_text(text)
            case [*parts]:  # Mistral's
                for part in parts:
                    yield from self._read_part(part)
            case _:
                pass
        calls: Any = delta.get("tool_calls")
        for piece in calls or ():
            yield from self._end_thoughts()
            yield from self._tags.finish()
            yield from self._read_call(piece)
        self._refusal += delta.get("refusal") or ""
        if reason := choice.get("finish_reason"):
            yield from self._read_end(str(reason))

    def _read_part(self, part: Any) -> Iterator[Delta]:
        """Read a text or a thought in the form that Mistral sends."""
        match part:
            case {"type": "text", "text": str(text)}:
                yield from self._read_text(text)
            case {"type": "thinking", "thinking": [*thoughts]}:
                yield from self._read_thought("", "".join(str(thought.get("text", "")) for thought in thoughts))
            case _:
                pass

    def _read_text(self, text: str) -> Iterator[Delta]:
        """Read a piece of the text, which ends the thought before it."""
        if text:
            yield from self._end_thoughts()
            yield from self._tags.take(text)

    def _read_thought(self, name: str, thought: str) -> Iterator[Delta]:
        """Read a piece of a thought. `name` is its field, "" for a thought that has no field of its own."""
        if thought:
            self._thought_field = name or " "  # not empty, so that `_end_thoughts` knows that there is a thought
            yield ReasoningDelta(thought)

    def _end_thoughts(self) -> Iterator[Delta]:
        """End the thought that is not complete yet. Its signature is the field in which the thought is sent back,
        joined with the name of the model by `seal`. So only the same model gets the thought back."""
        if self._thought_field:
            yield ReasoningEnd(seal(self.model, self._thought_field.strip()))
            self._thought_field = ""

    def _read_call(self, piece: Any) -> Iterator[Delta]:
        """Add a piece to its call, or begin a new call. See the top of the module for how a new call is recognized."""
        id, name, arguments = _parse_piece(piece)
        index = piece.get("index")
        key: int | str = index if isinstance(index, int) else id
        # A piece without an index and an id belongs to the last call.
        place = self._call_indexes.get(key, len(self._calls) - 1 if key == "" else -1)
        call = self._calls[place] if place >= 0 else None
        if call and arguments and (id, arguments) == (call.id, call.arguments) and id:
            return  # the server has sent the whole call again
        if call is None or (id and call.id and id != call.id) or (name and arguments and call.is_complete):
            call, place = _Call(id), len(self._calls)
            self._calls.append(call)
        self._call_indexes[key] = place
        call.arguments += arguments
        yield ToolCallDelta(place, id=id, name=name, arguments_text=arguments, signature=self._read_signature(piece))

    def _read_signature(self, piece: Any) -> str:
        """Return the signature of a call. Gemini sends it, and refuses the chat without it."""
        content: Any = piece.get("extra_content")
        return seal(self.model, json.dumps(content)) if isinstance(content, dict) and content else ""

    def _read_end(self, reason: str) -> Iterator[Delta]:
        """Read the reason why the answer ended. Only `length` and `content_filter` are reliable, because servers often
        send a wrong reason. For any other reason, the engine decides by the deltas alone."""
        self.is_complete = True
        yield from self._end_thoughts()
        yield from self._tags.finish()
        if reason == "length":
            # A call that was cut off before its first argument looks like a call without arguments, and would be run.
            # So it is made invalid.
            if self._calls and not self._calls[-1].arguments:
                yield ToolCallDelta(len(self._calls) - 1, arguments_text="{")
            yield Remark(TOO_LONG)
        elif reason == "content_filter" or self._refusal:
            yield Remark(describe_refusal(self._refusal))


def _parse_piece(piece: Any) -> tuple[str, str, str]:
    """Return the id, the name and the arguments of a piece. Some servers send the arguments as an object."""
    function: Any = piece.get("function") or {}
    arguments = function.get("arguments") or ""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return str(piece.get("id") or ""), str(function.get("name") or ""), text


def _get_count(counts: Any, name: str) -> int:
    """Return a count, 0 if it is missing or not a number."""
    match counts:
        case {**named}:
            count = named.get(name)
            return count if isinstance(count, int) else 0
        case _:
            return 0
