"""What can be done to chats, as two clients see it: one that is given the envelope and one that is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import ErrorCode
from tests.fronts.eca.editor_client import book
from tests.fronts.eca.pair import both_show, refused, two
from tests.support.host_and_client import desk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_clearing_a_chat_keeps_the_chat_its_title_and_nothing_said(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        await plain.prompt("hello")
        assert await plain.ask("chat/clear") == {}
        await both_show(plain, envelope)
        (row,) = (await plain.peer.request("chat/list", {}))["chats"]
        assert (row["id"], row["title"], row["messageCount"]) == ("chat", "hello", 0)
        await plain.prompt("again")
        await both_show(plain, envelope, "> again", "You said again")


async def test_clearing_without_the_messages_forgets_only_what_was_used(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        await plain.prompt("hello")
        assert plain.contents("usage")
        await plain.ask("chat/clear", messages=False)
        await plain.until(lambda: not plain.contents("usage"))
        await both_show(plain, envelope, "> hello", "You said hello")


async def test_a_chat_deleted_in_mid_answer_is_gone_for_all_and_stays_gone(tmp_path: Path) -> None:
    async with two(tmp_path) as (table, plain, envelope):
        await plain.ask("chat/prompt", message="wait")
        await plain.until(lambda: "one " in "".join(plain.page()))
        assert await envelope.ask("chat/delete") == {}
        for client in (plain, envelope):
            await client.until(lambda client=client: client.notices("chat/deleted"))
        await table.host.store.settle()
        assert (await plain.peer.request("chat/list", {}))["chats"] == []
        assert await table.host.store.read_events("chat") == []
        assert await plain.ask("chat/open") == {"found": False}
        await plain.prompt("anew")
        await plain.until(lambda: plain.page() == ["> anew", "You said anew"])


async def test_deleting_what_is_not_there_is_no_mistake(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, _envelope):
        assert await plain.ask("chat/delete", "nobody") == {}
        assert await plain.peer.request("chat/delete", {}) == {}


async def test_a_fork_goes_on_by_itself(tmp_path: Path) -> None:
    async with two(tmp_path) as (table, plain, envelope):
        id = await plain.prompt("one")
        await plain.prompt("two")
        assert await plain.ask("chat/fork", contentId=id) == {}
        await plain.until(lambda: len(plain.chats) == 2)
        (new,) = plain.chats.keys() - {"chat"}
        await both_show(plain, envelope, "> one", "You said one", chat=new)
        assert (await plain.ask("chat/open", new))["title"] == "one (fork)"
        assert plain.contents("metadata", new)[-1]["title"] == "one (fork)"
        await plain.prompt("three", new)
        await envelope.ask("chat/delete")
        await both_show(plain, envelope, "> one", "You said one", "> three", "You said three", chat=new)
        assert [row.id for row in await table.host.chats.list_rows()] == [new]


async def test_the_chat_that_was_forked_says_so(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        await plain.ask("chat/fork", contentId=await plain.prompt("one"))
        await both_show(plain, envelope, "> one", "You said one", "# Forked: the new chat is called “one (fork)”.")


async def test_a_flag_stands_at_its_message_for_one_and_in_order_for_the_other(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        id = await plain.prompt("one")
        await plain.prompt("two")
        assert await plain.ask("chat/addFlag", contentId=id, text="here") == {}
        for client in (plain, envelope):
            await client.until(lambda client=client: client.contents("flag"))
            await client.ask("chat/open")
        assert plain.page() == ["> one", "* here", "You said one", "> two", "You said two"]
        assert envelope.page() == ["> one", "You said one", "> two", "You said two", "* here"]
        seqs = [told["seq"] for told in envelope.chats["chat"]]
        assert seqs == sorted(set(seqs))
        assert await envelope.ask("chat/removeFlag", contentId=id) == {}
        await both_show(plain, envelope, "> one", "You said one", "> two", "You said two")


async def test_a_page_has_the_flags_of_its_messages_wherever_they_were_set(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, _envelope):
        id = await plain.prompt("one")
        await plain.prompt("two")
        await plain.ask("chat/addFlag", contentId=id, text="here")
        newest = await plain.ask("chat/history", limit=2)
        older = await plain.ask("chat/history", limit=2, before=newest["meta"]["beforeCursor"])
        flagged = [told["content"] for told in older["contents"] if told["content"]["type"] == "flag"]
        assert flagged == [{"type": "flag", "text": "here", "contentId": id}]
        assert not [told for told in newest["contents"] if told["content"]["type"] == "flag"]


async def test_a_new_name_is_told_to_all_and_the_last_one_stays(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        await plain.prompt("one")
        await plain.ask("chat/update", title="First")
        await envelope.ask("chat/update", title="Second")
        for client in (plain, envelope):
            await client.until(lambda client=client: client.contents("metadata")[-1]["title"] == "Second")
        assert (await plain.ask("chat/open"))["title"] == "Second"


async def test_a_title_has_a_limit(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, _envelope):
        await plain.ask("chat/prompt", message="hello")
        await plain.until(plain.ends)
        title = (await plain.ask("chat/open"))["title"]
        assert "longer than 500 characters" in str(await refused(plain, "chat/update", title="x" * 501))
        assert (await plain.ask("chat/open"))["title"] == title


async def test_a_chat_may_be_renamed_while_it_answers(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, _envelope):
        await plain.ask("chat/prompt", message="wait")
        await plain.until(lambda: "one " in "".join(plain.page()))
        await plain.ask("chat/update", title="Patience")
        await plain.tell("chat/promptStop")
        await plain.until(plain.ends)
        page = await plain.ask("chat/history", limit=1)
        assert page["contents"][0]["content"]["type"] == "text"
        assert page["contents"][0]["role"] == "user"


@pytest.mark.parametrize("method", ["chat/clear", "chat/rollback", "chat/fork", "chat/addFlag", "chat/removeFlag"])
async def test_a_chat_that_answers_is_not_changed(tmp_path: Path, method: str) -> None:
    async with two(tmp_path) as (_, plain, _envelope):
        await plain.ask("chat/prompt", message="wait")
        await plain.until(lambda: "one " in "".join(plain.page()))
        error = await refused(plain, method, contentId=plain.message("wait"), text="")
        assert error.code == ErrorCode.BUSY
        await plain.tell("chat/promptStop")
        await plain.until(plain.ends)


@pytest.mark.parametrize(
    "method", ["chat/clear", "chat/rollback", "chat/fork", "chat/addFlag", "chat/removeFlag", "chat/update"]
)
async def test_a_chat_nobody_knows_is_refused_in_one_sentence(tmp_path: Path, method: str) -> None:
    async with two(tmp_path) as (table, plain, _envelope):
        error = await refused(plain, method, "nobody", contentId="x", text="", title="t")
        assert (error.code, str(error)) == (ErrorCode.REFUSED, "There is no chat 'nobody'. Start a new one.")
        assert await table.host.chats.list_rows() == []


@pytest.mark.parametrize("method", ["chat/rollback", "chat/fork", "chat/addFlag"])
async def test_a_message_nobody_wrote_is_refused_and_the_chat_goes_on(tmp_path: Path, method: str) -> None:
    async with two(tmp_path) as (_, plain, _envelope):
        await plain.prompt("one")
        error = await refused(plain, method, contentId="nothing", text="")
        assert "no message 'nothing'" in str(error)
        await plain.prompt("two")


async def test_a_numeric_chat_id_is_written_back_as_a_number_whatever_is_done_to_the_chat(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        id = await plain.prompt("one", 7)
        await plain.ask("chat/addFlag", 7, contentId=id, text="here")
        await plain.ask("chat/rollback", 7, contentId=id)
        await plain.until(lambda: plain.page(7) == [])
        assert (await plain.ask("chat/open", 7))["chatId"] == 7
        await plain.ask("chat/delete", 7)
        await plain.until(lambda: plain.notices("chat/deleted"))
        await envelope.until(lambda: envelope.notices("chat/deleted"))
        ids = [params["chatId"] for _, params in plain.told if "chatId" in params]
        assert {(type(id), id) for id in ids} == {(int, 7)}
        assert [isinstance(deleted["chatId"], str) for deleted in envelope.notices("chat/deleted")] == [True]


async def test_cursors_of_what_was_cut_away_have_expired(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        await plain.prompt("one")
        id = await plain.prompt("two")
        await envelope.until(lambda: len(envelope.ends()) == 2)
        cursor = envelope.chats["chat"][-1]["seq"]
        await plain.ask("chat/rollback", contentId=id, include=["messages"])
        for bad in (cursor, "nonsense", -5, 10**9):
            assert (await plain.ask("chat/history", after=bad))["error"]["code"] == "cursor_expired"
            assert (await plain.ask("chat/open", before=bad))["error"]["code"] == "cursor_expired"
        assert (await plain.ask("chat/history", "nobody"))["error"]["code"] == "chat_not_found"


async def test_a_client_that_was_away_while_a_chat_was_cut_back_is_shown_it_from_the_beginning(tmp_path: Path) -> None:
    async with two(tmp_path) as (table, plain, envelope):
        await plain.prompt("one")
        id = await plain.prompt("two")
        await envelope.until(lambda: len(envelope.ends()) == 2)
        last = envelope.chats["chat"][-1]["seq"]
        await plain.ask("chat/rollback", contentId=id, include=["messages"])
        await plain.prompt("three")
        async with book(table, envelope=True) as back:
            assert (await back.ask("chat/open", after=last))["found"]
            await back.until(lambda: back.page() == ["> one", "You said one", "> three", "You said three"])
            assert back.notices("chat/cleared")


async def test_a_client_that_was_away_is_shown_only_what_it_missed(tmp_path: Path) -> None:
    async with two(tmp_path) as (table, plain, envelope):
        await plain.prompt("one")
        await envelope.until(envelope.ends)
        last = envelope.chats["chat"][-1]["seq"]
        await plain.prompt("two")
        async with book(table, envelope=True) as back:
            await back.ask("chat/open", after=last)
            await back.until(back.ends)
            assert back.page() == ["> two", "You said two"]
            assert not back.notices("chat/cleared")


async def test_what_is_selected_in_one_chat_stays_there_and_outlives_the_server(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, _envelope):
        await plain.prompt("one", "a")
        await plain.prompt("one", "b")
        await plain.tell("chat/selectedModelChanged", "a", model="anthropic/x", variant="high")
        await plain.tell("chat/selectedAgentChanged", "a", agent="plan")
        await plain.ask("chat/update", "a", trust=True)
    async with two(tmp_path) as (_, plain, _envelope):
        a, b = [(await plain.ask("chat/open", chat))["selection"] for chat in "ab"]
        assert (a["model"], a["agent"], a["variant"], a["trust"]) == ("anthropic/x", "plan", "high", True)
        assert (b["model"], b.get("variant"), b["trust"]) == ("scripted/test", None, False)
        assert b["agent"] != "plan"


async def test_the_variant_of_a_model_goes_with_it(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, _envelope):
        await plain.prompt("one")
        await plain.tell("chat/selectedModelChanged", model="anthropic/x", variant="high")
        await plain.tell("chat/selectedModelChanged", model="scripted/test")
        await plain.prompt("two")
    async with two(tmp_path) as (_, plain, _envelope):
        selection = (await plain.ask("chat/open"))["selection"]
        assert (selection["model"], selection.get("variant")) == ("scripted/test", None)


async def test_trust_given_in_mid_turn_holds_for_the_next_call_and_not_for_one_that_waits(tmp_path: Path) -> None:
    rules = [
        {"result": "Created b", "reply": [{"text": "Done."}]},
        {"result": "Created a", "reply": [{"tool": "write_file", "arguments": {"path": "b", "content": "b"}}]},
        {"message": "", "reply": [{"tool": "write_file", "arguments": {"path": "a", "content": "a"}}]},
    ]
    async with desk(tmp_path, rules) as table, book(table) as client:
        await client.ask("chat/prompt", message="go")
        (call,) = await client.until(client.waiting)
        await client.ask("chat/update", trust=True)
        assert not client.contents("toolCallRunning")
        await client.tell("chat/toolCallApprove", toolCallId=call)
        await client.until(client.ends)
        assert client.waiting() == {call}
        assert len(client.contents("toolCalled")) == 2


async def test_chats_of_another_workspace_are_not_listed_opened_or_deleted(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with two(tmp_path) as (_, plain, _envelope):
        await plain.prompt("one")
    (tmp_path / "chats.db").rename(tmp_path / "other" / "chats.db")
    async with two(tmp_path / "other") as (table, plain, _envelope):
        assert (await plain.peer.request("chat/list", {}))["chats"] == []
        assert await plain.ask("chat/open") == {"found": False}
        assert (await refused(plain, "chat/clear")).code == ErrorCode.REFUSED
        await plain.ask("chat/delete")
        assert len(await table.host.store.read_events("chat")) > 0


KERNEL_MAY_NOT = [
    "open",
    "history",
    "changes",
    "revert",
    "keep",
    "clear",
    "delete",
    "rollback",
    "fork",
    "addFlag",
    "removeFlag",
    "update",
]


@pytest.mark.parametrize("method", KERNEL_MAY_NOT)
async def test_a_kernel_touches_only_chats_it_asked_in(tmp_path: Path, method: str) -> None:
    async with two(tmp_path) as (table, plain, _envelope), book(table, sees_all_chats=False, envelope=True) as kernel:
        id = await plain.prompt("one")
        error = await refused(kernel, f"chat/{method}", contentId=id, changes=[], text="", title="t")
        assert str(error) == "this client did not ask in that chat"
        assert kernel.chats == {}
        await kernel.prompt("mine", "own")
        mine: dict[str, Any] = {"contentId": kernel.message("mine", "own"), "changes": []}
        await kernel.ask(f"chat/{method}", "own", **mine, text="flag", title="t", trust=False)


@pytest.mark.parametrize("envelope", [False, True])
async def test_a_client_that_opens_a_chat_in_mid_answer_loses_and_doubles_nothing(
    tmp_path: Path, envelope: bool
) -> None:
    words = " ".join(map(str, range(300)))
    rules = [{"message": "", "reply": [{"text": words, "chunk": 2, "delay": 0.0005}]}]
    async with desk(tmp_path, rules) as table, book(table) as asker, book(table, envelope=envelope) as reader:
        await asker.ask("chat/prompt", message="count")
        while not asker.ends():
            await reader.ask("chat/open")
        await reader.until(reader.ends)
        assert reader.page() == asker.page() == ["> count", words]


async def test_an_old_chat_expires_when_the_server_starts_and_one_in_use_does_not(tmp_path: Path) -> None:
    async with two(tmp_path) as (table, plain, _envelope):
        await plain.prompt("old", "old")
        await plain.prompt("new", "new")
        await table.host.store.do(
            lambda tables: tables._db.execute("UPDATE chats SET updated = 0 WHERE id = 'old'")  # pyright: ignore[reportPrivateUsage]
        )
    for days, left in ((0, ["new", "old"]), (1, ["new"])):
        async with two(tmp_path, chatRetentionDays=days) as (table, *_):
            assert [row.id for row in await table.host.chats.list_rows()] == left
