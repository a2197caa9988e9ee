"""The chunks of the Chat Completions API as deltas. Pure; what a chunk has besides says nothing.

Servers take liberties with this API. A call is told from the next one by its index, but also by another id, and by a
name that comes when the arguments so far are whole: some number all calls of a reply alike, and some leave out ids.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.model.delta import ReasoningDelta, ReasoningEnd, Remark, ToolCallDelta, UsageDelta
from jupyter_eca.plugins.providers.messages.request import seal
from jupyter_eca.plugins.providers.stop_remarks import TOO_LONG, describe_refusal
from jupyter_eca.plugins.providers.thinking_tags import Tags

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.delta import Delta

# The fields that thoughts come in; servers that have both say the same in both.
_THOUGHTS = ("reasoning_content", "reasoning")


@dataclass(slots=True)
class _Call:
    id: str
    arguments: str = ""

    @property
    def whole(self) -> bool:
        try:
            return isinstance(json.loads(self.arguments), dict)
        except ValueError:
            return False


@dataclass(slots=True)
class CompletionsReader:
    """Reads one answer. `model` is the full name. `complete`: the server said that it was the end. The SDK recognises
    errors of this API, so nothing is ever `failed` here."""

    model: str
    settings: ProviderConfig
    complete: bool = False
    failed: tuple[str, str] | None = None
    _calls: list[_Call] = field(default_factory=list[_Call])
    _places: dict[int | str, int] = field(default_factory=dict["int | str", int])
    _thinks_in: str = ""
    _refusal: str = ""
    _usage: dict[str, Any] | None = None
    _tags: Tags = field(init=False)

    def __post_init__(self) -> None:
        self._tags = Tags(self.settings.think_tag_start, self.settings.think_tag_end)

    def take(self, event: Any) -> Iterable[Delta]:
        match event:
            case {"usage": {} as usage} if usage:
                self._usage = usage
            case _:
                pass
        match event:
            case {"choices": [{} as choice, *_]}:
                return tuple(self._choice(choice))
            case _:
                return ()

    def usage(self) -> UsageDelta | None:
        """Return the usage; None when the server did not count. Some servers count cached tokens in a place of their
        own."""
        if self._usage is None:
            return None
        details: Any = self._usage.get("prompt_tokens_details")
        read = _count(details, "cached_tokens") or _count(self._usage, "prompt_cache_hit_tokens")
        written = _count(details, "cache_write_tokens")
        cost = self._usage.get("cost")
        return UsageDelta(
            input_tokens=max(_count(self._usage, "prompt_tokens") - read - written, 0),
            output_tokens=_count(self._usage, "completion_tokens"),
            cache_read_tokens=read,
            cache_write_tokens=written,
            cost=float(cost) if isinstance(cost, int | float) else None,
        )

    def _choice(self, choice: dict[str, Any]) -> Iterator[Delta]:
        delta: Any = choice.get("delta") or choice.get("message") or {}
        if thought := next(((name, delta[name]) for name in _THOUGHTS if isinstance(delta.get(name), str)), None):
            yield from self._think(*thought)
        match delta.get("content"):
            case str(text):
                yield from self._text(text)
            case [*parts]:  # Mistral's
                for part in parts:
                    yield from self._part(part)
            case _:
                pass
        calls: Any = delta.get("tool_calls")
        for piece in calls or ():
            yield from self._end_thoughts()
            yield from self._tags.finish()
            yield from self._call(piece)
        self._refusal += delta.get("refusal") or ""
        if reason := choice.get("finish_reason"):
            yield from self._end(str(reason))

    def _part(self, part: Any) -> Iterator[Delta]:
        match part:
            case {"type": "text", "text": str(text)}:
                yield from self._text(text)
            case {"type": "thinking", "thinking": [*thoughts]}:
                yield from self._think("", "".join(str(thought.get("text", "")) for thought in thoughts))
            case _:
                pass

    def _text(self, text: str) -> Iterator[Delta]:
        if text:
            yield from self._end_thoughts()
            yield from self._tags.take(text)

    def _think(self, name: str, thought: str) -> Iterator[Delta]:
        if thought:
            self._thinks_in = name or " "
            yield ReasoningDelta(thought)

    def _end_thoughts(self) -> Iterator[Delta]:
        if self._thinks_in:
            yield ReasoningEnd(seal(self.model, self._thinks_in.strip()))
            self._thinks_in = ""

    def _call(self, piece: Any) -> Iterator[Delta]:
        id, name, arguments = _parse_piece(piece)
        index = piece.get("index")
        key: int | str = index if isinstance(index, int) else id
        at = self._places.get(key, len(self._calls) - 1 if key == "" else -1)
        call = self._calls[at] if at >= 0 else None
        if call and arguments and (id, arguments) == (call.id, call.arguments) and id:
            return  # said again, whole
        if call is None or (id and call.id and id != call.id) or (name and arguments and call.whole):
            call, at = _Call(id), len(self._calls)
            self._calls.append(call)
        self._places[key] = at
        call.arguments += arguments
        yield ToolCallDelta(at, id=id, name=name, arguments_text=arguments, signature=self._signature(piece))

    def _signature(self, piece: Any) -> str:
        """Return the signature of Gemini, which refuses the chat without it."""
        content: Any = piece.get("extra_content")
        return seal(self.model, json.dumps(content)) if isinstance(content, dict) and content else ""

    def _end(self, reason: str) -> Iterator[Delta]:
        """Read the reason of the end. Only these two are reliable: servers often mislabel the others, and the engine
        uses what it received."""
        self.complete = True
        yield from self._end_thoughts()
        yield from self._tags.finish()
        if reason == "length":
            # A call that was cut off before its first argument looks like one that has none, and would be run.
            if self._calls and not self._calls[-1].arguments:
                yield ToolCallDelta(len(self._calls) - 1, arguments_text="{")
            yield Remark(TOO_LONG)
        elif reason == "content_filter" or self._refusal:
            yield Remark(describe_refusal(self._refusal))


def _parse_piece(piece: Any) -> tuple[str, str, str]:
    """Return id, name and arguments; some servers send the arguments as an object."""
    function: Any = piece.get("function") or {}
    arguments = function.get("arguments") or ""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return str(piece.get("id") or ""), str(function.get("name") or ""), text


def _count(counts: Any, name: str) -> int:
    """Return a count; 0 when it is missing or not a number."""
    match counts:
        case {**named}:
            count = named.get(name)
            return count if isinstance(count, int) else 0
        case _:
            return 0
