"""What Prometheus reads on Jupyter's own page of metrics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.content import ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.apps.server.test_background import joined
from tests.support.notebook_page import script

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from jupyter_eca.transport.eca_client import EcaClient

    Fetch = Callable[..., Awaitable[Any]]

SAMPLE = re.compile(r"^(jupyter_eca_\w+_total)\{(.*)\} (\S+)$", re.MULTILINE)


@pytest.fixture
def rules() -> dict[str, Any]:
    return {"allow": {"shell_command": {}}, "deny": {"grep": {}}}


async def read_metrics(fetch: Fetch) -> dict[tuple[str, str], float]:
    """Our counters on the page, by name and labels."""
    page = await fetch("metrics")
    return {(name, labels): float(count) for name, labels, count in SAMPLE.findall(page.body.decode())}


async def ask(client: EcaClient, folder: Path, calls: list[dict[str, Any]], *, approved: bool = True) -> None:
    script(folder, calls)
    async for received in client.ask("secret-chat", "a secret prompt"):
        if isinstance(received.content, ToolCallRunContent) and received.content.manual_approval:
            await client.decide("secret-chat", received.content.id, CallDecision(approved=approved))


async def test_turns_requests_and_calls_are_counted_and_nobody_and_nothing_is_named(
    jp_serverapp: Any, jp_fetch: Fetch, tmp_path: Path
) -> None:
    write = {"tool": "write_file", "arguments": {"path": "secret.txt", "content": "secret"}}
    before = await read_metrics(jp_fetch)
    async with joined(jp_serverapp) as client:
        await ask(client, tmp_path, [{"tool": "shell_command", "arguments": {"command": "true"}}])
        await ask(client, tmp_path, [write])
        await ask(client, tmp_path, [write], approved=False)
    after = await read_metrics(jp_fetch)
    counted = {place: count - before.get(place, 0) for place, count in after.items() if count != before.get(place, 0)}
    turns, requests, calls = (f"jupyter_eca_{name}_total" for name in ("turns", "model_requests", "tool_calls"))
    assert counted.pop((requests, 'outcome="completed",provider="scripted"')) >= 3
    assert counted == {
        (turns, 'outcome="completed"'): 3,
        (calls, 'decision="allowed"'): 1,
        (calls, 'decision="approved"'): 1,
        (calls, 'decision="user-choice"'): 1,
    }
    page = (await jp_fetch("metrics")).body.decode()
    assert "secret" not in page


async def test_a_failed_request_is_counted_by_its_reason(jp_serverapp: Any, jp_fetch: Fetch) -> None:
    place = "jupyter_eca_model_requests_total", 'outcome="auth",provider="openai"'
    before = await read_metrics(jp_fetch)
    async with joined(jp_serverapp) as client:
        [*_] = [received async for received in client.ask("chat", "hello", "openai/gpt-5")]
    after = await read_metrics(jp_fetch)
    assert after[place] == before.get(place, 0) + 1
    failed = "jupyter_eca_turns_total", 'outcome="failed"'
    assert after[failed] == before.get(failed, 0) + 1
