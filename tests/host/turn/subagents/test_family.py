"""What a subagent has from its parent, at every moment: trust, what was approved, the people who approve, the bill."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.chat.recording import record_replies
from jupyter_eca.host.chat.live_chat import Choice
from jupyter_eca.protocol.content import ToolCallRejectedContent, ToolCallRunContent, UsageContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.host.turn.subagents.family import children, house, mine, result, results, spawn
from tests.support.host_and_client import PATIENCE, Notebook, answer, outcomes, said, tool_states

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams as Received

pytestmark = pytest.mark.asyncio

RUN: dict[str, Any] = {"tool": "run_code", "arguments": {"code": "x = 1"}}
RULES: list[dict[str, Any]] = [
    {"message": "share it", "reply": [spawn("general", "the part")]},
    {"message": "the part", "reply": [RUN]},
    {"result": "rejected", "tool": "run_code", "reply": [{"text": "I went on without it."}]},
    {"result": "", "tool": "run_code", "reply": [{"text": "Ran."}]},
    {"result": "", "tool": "spawn_agent", "reply": [{"text": "Back."}]},
]
APPROVED = CallDecision(approved=True)


async def test_a_call_of_a_subagent_is_approved_by_the_parents_people(tmp_path: Path) -> None:
    notebook = Notebook()
    async with house(tmp_path, RULES) as table:
        received = await answer(await table.client(notebook), "share it", lambda _: APPROVED)
    assert notebook.ran == ["x = 1"]
    assert result(received) == "## Agent 'general' Result\n\nRan."


async def test_a_rejection_in_a_subagent_is_told_to_it_and_it_goes_on(tmp_path: Path) -> None:
    notebook = Notebook()
    async with house(tmp_path, RULES) as table:
        received = await answer(await table.client(notebook), "share it", lambda _: CallDecision(approved=False))
    rejected = [one for one in received if isinstance(one.content, ToolCallRejectedContent)]
    assert [one.parent_chat_id for one in rejected] == ["chat"]
    assert notebook.ran == []
    assert result(received) == "## Agent 'general' Result\n\nI went on without it."


async def test_where_nobody_can_approve_a_subagents_call_does_not_run(tmp_path: Path) -> None:
    notebook = Notebook()
    async with house(tmp_path, RULES) as table:
        received = await answer(await table.client(notebook, unattended=True), "share it")
    reasons = [one.content.reason for one in received if isinstance(one.content, ToolCallRejectedContent)]
    assert reasons == ["nobody-to-ask"]
    assert outcomes(mine(received)) == ["completed"]


async def test_trust_that_is_given_meanwhile_holds_for_a_running_subagent(tmp_path: Path) -> None:
    rules = [
        *RULES[:1],
        {"message": "the part", "reply": [{"tool": "directory_tree", "arguments": {"path": "."}}]},
        {"result": "", "tool": "directory_tree", "reply": [RUN]},
        *RULES[2:],
    ]
    notebook = Notebook()
    async with house(tmp_path, rules) as table:
        client = await table.client(notebook)
        received: list[Received] = []
        async with asyncio.timeout(PATIENCE):
            async for item in client.ask("chat", "share it"):
                received.append(item)
                if item.parent_chat_id and tool_states([item]) == ["toolCallPrepare"]:
                    table.host.turns.choose("chat", Choice(trust=True))
    asked = [one.content.manual_approval for one in received if isinstance(one.content, ToolCallRunContent)]
    assert True not in asked
    assert notebook.ran == ["x = 1"]


async def test_a_message_of_the_user_reaches_the_subagent_that_works_and_then_the_parent(tmp_path: Path) -> None:
    heard: list[dict[str, Any]] = [
        {"message": "The user has written this to the agent", "reply": [{"text": "Then only the half."}]},
        {"message": "only the half", "reply": [{"text": "The half is done."}]},
    ]
    notebook = Notebook(hold=asyncio.Event())
    async with house(tmp_path, [*heard, *RULES], "run_code") as table:
        client = await table.client(notebook)
        asking = asyncio.ensure_future(answer(client, "share it"))
        await notebook.started.wait()
        table.host.turns.steer("chat", "Do only the half")
        assert notebook.hold is not None
        notebook.hold.set()
        received = await asking
        (child,) = children(received)
        read = [message.text for message in (await table.host.chats.load(child)).state.history]
    assert result(received) == "## Agent 'general' Result\n\nThen only the half."
    assert said(mine(received)) == "The half is done."
    assert any(text.startswith("Do only the half\n\n(The user has written this") for text in read)


async def test_what_is_approved_for_the_session_holds_for_the_whole_family(tmp_path: Path) -> None:
    rules = [
        {"message": "share it", "reply": [spawn("general", "the part, first")]},
        {"result": "Ran", "tool": "spawn_agent", "times": 1, "reply": [spawn("general", "the part, second")]},
        *RULES[1:4],
        {"result": "", "tool": "spawn_agent", "reply": [RUN]},
        {"result": "", "reply": [{"text": "Back."}]},
    ]
    asked: list[str] = []

    def once(call: ToolCallRunContent) -> CallDecision:
        asked.append(call.name)
        return CallDecision(approved=True, session=True)

    async with house(tmp_path, rules) as table:
        notebook = Notebook()
        received = await answer(await table.client(notebook), "share it", once)
    assert asked == ["run_code"]
    assert len(notebook.ran) == 3
    assert len(results(received)) == 2


async def test_what_subagents_use_is_on_the_parents_bill(tmp_path: Path) -> None:
    async with house(tmp_path, RULES, "run_code") as table:
        client = await table.client(Notebook())
        received = await answer(client, "share it")
        bill = said(await answer(client, "/costs"), "system")
    usages = [one.content for one in mine(received) if isinstance(one.content, UsageContent)]
    of_child = [one.content for one in received if one.parent_chat_id and isinstance(one.content, UsageContent)]
    assert len(of_child) == 2
    assert len(usages) == 4
    tokens = sum(one.message_input_tokens for one in usages)
    assert sum(one.message_input_tokens for one in of_child) < tokens
    assert f"| This chat | 0.00 USD | 4 | {tokens:,} |" in bill
    assert f"| This session | 0.00 USD | 4 | {tokens:,} |" in bill


async def test_a_subagent_has_neither_spawn_agent_nor_task_nor_ask_user(tmp_path: Path) -> None:
    async with house(tmp_path, RULES, "run_code") as table:
        (id,) = children(await answer(await table.client(Notebook()), "share it"))
        parent, child = table.host.chats.get_live("chat"), table.host.chats.get_live(id)
    assert parent is not None
    assert child is not None
    offered = {tool.name: tool.description for tool in parent.state.setup.tools}
    names = {tool.name for tool in child.state.setup.tools}
    assert "task" in offered
    assert "- explorer: Finds files" in offered["spawn_agent"]
    assert names.isdisjoint({"spawn_agent", "task", "ask_user"})
    assert "run_code" in names
    assert "You are a subagent" in child.state.setup.system


async def test_what_subagents_use_is_no_part_of_a_recorded_reply(tmp_path: Path) -> None:
    both = {"message": "share it", "reply": [spawn("general", "the part"), spawn("general", "the part")]}
    async with house(tmp_path, [both, *RULES[1:]], "run_code") as table:
        received = await answer(await table.client(Notebook()), "share it")
        first, last = record_replies(await table.host.chats.read_events("chat"))
    usages = [one.content for one in mine(received) if isinstance(one.content, UsageContent)]
    assert len(usages) == 6
    assert first.usage is not None
    assert last.usage is not None
    assert (first.usage.input, last.usage.input) == (usages[0].message_input_tokens, usages[-1].message_input_tokens)
    assert [len(one.calls) for one in (first, last)] == [2, 0]


async def test_a_subagent_leaves_the_system_prompt_of_its_parent_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    async with house(tmp_path, RULES, "run_code") as table:
        client = await table.client(Notebook())
        await answer(client, "share it")
        (tmp_path / "AGENTS.md").write_text("Use spaces.")
        await answer(client, "share it")
        kept = (await table.host.turns.draft("chat")).system
    assert "Use tabs." in kept
    assert "Use spaces." not in kept
