"""Each of today's editors, and a client of each seed, works unmodified: from its first word to its last."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca import __version__
from jupyter_eca.protocol.jsonrpc import Notification, Request
from tests.e2e.conversation.caller import Caller
from tests.e2e.conversation.editors import CLIENTS, Client, Pipe
from tests.e2e.conversation.script import MORE, RULES
from tests.e2e.conversation.wire import Setting
from tests.requirements.test_eca import TABLE, faults, shapes_in
from tests.support.editor_process import PATIENCE, editor, environment
from tests.support.samples import sample

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio

LOOK: dict[str, Any] = {"message": "^look", "reply": [{"tool": "editor_diagnostics", "arguments": {}}]}
# `string` is the content of a file, in the schema of a tool; the older seed ignores the configuration, which it does
# not know: it has been given all of it in the reply to `initialize`.
NOT_ITS_OWN = {"content string", "config/updated params"}
EVERY = pytest.mark.parametrize("client", sample(CLIENTS, every=3), ids=lambda client: client.name)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    Setting(folder, [LOOK, *RULES], {"toolCall": MORE["toolCall"]}).write()
    return folder


@asynccontextmanager
async def started(client: Client, folder: Path) -> AsyncGenerator[tuple[Caller, Pipe]]:
    async with editor(folder) as at:
        pipe = Pipe(at.process, client.frame)
        caller = Caller(pipe, PATIENCE)
        params = {
            "processId": os.getpid() if client.watched else None,
            "clientInfo": {"name": client.name},
            "initializationOptions": client.options,
            "capabilities": {"codeAssistant": client.can},
            "workspaceFolders": [{"uri": folder.as_uri(), "name": "workspace"}],
        }
        await caller.result("initialize", params)
        await caller.tell("initialized", client.nothing)
        for method, params in client.early:
            await caller.send(method, params)
        yield caller, pipe


async def prompt(client: Client, at: Caller, message: str, chat: Any = None) -> tuple[int, Any]:
    """Where the turn begins, and the id that the chat has from then on."""
    since = at.read = at.now
    known = {} if chat is None else {"chatId": chat}
    reply = await at.result("chat/prompt", {"message": message, **client.prompt, **known})
    assert reply["status"] == client.status
    if client.mine:
        assert (reply["chatId"], type(reply["chatId"])) == (client.prompt["chatId"], type(client.prompt["chatId"]))
    return since, reply["chatId"]


@EVERY
async def test_it_starts_asks_approves_rejects_stops_and_leaves(workspace: Path, client: Client) -> None:
    async with started(client, workspace) as (at, pipe):
        if client.name != "seed 001":
            assert "scripted/test" in (await at.told("config/updated"))["chat"]["models"]
        since, chat = await prompt(client, at, "think")
        await at.finished(chat)
        assert at.said(since, chat) == "I have thought."

        _, chat = await prompt(client, at, "write a.txt hello", chat)
        call = await at.content("toolCallRun", chat)
        for method, params in client.typing:  # while the turn waits: the tabs and the completion of the editor
            await at.result(method, params)
        for method, params in client.picking:
            await at.tell(method, params)
        await at.tell("chat/toolCallApprove", {"chatId": chat, "toolCallId": call["id"]})
        await at.finished(chat)
        assert (workspace / "a.txt").read_text() == "hello\n"

        since, chat = await prompt(client, at, "write b.txt no", chat)
        call = await at.content("toolCallRun", chat)
        await at.tell("chat/toolCallReject", {"chatId": chat, "toolCallId": call["id"]})
        await at.finished(chat)
        assert at.ends(since, chat) == ["toolCallRejected write_file"]
        assert not (workspace / "b.txt").exists()

        _, chat = await prompt(client, at, "stream", chat)
        await at.content("text", chat, text="word ")
        await at.tell("chat/promptStop", {"chatId": chat})
        await at.finished(chat)

        since, chat = await prompt(client, at, "again", chat)
        await at.finished(chat)
        assert at.said(since, chat).startswith("Hello, again")  # nvim sends a map of the files with each prompt

        await at.send("shutdown", client.nothing)
        await at.tell("exit", client.nothing)
        assert await pipe.ended() == 0


@EVERY
async def test_it_is_asked_only_what_it_can_answer(workspace: Path, client: Client) -> None:
    """And the turn ends, whatever it answers."""
    async with started(client, workspace) as (at, _):
        since, chat = await prompt(client, at, "look")
        if client.answers is not None:
            await at.answer(await at.asked("editor/getDiagnostics"), client.answers)
        await at.finished(chat)
        asked = [message for message in at.heard if isinstance(message, Request)]
        assert len(asked) == (client.answers is not None)
        assert not {message.id for message in asked} & {*range(1000)}
        known = bool(client.answers and "diagnostics" in client.answers)
        assert ("an error" in at.said(since, chat)) == known


@pytest.mark.parametrize("client", sample(CLIENTS[:3], every=3), ids=lambda client: client.name)
async def test_every_progress_that_it_waits_for_is_finished(workspace: Path, client: Client) -> None:
    async with started(client, workspace) as (at, _):
        begun = await at.told("$/progress", type="start")
        await at.told("$/progress", type="finish", taskId=begun["taskId"])


@pytest.mark.parametrize("client", CLIENTS[-2:], ids=lambda client: client.name)
async def test_a_client_of_a_seed_hears_only_what_its_document_has(workspace: Path, client: Client) -> None:
    shapes = TABLE["seeds"][client.name.removeprefix("seed ")]
    passed_over = NOT_ITS_OWN - shapes.keys()
    async with started(client, workspace) as (at, _):
        _, chat = await prompt(client, at, "think")
        await at.finished(chat)
        _, chat = await prompt(client, at, "write a.txt hello", chat)
        call = await at.content("toolCallRun", chat)
        await at.tell("chat/toolCallApprove", {"chatId": chat, "toolCallId": call["id"]})
        await at.finished(chat)
        told = [message for message in at.heard if isinstance(message, Notification | Request)]
        parts = [part for one in told for part in shapes_in({"method": one.method, "params": one.params})]
        found = [(shape, faults(shapes[shape], data) if shape in shapes else ["unknown"]) for shape, data in parts]
        assert [(shape, wrong) for shape, wrong in found if wrong and shape not in passed_over] == []


async def test_its_version_is_printed_before_anything_else_and_it_ends(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "jupyter_eca", "--version",
        stdout=asyncio.subprocess.PIPE, cwd=tmp_path, env=environment(tmp_path),
    )  # fmt: skip
    out, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert (out.decode(), process.returncode) == (f"eca {__version__}\n", 0)
