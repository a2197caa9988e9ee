"""The event stream of the Responses API as deltas. Pure; unknown events and items say nothing."""

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
    """Reads one answer. `model` is the full name. `complete`: the server said that it was the end. `failed` is the code
    and the text of an error that it sent instead."""

    model: str
    settings: ProviderConfig
    complete: bool = False
    failed: tuple[str, str] | None = None
    _heard: set[int] = field(default_factory=set[int])
    _calls: dict[int, bool] = field(default_factory=dict[int, bool])
    _usage: dict[str, Any] | None = None
    _text: str = ""
    _searches: int = 0
    _sources: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, event: Any) -> Iterable[Delta]:
        match event:
            case {"type": "response.output_text.delta", "delta": str(text)}:
                self._heard.add(event.get("output_index", 0))
                self._text += text
                return (TextDelta(text),)
            case {"type": "response.output_text.annotation.added", "annotation": {"type": "url_citation"} as source}:
                self._cite(source)
            case {"type": "response.function_call_arguments.delta", "delta": str(text)}:
                return self._arguments(event.get("output_index", 0), text)
            case {
                "type": "response.reasoning_summary_text.delta" | "response.reasoning_text.delta",
                "delta": str(text),
            }:
                return (ReasoningDelta(text),)
            case {"type": "response.reasoning_summary_part.added", "summary_index": int(index)} if index:
                return (ReasoningDelta("\n\n"),)
            case {"type": "response.output_item.added", "item": {} as item}:
                return self._begin(event.get("output_index", 0), item)
            case {"type": "response.output_item.done", "item": {} as item}:
                return tuple(self._finish_item(event.get("output_index", 0), item))
            case {"type": "response.refusal.done", "refusal": str(why)}:
                return (Remark(describe_refusal(why)),)
            case {"type": "response.completed" | "response.incomplete", "response": {} as response}:
                return self._end(response)
            case {"type": "response.failed", "response": {} as response}:
                self._fail(response.get("error"))
            case {"type": "error"}:
                self._fail(event)
            case _:
                pass
        return ()

    def usage(self) -> UsageDelta | None:
        """Return the usage; None when the server did not count."""
        if self._usage is None:
            return None
        details: Any = self._usage.get("input_tokens_details")
        read, written = _count(details, "cached_tokens"), _count(details, "cache_write_tokens")
        return UsageDelta(
            input_tokens=max(_count(self._usage, "input_tokens") - read - written, 0),
            output_tokens=_count(self._usage, "output_tokens"),
            cache_read_tokens=read,
            cache_write_tokens=written,
            web_searches=self._searches,
        )

    def _begin(self, index: int, item: dict[str, Any]) -> tuple[Delta, ...]:
        match item:
            case {"type": "reasoning" | "web_search_call"}:
                return (ReasoningDelta(""),)  # what is signed must have a place, and the reader sees that it thinks
            case {"type": "function_call", "name": str(name)}:
                self._calls[index] = False
                return (ToolCallDelta(index, id=str(item.get("call_id") or ""), name=name),)
            case _:
                return ()

    def _arguments(self, index: int, text: str) -> tuple[Delta, ...]:
        if index not in self._calls or not text:
            return ()
        self._calls[index] = True
        return (ToolCallDelta(index, arguments_text=text),)

    def _finish_item(self, index: int, item: dict[str, Any]) -> Iterator[Delta]:
        """Read a whole item: some servers send nothing before it."""
        match item:
            case {"type": "reasoning"}:
                kept = {"id": item.get("id"), "encrypted_content": item.get("encrypted_content")}
                signature = json.dumps(kept) if all(kept.values()) else ""
                yield ReasoningEnd(seal(self.model, signature))
            case {"type": "function_call", "arguments": str(text)}:
                if index not in self._calls:
                    yield from self._begin(index, item)
                if not self._calls[index]:
                    yield from self._arguments(index, text)
            case {"type": "web_search_call", "id": str()}:
                self._searches += _searches(item)
                yield from _read_search(item, self.model)
            case {"type": "message", "content": [*parts]}:
                for part in parts:
                    yield from self._whole(index, part)
                if self._sources:
                    yield TextDelta("\n\nSources: " + ", ".join(self._sources.values()))
                    self._sources.clear()
            case _:
                pass

    def _whole(self, index: int, part: Any) -> Iterator[Delta]:
        if part.get("type") != "output_text":
            return
        if index not in self._heard:
            self._text += part["text"]
            yield TextDelta(part["text"])
        for source in part.get("annotations") or ():
            self._cite(source)

    def _cite(self, source: dict[str, Any]) -> None:
        """Record a source, unless the text names it already: models mostly write their sources there themselves."""
        url = source.get("url")
        if isinstance(url, str) and url not in self._text and (made := describe_source(source)):
            self._sources[url] = made

    def _end(self, response: dict[str, Any]) -> tuple[Delta, ...]:
        self.complete = True
        if isinstance(response.get("usage"), dict):
            self._usage = response["usage"]
        match response.get("incomplete_details"):
            case {"reason": "content_filter"}:
                return (Remark(describe_refusal()),)
            case {"reason": str(reason)} if reason:
                return (*self._spoilt(), Remark(TOO_LONG))
            case _:
                return ()

    def _spoilt(self) -> tuple[Delta, ...]:
        """Whether a call was cut off: before its first argument it looks like one without arguments, and would be
        run."""
        last = max(self._calls, default=-1)
        return (ToolCallDelta(last, arguments_text="{"),) if last >= 0 and not self._calls[last] else ()

    def _fail(self, error: Any) -> None:
        match error:
            case {"error": {} as inner}:
                self._fail(inner)
            case {"message": str(said)}:
                self.failed = (str(error.get("code") or ""), said)
            case _:
                self.failed = ("", "")


def _read_search(item: dict[str, Any], model: str) -> Iterator[Delta]:
    """Show a search of the server. What it did goes back with the thoughts around it, as it came."""
    match item.get("action"):
        case {"query": str(words)} | {"url": str(words)}:
            yield ReasoningDelta(f"Searched the web: {words}\n")
        case _:
            yield ReasoningDelta("")
    yield ReasoningEnd(seal(model, json.dumps(item)))


def _searches(item: dict[str, Any]) -> bool:
    """Whether an item is a search: to open a found page, or to look for words in it, is none."""
    match item.get("action"):
        case {"type": "open_page" | "find_in_page"}:
            return False
        case _:
            return True


def _count(counts: Any, name: str) -> int:
    """Return a count; 0 when it is missing or not a number."""
    match counts:
        case {**named}:
            count = named.get(name)
            return count if isinstance(count, int) else 0
        case _:
            return 0
