"""Reports turns, requests to models and tool calls to OpenTelemetry, as spans and metrics in the words of its GenAI
conventions (`opentelemetry.io/docs/specs/semconv/gen-ai`, which are in development).

It is off unless the administrator starts the server with OpenTelemetry's SDK, such as by `opentelemetry-instrument`: we
use its interface only, and export nothing ourselves. The names of models and tools and the ids of chats are reported,
but no prompt, answer, argument, output, path or person.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from jupyter_eca.apps.server.metrics import find_provider_name
from jupyter_eca.apps.server.silent_subscriber import SilentSubscriber
from jupyter_eca.protocol.content import ToolCalledContent, ToolCallRejectedContent, ToolCallRunningContent
from jupyter_eca.protocol.event import Outcome

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

    from jupyter_eca.host.costs.model_caller import EndedRequest
    from jupyter_eca.host.host import Host
    from jupyter_eca.host.subscribers import ChatReload, Notice
    from jupyter_eca.protocol.event import Event

# The name of this package in OpenTelemetry: its "instrumentation scope".
_SCOPE: Final = "jupyter_eca"


def is_recording() -> bool:
    """Return whether somebody has set up OpenTelemetry in this process. Without that its interface does nothing."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider)


class TraceRecorder(SilentSubscriber):
    """Records the spans of all chats of a host. See the top of the module.

    It is a `Subscriber` of the host, which calls its methods (`host/subscribers.py` describes them).
    """

    def __init__(self) -> None:
        self._tracer: Tracer = trace.get_tracer(_SCOPE)
        meter = metrics.get_meter(_SCOPE)
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "The tokens of a request.")
        self._seconds = meter.create_histogram("gen_ai.client.operation.duration", "s", "The time of a request.")
        # The spans of turns, by chat: a chat has at most one turn at a time.
        self._turns: dict[str, Span] = {}
        # The spans of tool calls that run, by chat and id.
        self._calls: dict[tuple[str, str], Span] = {}

    def follow(self, host: Host) -> None:
        """Subscribe to the host."""
        host.connect(self)
        host.model_caller.watchers.append(lambda request: self._record_request(host, request))

    def show(self, events: list[Event]) -> None:
        """Begin and end the spans of turns and calls."""
        for event in events:
            match event.content:
                case ToolCallRunningContent() as call:
                    attributes = {"gen_ai.tool.name": call.name, "gen_ai.tool.call.id": call.id}
                    span = self._begin_span(event.chat, f"execute_tool {call.name}", "execute_tool", attributes)
                    self._calls[event.chat, call.id] = span
                case ToolCalledContent() as call:
                    self._end_call(event.chat, call.id, "tool_error" if call.error else "")
                case ToolCallRejectedContent() as call:
                    self._end_call(event.chat, call.id, call.reason.value)
                case _:
                    # A message begins a turn, unless it is `local`: a command that no model reads.
                    if event.is_message and event.chat not in self._turns and not event.local and event.turn:
                        self._turns[event.chat] = self._begin_span(event.chat, "invoke_agent", "invoke_agent", {})
            if event.outcome is not None and (span := self._turns.pop(event.chat, None)) is not None:
                _end_span(span, "" if event.outcome is Outcome.COMPLETED else event.outcome.value)

    def tell(self, notice: Notice) -> None:
        """Do nothing: a notice is no event of a chat."""

    def reload_chat(self, reload: ChatReload) -> None:
        """Do nothing: what is shown again has been recorded."""

    def _begin_span(
        self, chat: str, name: str, operation: str, attributes: dict[str, Any], at: int | None = None
    ) -> Span:
        """Begin a span, below that of the chat's turn if there is one. `at` is its time in nanoseconds since the epoch,
        None for now. `operation` and the names of the `attributes` are words of the GenAI conventions."""
        parent = self._turns.get(chat)
        context = trace.set_span_in_context(parent) if parent is not None else None
        kind = SpanKind.CLIENT if operation == "chat" else SpanKind.INTERNAL
        common = {"gen_ai.operation.name": operation, "gen_ai.conversation.id": chat}
        return self._tracer.start_span(name, context, kind, {**common, **attributes}, start_time=at)

    def _end_call(self, chat: str, id: str, problem: str) -> None:
        """End the span of a tool call; a call that was rejected before it ran has none."""
        if (span := self._calls.pop((chat, id), None)) is not None:
            _end_span(span, problem)

    def _record_request(self, host: Host, request: EndedRequest) -> None:
        """Record a request to a model that has ended. The name of the model is that of its vendor."""
        provider = find_provider_name(host, request)
        common = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": provider}
        common["gen_ai.request.model"] = request.chosen.model
        attributes: dict[str, Any] = dict(common)
        if (usage := request.usage) is not None:
            tokens_in = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
            attributes["gen_ai.usage.input_tokens"] = tokens_in
            attributes["gen_ai.usage.output_tokens"] = usage.output_tokens
            self._tokens.record(tokens_in, {**common, "gen_ai.token.type": "input"})
            self._tokens.record(usage.output_tokens, {**common, "gen_ai.token.type": "output"})
        problem = "" if request.outcome == "completed" else request.outcome
        self._seconds.record((time.time_ns() - request.began_at) / 1e9, {**common, **_name_problem(problem)})
        name = f"chat {request.chosen.model}"
        _end_span(self._begin_span(request.bill.chat, name, "chat", attributes, request.began_at), problem)


def _name_problem(problem: str) -> dict[str, str]:
    """Return the attribute that names a failure, none when there was no failure."""
    return {"error.type": problem} if problem else {}


def _end_span(span: Span, problem: str) -> None:
    """End a span. `problem` names its failure, "" for none."""
    if problem:
        span.set_attributes(_name_problem(problem))
        span.set_status(Status(StatusCode.ERROR))
    span.end()
