"""A client of each seed goes through all that its document has, and is sent nothing of another shape than it gives."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from jupyter_eca.protocol.jsonrpc import Notification, Request, Result
from tests.mcp_client.house import raw as mcp
from tests.mcp_client.house import tour_server
from tests.requirements.eca.seat import asked, prompt, told
from tests.requirements.test_eca import TABLE, faults, shapes_in
from tests.support.host_and_client import PATIENCE, desk
from tests.support.raw_client import connect

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.raw_client import MemoryClient

pytestmark = pytest.mark.asyncio

CAN: dict[str, dict[str, Any]] = {
    "001": {"chat": True, "doc": True, "edit": True, "fix": True},
    "000": {"chat": True, "editor": {"diagnostics": True}},
}
WRITE = {"tool": "write_file", "arguments": {"path": "a.txt", "content": "one\n"}}
STORY: list[dict[str, Any]] = [
    {"message": "write", "reply": [{"reasoning": "A file."}, WRITE]},
    {"message": "wrong", "reply": [{**WRITE, "arguments": {"path": "no.txt", "content": "one\n"}}]},
    {"message": "point", "reply": [{"tool": "two__work", "arguments": {}}]},
    {"message": "look", "reply": [{"tool": "editor_diagnostics", "arguments": {}}]},
    {"result": "", "reply": [{"text": "I read: {result}"}]},
    {"message": "", "reply": [{"text": "Hello"}]},
]
DENIED = {"approval": {"deny": {"write_file": {"argsMatchers": {"path": ["no.*"]}}}}}


def of_seed(seed: str) -> dict[str, Any]:
    return TABLE["seeds"][seed]


def said(at: MemoryClient, asked_for: dict[Any, str]) -> list[dict[str, Any]]:
    """What the server said, as the fixtures of the dialects have it."""
    messages: list[dict[str, Any]] = []
    for one in at.heard:
        if isinstance(one, Notification | Request):
            messages.append({"method": one.method, "params": bare(one.params)})
        elif isinstance(one, Result) and one.id in asked_for:
            messages.append({"method": asked_for[one.id], "result": bare(one.result)})
    return messages


def bare(data: Any) -> Any:
    """Without what is the tools' own and could be taken for something of the protocol's."""
    if isinstance(data, list):
        return [bare(item) for item in cast("list[Any]", data)]
    if not isinstance(data, dict):
        return data
    members = cast("dict[str, Any]", data)
    own = {name for name in ("parameters", "arguments") if isinstance(members.get(name), dict)}
    return {name: None if name in own else bare(value) for name, value in members.items()}


async def through_all(at: MemoryClient, seed: str, folder: Path) -> dict[Any, str]:
    """Everything that a client of a seed can do; gives its requests by their ids."""
    asked_for: dict[Any, str] = {}

    async def ask(method: str, params: Any) -> Any:
        asked_for[id := f"{method} {len(asked_for)}"] = method
        reply = await at.ask(method, params, id)
        assert isinstance(reply, Result), reply
        return reply.result

    async def call(message: str, decision: str) -> None:
        await ask("chat/prompt", {"chatId": "c", "message": message, "requestId": "r", "behavior": "agent"})
        run = await at.content("toolCallRun")
        await at.tell(f"chat/toolCall{decision}", {"chatId": "c", "toolCallId": run["id"]})

    hello = {"processId": None, "clientInfo": {"name": "old"}, "capabilities": {"codeAssistant": CAN[seed]}}
    await ask("initialize", {**hello, "workspaceFolders": [{"uri": folder.as_uri(), "name": "here"}]})
    await at.tell("initialized", {})
    async with asyncio.timeout(PATIENCE * 2):
        await told(at, "$/showMessage")
        for name in ("one", "two"):
            while not any(p["status"] == "running" for p in at.params("tool/serverUpdated") if p["name"] == name):
                await told(at, "tool/serverUpdated")
    for decision in ("Approve", "Reject"):
        await call("write", decision)
        await at.finished()
    await prompt(at, "wrong", requestId="r")
    await call("point", "Approve")
    assert await at.content("url") == {"type": "url", "title": "Guide", "url": "https://example.org/guide"}
    await at.finished()
    assert at.contents.count("url") == 1
    if seed == "000":
        await call("look", "Approve")
        await asked(at, "editor/getDiagnostics", {"diagnostics": []})
        await at.finished()
    await ask("chat/queryContext", {"query": "", "contexts": []})
    await ask("chat/queryCommands", {"query": ""})
    await at.tell("mcp/stopServer", {"name": "one"})
    await told(at, "tool/serverUpdated", name="one", status="stopped")
    await at.tell("mcp/startServer", {"name": "one"})
    await told(at, "tool/serverUpdated", name="one", status="running")
    await ask("chat/delete", {"chatId": "c"})
    return asked_for


@pytest.mark.parametrize("seed", CAN)
async def test_all_that_a_client_of_a_seed_is_sent_has_the_shape_of_its_document(tmp_path: Path, seed: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").touch()
    servers = {"one": tour_server(), "two": mcp("points somewhere"), "off": tour_server(disabled=True)}
    more: dict[str, Any] = {"mcpServers": servers, "toolCall": DENIED, "warnings": ["This is not right."]}
    async with desk(tmp_path, STORY, **more) as table:
        at = connect(table)
        sent = said(at, await through_all(at, seed, tmp_path))
        await at.close()
    shapes = {**of_seed(seed), "config/updated params": of_seed("000")["config/updated params"]}
    found = [(shape, data) for message in sent for shape, data in shapes_in(message)]
    assert {shape for shape, _ in found} - shapes.keys() == set()
    wrong = [(shape, fault, data) for shape, data in found for fault in faults(shapes[shape], data)]
    assert wrong == []
    told_by_us = {shape for shape in of_seed(seed) if not shape.endswith(" params") and shape not in CLIENTS}
    assert told_by_us - {shape for shape, _ in found} == set()


# What only a client says.
CLIENTS = {
    "folder", "capabilities", "lines range", "diagnostic", "editor/getDiagnostics result", "context web",
    "context mcpResource", "context cursor",
}  # fmt: skip


@pytest.mark.parametrize("rule", ["ask", "allow"])
async def test_a_call_that_will_have_to_be_approved_says_so_from_its_first_words_on(tmp_path: Path, rule: str) -> None:
    async with desk(tmp_path, STORY, toolCall={"approval": {"byDefault": rule}}) as table:
        at = connect(table)
        await at.initialize(CAN["001"])
        await at.result("chat/prompt", {"chatId": "c", "message": "write", "requestId": "r"})
        run = await at.content("toolCallRun")
        prepared = [
            p["content"] for p in at.params("chat/contentReceived") if p["content"]["type"] == "toolCallPrepare"
        ]
        assert {one["manualApproval"] for one in prepared} == {run["manualApproval"]} == {rule == "ask"}
        await at.tell("chat/promptStop", {"chatId": "c"})
        await at.finished()
        await at.close()
