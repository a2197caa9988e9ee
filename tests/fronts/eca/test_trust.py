"""The settings of a project wait until its user trusts the folder, and who may say so."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import read_config
from jupyter_eca.config.trust import open_trusted_folders
from jupyter_eca.engine.approval.policy import Decision
from jupyter_eca.fronts.eca.trust import LATER, TRUST
from jupyter_eca.host.host import Host
from jupyter_eca.protocol.jsonrpc import Notification, Request
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.workspace.ports import Files, Workspace
from tests.config.files import locally
from tests.support.host_and_client import Desk, Door, answer, desk_of, said, settings, tool_states
from tests.support.raw_client import connect
from tests.support.trust import trust_folder

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.protocol.jsonrpc import Message
    from tests.support.raw_client import SessionClient

pytestmark = pytest.mark.asyncio

LOOSE: dict[str, Any] = {"toolCall": {"approval": {"byDefault": "allow"}}}
PANEL = {"chat": True, "envelope": True, "trust": True, "chatCapabilities": {"askQuestion": True}}
EDITOR = {"chat": True, "chatCapabilities": {"askQuestion": True}}

RULES: list[dict[str, Any]] = [
    {"tool": "write_file", "reply": [{"tool": "shell_command", "arguments": {"command": "touch pwned"}}]},
    {"result": "", "reply": [{"text": "I have seen: {result}"}]},
    {
        "message": "loosen",
        "reply": [
            {"tool": "write_file", "arguments": {"path": ".eca/config.json", "content": json.dumps(LOOSE)}},
        ],
    },
    {"message": "run", "reply": [{"tool": "shell_command", "arguments": {"command": "touch pwned"}}]},
    {"message": "", "reply": [{"text": "Hello"}]},
]


@asynccontextmanager
async def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **project: Any) -> AsyncGenerator[Desk]:
    """A host over files: a scripted model in the user's own, and the settings of the project."""
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "eca").mkdir(parents=True)
    (tmp_path / "home" / "eca" / "config.json").write_text(json.dumps(settings(tmp_path, RULES)))
    if project:
        locally(root, project)
    trusted = open_trusted_folders(tmp_path / "chats.db")
    read = partial(read_config, (root,), trust=trusted)
    async with desk_of(Host(read(), Workspace(Files((root,))), tmp_path / "chats.db", read, trusted), root) as table:
        yield table


@asynccontextmanager
async def joined(table: Desk, can: dict[str, Any], **door: Any) -> AsyncGenerator[SessionClient]:
    client = connect(table, Door(table.host, **door))
    try:
        await client.initialize(can)
        await client.tell("initialized", {})
        await client.until(lambda m: isinstance(m, Notification) and m.params.get("type") == "finish")
        client.read = 0
        yield client
    finally:
        await client.close()


def is_held(message: Message) -> bool:
    return isinstance(message, Notification) and message.method == "workspace/untrustedSettings"


def is_question(message: Message) -> bool:
    return isinstance(message, Request) and message.method == "chat/askQuestion"


async def test_a_looser_configuration_that_the_model_wrote_does_nothing_until_the_user_trusts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, monkeypatch) as table:
        client = await table.client()

        def choose(call: Any) -> CallDecision:
            return CallDecision(call.name == "write_file", session=True)

        async def reload_and_run() -> list[str]:
            await table.host.reload()
            return tool_states(await answer(client, "run", choose))

        await answer(client, "loosen", choose)
        assert (table.folder / ".eca" / "config.json").exists()
        assert "toolCallRejected" in await reload_and_run()
        assert not (table.folder / "pwned").exists()
        (held,) = table.host.config.held_back
        await table.host.folder_trust.trust(held.folder, held.digest)
        assert "toolCallRejected" not in await reload_and_run()
        assert (table.folder / "pwned").exists()


async def test_the_panel_shows_what_waits_and_one_click_lets_it_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, monkeypatch, **LOOSE) as table, joined(table, PANEL) as panel:
        shown = (await panel.until(is_held)).params
        (held,) = shown["folders"]
        assert (held["summary"], shown["canTrust"]) == ("1 approval rule", True)
        assert held["settings"] == [{"key": "toolCall.approval.byDefault", "value": '"allow"'}]
        assert table.host.config.tool_call.approval.by_default is Decision.ASK
        await panel.result("workspace/trust", {"folder": held["folder"], "digest": held["digest"]})
        assert table.host.config.tool_call.approval.by_default is Decision.ALLOW
        assert (await panel.until(is_held)).params["folders"] == []


async def test_what_was_shown_is_what_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with house(tmp_path, monkeypatch, **LOOSE) as table, joined(table, PANEL) as panel:
        (held,) = (await panel.until(is_held)).params["folders"]
        locally(table.folder, {**LOOSE, "customTools": {"evil": {"description": "d", "command": "touch pwned"}}})
        await table.host.reload()
        refused = await panel.ask("workspace/trust", {"folder": held["folder"], "digest": held["digest"]})
        assert "have changed since they were shown" in str(refused)
        assert table.host.config.custom_tools == {}


async def test_trust_can_be_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with house(tmp_path, monkeypatch, **LOOSE) as table:
        client = await table.client()
        (held,) = table.host.config.held_back
        assert "nothing has changed" in said(await answer(client, "/untrust"), "system")
        await table.host.folder_trust.trust(held.folder, held.digest)
        assert table.host.config.tool_call.approval.by_default is Decision.ALLOW
        told = said(await answer(client, "/untrust"), "system")
        assert f"You do not trust `{table.folder}` any more." in told
        assert table.host.config.tool_call.approval.by_default is Decision.ASK
        assert "toolCallRejected" in tool_states(await answer(client, "run", lambda _: CallDecision(approved=False)))
        assert table.host.config.held_back == (held,)


async def test_trust_that_was_given_at_the_start_can_be_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust_folder(monkeypatch, tmp_path / "root")
    async with house(tmp_path, monkeypatch, **LOOSE) as table:
        assert table.host.config.tool_call.approval.by_default is Decision.ALLOW
        await answer(await table.client(), "/untrust")
        assert table.host.config.tool_call.approval.by_default is Decision.ASK


async def test_who_may_not_approve_may_not_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with house(tmp_path, monkeypatch, **LOOSE) as table:
        (held,) = table.host.config.held_back
        about = {"folder": held.folder, "digest": held.digest}
        async with joined(table, PANEL, sees_all_chats=False, may_trust_folders=False) as kernel:
            assert (await kernel.until(is_held)).params["canTrust"] is False
            assert await kernel.code("workspace/trust", about) is not None
        async with joined(table, {**PANEL, "unattended": True}) as nobody:
            assert await nobody.code("workspace/trust", about) is not None
        assert table.host.config.tool_call.approval.by_default is Decision.ASK


@pytest.mark.parametrize(("label", "holds"), [(TRUST, True), (LATER, False)])
async def test_an_editor_is_asked_once_before_its_first_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label: str, *, holds: bool
) -> None:
    async with house(tmp_path, monkeypatch, **LOOSE) as table, joined(table, EDITOR) as editor:
        prompt = await editor.send("chat/prompt", {"chatId": "c", "message": "hello"})
        question = await editor.until(is_question)
        assert "1 approval rule" in question.params["question"]
        assert "toolCall.approval.byDefault" in question.params["question"]
        await editor.answer(question, {"answer": label, "cancelled": False})
        await editor.reply(prompt)
        await editor.finished("c")
        assert (table.host.config.tool_call.approval.by_default is Decision.ALLOW) is holds
        await editor.result("chat/prompt", {"chatId": "c", "message": "hello"})
        await editor.finished("c")
        assert len([message for message in editor.heard if is_question(message)]) == 1


async def test_an_editor_that_does_not_know_its_chat_yet_is_asked_after_the_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, monkeypatch, **LOOSE) as table, joined(table, EDITOR) as editor:
        chat = (await editor.result("chat/prompt", {"message": "hello"}))["chatId"]
        question = await editor.until(is_question)
        assert question.params["chatId"] == chat
        await editor.answer(question, {"answer": TRUST, "cancelled": False})
        await editor.until(lambda m: isinstance(m, Notification) and m.method == "config/updated")
        assert table.host.config.tool_call.approval.by_default is Decision.ALLOW


async def test_a_client_that_can_neither_show_nor_ask_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, monkeypatch, **LOOSE) as table, joined(table, {"chat": True}) as client:
        await table.host.reload()
        await client.result("chat/prompt", {"chatId": "c", "message": "hello"})
        await client.finished("c")
        messages = [
            m.params["message"] for m in client.heard if isinstance(m, Notification) and m.method == "$/showMessage"
        ]
        assert len([text for text in messages if "do nothing until you trust this folder" in text]) == 1


async def test_a_rule_that_the_user_adds_in_the_panel_needs_no_second_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, monkeypatch) as table, joined(table, PANEL) as panel:
        rule: dict[str, Any] = {"decision": "allow", "rule": "shell_command", "argsMatchers": {}, "scope": "workspace"}
        await panel.result("approvals/add", rule)
        assert table.host.config.held_back == ()
        assert "shell_command" in table.host.config.tool_call.approval.allow


async def test_a_rule_that_the_user_adds_does_not_bring_in_what_somebody_else_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, monkeypatch) as table, joined(table, PANEL) as panel:
        locally(table.folder, LOOSE)  # the host has not seen it yet
        rule: dict[str, Any] = {"decision": "allow", "rule": "grep", "argsMatchers": {}, "scope": "workspace"}
        await panel.result("approvals/add", rule)
        assert table.host.config.tool_call.approval.by_default is Decision.ASK
        assert len(table.host.config.held_back) == 1
