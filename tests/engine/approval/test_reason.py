"""Why a call ran, asked or was forbidden: the rule that decided, for the reader and for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.request import ToolResultPart
from jupyter_eca.fronts.eca.projection import make_content
from jupyter_eca.host import commands
from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.protocol.content import Cause, ToolCallRejectedContent, ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.support.host_and_client import answer, desk

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio

CALLS: list[dict[str, Any]] = [
    {"tool": "read_file", "arguments": {"path": "script.json"}},
    {"tool": "grep", "arguments": {"pattern": "x", "path": "."}},
    {"tool": "directory_tree", "arguments": {"path": "."}},
]
RULES: list[dict[str, Any]] = [
    {"message": "", "reply": CALLS},
    {"result": "", "reply": [{"text": "Done."}]},
]
APPROVAL: dict[str, Any] = {"allow": {"read_file": {}}, "deny": {"directory_tree": {"argsMatchers": {"path": [r"\."]}}}}
CONFIG: dict[str, Any] = {
    "toolCall": {"approval": APPROVAL},
    "agent": {"careful": {"toolCall": {"approval": {"ask": {"grep": {}}, "byDefault": "deny"}}}},
}


def causes(received: list[ChatContentReceivedParams]) -> list[tuple[str, bool, Cause | None]]:
    contents = [one.content for one in received if isinstance(one.content, ToolCallRunContent)]
    return [(content.name, content.manual_approval, content.cause) for content in contents]


def for_session(_: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True, session=True)


async def test_a_call_tells_which_rule_let_it_run_ask_or_forbade_it(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **CONFIG) as table:
        received = await answer(await table.client(), "Look", for_session, agent="careful")
        denied = Cause(kind="rule", rule="directory_tree")
        assert causes(received) == [
            ("read_file", False, Cause(kind="rule", rule="read_file")),
            ("grep", True, Cause(kind="rule", rule="grep", agent="careful")),
            ("directory_tree", False, denied),
        ]
        rejected = [one.content for one in received if isinstance(one.content, ToolCallRejectedContent)]
        assert [content.cause for content in rejected] == [denied]
        parts = [part for message in (await table.host.chats.load("chat")).state.history for part in message.parts]
        told = [part.text for part in parts if isinstance(part, ToolResultPart)]
        assert any(
            text.endswith("(Forbidden by the rule `directory_tree` (`toolCall.approval.deny`).)") for text in told
        )
        again = await answer(await table.client(), "Look", for_session, agent="careful")
        assert causes(again)[1] == ("grep", False, Cause(kind="remembered"))


async def test_a_default_and_trust_are_told_as_what_they_are(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **CONFIG) as table:
        client = await table.client()
        asked = await answer(client, "Look", for_session, agent="code", chat="plain")
        assert causes(asked)[1] == ("grep", True, Cause(kind="default"))
        trusting = table.host.config.chat.model_copy(update={"default_trust": True})
        table.host.current.configure(table.host.config.model_copy(update={"chat": trusting}))
        trusted = await answer(client, "Look", agent="careful", chat="trusting")
        assert causes(trusted)[1] == ("grep", False, Cause(kind="trust", rule="grep", agent="careful"))


async def test_only_a_client_with_the_envelope_is_told_the_cause(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **CONFIG) as table:
        await answer(await table.client(), "Look", for_session)
        events = [e for e in await table.host.chats.read_events("chat") if getattr(e.content, "cause", None)]
    assert {type(event.content) for event in events} == {ToolCallRunContent, ToolCallRejectedContent}
    for event in events:
        assert "cause" in make_content(event, "chat", envelope=True).content.as_json_object()
        assert "cause" not in make_content(event, "chat", envelope=False).content.as_json_object()


async def test_a_command_tells_for_each_tool_what_would_happen_and_why(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **CONFIG) as table:
        await answer(await table.client(), "Look", for_session, agent="careful")
        told = await commands.run(table.host, "chat", "/approvals")
        assert isinstance(told, CommandAnswer)
        assert "What the agent `careful` may do here" in told.text
        assert "| `read_file` | Allowed by the rule `read_file` (`toolCall.approval.allow`) |" in told.text
        assert "| `grep` | Allowed: you have approved it for this session |" in told.text
        tree = "Forbidden: no rule matches it (`byDefault` of the agent `careful`: deny)"
        assert f"| `directory_tree` | {tree}; by its arguments also `directory_tree` (deny) |" in told.text
