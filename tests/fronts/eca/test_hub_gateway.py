"""What clients are told of the gateway of a Hub, when it refuses and when it is down."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.config.policy.sources import VARIABLE
from jupyter_eca.errors import FailureKind
from jupyter_eca.host.doctor import report
from jupyter_eca.protocol.content import TextContent
from tests.fronts.eca.test_approvals import filed
from tests.support.gateway_server import GPT, LoopbackGateway, refuse
from tests.support.host_and_client import answer, said

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "a-token-of-the-hub-0123456789"  # noqa: S105
CONTACT = "Ask it@uni.example."
SPENT = "You have spent $2.01 of your budget of $2.00 a month. It begins anew on 2026-12-01 at 00:00 UTC."


pytestmark = pytest.mark.asyncio


async def test_a_used_up_budget_is_asked_for_once_and_said_with_whom_to_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, json.dumps({"contact": CONTACT}))
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", TOKEN)
    with LoopbackGateway(TOKEN, [refuse(422, "budget_exceeded", SPENT)]) as gateway:
        monkeypatch.setenv("JUPYTER_ECA_GATEWAY_URL", gateway.url)
        async with filed(tmp_path, monkeypatch) as table:
            received = await answer(await table.client(), "Hello", model=f"hub/{GPT}")
    (failed,) = (
        item.content for item in received if isinstance(item.content, TextContent) and item.content.failure is not None
    )
    assert failed.failure is not None
    assert failed.failure.kind is FailureKind.BUDGET_EXCEEDED
    text = said(received, "system")
    assert SPENT.rstrip(".") in text
    assert CONTACT in text
    assert len(gateway.asked_for) == 1


async def test_the_report_names_a_gateway_that_is_down_and_no_other_provider_answers_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", TOKEN)
    monkeypatch.setenv("JUPYTER_ECA_GATEWAY_URL", "http://127.0.0.1:9")
    async with filed(tmp_path, monkeypatch, defaultModel="") as table:
        reported = await report(table.host.services, "here")
        received = await answer(await table.client(), "Hello")
    for text in (reported, said(received, "system")):
        assert "The gateway at http://127.0.0.1:9 does not list its models: it does not answer." in text
    assert not said(received)
