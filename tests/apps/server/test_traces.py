"""What OpenTelemetry is told, where the administrator has set up its SDK in the server's process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from jupyter_eca.protocol.content import ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.apps.server.test_background import joined
from tests.support.notebook_page import script

if TYPE_CHECKING:
    from pathlib import Path

    from opentelemetry.sdk.trace import ReadableSpan


@pytest.fixture
def rules() -> dict[str, Any]:
    return {"allow": {"shell_command": {}}}


@pytest.fixture(scope="session")
def sdk() -> tuple[InMemorySpanExporter, InMemoryMetricReader]:
    """The SDK, which can be set up once in a process."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(MeterProvider([reader]))
    return exporter, reader


@pytest.fixture
def exporter(sdk: tuple[InMemorySpanExporter, InMemoryMetricReader]) -> InMemorySpanExporter:
    sdk[0].clear()
    return sdk[0]


def ours(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    """Our spans, in the order in which they ended."""
    scopes = ((span, span.instrumentation_scope) for span in exporter.get_finished_spans())
    return [span for span, scope in scopes if scope is not None and scope.name == "jupyter_eca"]


async def test_a_turn_its_requests_and_its_calls_are_spans_without_any_content(
    exporter: InMemorySpanExporter, jp_serverapp: Any, tmp_path: Path
) -> None:
    script(tmp_path, [{"tool": "shell_command", "arguments": {"command": "echo secret"}}])
    async with joined(jp_serverapp) as client:
        [*_] = [received async for received in client.ask("chat", "a secret prompt")]
    spans = ours(exporter)
    # The span of a call ends once its result is stored. The next request may have ended before.
    assert sorted(span.name for span in spans[:-1]) == ["chat test", "chat test", "execute_tool shell_command"]
    assert spans[-1].name == "invoke_agent"
    turn = spans[-1].get_span_context()
    assert turn is not None
    for span in spans[:-1]:
        assert span.parent is not None
        assert span.parent.span_id == turn.span_id
    attributes = dict(next(span for span in spans if span.name == "chat test").attributes or {})
    assert attributes.pop("gen_ai.usage.input_tokens")
    assert "gen_ai.usage.output_tokens" in attributes
    del attributes["gen_ai.usage.output_tokens"]
    assert attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "test",
    }
    assert "secret" not in "".join(span.to_json() for span in spans)


async def test_a_call_that_the_user_rejects_and_a_request_that_fails_are_told_apart(
    exporter: InMemorySpanExporter, jp_serverapp: Any, tmp_path: Path
) -> None:
    script(tmp_path, [{"tool": "write_file", "arguments": {"path": "a.txt", "content": "a"}}])
    async with joined(jp_serverapp) as client:
        async for received in client.ask("chat", "write"):
            if isinstance(received.content, ToolCallRunContent):
                await client.decide("chat", received.content.id, CallDecision(approved=False))
        [*_] = [received async for received in client.ask("chat", "hello", "openai/gpt-5")]
    errors = [(span.name, (span.attributes or {}).get("error.type")) for span in ours(exporter)]
    assert errors == [
        *[("chat test", None), ("chat test", None), ("invoke_agent", None)],
        *[("chat gpt-5", "auth"), ("invoke_agent", "failed")],
    ]


async def test_the_tokens_and_the_time_of_requests_are_metrics(
    sdk: tuple[InMemorySpanExporter, InMemoryMetricReader], jp_serverapp: Any, tmp_path: Path
) -> None:
    script(tmp_path, [])
    async with joined(jp_serverapp) as client:
        [*_] = [received async for received in client.ask("chat", "hello")]
    data = sdk[1].get_metrics_data()
    assert data is not None
    names = {
        metric.name
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert {"gen_ai.client.token.usage", "gen_ai.client.operation.duration"} <= names
