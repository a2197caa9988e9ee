"""One server, four languages: a script answered in the words of each API, over a real socket.

    with Speaking("responses", script) as server: server.provider()

or, from another process, `python -m tests.plugins.providers.dialects.speaking responses SCRIPT.json`.

It refuses what the API would (`strict`), counts what its cache would have (`caching`), and signs its thoughts with its
own name. `refused` are the problems it found.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.model.delta import ReasoningDelta, TextDelta, ToolCallDelta
from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, Part, TextPart, ToolResultPart, ToolUsePart
from jupyter_eca.plugins.providers import scripted
from tests.plugins.providers.ask import KEY
from tests.plugins.providers.dialects import strict
from tests.plugins.providers.dialects.caching import Automatic, Marked, Share
from tests.support import anthropic_server
from tests.support.anthropic_server import Fault, Json, LoopbackAnthropic, Recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_eca.plugins.providers.scripted import ReplyPart, Script

# How each is configured, where it listens and what it refuses.
_SPEAKS = {
    "messages": ("anthropic", "/v1/messages", strict.messages),
    "ollama": ("ollama", "/v1/messages", strict.messages),
    "completions": ("openai-chat", "/v1/chat/completions", strict.completions),
    "responses": ("openai-responses", "/v1/responses", strict.responses),
}
DIALECTS = tuple(_SPEAKS)


class Speaking(LoopbackAnthropic):
    def __init__(
        self, dialect: str, script: Script, faults: Iterable[Fault | None] = (), *, blind: bool = False
    ) -> None:
        """A `blind` one has no eyes, as its model's name does not tell."""
        super().__init__(script, faults, tags=("m",) if dialect == "ollama" else ())
        self.dialect = dialect
        self.refused: list[str] = []
        self.shares: list[Share] = []
        self.blind = blind
        self._api, self._path, self._check = _SPEAKS[dialect]
        self._cache = Marked() if self._path == "/v1/messages" else Automatic()

    @property
    def mark(self) -> str:
        """What its opaque data begins with."""
        return f"by {self.dialect}: "

    @property
    def bodies(self) -> list[Json]:
        return [asked.body for asked in self.requests if asked.path == self._path]

    def provider(self, **more: Any) -> Json:
        """Its entry in a configuration."""
        model = {"imageInput": False, "documentInput": False} if self.blind else {"documentInput": True}
        url = self.url + ("/v1" if self._api == "openai-chat" else "")
        return {"api": self._api, "url": url, "key": KEY, "models": {"m": model}, **more}

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        if asked.path != self._path:
            return super().answered(asked)
        if found := strict.problem(self._check, asked.body, self.mark, blind=self.blind):
            self.refused.append(found)
            return Fault(400, found), ()
        fault = (self.faults.popleft() if self.faults else None) or Fault()
        if fault.status != 200:
            return fault, ()
        if fault.events is not None:
            return fault, [(0.0, anthropic_server.sse(event)) for event in fault.events]
        share = self._cache.take(asked.body)
        self.shares.append(share)
        reply = self.script.answer(_neutral(asked.body), self.spent)
        return fault, list(_WORDS[self._path](asked.body, reply, share, self.mark))


# -- what it hears


def _neutral(body: Json) -> ModelRequest:
    said: list[tuple[str, list[Part]]]
    if "input" in body:
        said = [(str(item.get("role") or _ROLES[item["type"]]), list(_item(item))) for item in body["input"]]
    else:
        said = [(str(_ROLES.get(one["role"], one["role"])), list(_message(one))) for one in body["messages"]]
    joined: list[ChatMessage] = []
    for role, parts in said:
        if role == "system":
            continue
        if joined and joined[-1].role == role:
            joined[-1] = ChatMessage(role, (*joined[-1].parts, *parts))
        else:
            joined.append(ChatMessage(role, tuple(parts)))
    return ModelRequest(body["model"], "", tuple(joined))


_ROLES = {"tool": "user", "function_call": "assistant", "function_call_output": "user", "reasoning": "assistant"}


def _item(item: Json) -> Iterator[Part]:
    match item:
        case {"type": "function_call"}:
            yield ToolUsePart(item["call_id"], item["name"], json.loads(item["arguments"]))
        case {"type": "function_call_output"}:
            yield ToolResultPart(item["call_id"], item["output"])
        case {"content": [*parts]}:
            yield from (TextPart(part["text"]) for part in parts if part["type"] == "input_text")
        case {"content": str(text)}:
            yield TextPart(text)
        case _:
            pass


def _message(message: Json) -> Iterator[Part]:
    if message["role"] == "tool":
        yield ToolResultPart(message["tool_call_id"], message["content"])
        return
    content = message.get("content") or ()
    blocks: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                yield TextPart(text)
            case {"type": "tool_use"}:
                yield ToolUsePart(block["id"], block["name"], block["input"])
            case {"type": "tool_result"}:
                yield ToolResultPart(block["tool_use_id"], str(block.get("content", "")))
            case _:
                pass
    for call in message.get("tool_calls", ()):
        yield ToolUsePart(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))


# -- what it says


def _messages(body: Json, reply: Iterable[ReplyPart], share: Share, mark: str) -> Iterator[tuple[float, bytes]]:
    counted = {"input_tokens": share.whole - share.read, "cache_read_input_tokens": share.read}
    for delay, event in anthropic_server.events(body, reply, counted):
        yield delay, event.replace(b'"signed-', json.dumps(f"{mark}signed-").encode()[:-1])


def _sse(*events: Json) -> Iterator[tuple[float, bytes]]:
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        yield 0.0, f"{name}data: {json.dumps(event)}\n\n".encode()


def _completions(body: Json, reply: Iterable[ReplyPart], share: Share, mark: str) -> Iterator[tuple[float, bytes]]:
    calls = 0
    turn = len(body["messages"])
    for part in reply:
        if part.reasoning is not None:
            yield from _sse(_chunk({"reasoning_content": mark}))
        for delta in scripted.make_deltas(part, calls):
            match delta:
                case TextDelta(text=text):
                    yield from _sse(_chunk({"content": text}))
                case ReasoningDelta(text=text):
                    yield from _sse(_chunk({"reasoning_content": text}))
                case ToolCallDelta(name=name) if name:
                    call = {"index": calls, "id": f"call_{turn}_{calls}", "type": "function"}
                    yield from _sse(_chunk({"tool_calls": [call | {"function": {"name": name, "arguments": ""}}]}))
                case ToolCallDelta(arguments_text=text):
                    yield from _sse(_chunk({"tool_calls": [{"index": calls, "function": {"arguments": text}}]}))
                case _:
                    pass
        calls += part.tool is not None
    yield from _sse({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]})
    details = {"cached_tokens": share.read}
    usage = {"prompt_tokens": share.whole, "completion_tokens": 1, "prompt_tokens_details": details}
    yield from _sse({"choices": [], "usage": usage})
    yield 0.0, b"data: [DONE]\n\n"


def _chunk(delta: Json) -> Json:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _responses(body: Json, reply: Iterable[ReplyPart], share: Share, mark: str) -> Iterator[tuple[float, bytes]]:
    yield from _sse({"type": "response.created", "response": {}})
    turn = len(body["input"])
    for index, part in enumerate(reply):
        item = _begun(part, f"{turn}_{index}", mark)
        yield from _sse({"type": "response.output_item.added", "output_index": index, "item": item})
        for delta in scripted.make_deltas(part, index):
            at: Json = {"output_index": index, "item_id": item["id"]}
            match delta:
                case TextDelta(text=text):
                    yield from _sse({"type": "response.output_text.delta", "delta": text, **at})
                case ReasoningDelta(text=text):
                    yield from _sse({"type": "response.reasoning_summary_text.delta", "delta": text, **at})
                case ToolCallDelta(arguments_text=text) if text:
                    item["arguments"] += text
                    yield from _sse({"type": "response.function_call_arguments.delta", "delta": text, **at})
                case _:
                    pass
        yield from _sse({"type": "response.output_item.done", "output_index": index, "item": item})
    details = {"cached_tokens": share.read}
    usage = {"input_tokens": share.whole, "output_tokens": 1, "input_tokens_details": details}
    yield from _sse({"type": "response.completed", "response": {"usage": usage}})


def _begun(part: ReplyPart, name: str, mark: str) -> Json:
    if part.tool is not None:
        named = {"id": f"fc_{name}", "call_id": f"call_{name}", "name": part.tool, "arguments": ""}
        return {"type": "function_call"} | named
    if part.reasoning is not None:
        return {"type": "reasoning", "id": f"rs_{name}", "summary": [], "encrypted_content": f"{mark}{name}"}
    return {"type": "message", "id": f"msg_{name}", "role": "assistant", "content": []}


_WORDS = {"/v1/messages": _messages, "/v1/chat/completions": _completions, "/v1/responses": _responses}


if __name__ == "__main__":
    with Speaking(sys.argv[1], scripted.load(Path(sys.argv[2]))) as server:
        print(server.url, flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()
