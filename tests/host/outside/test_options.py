"""The options of an outside agent, such as its model, are shown in its chat and set there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.protocol.content import TextContent
from tests.host.outside.talking import fake, talking
from tests.requirements.eca.seat import seat, told
from tests.support.host_and_client import said

if TYPE_CHECKING:
    from pathlib import Path

    from tests.host.outside.talking import Talking

pytestmark = pytest.mark.asyncio


async def command(talk: Talking, text: str) -> str:
    """What a command of ours answers in the chat."""
    received = [item async for item in talk.client.ask("chat", text, agent="fake")]
    return "".join(item.content.text for item in received if isinstance(item.content, TextContent))


async def test_the_options_are_known_while_the_agent_runs_and_named_with_their_values(tmp_path: Path) -> None:
    async with talking(tmp_path, "options") as talk:
        assert "does not run yet" in await command(talk, "/options")
        await talk.ask("say Hello")
        listed = await command(talk, "/options")
        assert "- `model` (Model): **small**; also `large`" in listed
        assert "- `web` (Search the web): **false**; also `true`" in listed
        assert "Permissions" not in listed
        assert "- `mode`: **" in listed


@pytest.mark.parametrize("value", ["large", "Large one", "LARGE"])
async def test_an_option_is_set_by_its_value_or_name_and_reaches_the_agent(tmp_path: Path, value: str) -> None:
    async with talking(tmp_path, "options") as talk:
        await talk.ask("say Hello")
        assert "`model` = `large`" in await command(talk, f"/options model {value}")
        assert "model large" in said(await talk.ask("values"))
        assert "also `low`" not in await command(talk, "/options")
        assert "**low**; also `high`" in await command(talk, "/options")


async def test_a_switch_is_sent_as_a_boolean(tmp_path: Path) -> None:
    async with talking(tmp_path, "options") as talk:
        await talk.ask("say Hello")
        await command(talk, "/options web on")
        assert "web True" in said(await talk.ask("values"))
        (frame,) = talk.list_frames("client", "session/set_config_option")
        assert (frame["params"]["type"], frame["params"]["value"]) == ("boolean", True)


async def test_what_is_chosen_holds_after_a_restart_of_the_agent_and_of_the_program(tmp_path: Path) -> None:
    async with talking(tmp_path, "options", "no resume") as talk:
        await talk.ask("say Hello")
        await command(talk, "/options model large")
        await command(talk, "/options effort high")
    async with talking(tmp_path, "options", "no resume") as talk:
        assert "model large, effort high" in said(await talk.ask("values"))


async def test_a_value_that_is_chosen_before_the_first_prompt_is_set_when_the_agent_starts(tmp_path: Path) -> None:
    async with talking(tmp_path, "options") as talk:
        assert "when it starts" in await command(talk, "/options model large")
        assert "- `model`: `large` is set when it starts" in await command(talk, "/options")
        assert not talk.list_frames("client")
        assert "model large" in said(await talk.ask("values"))


async def test_a_value_that_the_agent_does_not_have_is_told_and_the_turn_goes_on(tmp_path: Path) -> None:
    async with talking(tmp_path, "options") as talk:
        await command(talk, "/options model huge")
        received = await talk.ask("values")
        assert "small, large" in said(received, "system")
        assert "model small" in said(received)
        assert "small, large" in await command(talk, "/options model giant")


async def test_a_value_that_the_agent_does_not_have_leaves_the_one_that_it_had(tmp_path: Path) -> None:
    async with talking(tmp_path, "options", "no resume") as talk:
        await talk.ask("say Hello")
        await command(talk, "/options model large")
    async with talking(tmp_path, "options", "no resume") as talk:
        await command(talk, "/options model huge")
        received = await talk.ask("values")
        assert "'huge'" in said(received, "system")
        assert "model large" in said(received)
    async with talking(tmp_path, "options", "no resume") as talk:
        received = await talk.ask("values")
        assert "model large" in said(received)
        assert said(received, "system") == ""


async def test_a_value_that_the_agent_does_not_have_is_told_once(tmp_path: Path) -> None:
    async with talking(tmp_path, "options", "no resume") as talk:
        await command(talk, "/options model huge")
        await command(talk, "/options nonsense x")
        received = said(await talk.ask("values"), "system")
        assert "'huge'" in received
        assert "'nonsense'" in received
    async with talking(tmp_path, "options", "no resume") as talk:
        assert said(await talk.ask("values"), "system") == ""


async def test_what_is_chosen_holds_after_a_restart_when_it_needs_what_the_agent_has_changed(tmp_path: Path) -> None:
    async with talking(tmp_path, "options", "no resume") as talk:
        await talk.ask("say Hello")
        await command(talk, "/options model small")
        await talk.ask("set model large")
        await command(talk, "/options effort high")
    async with talking(tmp_path, "options", "no resume") as talk:
        received = await talk.ask("values")
        assert "model large, effort high" in said(received)
        assert "effort" not in said(received, "system")


async def test_an_agent_that_does_not_take_a_value_is_named(tmp_path: Path) -> None:
    async with talking(tmp_path, "options", "keeps options") as talk:
        await talk.ask("say Hello")
        assert "did not take 'large'" in await command(talk, "/options model large")
        assert "**small**" in await command(talk, "/options")


@pytest.mark.parametrize("option", ["unasked", "permissions", "mode"])
async def test_what_decides_about_questions_cannot_be_chosen_in_a_chat(tmp_path: Path, option: str) -> None:
    async with talking(tmp_path, "options") as talk:
        await talk.ask("say Hello")
        sent = len(talk.list_frames("client"))
        assert "can be chosen here" in await command(talk, f"/options {option} true")
        assert len(talk.list_frames("client")) == sent


async def test_an_agent_without_options_and_one_of_ours_say_so(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("say Hello")
        assert "has no options" in await command(talk, "/options")
        received = [item async for item in talk.client.ask("other", "/options")]
        assert "for outside agents" in "".join(
            item.content.text for item in received if isinstance(item.content, TextContent)
        )


async def test_a_client_is_told_the_options_when_they_change_and_sets_them(tmp_path: Path) -> None:
    async with seat(tmp_path, [], acpAgents=fake(tmp_path, "options")) as (_, at):

        async def wait_for(option: str, value: str) -> None:
            """Read what the client is told, up to this value."""
            while True:
                options = (await told(at, "config/updated"))["chat"].get("agentOptions", [])
                if any(known["id"] == option and known["value"] == value for known in options):
                    return

        await at.ask("chat/prompt", {"chatId": "c", "message": "DO: say Hello", "agent": "fake"})
        await wait_for("model", "small")
        await at.tell("chat/selectedOptionChanged", {"chatId": "c", "option": "model", "value": "large"})
        await wait_for("model", "large")
        await at.tell("chat/selectedOptionChanged", {"chatId": "c", "option": "effort", "value": "huge"})
        assert "low, high" in (await told(at, "$/showMessage"))["message"]
        await at.ask("chat/open", {"chatId": "c"})
        await wait_for("model", "large")


async def test_a_command_is_found_whatever_the_case_of_its_letters(tmp_path: Path) -> None:
    async with talking(tmp_path, "options") as talk:
        assert "does not run yet" in await command(talk, "/OPTIONS")
        assert "`/options effort VALUE`" in await command(talk, "/Options effort")
        assert not talk.list_frames("client")


async def test_what_the_agent_chooses_by_itself_is_shown_with_its_name(tmp_path: Path) -> None:
    async with talking(tmp_path, "options") as talk:
        received = await talk.ask("set model large")
        assert "has chosen Model: Large one." in said(received, "system")
        assert "empty answer" not in said(received, "system")
