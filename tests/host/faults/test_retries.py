"""A request that failed is repeated: never twice the text, never a tool run twice, always an end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.chat import ChatPromptParams, ChatPromptResult, ChatPromptStopParams
from jupyter_eca.protocol.content import ProgressContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.host.faults.vendor import Fault, vendor
from tests.plugins.providers.ask import script
from tests.support.host_and_client import PATIENCE, answer, desk, outcomes, said, tool_states
from tests.support.samples import sample

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk")]

NOW = {"Retry-After": "0"}
HELLO = {"message": "", "reply": [{"text": "Hello."}]}


def busy(times: int, **more: Any) -> dict[str, Any]:
    return {"message": "", "times": times, "reply": [{"error": "Busy.", "status": 529, "retryAfter": 0, **more}]}


def yes(_call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


def waits(received: Iterable[Any]) -> list[str]:
    return [r.content.text for r in received if isinstance(r.content, ProgressContent) and "again" in str(r.content)]


async def test_an_overloaded_model_is_asked_again_until_it_answers(tmp_path: Path) -> None:
    async with desk(tmp_path, [busy(2), HELLO]) as table:
        received = await answer(await table.client(), "hi")
    assert (said(received), said(received, "system"), outcomes(received)) == ("Hello.", "", ["completed"])
    assert waits(received) == [
        "Overloaded; trying again in 0 s (1 of 10)",
        "Overloaded; trying again in 0 s (2 of 10)",
    ]


async def test_a_model_that_stays_overloaded_is_given_up_with_one_message(tmp_path: Path) -> None:
    async with desk(tmp_path, [busy(99), HELLO]) as table:
        received = await answer(await table.client(), "hi")
    assert (said(received, "system"), outcomes(received)) == ("Busy. It was tried 11 times.", ["failed"])


async def test_a_wait_can_be_stopped(tmp_path: Path) -> None:
    async with desk(tmp_path, [busy(1, retryAfter=50), HELLO]) as table:
        client = await table.client()
        received: list[Any] = []
        waiting, ended = asyncio.Event(), asyncio.Event()

        def hear(item: Any) -> None:
            received.append(item)
            if waits([item]):
                waiting.set()
            if item.outcome is not None:
                ended.set()

        client.listen("chat", hear)
        await client.request("chat/prompt", ChatPromptParams(chat_id="chat", message="hi"), ChatPromptResult)
        await asyncio.wait_for(waiting.wait(), PATIENCE)
        await client.notify("chat/promptStop", ChatPromptStopParams(chat_id="chat"))
        await asyncio.wait_for(ended.wait(), PATIENCE)
        client.listen("chat", None)
        assert waits(received) == ["Overloaded; trying again in 50 s (1 of 10)"]
        assert outcomes(received) == ["stopped"]
        assert said(await answer(client, "again")) == "Hello."


@pytest.mark.parametrize(
    "fault",
    [
        Fault(429, "slow down", headers=NOW),
        Fault(500, "boom", headers=NOW),
        Fault(529, "busy", headers=NOW),
        Fault(cut=0),
        Fault(cut=30),
        Fault(events=({"type": "message_start"},)),
        Fault(events=({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},)),
    ],
)
async def test_a_request_that_failed_before_the_first_word_is_repeated(tmp_path: Path, fault: Fault) -> None:
    async with vendor(tmp_path, [fault]) as (table, server):
        received = await answer(await table.client(), "hi")
        assert (said(received), said(received, "system"), outcomes(received)) == ("Hello.", "", ["completed"])
        first, second = (asked.body for asked in server.requests)
        assert first == second


async def test_an_answer_that_broke_off_is_not_asked_for_again(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(cut=700)]) as (table, server):
        received = await answer(await table.client(), "hi")
        assert (said(received), outcomes(received)) == ("Hello.", ["failed"])
        assert len(server.requests) == 1


@pytest.mark.parametrize("cut", sample(range(0, 1300, 100), every=3))
async def test_wherever_a_stream_dies_no_text_is_shown_twice_and_no_tool_run_twice(tmp_path: Path, cut: int) -> None:
    story = script(
        {"message": "", "reply": [{"text": "One."}, {"tool": "directory_tree", "arguments": {"path": "."}}]},
        {"result": "", "reply": [{"text": "Two."}]},
    )
    async with vendor(tmp_path, [Fault(cut=cut)], story) as (table, _):
        received = await answer(await table.client(), "look", yes)
        assert outcomes(received) in (["completed"], ["failed"])
        assert said(received) in ("One.Two.", "One.", "One"[: len(said(received))])
        assert tool_states(received).count("toolCallRunning") <= 1
        assert bool(said(received, "system")) == (outcomes(received) == ["failed"])


@pytest.mark.parametrize(
    "fault",
    [
        Fault(400, "no"),
        Fault(401, "no"),
        Fault(402, "pay"),
        Fault(413, "too long"),
        Fault(429, "used up", headers={"X-Should-Retry": "false"}),
        Fault(429, "in an hour", headers={"Retry-After": "3600"}),
    ],
)
async def test_what_would_fail_again_is_not_repeated(tmp_path: Path, fault: Fault) -> None:
    async with vendor(tmp_path, [fault]) as (table, server):
        received = await answer(await table.client(), "hi")
        assert outcomes(received) == ["failed"]
        assert len(server.requests) == 1


async def test_retries_can_be_switched_off(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(529, "busy", headers=NOW)], retry=False) as (table, server):
        assert outcomes(await answer(await table.client(), "hi")) == ["failed"]
        assert len(server.requests) == 1


async def test_a_rule_of_the_configuration_makes_a_failure_one_that_passes(tmp_path: Path) -> None:
    rules = [{"status": 400, "errorPattern": "warming UP", "label": "Warming up"}]
    faults = [Fault(400, "still warming up", headers=NOW), Fault(400, "something else", headers=NOW)]
    async with vendor(tmp_path, faults, retryRules=rules) as (table, server):
        received = await answer(await table.client(), "hi")
        assert waits(received)[0].startswith("Warming up; trying again in 0 s")
        assert "something else" in said(received, "system")
        assert len(server.requests) == 2


async def test_the_longest_wait_is_configured(tmp_path: Path) -> None:
    fault = Fault(429, "later", headers={"Retry-After": "2"})
    async with vendor(tmp_path, [fault], rateLimitMaxWaitSeconds=1) as (table, server):
        assert outcomes(await answer(await table.client(), "hi")) == ["failed"]
        assert len(server.requests) == 1


async def test_the_limits_of_silence_are_configured(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(stall=0)], streamIdleTimeoutSeconds=0.2, retry=False) as (table, _):
        assert "said nothing for 0.2 s" in said(await answer(await table.client(), "hi"), "system")
