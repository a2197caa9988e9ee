"""Outputs that are too long for a model: it has head and tail, and the whole is kept for it and for the user."""

from __future__ import annotations

import asyncio
import os
import resource
import stat
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config.schema import OutputConfig
from jupyter_eca.errors import RemoteError, ToolError
from jupyter_eca.host.tools import kept_outputs
from jupyter_eca.host.tools.kept_outputs import ToolOutputs, make_output_id
from jupyter_eca.host.tools.output_limit import cut_and_keep
from jupyter_eca.plugins.tools.base import ToolContext, tool
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.chat import ChatToolOutputParams, ChatToolOutputResult
from jupyter_eca.protocol.chats import ChatDeleteParams, ChatForkParams, ChatListParams, ChatListResult
from jupyter_eca.protocol.content import Role, TextContent, ToolCalledContent
from jupyter_eca.workspace.tool_result import ToolResult
from tests.support.host_and_client import PATIENCE, Desk, answer, desk, said
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from jupyter_eca.transport.eca_client import EcaClient

pytestmark = pytest.mark.asyncio

LONG = "head\n" + "".join(f"line {n} é\n" for n in range(20_000)) + "tail"
ALLOW: dict[str, Any] = {"toolCall": {"approval": {"byDefault": "allow"}}}

# The model reads on where the shortened output tells it to.
RULES: list[dict[str, Any]] = [
    {"result": r"by the id (?P<id>\w+)", "reply": [{"tool": "read_output", "arguments": {"id": "$id", "offset": 6}}]},
    {"result": "", "tool": "read_output", "reply": [{"text": "I read: {result}"}]},
    {"result": "", "reply": [{"text": "It said: {result}"}]},
    {"message": "", "reply": [{"tool": "talk", "arguments": {}}]},
]


def lend(table: Desk, text: str, *, error: bool = False) -> None:
    @tool(reads=True)
    async def talk(context: ToolContext) -> ToolResult:  # noqa: ARG001
        return ToolResult(text, error=error)

    table.host.toolbox.set_client_tools("chat", (talk,))


def called(received: list[ChatContentReceivedParams]) -> ToolCalledContent:
    return next(one.content for one in received if isinstance(one.content, ToolCalledContent))


async def whole(client: EcaClient, call: str, chat: str = "chat") -> str:
    """All of it, a part after the other."""
    text, offset = "", 0
    while True:
        params = ChatToolOutputParams(chat_id=chat, id=call, offset=offset, limit=70_001)
        part = await client.request("chat/toolOutput", params, ChatToolOutputResult)
        text, offset = text + part.text, part.end
        if offset >= part.total:
            return text


async def test_an_output_that_is_too_long_can_be_read_whole_by_the_model_and_the_user(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ALLOW) as table:
        lend(table, LONG)
        client = await table.client()
        received = await answer(client, "go")
        short = called(received)
        (shown,) = (output.text for output in short.outputs)
        assert shown.startswith("head\nline 0 é\n")
        assert shown.endswith("line 19999 é\ntail")
        assert len(shown) < 21_000
        assert len(shown.splitlines()) < 2_010
        assert short.whole == len(LONG)
        assert said(received).startswith("I read: [bytes 6-")
        assert "]\nine 0 é\nline 1 é\n" in said(received)
        assert await whole(client, short.id) == LONG


@pytest.mark.parametrize(
    ("arguments", "answered"),
    [
        ({"contains": "line 1234 "}, "byte {start}: line 1234 é"),
        ({"contains": "line 12345"}, "byte {byte}: line 12345 é"),
        ({"contains": "nothing of it"}, "No line of the "),
        ({"pattern": r"^line 1234\d .$"}, "byte {byte}: line 12345 é\nbyte "),
        ({"pattern": "^(head|tail)$"}, "byte 0: head\nbyte {tail}: tail"),
        ({"pattern": "^nothing"}, "No line of the "),
        ({"pattern": "("}, "The pattern is wrong: "),
        ({"pattern": "x" * 5_000}, "The pattern has more than "),
        ({"pattern": "line", "contains": "line"}, "Give either contains or pattern."),
        ({"offset": -4}, "]\ntail"),
        ({"offset": 10_000_000}, "The output ends at byte "),
    ],
)
async def test_the_rest_is_found_by_its_text_and_read_from_its_end(
    tmp_path: Path, arguments: dict[str, Any], answered: str
) -> None:
    read = {"tool": "read_output", "arguments": {"id": "$id", **arguments}}
    rules = [{"result": r"by the id (?P<id>\w+)", "reply": [read]}, *RULES[1:]]
    async with desk(tmp_path, rules, **ALLOW) as table:
        lend(table, LONG)
        byte = LONG.encode().index(b"line 12345")
        start = LONG.encode().index(b"line 1234 ")
        tail = len(LONG.encode()) - 4
        text = said(await answer(await table.client(), "go"))
        assert answered.format(byte=byte, start=start, tail=tail) in text


@pytest.mark.parametrize("argument", ["contains", "pattern"])
async def test_a_search_in_an_output_returns_a_hundred_lines(tmp_path: Path, argument: str) -> None:
    read = {"tool": "read_output", "arguments": {"id": "$id", argument: "line"}}
    rules = [{"result": r"by the id (?P<id>\w+)", "reply": [read]}, *RULES[1:]]
    async with desk(tmp_path, rules, **ALLOW) as table:
        lend(table, LONG)
        text = said(await answer(await table.client(), "go"))
        assert text.count("byte ") == 100
        assert text.endswith("[19900 more lines]")


async def test_a_pattern_that_would_be_searched_for_ever_is_ended_and_blocks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_outputs, "MATCH_SECONDS", 0.5)
    read = {"tool": "read_output", "arguments": {"id": "$id", "pattern": "^(a+)+$"}}
    rules = [{"result": r"by the id (?P<id>\w+)", "reply": [read]}, *RULES[1:]]
    async with desk(tmp_path, rules, **ALLOW) as table:
        lend(table, f"{'a' * 60}b\n{LONG}")
        text = said(await answer(await table.client(), "go"))
        assert "The search took more than 0.5 s and was ended." in text


async def test_an_error_is_kept_as_an_answer_is(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ALLOW) as table:
        lend(table, LONG, error=True)
        client = await table.client()
        received = await answer(client, "go")
        assert called(received).error
        assert await whole(client, called(received).id) == LONG


async def test_what_fits_is_left_alone_and_not_kept(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ALLOW) as table:
        lend(table, "x\n" * 2_000)
        received = await answer(await table.client(), "go")
        assert called(received).whole is None
        assert said(received) == "It said: " + "x\n" * 2_000
        assert not (tmp_path / "outputs").exists()


async def test_how_much_the_model_is_given_is_configured(tmp_path: Path) -> None:
    limits: dict[str, Any] = {"toolCall": {**ALLOW["toolCall"], "outputTruncation": {"lines": 4, "sizeKb": 1}}}
    async with desk(tmp_path, RULES[2:], **limits) as table:
        lend(table, "\n".join(f"line {n}" for n in range(20)))
        lines = said(await answer(await table.client(), "go")).splitlines()
        assert (lines[:2], lines[-2:]) == (["It said: line 0", "line 1"], ["line 18", "line 19"])


async def test_a_part_that_was_asked_for_is_not_cut_again(tmp_path: Path) -> None:
    limits: dict[str, Any] = {"toolCall": {**ALLOW["toolCall"], "outputTruncation": {"lines": 10, "sizeKb": 1}}}
    async with desk(tmp_path, RULES, **limits) as table:
        lend(table, LONG)
        received = await answer(await table.client(), "go")
        assert [c.content.whole for c in received if isinstance(c.content, ToolCalledContent)] == [len(LONG), None]
        assert "go on with offset=" in said(received)


async def test_what_is_kept_is_for_nobody_else_and_goes_with_its_chat(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ALLOW) as table:
        lend(table, LONG)
        client = await table.client()
        call = called(await answer(client, "go")).id
        (file,) = (tmp_path / "outputs").rglob("*.txt")
        assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o600, 0o700]
        with pytest.raises(RemoteError, match="not kept"):
            await whole(client, call, chat="another")
        await client.request("chat/delete", ChatDeleteParams(chat_id="chat"), Done)
        assert not file.parent.exists()


async def test_a_fork_reads_what_its_chat_could_read(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ALLOW) as table:
        lend(table, LONG)
        client = await table.client()
        received = await answer(client, "go")
        asked = next(one.content for one in await table.host.chats.read_events("chat") if one.role is Role.USER)
        assert isinstance(asked, TextContent)
        await client.request("chat/fork", ChatForkParams(chat_id="chat", content_id=asked.content_id or ""), Done)
        listed = await client.request("chat/list", ChatListParams(), ChatListResult)
        (fork,) = (str(chat.id) for chat in listed.chats if chat.id != "chat")
        await client.request("chat/delete", ChatDeleteParams(chat_id="chat"), Done)
        assert await whole(client, called(received).id, fork) == LONG


async def test_what_is_left_of_chats_that_are_no_more_is_swept_away_after_a_day(tmp_path: Path) -> None:
    outputs = ToolOutputs(tmp_path)
    for chat in ("there", "gone"):
        await cut_and_keep(outputs, chat, "call", ToolResult(LONG), OutputConfig())
    await outputs.sweep(["there"])
    assert (await outputs.read("gone", make_output_id("call"), 0, 4)).text == "head"
    age(tmp_path)
    await outputs.sweep(["there"])
    with pytest.raises(ToolError, match="no output"):
        await outputs.read("gone", make_output_id("call"), 0, 4)
    assert (await outputs.read("there", make_output_id("call"), 0, 4)).text == "head"


def age(folder: Path) -> None:
    """All that is in it is two days old."""
    for inside in folder.iterdir():
        then = inside.stat().st_mtime - 2 * 24 * 60 * 60
        os.utime(inside, (then, then))


@pytest.mark.parametrize("id", ["../x", "", "/etc/passwd", "nothing"])
async def test_no_id_leads_out_of_the_folder(tmp_path: Path, id: str) -> None:
    rules: list[dict[str, Any]] = [
        {"result": "", "reply": [{"text": "{result}"}]},
        {"message": "", "reply": [{"tool": "read_output", "arguments": {"id": id}}]},
    ]
    async with desk(tmp_path, rules, **ALLOW) as table:
        assert said(await answer(await table.client(), "go")).startswith(("There is no output", f"{id!r} is no id"))


async def test_only_a_client_with_the_envelope_is_told_that_there_is_more(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ALLOW) as table, connect_and_initialize(table, chat=True) as strict:
        lend(table, LONG)
        assert called(await answer(await table.client(), "go")).whole
        await strict.ask("chat/list", {})
        told = [one["content"] for one in strict.params("chat/contentReceived")]
        assert [name for one in told if one["type"] == "toolCalled" for name in one if name == "whole"] == []


async def test_a_hundred_megabytes_are_kept_without_being_in_memory_twice_and_hold_nobody_up(tmp_path: Path) -> None:
    text = "x" * 100_000_000
    outputs, late = ToolOutputs(tmp_path), 0.0

    async def beat() -> None:
        nonlocal late
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            await asyncio.sleep(0.005)
            late = max(late, loop.time() - began)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    beating = asyncio.create_task(beat())
    async with asyncio.timeout(PATIENCE):
        result = await cut_and_keep(outputs, "chat", "call", ToolResult(text), OutputConfig())
    beating.cancel()
    assert result.whole_length == len(text)
    assert late < 0.5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000  # KiB
