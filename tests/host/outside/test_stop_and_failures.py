"""An outside agent is stopped, dies, writes junk or never answers: one sentence, and no process stays."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.host.outside import outside_agents
from jupyter_eca.protocol.content import TextContent, ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.host.outside.talking import fake, talking
from tests.support.host_and_client import answer, outcomes, said, tool_states
from tests.support.processes import have_ended

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from tests.host.outside.talking import Talking

pytestmark = pytest.mark.asyncio


async def stop_when(talk: Talking, prompt: str, text: str = "") -> list[ChatContentReceivedParams]:
    """Ask, and stop the turn when a text has come, or without one when a call waits for approval."""
    received: list[ChatContentReceivedParams] = []
    async for item in talk.client.ask("chat", prompt, agent="fake"):
        received.append(item)
        waits = isinstance(item.content, ToolCallRunContent) and item.content.manual_approval
        is_said = isinstance(item.content, TextContent) and item.role == "assistant" and text in item.content.text
        if is_said if text else waits:
            await talk.client.stop("chat")
    return received


async def test_stop_cancels_the_agent_and_the_next_prompt_works(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await stop_when(talk, "DO: wait", "waiting")
        assert outcomes(received) == ["stopped"]
        assert said(await talk.ask("say Hello")) == "Hello"
        assert len(talk.list_frames("client", "session/cancel")) == 1
        assert len(talk.list_frames("client", "session/new")) == 1
        ended = [frame["result"] for frame in talk.list_frames("agent") if "stopReason" in str(frame.get("result"))]
        assert [result["stopReason"] for result in ended] == ["cancelled", "end_turn"]


async def test_stop_answers_an_open_question_with_cancelled_and_refuses_a_late_write(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await stop_when(talk, "DO: late_write a.txt")
        assert tool_states(received)[-1] == "toolCallRejected"
        await talk.ask("say Hello")
        answers = [frame["result"] for frame in talk.list_frames("client") if "outcome" in str(frame.get("result"))]
        assert answers == [{"outcome": {"outcome": "cancelled"}}]
        assert not (tmp_path / "a.txt").exists()


async def test_an_agent_that_ignores_stop_is_killed_with_all_its_processes_and_the_session_is_resumed(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as talk:
        talk.host.outside_agents.cancel_seconds = 0.2
        received = await stop_when(talk, "DO: deaf", "deaf")
        assert outcomes(received) == ["stopped"]
        pids = [int(word) for word in said(received).split()[1:]]
        assert said(await talk.ask("say Hello")) == "Hello"
        assert have_ended(*pids)
        assert len(talk.list_frames("client", "session/resume")) == 1


@pytest.mark.parametrize(
    ("quirk", "words"),
    [
        ("dies", "no such model"),
        ("silent", "did not answer initialize"),
        ("version 2", "version 2"),
        ("signed out", "needs you to sign in"),
        ("keeps mode", "'default'"),
    ],
)
async def test_an_agent_that_does_not_begin_ends_in_one_sentence(tmp_path: Path, quirk: str, words: str) -> None:
    settings = {"mode": "default"} if quirk == "keeps mode" else {}
    async with talking(tmp_path, quirk, settings=settings) as talk:
        talk.host.outside_agents.start_seconds = 1.0 if quirk == "silent" else 30.0
        received = await talk.ask("say Hello")
        assert outcomes(received) == ["failed"]
        failures = [
            item.content.text for item in received if isinstance(item.content, TextContent) and item.content.failure
        ]
        assert len(failures) == 1
        assert words in failures[0]


async def test_a_silent_agent_is_named_with_its_command_and_without_its_secrets(tmp_path: Path) -> None:
    agents = fake(tmp_path, "silent")
    agents["fake"]["args"] += ["--quirk", "API_TOKEN=hush-4711-hush"]
    async with talking(tmp_path, settings=agents["fake"]) as talk:
        talk.host.outside_agents.start_seconds = 1.0
        received = said(await talk.ask("say Hello"), "system")
        assert "fake_agent.py" in received
        assert "`--acp`" in received
        assert "hush-4711" not in received


async def test_a_signed_out_agent_says_how_to_sign_in_even_if_nobody_has_configured_it(tmp_path: Path) -> None:
    async with talking(tmp_path, "signed out") as talk:
        assert "in a terminal" in said(await talk.ask("say Hello"), "system")


async def test_an_agent_that_dies_in_a_turn_ends_it_and_begins_again(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("die")
        assert outcomes(received) == ["failed"]
        assert "out of memory" in said(received, "system")
        assert said(await talk.ask("say Hello")) == "Hello"


async def test_junk_on_stdout_is_told_once_and_harms_nothing(tmp_path: Path) -> None:
    async with talking(tmp_path, "junk") as talk:
        received = await talk.ask("junk", "junk")
        assert said(received) == "still herestill here"
        assert said(received, "system").count("no message of the protocol") == 1


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with talking(tmp_path, settings={"command": "no-such-program-at-all"}) as talk:
        received = await talk.ask("say Hello")
        assert outcomes(received) == ["failed"]
        assert "no-such-program-at-all" in said(received, "system")


async def test_a_known_agent_that_is_not_installed_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    async with talking(tmp_path) as talk:
        received = await answer(talk.client, "hello", agent="codex")
        assert "npm install -g @agentclientprotocol/codex-acp" in said(received, "system")
        assert "codex" not in talk.host.current.resolved.list_selectable()
        assert "fake" in talk.host.current.resolved.list_selectable()


async def test_nothing_starts_before_the_first_prompt_and_an_idle_agent_ends(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        assert not talk.frames.exists()
        talk.host.outside_agents.idle_seconds = 0.0
        pid = int(said(await talk.ask("pid")))
        assert await asyncio.to_thread(have_ended, pid)
        talk.host.outside_agents.idle_seconds = outside_agents.IDLE_SECONDS
        assert said(await talk.ask("say Hello")) == "Hello"
        assert len(talk.list_frames("client", "session/resume")) == 1


async def test_a_session_goes_on_after_a_restart_with_what_is_new(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        assert said(await talk.ask("say one")) == "one"
        session = talk.list_frames("agent", "session/update")[0]["params"]["sessionId"]
    async with talking(tmp_path) as talk:
        assert said(await talk.ask("say two")) == "two"
        assert [frame["params"]["sessionId"] for frame in talk.list_frames("client", "session/resume")] == [session]
        prompts = [frame["params"]["prompt"] for frame in talk.list_frames("client", "session/prompt")]
        assert prompts[-1] == [{"type": "text", "text": "DO: say two"}]


async def test_a_copy_of_a_chat_does_not_share_the_session(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("say The first answer")
        message = next(
            item.content for item in received if item.role == "user" and isinstance(item.content, TextContent)
        )
        await talk.host.chat_operations.fork("chat", str(message.content_id), "copy")
    async with talking(tmp_path) as talk:
        received = await answer(talk.client, "And now?", chat="copy", agent="fake")
        assert "The first answer" in said(received)  # handed over as text
        assert talk.list_frames("client", "session/resume") == []
        assert len(talk.list_frames("client", "session/new")) == 2


async def test_a_session_that_the_agent_has_forgotten_begins_anew_with_the_end_of_the_chat(tmp_path: Path) -> None:
    async with talking(tmp_path, "forgets") as talk:
        await talk.ask("say The first answer")
        talk.host.outside_agents.close()
        received = await answer(talk.client, "And now?", agent="fake")
        assert "The first answer" in said(received)
        assert "could not go on" in said(received, "system")


async def test_a_loaded_session_shows_nothing_twice(tmp_path: Path) -> None:
    async with talking(tmp_path, "no resume") as talk:
        await talk.ask("say one")
        talk.host.outside_agents.close()
        assert said(await talk.ask("say two")) == "two"
        assert len(talk.list_frames("client", "session/load")) == 1


async def test_the_agent_gets_no_tokens_of_ours_and_the_variables_of_its_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("JUPYTER_TOKEN", "JUPYTERHUB_API_TOKEN", "CLAUDECODE", "NODE_OPTIONS"):
        monkeypatch.setenv(name, "of ours")
    async with talking(tmp_path, settings={"env": {"HOUSE": "theirs"}}) as talk:
        steps = [f"environment {name}" for name in ("JUPYTER_TOKEN", "JUPYTERHUB_API_TOKEN", "CLAUDECODE", "HOUSE")]
        assert said(await talk.ask(*steps)) == "(not set)(not set)(not set)theirs"


async def test_a_mode_is_set_and_one_that_does_not_ask_is_named(tmp_path: Path) -> None:
    async with talking(tmp_path, settings={"mode": "bypass"}) as talk:
        received = await talk.ask("where")
        assert "in bypass" in said(received)
        assert "'bypass'" in said(received, "system")


async def test_a_mode_that_the_agent_does_not_have_is_refused(tmp_path: Path) -> None:
    async with talking(tmp_path, settings={"mode": "careful"}) as talk:
        assert "auto, bypass, default" in said(await talk.ask("where"), "system")


async def test_a_change_of_the_mode_by_the_agent_is_shown(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        assert "'bypass'" in said(await talk.ask("mode bypass", "say x"), "system")


async def test_an_answer_cannot_be_approved_after_a_stop(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await stop_when(talk, "DO: opencode_write a.txt")
        call = next(item.content.id for item in received if isinstance(item.content, ToolCallRunContent))
        await talk.client.decide("chat", call, CallDecision(True))
        assert said(await talk.ask("say Hello")) == "Hello"
        assert not (tmp_path / "a.txt").exists()


async def test_the_agent_of_a_deleted_chat_ends(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        pid = int(said(await talk.ask("pid")))
        await talk.host.chat_operations.delete("chat")
        assert await asyncio.to_thread(have_ended, pid)


async def test_an_agent_does_not_remember_what_was_rolled_back(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("say The first answer")
        second = await talk.ask("say A secret")
        message = next(item.content for item in second if item.role == "user" and isinstance(item.content, TextContent))
        await talk.host.chat_operations.rollback("chat", str(message.content_id), messages=True, files=False)
    async with talking(tmp_path) as talk:  # nor after a restart
        received = await answer(talk.client, "And now?", agent="fake")
        assert "The first answer" in said(received)
        assert "secret" not in said(received)
        assert talk.list_frames("client", "session/resume") == []
