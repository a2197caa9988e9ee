"""Whole turns, through a client: what an asker sees, whatever goes wrong behind it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol.chats import ChatListParams, ChatListResult, ChatOpenParams, ChatOpenResult
from jupyter_eca.protocol.content import ProgressContent, TextContent, ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.support.host_and_client import PATIENCE, Notebook, answer, desk, outcomes, said, tool_states

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from jupyter_eca.protocol.notebook import KernelExecuteResult

pytestmark = pytest.mark.asyncio

RUN: list[dict[str, Any]] = [
    {"result": "rejected this call(?s:.*)because (?P<why>.*)", "reply": [{"text": "You said: $why"}]},
    {"result": "did not run", "reply": [{"text": "It did not run."}]},
    {"result": "", "reply": [{"text": "Result: {result}"}]},
    {
        "message": "run twice",
        "reply": [{"tool": "run_code", "arguments": {"code": "a"}}, {"tool": "run_code", "arguments": {"code": "b"}}],
    },
    {"message": "run", "reply": [{"text": "Let me. "}, {"tool": "run_code", "arguments": {"code": "x = 1"}}]},
    {"message": "slow", "reply": [{"text": "one "}, {"text": "two " * 500, "chunk": 4, "delay": 0.01}]},
    {"message": "break", "reply": [{"text": "Half an "}, {"error": "The endpoint broke off. Ask again."}]},
    {"message": "", "reply": [{"text": "Hello, {message}", "chunk": 3}]},
]


def yes(_call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


async def test_an_answer_streams_and_ends_with_one_outcome(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        received = await answer(await table.client(), "you")
        assert said(received) == "Hello, you"
        assert outcomes(received) == ["completed"]
        assert isinstance(received[-1].content, ProgressContent)


async def test_an_approved_tool_call_runs_in_the_kernel_that_asked(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        mine, other = Notebook(), Notebook()
        await table.client(other)
        received = await answer(await table.client(mine), "run", yes)
        assert tool_states(received) == ["toolCallPrepare", "toolCallRun", "toolCallRunning", "toolCalled"]
        assert (mine.ran, other.ran) == (["x = 1"], [])
        assert said(received) == "Let me. Result: ran x = 1"


async def test_whoever_runs_code_has_been_told_that_it_runs_before_it_blocks_them(tmp_path: Path) -> None:
    told: list[ChatContentReceivedParams] = []
    before: list[str] = []

    class Blocked(Notebook):
        async def execute(self, code: str) -> KernelExecuteResult:
            before.extend(tool_states(told))
            return await super().execute(code)

    async with desk(tmp_path, RUN) as table:
        client = await table.client(Blocked())
        async with asyncio.timeout(PATIENCE):
            async for received in client.ask("chat", "run"):
                told.append(received)
                if isinstance(received.content, ToolCallRunContent):
                    await client.decide("chat", received.content.id, CallDecision(approved=True))
    assert before == ["toolCallPrepare", "toolCallRun", "toolCallRunning"]


async def test_a_rejected_tool_call_tells_the_model_why_it_did_not_run(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        notebook = Notebook()
        reject = CallDecision(approved=False, reason="because it is late")
        received = await answer(await table.client(notebook), "run", lambda _: reject)
        assert notebook.ran == []
        assert tool_states(received)[-1] == "toolCallRejected"
        assert said(received) == "Let me. You said: it is late"


async def test_approving_for_the_session_asks_no_second_time_in_that_chat(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        client = await table.client(Notebook())
        await answer(client, "run", lambda _: CallDecision(approved=True, session=True))
        received = await answer(client, "run")
        assert "Result" in said(received)
        asked: list[ToolCallRunContent] = []

        def ask(call: ToolCallRunContent) -> CallDecision:
            asked.append(call)
            return CallDecision(approved=True)

        await answer(client, "run", ask, chat="another")
        assert len(asked) == 1


async def test_one_undecided_approval_hides_none_of_the_others(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        client = await table.client(Notebook())
        waiting: list[str] = []
        both = asyncio.Event()

        def decide_when_both_are_known(call: ToolCallRunContent) -> None:
            waiting.append(call.id)
            if len(waiting) == 2:
                both.set()

        turn = asyncio.create_task(answer(client, "run twice", decide_when_both_are_known))
        await asyncio.wait_for(both.wait(), PATIENCE)
        for call in reversed(waiting):
            await client.decide("chat", call, CallDecision(approved=True))
        assert outcomes(await turn) == ["completed"]


async def test_with_nobody_there_a_call_that_needs_approval_is_denied(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        notebook = Notebook()
        received = await answer(await table.client(notebook, unattended=True), "run")
        assert notebook.ran == []
        assert said(received) == "Let me. It did not run."


async def test_when_the_last_approver_leaves_a_waiting_call_is_denied_and_the_turn_ends(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        table.host.unattended_calls.grace = 0.0
        asker, other = await table.client(Notebook()), await table.client(unattended=True)
        heard: list[ChatContentReceivedParams] = []
        ended = asyncio.Event()

        def hear(item: ChatContentReceivedParams) -> None:
            heard.append(item)
            if item.outcome is not None:
                ended.set()

        other.listen("chat", hear)
        async with asyncio.timeout(PATIENCE):
            async for item in asker.ask("chat", "run"):
                if isinstance(item.content, ToolCallRunContent):
                    break
            await asker.close()
            await ended.wait()
        assert "It did not run." in said(heard)


async def test_a_waiting_call_is_still_there_for_whoever_comes_back(tmp_path: Path) -> None:
    notebook = Notebook()
    async with desk(tmp_path, RUN) as table:
        first = await table.client(notebook)
        async with asyncio.timeout(PATIENCE):
            async for item in first.ask("chat", "run"):
                if isinstance(item.content, ToolCallRunContent):
                    break
            await first.close()
            back = await table.client(notebook)
            heard: list[ChatContentReceivedParams] = []
            ended = asyncio.Event()

            def hear(item: ChatContentReceivedParams) -> None:
                heard.append(item)
                if item.outcome is not None:
                    ended.set()

            back.listen("chat", hear)
            await back.request("chat/open", ChatOpenParams(chat_id="chat"), ChatOpenResult)
            (waiting,) = [r.content for r in heard if isinstance(r.content, ToolCallRunContent)]
            await back.decide("chat", waiting.id, CallDecision(approved=True))
            await ended.wait()
        assert "toolCalled" in tool_states(heard)


async def test_a_prompt_in_a_busy_chat_is_refused_and_the_running_answer_goes_on(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        client, second = await table.client(), await table.client()
        received: list[Any] = []
        async with asyncio.timeout(PATIENCE):
            async for item in client.ask("chat", "slow"):
                received.append(item)
                if item.content == TextContent(text="one "):
                    with pytest.raises(RemoteError, match="still answering"):
                        await answer(second, "me too")
                    await client.stop("chat")
        assert outcomes(received) == ["stopped"]


async def test_stop_ends_the_turn_and_the_chat_takes_the_next_prompt(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        client = await table.client()
        async with asyncio.timeout(PATIENCE):
            async for item in client.ask("chat", "slow"):
                if isinstance(item.content, TextContent) and item.role == "assistant":
                    await client.stop("chat")
        assert said(await answer(client, "again")) == "Hello, again"


async def test_stop_while_a_tool_runs_ends_the_tool_and_the_turn(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        notebook = Notebook(hold=asyncio.Event())
        client = await table.client(notebook)
        turn = asyncio.create_task(answer(client, "run", yes))
        await asyncio.wait_for(notebook.started.wait(), PATIENCE)
        await client.stop("chat")
        received = await turn
        assert tool_states(received)[-1] == "toolCalled"
        assert outcomes(received) == ["stopped"]
        assert notebook.hold is not None
        notebook.hold.set()


async def test_a_stream_that_breaks_off_keeps_what_was_said_and_says_so(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        received = await answer(await table.client(), "break")
        assert said(received) == "Half an "
        assert said(received, "system") == "The endpoint broke off. Ask again."
        assert outcomes(received) == ["failed"]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("nowhere/x", "There is no provider 'nowhere'"),
        ("scripted/other", "There is no script for scripted/other"),
        ("just-a-name", "is not a model"),
    ],
)
async def test_an_unknown_model_ends_in_one_message_that_says_what_to_do(
    tmp_path: Path, model: str, words: str
) -> None:
    async with desk(tmp_path, RUN) as table:
        received = await answer(await table.client(), "hi", model=model)
        assert words in said(received, "system")
        assert outcomes(received) == ["failed"]


async def test_a_chat_opens_again_in_a_new_server_with_all_that_was_said(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        before = await answer(await table.client(Notebook()), "run", yes)
    async with desk(tmp_path, RUN) as table:
        client = await table.client(Notebook())
        after: list[Any] = []
        client.listen("chat", after.append)
        opened = await client.request("chat/open", ChatOpenParams(chat_id="chat"), ChatOpenResult)
        assert (opened.found, opened.title) == (True, "run")
        assert said(after) == said(before)
        assert tool_states(after) == tool_states(before)
        client.listen("chat", None)
        assert said(await answer(client, "you")) == "Hello, you"


async def test_a_chat_nobody_knows_is_not_found(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        client = await table.client()
        opened = await client.request("chat/open", ChatOpenParams(chat_id="nope"), ChatOpenResult)
        assert not opened.found


async def test_plan_mode_runs_no_call_that_changes_anything(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        received = await answer(await table.client(notebook := Notebook()), "run", yes, agent="plan")
        assert notebook.ran == []
        assert "It did not run." in said(received)


async def test_a_kernel_sees_and_touches_only_chats_it_asked_in(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        owner = await table.client()
        await answer(owner, "you", chat="private")
        kernel = await table.client(Notebook(), sees_all_chats=False)
        listed = await kernel.request("chat/list", ChatListParams(), ChatListResult)
        assert listed.chats == ()
        with pytest.raises(RemoteError, match="did not ask in that chat"):
            await kernel.request("chat/open", ChatOpenParams(chat_id="private"), ChatOpenResult)
        with pytest.raises(RemoteError, match="did not ask in that chat"):
            await answer(kernel, "you", chat="private")


async def test_a_front_of_another_package_may_still_call_the_chats_of_a_host(tmp_path: Path) -> None:
    async with desk(tmp_path, RUN) as table:
        await answer(await table.client(), "hello")
        with pytest.warns(DeprecationWarning, match="list_rows"):
            rows = await table.host.chats()
        assert rows == await table.host.chats.list_rows()
        assert [row.id for row in rows] == ["chat"]
