"""A disk that is full, or a file that another program holds: nothing that was shown is lost, everybody is told, and no
turn begins that could not be kept."""

from __future__ import annotations

import json
import sqlite3
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import RemoteError
from jupyter_eca.host.store import schema
from jupyter_eca.protocol.content import Role, TextContent
from jupyter_eca.protocol.event import Event
from jupyter_eca.protocol.jsonrpc import ErrorCode, Notification
from jupyter_eca.transport.eca_client import CallDecision
from tests.support.host_and_client import answer, desk, outcomes, said
from tests.support.locked_store import locking, shorten_waits
from tests.support.raw_client import connect, connect_and_initialize

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent
    from tests.support.raw_client import SessionClient

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Then two."}]},
    {"message": "write", "reply": [{"text": "First one. "}, {"tool": "write_file",
                                   "arguments": {"path": "a.txt", "content": "a"}}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]  # fmt: skip


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)


@contextmanager
def filling(path: Path) -> Generator[None]:
    """No file can grow any more, as on a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = max(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


each = pytest.mark.parametrize("trouble", [locking, filling])


def stored_texts(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        contents = [json.loads(content) for (content,) in db.execute("SELECT content FROM events ORDER BY seq")]
    return [content["text"] for content in contents if content["type"] == "text"]


def told(at: SessionClient) -> list[str]:
    return [params["message"] for params in at.params("$/showMessage") if params.get("chatId") == "c"]


async def message(at: SessionClient, words: str) -> str:
    found = await at.until(
        lambda m: isinstance(m, Notification) and m.method == "$/showMessage" and words in m.params["message"]
    )
    return found.params["message"]


@each
async def test_what_is_said_while_nothing_can_be_stored_is_shown_and_stored_afterwards_in_order(
    tmp_path: Path, trouble: Any
) -> None:
    path = tmp_path / "chats.db"
    async with (
        desk(tmp_path, RULES) as table,
        connect_and_initialize(table) as at,
        connect_and_initialize(table) as too,
    ):
        await at.result("chat/prompt", {"chatId": "c", "message": "write"})
        call = await at.content("toolCallRun")
        with trouble(path):
            await at.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": call["id"]})
            assert str(path) in await message(at, "not saved")
            await at.content("text", text="Then two.")
            await at.finished()
            await message(too, "not saved")
            assert "Then two." not in stored_texts(path)
        await message(at, "saved again")
        await message(too, "saved again")
        assert [len(told(client)) for client in (at, too)] == [2, 2]
        assert stored_texts(path) == ["write", "First one. ", "Then two."]
        late = connect(table)
        await late.initialize()
        await late.result("chat/open", {"chatId": "c"})
        await late.content("text", text="Then two.")
        await late.close()


@each
async def test_a_turn_that_cannot_be_stored_does_not_begin(tmp_path: Path, trouble: Any) -> None:
    path = tmp_path / "chats.db"
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        await answer(client, "before")
        with trouble(path), pytest.raises(RemoteError, match=r"chats\.db cannot be used now") as refused:
            await answer(client, "meanwhile")
        assert any(words in str(refused.value) for words in ("end it, or wait", "free some space", "check it"))
        received = await answer(client, "after")
        assert (said(received), outcomes(received)) == ("Hello, after", ["completed"])
        assert "meanwhile" not in stored_texts(path)


async def test_a_prompt_that_does_not_fit_on_the_disk_is_not_sent_to_the_model(tmp_path: Path) -> None:
    path, large = tmp_path / "chats.db", "x" * 3_000_000
    async with desk(tmp_path, RULES) as table, connect_and_initialize(table) as at:
        await at.result("chat/prompt", {"chatId": "c", "message": "hi"})
        await at.finished()
        resource = pytest.importorskip("resource")
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, before[1]))
        try:
            await at.result("chat/prompt", {"chatId": "c", "message": large})
            await message(at, "not saved")
            await at.finished()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        texts = [params["content"].get("text", "") for params in at.params("chat/contentReceived")]
        assert not any(text.startswith("Hello, x") for text in texts)
        assert any("cannot be used now" in text for text in texts)
        await message(at, "saved again")
        assert large in stored_texts(path)


async def test_a_cell_is_told_in_its_answer_that_the_chat_is_not_saved(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        holding = locking(tmp_path / "chats.db")

        def approve(_call: ToolCallRunContent) -> CallDecision:
            holding.__enter__()
            return CallDecision(approved=True)

        received = await answer(client, "write", approve)
        holding.__exit__(None, None, None)
        assert "not saved" in said(received, "system")
        assert "Then two." in said(received)


async def test_a_client_that_comes_back_sees_once_what_was_shown_before_it_could_be_stored(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with desk(tmp_path, RULES) as table, connect_and_initialize(table, envelope=True) as at:
        await at.result("chat/prompt", {"chatId": "c", "message": "write"})
        call = await at.content("toolCallRun")
        with locking(path):
            await at.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": call["id"]})
            await at.finished()
        await message(at, "saved again")
        last = max(params["seq"] for params in at.params("chat/contentReceived"))
        await at.close()
        async with connect_and_initialize(table, envelope=True) as again:
            await again.result("chat/open", {"chatId": "c", "after": str(last)})
            assert "chat/cleared" in again.methods
            shown = [p["content"].get("text") for p in again.params("chat/contentReceived")]
            assert [shown.count(text) for text in ("write", "First one. ", "Then two.")] == [1, 1, 1]


async def test_what_can_never_be_stored_ends_its_turn_with_a_message_and_no_other_chat(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connect_and_initialize(table) as at:
        await at.result("chat/prompt", {"chatId": "c", "message": "write"})
        await at.content("toolCallRun")
        bad = Event(chat="c", turn="t", role=Role.SYSTEM, content=TextContent(text="late"), at=2**70)
        table.host.store.append([bad])
        await at.finished("c")
        assert "could not be stored" in (await at.content("text"))["text"]
        client = await table.client()
        assert said(await answer(client, "you", chat="other")) == "Hello, you"


async def test_a_chat_is_read_and_listed_while_nothing_can_be_stored(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connect_and_initialize(table) as at:
        await at.result("chat/prompt", {"chatId": "c", "message": "hi"})
        await at.finished()
        with locking(tmp_path / "chats.db"):
            assert len((await at.result("chat/list"))["chats"]) == 1
            assert (await at.result("chat/open", {"chatId": "c"}))["found"]
            assert await at.code("chat/delete", {"chatId": "c"}) == ErrorCode.REFUSED
        assert len((await at.result("chat/list"))["chats"]) == 1


async def test_half_characters_in_texts_of_ours_are_stored_as_replacement_characters(tmp_path: Path) -> None:
    from jupyter_eca.host.store import Spending, StoredSelection

    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        await answer(client, "hi", chat="c")
        half = "caf\ud83d"
        table.host.store.save_selection("c", StoredSelection(half))
        table.host.store.record_spending(Spending(1, "c", half, half, half, 1, 0, 1, None))
        await table.host.store.do(lambda tables: tables.save_note("c", half))
        await table.host.store.confirm()
        row = await table.host.store.read_chat("c")
        assert row is not None
        assert row.model == "caf\N{REPLACEMENT CHARACTER}"
        assert said(await answer(client, "you", chat="other")) == "Hello, you"


async def test_a_host_starts_while_another_program_holds_the_file_and_says_so_and_stores_later(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        await answer(await table.client(), "before")
    with ExitStack() as other:
        other.enter_context(locking(tmp_path / "chats.db"))
        async with desk(tmp_path, RULES) as table:
            assert len(table.host.store_warnings) == 1
            client = await table.client()
            with pytest.raises(RemoteError):
                await answer(client, "meanwhile", chat="other")
            other.close()
            assert said(await answer(client, "after", chat="other")) == "Hello, after"
    async with desk(tmp_path, RULES) as table:
        assert table.host.store_warnings == []
    assert "Hello, after" in stored_texts(tmp_path / "chats.db")


async def test_a_host_starts_with_a_copy_while_another_program_holds_a_file_that_must_be_migrated(
    tmp_path: Path,
) -> None:
    schema.connect(tmp_path / "chats.db", len(schema.MIGRATIONS) - 1).close()
    with locking(tmp_path / "chats.db"):
        async with desk(tmp_path, RULES) as table:
            assert len(table.host.store_warnings) == 1
            assert said(await answer(await table.client(), "meanwhile")) == "Hello, meanwhile"
    assert stored_texts(tmp_path / "chats.db") == []
