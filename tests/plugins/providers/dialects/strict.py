"""What each API refuses in a request, as its documentation and its users' bug reports have it. Gives the first problem.

Stricter than any one server: what passes here passes everywhere. Thoughts and other opaque data are taken only from
the server that made them, which is told by `mark`.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Json = dict[str, Any]

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_MARKS = 4


class Refusal(Exception):
    pass


def _need(holds: object, problem: str) -> None:
    if not holds:
        raise Refusal(problem)


def problem(check: Callable[[Json, str, bool], None], body: Json, mark: str, *, blind: bool) -> str:
    try:
        check(body, mark, blind)
    except Refusal as refused:
        return str(refused)
    return ""


# -- Messages


def messages(body: Json, mark: str, blind: bool) -> None:
    known = {"model", "max_tokens", "messages", "system", "tools", "stream", "thinking", "output_config"}
    _need(body.keys() <= known, f"unknown keys {body.keys() - known}")
    said: list[Json] = body["messages"]
    _need(said and said[0]["role"] == "user" and said[-1]["role"] == "user", "not from user to user")
    _need(all(a["role"] != b["role"] for a, b in pairwise(said)), "roles do not alternate")
    _need(json.dumps(body).count('"cache_control"') <= _MARKS, "too many marks for the cache")
    _tools(tool for tool in body.get("tools", ()) if "type" not in tool)
    open_calls: list[str] = []
    for message in said:
        _need(message["content"], "a message without content")
        answered = [one["tool_use_id"] for one in message["content"] if one["type"] == "tool_result"]
        _need(sorted(answered) == sorted(open_calls), f"calls {open_calls} are answered by {answered}")
        first = [one["type"] for one in message["content"][: len(answered)]]
        _need(set(first) <= {"tool_result"}, "results do not come first")
        for block in message["content"]:
            _block(block, mark, blind=blind, said=message["role"] == "assistant")
        open_calls = [one["id"] for one in message["content"] if one["type"] == "tool_use"]
        _need(len(set(open_calls)) == len(open_calls), "two calls of one id")
        _need(_pairs(message["content"]), "a search without its result")
        led_on = {"thinking", "server_tool_use"}
        _need(message["content"][-1]["type"] not in led_on, "a message ends in a thought")


def _block(block: Json, mark: str, *, blind: bool, said: bool) -> None:
    match block:
        case {"type": "text", "text": str(text)}:
            _need(text.strip(), "a blank text")
        case {"type": "tool_use", "id": str(id), "name": str(name), "input": {}} if said:
            _need(_ID.fullmatch(id) and _NAME.fullmatch(name), "a call with a wrong id or name")
        case {"type": "tool_result", "content": content} if not said:
            _need(content, "an empty result")
            has_pictures = '"type": "image"' in json.dumps(content)
            _need(not (has_pictures and block.get("is_error")), "a picture in a result that is an error")
            _need(not (has_pictures and blind), "an image for a model without eyes")
        case {"type": "thinking", "thinking": str(), "signature": str(signature)} if said:
            _need(signature.startswith(mark), f"a thought of somebody else: {signature}")
        case {"type": "server_tool_use" | "web_search_tool_result"} if said:
            pass
        case {"type": "image", "source": {"media_type": kind, "data": str(data)}} if not said:
            _need(kind in _IMAGES and data and not blind, "image input is not supported")
        case {"type": "document", "source": {"media_type": "application/pdf", "data": str()}} if not said:
            _need(not blind, "document input is not supported")
        case _:
            raise Refusal(f"unknown block {block}")


def _pairs(content: list[Json]) -> bool:
    asked = [one["id"] for one in content if one["type"] == "server_tool_use"]
    found = [one["tool_use_id"] for one in content if one["type"] == "web_search_tool_result"]
    return asked == found


def _tools(tools: Iterator[Json]) -> None:
    for tool in tools:
        _need(_NAME.fullmatch(tool["name"]), f"a tool is called {tool['name']}")
        schema: Json = tool.get("input_schema") or tool.get("parameters") or {}
        _need(schema.get("type") == "object", f"the schema of {tool['name']} is no object")


# -- Chat Completions


def completions(body: Json, mark: str, blind: bool) -> None:
    known = {"model", "messages", "tools", "stream", "stream_options", "reasoning_effort"}
    _need(body.keys() <= known, f"unknown keys {body.keys() - known}")
    _tools(tool["function"] for tool in body.get("tools", ()))
    waiting: list[str] = []
    for at, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            _need(message["tool_call_id"] in waiting, "a result without its call")
            _need(message["content"], "an empty result")
            waiting.remove(message["tool_call_id"])
            continue
        _need(not waiting, f"no result for {waiting}")
        match message:
            case {"role": "system", "content": str(text)}:
                _need(at == 0 and text.strip(), "a system prompt in the middle")
            case {"role": "user", "content": content}:
                _content(content, blind=blind)
            case {"role": "assistant"}:
                waiting = _assistant(message, mark)
            case _:
                raise Refusal(f"unknown message {message}")
    _need(not waiting, f"no result for {waiting}")


def _content(content: str | list[Json], *, blind: bool) -> None:
    _need(content, "a message without content")
    for part in [] if isinstance(content, str) else content:
        match part:
            case {"type": "text", "text": str(text)}:
                _need(text.strip(), "a blank text")
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                _need(url.startswith("data:image/") and not blind, "image input is not supported")
            case {"type": "file", "file": {"filename": str(), "file_data": str(data)}}:
                _need(data.startswith("data:application/pdf;base64,") and not blind, "file input is not supported")
            case _:
                raise Refusal(f"unknown part {part}")


def _assistant(message: Json, mark: str) -> list[str]:
    known = {"role", "content", "tool_calls", "reasoning_content"}
    _need(message.keys() <= known, f"unknown keys {message.keys() - known}")
    _need(message.get("content") or message.get("tool_calls"), "an empty answer")
    thought = message.get("reasoning_content")
    _need(thought is None or thought.startswith(mark), f"a thought of somebody else: {thought}")
    for call in message.get("tool_calls", ()):
        _need(call.keys() == {"id", "type", "function"}, f"unknown keys in a call: {call.keys()}")
        _need(_SHORT_ID.fullmatch(call["id"]) and _NAME.fullmatch(call["function"]["name"]), "a wrong id or name")
        _need(isinstance(json.loads(call["function"]["arguments"]), dict), "arguments are no object")
    ids = [call["id"] for call in message.get("tool_calls", ())]
    _need(len(set(ids)) == len(ids), "two calls of one id")
    return ids


# -- Responses


def responses(body: Json, mark: str, blind: bool) -> None:
    known = {"model", "input", "store", "instructions", "tools", "include", "prompt_cache_key", "stream", "reasoning"}
    _need(body.keys() <= known, f"unknown keys {body.keys() - known}")
    _tools(tool for tool in body.get("tools", ()) if tool["type"] == "function")
    asked = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
    told = [item["call_id"] for item in body["input"] if item.get("type") == "function_call_output"]
    _need(len(set(asked)) == len(asked), "two calls of one id")
    _need(sorted(asked) == sorted(told), f"calls {asked} are answered by {told}")
    items: list[Json] = body["input"]
    followers: list[Json] = [*items[1:], {}]
    for item, following in zip(items, followers, strict=True):
        match item:
            case {"role": "user", "content": [*parts]}:
                _need(parts, "a message without content")
                for part in parts:
                    _input(part, blind=blind)
            case {"role": "assistant", "content": str(text)}:
                _need(text.strip(), "a blank text")
            case {"type": "function_call", "call_id": str(id), "name": str(name), "arguments": str(arguments)}:
                _need(_ID.fullmatch(id) and _NAME.fullmatch(name), "a call with a wrong id or name")
                _need(isinstance(json.loads(arguments), dict), "arguments are no object")
            case {"type": "function_call_output", "output": str(output)}:
                _need(output, "an empty result")
            case {"type": "function_call_output", "output": [*parts]}:
                for part in parts:
                    _input(part, blind=blind)
            case {"type": "reasoning", "id": str(), "encrypted_content": str(content)}:
                _need(content.startswith(mark), f"a thought of somebody else: {content}")
                led_to = following.get("role") == "assistant" or following.get("type") in {"function_call", "reasoning"}
                _need(led_to, "a thought without what it led to")
            case _:
                raise Refusal(f"unknown item {item}")


def _input(part: Json, *, blind: bool) -> None:
    match part:
        case {"type": "input_text", "text": str(text)}:
            _need(text.strip(), "a blank text")
        case {"type": "input_image", "image_url": str(url)}:
            _need(url.startswith("data:image/") and not blind, "image input is not supported")
        case {"type": "input_file", "filename": str(), "file_data": str(data)}:
            _need(data.startswith("data:application/pdf;base64,") and not blind, "file input is not supported")
        case _:
            raise Refusal(f"unknown part {part}")
