"""Rewrites and inline completions over a memory link, with a model that follows a script."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.delta import Delta, Remark, TextDelta
from jupyter_eca.fronts.eca.rewrites_and_completions import CursorHelp
from jupyter_eca.plugins.providers.catalog import Catalog
from jupyter_eca.protocol.jsonrpc import ErrorCode, ErrorResponse, Message, Notification, Result
from tests.support.host_and_client import PATIENCE, answer, desk, said
from tests.support.raw_client import SessionClient, connect_and_initialize

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.request import ModelRequest

pytestmark = pytest.mark.asyncio

# Long enough that a test which waited for it would fail.
FOREVER = 600

RANGE = {"start": {"line": 2, "character": 0}, "end": {"line": 3, "character": 0}}
ASK: dict[str, Any] = {"id": "r1", "text": "x = 1", "prompt": "make it two", "path": "a.py", "range": RANGE}
COMPLETE: dict[str, Any] = {"docText": "x = [1]\nprint(\n", "docVersion": 7, "position": {"line": 2, "character": 7}}


def rule(*reply: dict[str, Any], message: str = "") -> dict[str, Any]:
    return {"message": message, "reply": list(reply)}


def contents(client: SessionClient, id: str | int = "r1") -> list[dict[str, Any]]:
    return [told["content"] for told in client.params("rewrite/contentReceived") if told["rewriteId"] == id]


def kinds(client: SessionClient, id: str | int = "r1") -> list[str]:
    every = [content["type"] for content in contents(client, id)]
    return [kind for at, kind in enumerate(every) if at == 0 or every[at - 1] != kind]


def text(client: SessionClient, id: str | int = "r1") -> str:
    """As an editor puts it together."""
    whole = ""
    for content in contents(client, id):
        match content:
            case {"type": "text", "text": piece}:
                whole += piece
            case {"type": "replace", "text": anew}:
                whole = anew
            case _:
                pass
    return whole


def ended(message: Message, id: str | int = "r1") -> bool:
    return (
        isinstance(message, Notification)
        and message.method == "rewrite/contentReceived"
        and message.params["rewriteId"] == id
        and message.params["content"]["type"] in {"finished", "error"}
    )


def began(message: Message) -> bool:
    return isinstance(message, Notification) and message.params.get("content", {}).get("type") == "text"


async def test_a_rewrite_is_answered_at_once_and_then_streamed(tmp_path: Path) -> None:
    rules = [rule({"reasoning": "Two.", "chunk": 1}, {"text": "x = 2", "chunk": 2})]
    async with desk(tmp_path, rules) as table, connect_and_initialize(table) as client:
        reply = await client.ask("rewrite/prompt", ASK)
        assert isinstance(reply, Result)
        assert reply.result == {"status": "prompting", "model": "scripted/test"}
        assert contents(client) == []
        await client.until(ended)
        assert kinds(client) == ["started", "reasoning", "text", "finished"]
        assert len([one for one in contents(client) if one["type"] == "reasoning"]) == 1
        assert text(client) == "x = 2"
        assert contents(client)[-1]["totalTimeMs"] >= 0
        assert await table.host.chats.list_rows() == []


async def test_the_model_reads_the_selection_its_place_and_the_instruction(tmp_path: Path) -> None:
    async with desk(tmp_path, [rule({"text": "{message}"})]) as table, connect_and_initialize(table) as client:
        await client.ask("rewrite/prompt", ASK)
        await client.until(ended)
        assert text(client) == (
            "From: a.py, lines 3 to 4\n\n<selection>\nx = 1\n</selection>\n\nInstruction: make it two"
        )


@pytest.mark.parametrize(
    ("original", "reply", "expected"),
    [
        ("x = 1", "```python\nx = 2\n```", "x = 2"),
        ("x = 1\n", "```python\nx = 2\n```\n", "x = 2\n"),
        ("x = 1\n", "x = 2", "x = 2\n"),
        ("```sh\nls\n```", "```sh\nls -l\n```", "```sh\nls -l\n```"),
        ("a", "```\na\n```\nand\n```\nb\n```", "```\na\n```\nand\n```\nb\n```"),
    ],
)
async def test_a_fence_that_only_the_model_wanted_is_taken_off(
    tmp_path: Path, original: str, reply: str, expected: str
) -> None:
    async with desk(tmp_path, [rule({"text": reply, "chunk": 3})]) as table, connect_and_initialize(table) as client:
        await client.ask("rewrite/prompt", {**ASK, "text": original})
        await client.until(ended)
        assert text(client) == expected
        assert contents(client)[-1]["type"] == "finished"


@pytest.mark.parametrize(
    ("reply", "told"), [({"error": "overloaded", "status": 529}, "overloaded"), ({"text": " \n"}, "empty answer")]
)
async def test_a_rewrite_that_came_to_nothing_says_so_and_does_not_finish(
    tmp_path: Path, reply: dict[str, Any], told: str
) -> None:
    async with desk(tmp_path, [rule(reply)]) as table, connect_and_initialize(table) as client:
        await client.ask("rewrite/prompt", ASK)
        await client.until(ended)
        assert contents(client)[-1]["type"] == "error"
        assert told in contents(client)[-1]["message"]


class Plug:
    """A provider of somebody else's: its answer is cut off, or it has a bug."""

    name = "plug"
    rank = None

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        return tuple(settings.models)

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:  # noqa: ARG002
        yield TextDelta("x = ")
        yield Remark("The answer was cut off.")
        raise ZeroDivisionError("a bug")


class Broken(Plug):
    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:  # noqa: ARG002
        yield TextDelta("x = ")
        raise ZeroDivisionError("a bug")


@pytest.mark.parametrize(("plug", "told"), [(Plug(), "was cut off"), (Broken(), "failed inside: ZeroDivisionError")])
async def test_half_an_answer_is_an_error_and_leaves_the_session_working(tmp_path: Path, plug: Plug, told: str) -> None:
    async with desk(tmp_path, [], rewrite={"model": "plug/x"}) as table, connect_and_initialize(table) as client:
        table.host.catalog = Catalog({"plug": plug}, table.host.config)
        await client.ask("rewrite/prompt", ASK)
        await client.until(ended)
        assert kinds(client) == ["started", "text", "error"]
        assert told in contents(client)[-1]["message"]
        assert isinstance(await client.ask("chat/list", {}), Result)


async def test_a_model_that_nobody_has_is_told_in_the_reply(tmp_path: Path) -> None:
    async with desk(tmp_path, [], rewrite={"model": "nobody/none"}) as table, connect_and_initialize(table) as client:
        reply = await client.ask("rewrite/prompt", ASK)
        assert isinstance(reply, ErrorResponse)
        assert (reply.code, "no provider 'nobody'" in reply.message) == (ErrorCode.REFUSED, True)


async def test_the_same_id_again_ends_the_earlier_rewrite_without_another_word(tmp_path: Path) -> None:
    slow = rule({"text": "old "}, {"text": "never said", "delay": FOREVER}, message="first")
    async with desk(tmp_path, [slow, rule({"text": "new"})]) as table, connect_and_initialize(table) as client:
        await client.ask("rewrite/prompt", {**ASK, "prompt": "the first"})
        await client.until(began)
        await client.ask("rewrite/prompt", {**ASK, "prompt": "another"})
        await client.until(ended)
        assert kinds(client) == ["started", "text", "started", "text", "finished"]
        assert [one["text"] for one in contents(client) if one["type"] == "text"] == ["old ", "new"]


async def test_a_rewrite_that_is_stopped_ends_without_another_word(tmp_path: Path) -> None:
    stopped = rule({"text": "old "}, {"text": "never said", "delay": 0.05}, message="first")
    later = rule({"text": "new", "delay": 0.5})
    async with desk(tmp_path, [stopped, later]) as table, connect_and_initialize(table) as client:
        await client.ask("rewrite/prompt", {**ASK, "prompt": "the first"})
        await client.until(began)
        assert isinstance(await client.ask("rewrite/stop", {"id": "r1"}), Result)
        await client.ask("rewrite/prompt", {**ASK, "id": 2})
        await client.until(lambda message: ended(message, 2))
        assert kinds(client) == ["started", "text"]
        assert text(client) == "old "
        assert isinstance(await client.ask("rewrite/stop", {"id": "r1"}), Result), "it has ended already"


async def test_rewrites_of_other_ids_and_a_turn_go_on_beside_a_slow_one(tmp_path: Path) -> None:
    slow = rule({"text": "slow"}, {"text": "never said", "delay": FOREVER}, message="first")
    async with desk(tmp_path, [slow, rule({"text": "quick"})]) as table, connect_and_initialize(table) as client:
        await client.ask("rewrite/prompt", {**ASK, "prompt": "the first"})
        await client.until(began)
        await client.ask("rewrite/prompt", {**ASK, "id": 2})
        await client.until(lambda message: ended(message, 2))
        assert (text(client, 2), text(client)) == ("quick", "slow")
        assert said(await answer(await table.client(), "hello")) == "quick"


async def test_a_rewrite_ends_with_the_client_that_wanted_it(tmp_path: Path) -> None:
    rules = [rule({"text": "a"}, {"text": "never said", "delay": FOREVER})]
    async with desk(tmp_path, rules) as table:
        async with connect_and_initialize(table) as client:
            await client.ask("rewrite/prompt", ASK)
            await client.until(began)
        async with asyncio.timeout(PATIENCE):
            await client.serving


async def test_a_completion_is_one_item_at_the_cursor(tmp_path: Path) -> None:
    rules = [rule({"text": "```python\nprint(x)\n```", "chunk": 4})]
    async with (
        desk(tmp_path, rules, completion={"model": "scripted/test"}) as table,
        connect_and_initialize(table) as client,
    ):
        reply = await client.ask("completion/inline", COMPLETE)
        assert isinstance(reply, Result)
        here = COMPLETE["position"]
        assert reply.result == {"items": [{"text": "x)", "docVersion": 7, "range": {"start": here, "end": here}}]}


async def test_the_model_reads_only_what_is_near_the_cursor(tmp_path: Path) -> None:
    rules = [rule({"text": "{message}"})]
    document = {"docText": "a" * 9_000 + "\n" + "b" * 9_000, "docVersion": 1, "position": {"line": 2, "character": 1}}
    async with (
        desk(tmp_path, rules, completion={"model": "scripted/test"}) as table,
        connect_and_initialize(table) as client,
    ):
        reply = await client.ask("completion/inline", document)
        assert isinstance(reply, Result)
        sent = reply.result["items"][0]["text"]
        assert sent == f"<before>{'a' * 3_999}\n</before>\n<after>{'b' * 1_000}</after>"


async def test_a_model_without_an_idea_completes_nothing(tmp_path: Path) -> None:
    rules = [rule({"text": " \n"})]
    async with (
        desk(tmp_path, rules, completion={"model": "scripted/test"}) as table,
        connect_and_initialize(table) as client,
    ):
        reply = await client.ask("completion/inline", COMPLETE)
        assert isinstance(reply, Result)
        assert reply.result == {"items": []}


async def test_a_newer_completion_answers_the_older_one_with_nothing(tmp_path: Path) -> None:
    slow = rule({"text": "never said", "delay": FOREVER}, message="older")
    async with (
        desk(tmp_path, [slow, rule({"text": "new"})], completion={"model": "scripted/test"}) as table,
        connect_and_initialize(table) as client,
    ):
        older = await client.send("completion/inline", {**COMPLETE, "docText": "older\n\n"})
        newer = await client.ask("completion/inline", COMPLETE)
        assert isinstance(newer, Result)
        assert newer.result["items"][0]["text"] == "new"
        reply = await client.reply(older)
        assert isinstance(reply, Result)
        assert reply.result == {"items": []}


async def test_one_clients_completion_does_not_end_anothers(tmp_path: Path) -> None:
    slow = rule({"text": "slow", "delay": 0.2}, message="older")
    async with (
        desk(tmp_path, [slow, rule({"text": "new"})], completion={"model": "scripted/test"}) as table,
        connect_and_initialize(table) as one,
        connect_and_initialize(table) as other,
    ):
        older = await one.send("completion/inline", {**COMPLETE, "docText": "older\n\n"})
        await other.ask("completion/inline", COMPLETE)
        reply = await one.reply(older)
        assert isinstance(reply, Result)
        assert reply.result["items"][0]["text"] == "slow"


async def test_a_completion_that_takes_too_long_is_an_error(tmp_path: Path) -> None:
    rules = [rule({"text": "never said", "delay": FOREVER})]
    async with (
        desk(tmp_path, rules, completion={"model": "scripted/test"}) as table,
        connect_and_initialize(table) as client,
    ):
        client.session.cursor_help = CursorHelp(client.session, completion_seconds=0.05)
        reply = await client.ask("completion/inline", COMPLETE)
        assert reply == ErrorResponse(
            2, ErrorCode.REFUSED, "scripted/test had no completion within 0.05 s. Choose a faster model."
        )


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "Inline completion is off"),
        ({"completion": {"model": "nobody/none"}}, "no provider 'nobody'"),
        ({"completion": {"model": "scripted/test"}}, "overloaded"),
    ],
)
async def test_a_completion_that_cannot_be_had_is_an_error_that_says_why(
    tmp_path: Path, settings: dict[str, Any], told: str
) -> None:
    rules = [rule({"error": "overloaded", "status": 529})]
    async with desk(tmp_path, rules, **settings) as table, connect_and_initialize(table) as client:
        reply = await client.ask("completion/inline", COMPLETE)
        assert isinstance(reply, ErrorResponse)
        assert reply.code == ErrorCode.REFUSED
        assert told in reply.message
