"""Turns the events of OpenAI's Responses API into deltas, the neutral pieces of an answer. Pure. Unknown events and
items are ignored.

An answer consists of numbered items: messages, thoughts, tool calls and web searches. Each item has an event when it is
added, events for its pieces, and one when it is done.

This module must not know a connection: `providers.openai` does. `request` builds the request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.model.delta import ReasoningDelta, ReasoningEnd, Remark, TextDelta, ToolCallDelta, UsageDelta
from jupyter_eca.plugins.providers.messages.citations import describe_source
from jupyter_eca.plugins.providers.messages.request import seal
from jupyter_eca.plugins.providers.stop_remarks import TOO_LONG, describe_refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.delta import Delta


@dataclass(slots=True)
class ResponsesReader:
    """Turns the events of one answer into deltas."""

    model: str
    """The full name of the model."""
    settings: ProviderConfig
    """The settings of the provider. They are not used, but all readers are made with them."""
    is_complete: bool = False
    """Whether the server has sent the end of the answer."""
    error: tuple[str, str] | None = None
    """The code and the text of an error that the server has sent, None for none."""
    _streamed_items: set[int] = field(default_factory=set[int])
    """The numbers of the messages whose text has arrived in pieces."""
    _calls: dict[int, bool] = field(default_factory=dict[int, bool])
    """Whether arguments of a call have arrived, by the number of its item."""
    _usage: dict[str, Any] | None = None
    """The tokens that the server has counted, None before that."""
    _text: str = ""
    """The text of the answer so far."""
    _searches: int = 0
    """How many times the server has searched the web."""
    _sources: dict[str, str] = field(default_factory=dict[str, str])
    """The Markdown of the sources that the text does not name, by URL."""

    def take(self, event: Any) -> Iterable[Delta]:
        """Return the deltas of an event."""
        match event:
            case {"type": "response.output_text.delta", "delta": str(text)}:
                self._streamed_items.add(event.get("output_index", 0))
                self._text += text
                return (TextDelta(text),)
            case {"type": "response.output_text.annotation.added", "annotation": {"type": "url_citation"} as source}:
                self._cite(source)
            case {"type": "response.function_call_arguments.delta", "delta": str(text)}:
                return self._read_arguments(event.get("output_index", 0), text)
            case {
                "type": "response.reasoning_summary_text.delta" | "response.reasoning_text.delta",
                "delta": str(text),
            }:
                return (ReasoningDelta(text),)
            case {"type": "response.reasoning_summary_part.added", "summary_index": int(index)} if index:
                return (ReasoningDelta("\n\n"),)
            case {"type": "response.output_item.added", "item": {} as item}:
                return self._begin_item(event.get("output_index", 0), item)
            case {"type": "response.output_item.done", "item": {} as item}:
                return tuple(self._finish_item(event.get("output_index", 0), item))
            case {"type": "response.refusal.done", "refusal": str(explanation)}:
                return (Remark(describe_refusal(explanation)),)
            case {"type": "response.completed" | "response.incomplete", "response": {} as response}:
                return self._read_end(response)
            case {"type": "response.failed", "response": {} as response}:
                self._store_error(response.get("error"))
            case {"type": "error"}:
                self._store_error(event)
            case _:
                pass
        return ()

    def get_usage(self) -> UsageDelta | None:
        """Return the usage, None if the server has not counted it."""
        if self._usage is None:
            return None
        details: Any = self._usage.get("input_tokens_details")
        read, written = _get_count(details, "cached_tokens"), _get_count(details, "cache_write_tokens")
        cost = self._usage.get("cost")  # a gateway says it
        return UsageDelta(
            input_tokens=max(_get_count(self._usage, "input_tokens") - read - written, 0),
            output_tokens=_get_count(self._usage, "output_tokens"),
            cache_read_tokens=read,
            cache_write_tokens=written,
            web_searches=self._searches,
            cost=float(cost) if isinstance(cost, int | float) else None,
        )

    def _begin_item(self, index: int, item: dict[str, Any]) -> tuple[Delta, ...]:
        """Return the deltas of an item that begins."""
        match item:
            case {"type": "reasoning" | "web_search_call"}:
                # The signature needs a part that it belongs to, and the user sees that the model thinks.
                return (ReasoningDelta(""),)
            case {"type": "function_call", "name": str(name)}:
                self._calls[index] = False
                return (ToolCallDelta(index, id=str(item.get("call_id") or ""), name=name),)
            case _:
                return ()

    def _read_arguments(self, index: int, text: str) -> tuple[Delta, ...]:
        """Return the delta of a piece of a call's arguments."""
        if index not in self._calls or not text:
            return ()
        self._calls[index] = True
        return (ToolCallDelta(index, arguments_text=text),)

    def _finish_item(self, index: int, item: dict[str, Any]) -> Iterator[Delta]:
        """Read a complete item. Some servers send no pieces before it."""
        match item:
            case {"type": "reasoning"}:
                state = {"id": item.get("id"), "encrypted_content": item.get("encrypted_content")}
                signature = json.dumps(state) if all(state.values()) else ""
                yield ReasoningEnd(seal(self.model, signature))
            case {"type": "function_call", "arguments": str(text)}:
                if index not in self._calls:
                    yield from self._begin_item(index, item)
                if not self._calls[index]:
                    yield from self._read_arguments(index, text)
            case {"type": "web_search_call", "id": str()}:
                self._searches += _is_search(item)
                yield from _read_search(item, self.model)
            case {"type": "message", "content": [*parts]}:
                for part in parts:
                    yield from self._read_whole_part(index, part)
                if self._sources:
                    yield TextDelta("\n\nSources: " + ", ".join(self._sources.values()))
                    self._sources.clear()
            case _:
                pass

    def _read_whole_part(self, index: int, part: Any) -> Iterator[Delta]:
        """Read a complete text of a message. It is only shown if it has not arrived in pieces."""
        if part.get("type") != "output_text":
            return
        if index not in self._streamed_items:
            self._text += part["text"]
            yield TextDelta(part["text"])
        for source in part.get("annotations") or ():
            self._cite(source)

    def _cite(self, source: dict[str, Any]) -> None:
        """Store a source, unless the text has it already. Models mostly write their sources into the text."""
        url = source.get("url")
        if isinstance(url, str) and url not in self._text and (description := describe_source(source)):
            self._sources[url] = description

    def _read_end(self, response: dict[str, Any]) -> tuple[Delta, ...]:
        """Store the usage, and that the answer has ended. Return a remark if it ended too early."""
        self.is_complete = True
        if isinstance(response.get("usage"), dict):
            self._usage = response["usage"]
        match response.get("incomplete_details"):
            case {"reason": "content_filter"}:
                return (Remark(describe_refusal()),)
            case {"reason": str(reason)} if reason:
                return (*self._invalidate_cut_call(), Remark(TOO_LONG))
            case _:
                return ()

    def _invalidate_cut_call(self) -> tuple[Delta, ...]:
        """Make a call that was cut off before its first argument invalid. It would look like a call without arguments,
        and would be run."""
        last = max(self._calls, default=-1)
        return (ToolCallDelta(last, arguments_text="{"),) if last >= 0 and not self._calls[last] else ()

    def _store_error(self, error: Any) -> None:
        """Store an error that the server has sent. Servers send it in different forms."""
        match error:
            case {"error": {} as inner}:
                self._store_error(inner)
            case {"message": str(message)}:
                self.error = (str(error.get("code") or ""), message)
            case _:
                self.error = ("", "")


def _read_search(item: dict[str, Any], model: str) -> Iterator[Delta]:
    """Show a search of the server as a thought. The item is its signature, so that it is sent back as it came."""
    match item.get("action"):
        case {"query": str(query)} | {"url": str(query)}:
            yield ReasoningDelta(f"Searched the web: {query}\n")
        case _:
            yield ReasoningDelta("")
    yield ReasoningEnd(seal(model, json.dumps(item)))


def _is_search(item: dict[str, Any]) -> bool:
    """Return whether an item is a search. To open a page that was found, or to look for words in it, is no search."""
    match item.get("action"):
        case {"type": "open_page" | "find_in_page"}:
            return False
        case _:
            return True


def _get_count(counts: Any, name: str) -> int:
    """Return a count, 0 if it is missing or not a number."""
    match counts:
        case {**named}:
            count = named.get(name)
            return count if isinstance(count, int) else 0
        case _:
            return 0
