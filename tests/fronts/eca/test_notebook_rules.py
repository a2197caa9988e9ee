"""Approval rules of a notebook: they count in what was asked there, are the user's own, and follow the notebook."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host.chat.notebook_rules import NO_RULES
from jupyter_eca.protocol.approval import RuleText
from tests.fronts.eca.test_approvals import RULES, filed, mine
from tests.support.host_and_client import Desk, desk
from tests.support.raw_client import connect_and_initialize, content_params, has

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio

BOOK = "work/sales.ipynb"
OTHER = "work/stock.ipynb"


@asynccontextmanager
async def open_books(folder: Path, **more: Any) -> AsyncGenerator[tuple[Desk, RawClient]]:
    async with desk(folder, RULES, **more) as table, connect_and_initialize(table, chat=True) as client:
        yield table, client


async def ask(client: RawClient, message: str, notebook: str, chat: str = "chat") -> bool:
    """Ask in a notebook. Return whether a call needed approval, which it gets."""
    await client.send("chat/prompt", {"chatId": chat, "message": message, "notebook": notebook})
    has_asked = False

    def matters(message: Any) -> bool:
        params = content_params(message)
        ends = has(params.get("content", {}), {"type": "progress", "state": "finished"})
        waits = has(params.get("content", {}), {"type": "toolCallRun", "manualApproval": True})
        return params.get("chatId") == chat and (ends or waits)

    while (content := (await client.until(matters)).params["content"])["type"] == "toolCallRun":
        has_asked = True
        await client.tell("chat/toolCallApprove", {"chatId": chat, "toolCallId": content["id"]})
    return has_asked


async def propose(client: RawClient, message: str, notebook: str) -> tuple[str, Any]:
    """Ask in a notebook, and return the id of the call that waits and the rule that is proposed for it."""
    await client.send("chat/prompt", {"chatId": "chat", "message": message, "notebook": notebook})
    waiting = await client.content("toolCallRun", manualApproval=True)
    proposed = await client.result("approvals/propose", {"chatId": "chat", "toolCallId": waiting["id"]})
    return waiting["id"], proposed


async def test_always_in_this_notebook_allows_such_calls_there_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        _, proposed = await propose(client, "look", BOOK)
        assert [(place["scope"], place["file"]) for place in proposed["places"]] == [
            ("notebook", BOOK),
            ("workspace", ".eca/config.json"),
            ("global", "~/home/eca/config.json"),
        ]
        assert (await client.result("approvals/add", {**proposed["rule"], "notebook": BOOK})) == {"file": BOOK}
        await client.finished("chat")  # the turn that waited goes on by the new rule
        assert not await ask(client, "look", BOOK)
        assert not await ask(client, "look", BOOK, chat="another")
        assert await ask(client, "look", OTHER)
        assert await ask(client, "look", "")
        listed = (await client.result("approvals/list", {}))["rules"]
        assert [rule for rule in listed if "notebook" in rule] == [
            {**proposed["rule"], "notebook": BOOK, "files": [], "builtIn": False, "own": True}
        ]
        assert not mine(tmp_path).exists()
        assert "toolCall" not in (table.folder / ".eca" / "config.json").read_text()


async def test_a_rule_of_a_notebook_is_changed_and_removed(tmp_path: Path) -> None:
    allow: dict[str, Any] = {"decision": "allow", "rule": "eca__shell_command", "argsMatchers": {}}
    async with open_books(tmp_path) as (_, client):
        await client.result("approvals/add", {**allow, "notebook": BOOK})
        assert not await ask(client, "look", BOOK)
        narrower = {**allow, "argsMatchers": {"command": ["echo other"]}}
        await client.result("approvals/replace", {**narrower, "old": {**allow, "notebook": BOOK}})
        assert await ask(client, "look", BOOK)
        assert await client.code("approvals/remove", {**allow, "notebook": BOOK}) is not None
        await client.result("approvals/remove", {**narrower, "notebook": BOOK})
        assert not any("notebook" in rule for rule in (await client.result("approvals/list", {}))["rules"])
        bad = {**allow, "argsMatchers": {"path": ["("]}, "notebook": BOOK}
        assert await client.code("approvals/add", bad) is not None
        assert await client.code("approvals/add", {**allow, "notebook": "notes.txt"}) is not None


async def test_what_the_configuration_forbids_or_asks_about_stays_so_in_a_notebook(tmp_path: Path) -> None:
    allow: dict[str, Any] = {"decision": "allow", "rule": "eca", "argsMatchers": {}, "notebook": BOOK}
    ask_rule: dict[str, Any] = {
        "toolCall": {
            "approval": {"ask": {"shell_command": {}}, "deny": {"write_file": {"argsMatchers": {"path": ["new.txt"]}}}}
        }
    }
    async with open_books(tmp_path, **ask_rule) as (_, client):
        await client.result("approvals/add", allow)
        assert await ask(client, "look", BOOK)
        await client.send("chat/prompt", {"chatId": "chat", "message": "write", "notebook": BOOK})
        assert (await client.content("toolCallRejected"))["name"] == "write_file"


async def test_a_rule_of_a_notebook_can_forbid(tmp_path: Path) -> None:
    deny: dict[str, Any] = {"decision": "deny", "rule": "shell_command", "argsMatchers": {}, "notebook": BOOK}
    allowed: dict[str, Any] = {"toolCall": {"approval": {"allow": {"shell_command": {}}}}}
    async with open_books(tmp_path, **allowed) as (_, client):
        await client.result("approvals/add", deny)
        await client.send("chat/prompt", {"chatId": "chat", "message": "look", "notebook": BOOK})
        await client.content("toolCallRejected")
        await client.finished("chat")
        assert not await ask(client, "look", OTHER)


async def test_rules_follow_a_moved_notebook_and_outlive_the_server_but_a_copy_has_none(tmp_path: Path) -> None:
    def save(path: Path, id: str) -> None:
        path.parent.mkdir(exist_ok=True)
        metadata = {"jupyter_eca": {"id": id}}
        path.write_text(json.dumps({"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}))

    allow: dict[str, Any] = {"decision": "allow", "rule": "eca__shell_command", "argsMatchers": {}, "notebook": BOOK}
    save(tmp_path / BOOK, "0123456789abcdef")
    async with open_books(tmp_path) as (_, client):
        await client.result("approvals/add", allow)
        assert not await ask(client, "look", BOOK)
        save(tmp_path / OTHER, "0123456789abcdef")
        assert await ask(client, "look", OTHER, chat="copy")
    (tmp_path / OTHER).unlink()
    (tmp_path / BOOK).rename(tmp_path / "work" / "moved.ipynb")
    async with open_books(tmp_path) as (table, client):
        assert not await ask(client, "look", "work/moved.ipynb", chat="later")
        assert await ask(client, "look", BOOK, chat="new")
        await table.host.services.notebook_rules.forget("work")
        assert await ask(client, "look", "work/moved.ipynb", chat="later")


async def test_the_code_of_a_cell_makes_no_rule_and_sees_none(tmp_path: Path) -> None:
    rule = RuleText(decision="allow", rule="eca", notebook=BOOK)
    async with open_books(tmp_path) as (table, client):
        await client.result("approvals/add", rule.as_json_object())
        stranger = await table.client(sees_all_chats=False)
        for method in ("approvals/add", "approvals/remove"):
            with pytest.raises(Exception, match="only a client of the user's"):
                await stranger.request(method, rule, RuleText)
        assert await table.host.services.notebook_rules.read(BOOK) != NO_RULES


async def test_a_policy_without_allow_rules_ignores_those_of_notebooks(tmp_path: Path) -> None:
    allow: dict[str, Any] = {"decision": "allow", "rule": "eca__shell_command", "argsMatchers": {}, "notebook": BOOK}
    async with open_books(tmp_path) as (table, client):
        await client.result("approvals/add", allow)
        assert not await ask(client, "look", BOOK)
        await table.host.configure(without_allow_rules(table))
        assert await ask(client, "look", BOOK)
        assert await client.code("approvals/add", {**allow, "argsMatchers": {"path": ["x"]}}) is not None


def without_allow_rules(table: Desk) -> Any:
    from jupyter_eca.config.policy.applied_policy import AppliedPolicy
    from jupyter_eca.config.policy.document import PolicyDocument

    document = PolicyDocument.model_validate({"features": {"allowRules": "force-off"}})
    policy = AppliedPolicy(documents=(document,))
    return table.host.config.model_copy(update={"policy": policy})
