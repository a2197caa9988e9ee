"""A rule that is not written yet is tried on the calls of earlier turns: what it would do, and what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.approval.policy import Decision
from jupyter_eca.engine.approval.reason import describe_cause
from jupyter_eca.protocol.approval import ApprovalsTryParams, ApprovalsTryResult
from jupyter_eca.protocol.content import Cause
from jupyter_eca.transport.eca_client import CallDecision
from tests.fronts.eca.test_approvals import RULES, answer
from tests.fronts.eca.test_notebook_rules import BOOK, OTHER, ask, open_books, without_allow_rules
from tests.support.host_and_client import desk
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio

ALLOW_SHELL: dict[str, Any] = {"decision": "allow", "rule": "shell_command", "argsMatchers": {}}
ECHO_A_B = {"argsMatchers": {"command": [r"echo a\.b"]}}


async def attempt(client: RawClient, rule: dict[str, Any], **more: Any) -> list[tuple[str, bool, str, str]]:
    """Try a rule. Return for each call what it does, whether the rule selects it, what would happen, what happened."""
    calls = (await client.result("approvals/try", {**rule, **more}))["calls"]
    return [(call["summary"], call["selected"], call["decision"], call["happened"]) for call in calls]


async def test_a_rule_is_tried_on_the_newest_calls_of_its_tool_and_nothing_is_written(tmp_path: Path) -> None:
    async with open_books(tmp_path) as (_, client):
        assert await attempt(client, ALLOW_SHELL) == []
        await ask(client, "look", "")
        await ask(client, "other", "", chat="another")
        await ask(client, "write", "")
        rules = (await client.result("approvals/list", {}))["rules"]
        assert await attempt(client, ALLOW_SHELL, **ECHO_A_B) == [
            ("Running echo a-b", False, "ask", "approved"),
            ("Running echo a.b", True, "allow", "approved"),
        ]
        forbidden = [
            (selected, decision)
            for _, selected, decision, _ in await attempt(client, {**ALLOW_SHELL, "decision": "deny"})
        ]
        assert forbidden == [(True, "deny"), (True, "deny")]
        assert (await client.result("approvals/list", {}))["rules"] == rules
        assert await ask(client, "look", "")  # as before


async def test_what_happened_to_a_call_is_told_with_the_rule_that_would_decide(tmp_path: Path) -> None:
    deny: dict[str, Any] = {
        "toolCall": {"approval": {"deny": {"shell_command": {"argsMatchers": {"command": [".*-.*"]}}}}}
    }
    async with desk(tmp_path, RULES, **deny) as table:
        client = await table.client()
        await answer(client, "other")  # forbidden
        async for item in client.ask("chat", "look"):
            if getattr(item.content, "manual_approval", False) and item.content.type == "toolCallRun":
                await client.decide("chat", item.content.id, CallDecision(approved=False))
        async with connect_and_initialize(table, chat=True) as raw:
            calls = (await raw.result("approvals/try", ALLOW_SHELL))["calls"]
            assert [(call["decision"], call["happened"]) for call in calls] == [
                ("allow", "rejected"),
                ("deny", "forbidden"),
            ]
            assert calls[1]["cause"] == {"kind": "rule", "rule": "shell_command"}
            assert calls[1]["selected"]  # but the rule that forbids comes first


async def test_a_changed_rule_is_tried_without_the_rule_that_it_replaces(tmp_path: Path) -> None:
    allowed: dict[str, Any] = {"toolCall": {"approval": {"allow": {"shell_command": {}}}}}
    async with open_books(tmp_path, **allowed) as (_, client):
        await ask(client, "look", "")
        await ask(client, "other", "")
        narrower = {**ALLOW_SHELL, **ECHO_A_B}
        assert [call[2:] for call in await attempt(client, narrower)] == [("allow", "unasked"), ("allow", "unasked")]
        tried = await attempt(client, narrower, old=ALLOW_SHELL)
        assert [call[2:] for call in tried] == [("ask", "unasked"), ("allow", "unasked")]


async def test_a_rule_of_a_notebook_is_tried_on_what_was_asked_there(tmp_path: Path) -> None:
    async with open_books(tmp_path) as (_, client):
        await ask(client, "look", BOOK, chat="first")
        await ask(client, "look", OTHER, chat="second")
        assert [call[2] for call in await attempt(client, ALLOW_SHELL, notebook=BOOK)] == ["allow"]
        assert [call[2] for call in await attempt(client, {**ALLOW_SHELL, "rule": "run_code"})] == []
        await client.result("approvals/add", {**ALLOW_SHELL, "notebook": BOOK})
        old = {**ALLOW_SHELL, "notebook": BOOK}
        assert [
            call[2] for call in await attempt(client, {**ALLOW_SHELL, "decision": "ask"}, notebook=BOOK, old=old)
        ] == ["ask"]


async def test_the_reason_names_the_notebook_whose_rule_decides(tmp_path: Path) -> None:
    async with open_books(tmp_path) as (_, client):
        await ask(client, "look", BOOK)
        await client.result("approvals/add", {**ALLOW_SHELL, "notebook": BOOK})
        elsewhere = {**ALLOW_SHELL, "argsMatchers": {"command": ["ls"]}}
        (call,) = (await client.result("approvals/try", elsewhere))["calls"]
        assert call["cause"] == {"kind": "rule", "rule": "shell_command", "notebook": BOOK}
        cause = Cause.model_validate(call["cause"])
        assert BOOK in describe_cause(Decision.ALLOW, cause)


async def test_a_call_that_changes_what_may_run_is_asked_about_whatever_the_rule_says(tmp_path: Path) -> None:
    path = ".eca/config.json"
    rules = [{"message": "protected", "reply": [{"tool": "write_file", "arguments": {"path": path, "content": "{}"}}]}]
    async with desk(tmp_path, [*RULES, *rules]) as table, connect_and_initialize(table, chat=True) as client:
        await ask(client, "protected", "")
        calls = (await client.result("approvals/try", {**ALLOW_SHELL, "rule": "write_file"}))["calls"]
        assert [(call["decision"], call["selected"], call["cause"]["kind"]) for call in calls] == [
            ("ask", True, "protected")
        ]


async def test_a_rule_that_could_not_be_written_is_not_tried(tmp_path: Path) -> None:
    async with open_books(tmp_path) as (table, client):
        assert await client.code("approvals/try", {**ALLOW_SHELL, "argsMatchers": {"command": ["("]}}) is not None
        await table.host.configure(without_allow_rules(table))
        assert await client.code("approvals/try", ALLOW_SHELL) is not None


async def test_the_code_of_a_cell_tries_no_rule_on_the_calls_of_other_chats(tmp_path: Path) -> None:
    async with open_books(tmp_path) as (table, client):
        await ask(client, "look", BOOK)
        stranger = await table.client(sees_all_chats=False)
        params = ApprovalsTryParams.model_validate(ALLOW_SHELL)
        assert (await stranger.request("approvals/try", params, ApprovalsTryResult)).calls == ()
