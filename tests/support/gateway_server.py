"""Servers that speak the three APIs of a gateway: a vendor behind it, and a gateway itself. For tests.

Each answer counts the same tokens, so that a test can say what it costs: see `USAGE`. As `python -m
tests.support.gateway_server [PIECES]` it prints the URL of a vendor whose answers have so many pieces.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.plugins.providers.scripted import Script
from tests.support.anthropic_server import NO_FAULT, Fault, Json, LoopbackAnthropic, Recorded, sse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The tokens of each answer: not cached, read from the cache, written to the cache, and of the answer. OpenAI's APIs do
# not say what was written.
USAGE: Final = (100, 1000, 50, 200)

CLAUDE, GPT = "house-claude", "house-gpt"

# US dollars for a token, as LiteLLM says them in `/v1/model/info`.
PRICES: Final[dict[str, Json]] = {
    CLAUDE: {
        "input_cost_per_token": 3e-6,
        "output_cost_per_token": 15e-6,
        "cache_read_input_token_cost": 0.3e-6,
        "cache_creation_input_token_cost": 3.75e-6,
        "max_input_tokens": 200_000,
        "max_output_tokens": 64_000,
        "supports_vision": True,
    },
    GPT: {
        "input_cost_per_token": 0.15e-6,
        "output_cost_per_token": 0.6e-6,
        "cache_read_input_token_cost": 0.075e-6,
        "max_input_tokens": 128_000,
        "max_output_tokens": 16_384,
    },
}
COSTS: Final = {
    CLAUDE: 100 * 3e-6 + 1000 * 0.3e-6 + 50 * 3.75e-6 + 200 * 15e-6,
    GPT: 150 * 0.15e-6 + 1000 * 0.075e-6 + 200 * 0.6e-6,
}


def refuse(status: int, kind: str, message: str) -> Fault:
    """As LiteLLM refuses, on all three APIs."""
    error = {"error": {"message": message, "type": kind, "param": "key", "code": str(status)}}
    return Fault(status, json.dumps(error), plain=True)


class LoopbackVendor(LoopbackAnthropic):
    """Answers "Hello" and some pieces more over the Messages, the Responses and the Chat Completions API."""

    def __init__(self, faults: Iterable[Fault | None] = (), pieces: int = 2) -> None:
        super().__init__(Script(rules=()), faults)
        self._texts = ["Hello", *(f" {number}" for number in range(1, pieces))]

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        if asked.path.endswith("/models") or not asked.body:
            return Fault(404, "{}", plain=True), ()
        fault = (self.faults.popleft() if self.faults else None) or NO_FAULT
        if fault.status != 200:
            return fault, ()
        return fault, ((0.0, event) for event in self._stream(asked))

    def _stream(self, asked: Recorded) -> Iterator[bytes]:
        if asked.path.endswith("/messages"):
            return self.messages(asked.body)
        return self.responses(asked.body) if asked.path.endswith("/responses") else self.chat(asked.body)

    def messages(self, body: Json, **more: Any) -> Iterator[bytes]:
        """`more` is added to the last usage."""
        plain, read, written, output = USAGE
        usage = {"input_tokens": plain, "cache_read_input_tokens": read, "cache_creation_input_tokens": written}
        message: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": []}
        message |= {"stop_reason": None, "stop_sequence": None, "usage": usage | {"output_tokens": 1}}
        yield sse({"type": "message_start", "message": message})
        yield sse({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        for text in self._texts:
            yield sse({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
        yield sse({"type": "content_block_stop", "index": 0})
        end = {"stop_reason": "end_turn", "stop_sequence": None}
        yield sse({"type": "message_delta", "delta": end, "usage": usage | {"output_tokens": output} | more})
        yield sse({"type": "message_stop"})

    def responses(self, body: Json, **more: Any) -> Iterator[bytes]:
        plain, read, written, output = USAGE
        total = plain + read + written
        part: Json = {"type": "output_text", "text": "".join(self._texts), "annotations": []}
        item: Json = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        whole: Json = {"id": "resp_1", "object": "response", "created_at": 1, "model": body["model"], "output": []}
        whole |= {"status": "in_progress", "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        usage = {"input_tokens": total, "output_tokens": output, "total_tokens": total + output}
        usage |= {"input_tokens_details": {"cached_tokens": read}, "output_tokens_details": {"reasoning_tokens": 0}}
        events: list[Json] = [{"type": "response.created", "response": whole}]
        started: Json = item | {"content": [], "status": "in_progress"}
        events.append({"type": "response.output_item.added", "output_index": 0, "item": started})
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        events += [{"type": "response.output_text.delta", **place, "delta": text} for text in self._texts]
        events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
        done = whole | {"status": "completed", "output": [item], "usage": usage | more}
        events.append({"type": "response.completed", "response": done})
        for number, event in enumerate(events):
            yield sse(event | {"sequence_number": number})

    def chat(self, body: Json, **more: Any) -> Iterator[bytes]:
        plain, read, written, output = USAGE
        total = plain + read + written
        usage: Json = {"prompt_tokens": total, "completion_tokens": output, "total_tokens": total + output}
        usage |= {"prompt_tokens_details": {"cached_tokens": read}} | more
        base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        choices: list[list[Json]] = [
            [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]
            for text in self._texts
        ]
        choices.append([{"index": 0, "delta": {}, "finish_reason": "stop"}])
        for one in choices:
            yield f"data: {json.dumps({**base, 'choices': one})}\n\n".encode()
        yield f"data: {json.dumps({**base, 'choices': [], 'usage': usage})}\n\ndata: [DONE]\n\n".encode()


class LoopbackGateway(LoopbackVendor):
    """A gateway with the two models. `says_cost` adds the cost to the usage, as LiteLLM can."""

    def __init__(
        self,
        key: str,
        faults: Iterable[Fault | None] = (),
        *,
        models: Iterable[str] = (CLAUDE, GPT),
        says_cost: bool = False,
        knows_prices: bool = True,
        budget: Json | None = None,
        vendors: Json | None = None,
    ) -> None:
        """`budget` is what `/key/info` says, and `vendors` the models behind the names, each with its vendor before a
        slash."""
        super().__init__(faults)
        self._key = key
        self.models = list(models)
        self._says_cost = says_cost
        self._knows_prices = knows_prices
        self._budget = budget
        self._vendors = vendors or {}

    @property
    def asked_for(self) -> list[Recorded]:
        """The requests for an answer."""
        return [asked for asked in self.requests if asked.body]

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        if asked.key != self._key:
            return refuse(401, "auth_error", "This is no token."), ()
        if asked.path == "/v1/models":
            limits = {name: PRICES.get(name, {}) for name in self.models}
            listed = [{"id": name, **{k: v for k, v in limits[name].items() if "max" in k}} for name in self.models]
            return Fault(said=json.dumps({"data": listed}), plain=True), ()
        if asked.path == "/v1/model/info" and self._knows_prices:
            details = [
                {
                    "model_name": name,
                    "litellm_params": {"model": self._vendors.get(name, name)},
                    "model_info": {
                        **PRICES.get(name, {}),
                        "litellm_provider": self._vendors.get(name, "").partition("/")[0],
                    },
                }
                for name in self.models
            ]
            return Fault(said=json.dumps({"data": details}), plain=True), ()
        if asked.path == "/key/info" and self._budget is not None:
            return Fault(said=json.dumps({"key": "…", "info": self._budget}), plain=True), ()
        return super().answered(asked)

    def _stream(self, asked: Recorded) -> Iterator[bytes]:
        cost = {"cost": 0.5} if self._says_cost else {}
        if asked.path.endswith("/messages"):
            return self.messages(asked.body, **cost)
        return (
            self.responses(asked.body, **cost) if asked.path.endswith("/responses") else self.chat(asked.body, **cost)
        )


if __name__ == "__main__":
    with LoopbackVendor(pieces=int(sys.argv[1]) if sys.argv[1:] else 2) as vendor:
        print(vendor.url, flush=True)
        vendor.serve_forever()
