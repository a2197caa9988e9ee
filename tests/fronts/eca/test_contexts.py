"""What is offered to a client while its user types, over the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.eca.projection import make_content
from jupyter_eca.protocol import context
from tests.plugins.contexts.near import sent
from tests.support.host_and_client import answer, desk, said

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "a word ", "chunk": 1, "delay": 0.05}]}]


async def test_files_and_directories_are_offered_without_what_was_added(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/model.py").touch()
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        added = sent({"type": "directory", "path": str(tmp_path / "models")})
        for contexts, expected in ((), ["directory", "file"]), (added, ["file"]):
            params = context.ChatQueryContextParams(query="model", chat_id=7, contexts=contexts)
            result = await client.request("chat/queryContext", params, context.ChatQueryContextResult)
            assert [found.type for found in result.contexts] == expected
            assert result.chat_id == 7


async def test_files_are_offered_with_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/model.py").touch()
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        params = context.ChatQueryFilesParams(query="model")
        result = await client.request("chat/queryFiles", params, context.ChatQueryFilesResult)
        assert [(found.type, found.path, found.relative_path) for found in result.files] == [
            ("file", str(tmp_path / "models/model.py"), "models/model.py"),
            ("directory", str(tmp_path / "models"), "models"),
        ]


async def test_nothing_more_than_fifty_is_offered(tmp_path: Path) -> None:
    for number in range(80):
        (tmp_path / f"{number}.py").touch()
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        result = await client.request(
            "chat/queryContext", context.ChatQueryContextParams(), context.ChatQueryContextResult
        )
        assert len(result.contexts) == 50


async def test_who_types_does_not_wait_for_an_answer_that_is_under_way(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        async for received in client.ask("chat", "speak"):
            if said([received]):
                break
        params = context.ChatQueryContextParams(query="a.py", chat_id="chat")
        result = await client.request("chat/queryContext", params, context.ChatQueryContextResult)
        assert [found.type for found in result.contexts] == ["file"]
        assert table.host.chats.get_live("chat")
        await client.stop("chat")
        assert said(await answer(await table.client(), "again", chat="other")) == "a word "


async def test_a_message_is_stored_with_the_contexts_that_it_names(tmp_path: Path) -> None:
    named, other = {"type": "file", "path": str(tmp_path / "a.py")}, {"type": "file", "path": str(tmp_path / "b.py")}
    async with desk(tmp_path, RULES) as table:
        await answer(await table.client(), "Explain @a.py", contexts=sent(named, other))
        question = (await table.host.store.read_events("chat"))[0]
    assert make_content(question, "chat", envelope=True).content.as_json_object()["contexts"] == [named]
    assert "contexts" not in make_content(question, "chat", envelope=False).content.as_json_object()
