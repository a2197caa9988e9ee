"""A vendor that pauses a long answer is asked for the rest of it, with what it has said, and not for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.effects import CallModel
from jupyter_eca.engine.model.delta import Paused
from jupyter_eca.engine.model.texts import NOTHING_SAID, PAUSED_TOO_OFTEN
from jupyter_eca.engine.state import MAX_PAUSES
from jupyter_eca.protocol.content import ReasonTextContent, Role
from tests.engine.talk import Talk
from tests.plugins.providers.ask import KEY, says
from tests.plugins.providers.dialects import strict
from tests.support.anthropic_server import Fault, LoopbackAnthropic
from tests.support.host_and_client import answer, desk, outcomes, said
from tests.support.openai_server import recording

if TYPE_CHECKING:
    from pathlib import Path


def sent(name: str) -> Fault:
    return Fault(events=recording("anthropic", name)[0].events)


def searching(server: LoopbackAnthropic, **more: Any) -> dict[str, Any]:
    providers = {"anthropic": {"url": server.url, "key": KEY, "webSearch": True}}
    return {"providers": providers, "defaultModel": "anthropic/m", **more}


@pytest.mark.asyncio
@pytest.mark.usefixtures("sdk")
async def test_an_answer_that_is_paused_in_a_search_is_gone_on_with_by_itself(tmp_path: Path) -> None:
    story = [sent("a_search_is_paused"), sent("a_paused_search_goes_on")]
    with LoopbackAnthropic(says("Fine."), story) as server:
        async with desk(tmp_path, [], **searching(server)) as table:
            client = await table.client()
            received = await answer(client, "Weather?")
            assert (said(received), outcomes(received)) == ("It is 18 degrees.", ["completed"])
            assert said(received, "system") == ""
            thoughts = [r.content.text for r in received if isinstance(r.content, ReasonTextContent)]
            assert "".join(thoughts).startswith("Searched the web for \u201cweather in Paris\u201d:\n- [Paris today]")
            await answer(client, "Thanks")
    first, second, later = (asked.body["messages"] for asked in server.requests)
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "weather in Paris"}}
    assert [message["role"] for message in second] == ["user", "assistant"]
    assert first[0]["content"][-1]["text"] == second[0]["content"][-1]["text"]
    assert second[-1]["content"] == [use]
    assert [block["type"] for block in later[1]["content"]] == ["server_tool_use", "web_search_tool_result", "text"]
    assert strict.problem(strict.messages, server.requests[-1].body, "", blind=False) == ""


@pytest.mark.asyncio
@pytest.mark.usefixtures("sdk")
async def test_a_vendor_that_pauses_for_ever_is_asked_only_so_often(tmp_path: Path) -> None:
    story = [sent("a_search_is_paused")] * (MAX_PAUSES + 1)
    with LoopbackAnthropic(says("Fine."), story) as server:
        async with desk(tmp_path, [], **searching(server)) as table:
            client = await table.client()
            received = await answer(client, "Weather?")
            assert (said(received, "system"), outcomes(received)) == (PAUSED_TOO_OFTEN, ["completed"])
            assert len(server.requests) == MAX_PAUSES + 1
            assert said(await answer(client, "go on")) == "Fine."
    assert "server_tool_use" not in str(server.requests[-1].body["messages"])
    assert strict.problem(strict.messages, server.requests[-1].body, "", blind=False) == ""


@pytest.mark.asyncio
@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize("half", ["a_search_is_paused", "a_paused_search_goes_on"])
async def test_half_a_search_is_not_sent_back_when_the_answer_is_over(tmp_path: Path, half: str) -> None:
    with LoopbackAnthropic(says("Fine."), [sent(half)]) as server:
        async with desk(tmp_path, [], **searching(server)) as table:
            client = await table.client()
            await answer(client, "Weather?")
            await answer(client, "Thanks")
    last = server.requests[-1].body
    assert "srvtoolu_1" not in str(last["messages"])
    assert strict.problem(strict.messages, last, "", blind=False) == ""


def test_what_is_said_before_a_pause_is_kept_and_each_turn_may_pause_anew() -> None:
    talk = Talk().asks()
    for part in ("One. ", "Two. ", "Three. "):
        talk.says(part, Paused()).done()
        assert [effect.request.messages[-1].role for effect in talk.effects if isinstance(effect, CallModel)] == [
            "assistant"
        ]
    talk.done()
    assert (talk.words(), talk.words(Role.SYSTEM)) == ("One. Two. Three. ", "")
    assert talk.asks("Again").says(Paused()).done().state.pauses == 1


def test_a_pause_counts_no_step_and_a_steer_is_told_in_it() -> None:
    talk = Talk().asks(max_steps=1).says("One. ", Paused()).steers("Be quick").done()
    (call,) = (effect for effect in talk.effects if isinstance(effect, CallModel))
    assert call.request.messages[-1].role == "user"
    assert talk.state.steps == 1
    assert NOTHING_SAID not in talk.done().words(Role.SYSTEM)


def test_a_turn_can_be_stopped_in_a_pause() -> None:
    talk = Talk().asks().says("One. ", Paused()).done().stops()
    assert talk.words(Role.SYSTEM) == "Stopped."
