"""What can be done to a chat beside talking in it, over the wire of a client of today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements.eca.seat import ALLOW_ALL, prompt, seat, told, words

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.raw_client import MemoryClient

pytestmark = pytest.mark.asyncio

STORY: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "write", "reply": [{"tool": "write_file", "arguments": {"path": "a.txt", "content": "one\n"}}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]


async def mine(at: MemoryClient, chat: str = "c") -> list[tuple[str, str]]:
    """The user's messages of a chat as they are stored: id and text."""
    contents = (await at.result("chat/history", {"chatId": chat}))["contents"]
    return [(one["content"]["contentId"], one["content"]["text"]) for one in contents if one["role"] == "user"]


async def test_a_cleared_chat_is_there_and_empty(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "one")
        assert await at.result("chat/clear", {"chatId": "c", "messages": True}) == {}
        assert at.params("chat/cleared")[0]["chatId"] == "c", "before the reply: Emacs forgets what comes after it"
        assert await mine(at) == []
        assert [chat["id"] for chat in (await at.result("chat/list"))["chats"]] == ["c"]


async def test_a_deleted_chat_is_gone_for_all(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "one")
        assert await at.result("chat/delete", {"chatId": "c"}) == {}
        assert at.params("chat/deleted") == [{"chatId": "c"}] or await told(at, "chat/deleted") == {"chatId": "c"}
        assert (await at.result("chat/list"))["chats"] == []
        assert (await at.result("chat/open", {"chatId": "c"}))["found"] is False
        assert await at.result("chat/delete", {"chatId": "c"}) == {}
        assert await at.result("chat/delete", {}) == {}


@pytest.mark.parametrize(
    ("include", "left"),
    [(["messages"], ["hi"]), (["tools"], ["hi", "write"]), (["messages", "tools"], ["hi"]), ([], ["hi"])],
)
async def test_a_chat_is_rolled_back_to_before_a_message(tmp_path: Path, include: list[str], left: list[str]) -> None:
    async with seat(tmp_path, STORY, toolCall=ALLOW_ALL) as (_, at):
        await prompt(at, "hi")
        await prompt(at, "write")
        place = (await mine(at))[1][0]
        assert await at.result("chat/rollback", {"chatId": "c", "contentId": place, "include": include}) == {}
        assert [text for _, text in await mine(at)] == left
        assert ("chat/cleared" in at.methods) is (len(left) == 1)


async def test_a_fork_is_opened_with_what_was_said_until_there(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "one")
        await prompt(at, "two")
        assert await at.result("chat/fork", {"chatId": "c", "contentId": (await mine(at))[0][0]}) == {}
        (fork,) = {p["chatId"] for p in at.params("chat/opened")} - {"c"} or {(await told(at, "chat/opened"))["chatId"]}
        assert [text for _, text in await mine(at, fork)] == ["one"]
        assert [text for _, text in await mine(at)] == ["one", "two"]
        assert await prompt(at, "three", fork) == "Hello, three"


async def test_a_flag_comes_goes_and_is_there_after_opening_again(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "one")
        place = (await mine(at))[0][0]
        assert await at.result("chat/addFlag", {"chatId": "c", "contentId": place, "text": "here"}) == {}
        assert at.params("chat/contentReceived")[-1]["content"] == {"type": "flag", "text": "here", "contentId": place}
        before = len(at.params("chat/contentReceived"))
        await at.result("chat/open", {"chatId": "c"})
        again = [p["content"]["type"] for p in at.params("chat/contentReceived")[before:]]
        assert again[:2] == ["text", "flag"]
        assert await at.result("chat/removeFlag", {"chatId": "c", "contentId": place}) == {}
        contents = (await at.result("chat/history", {"chatId": "c"}))["contents"]
        assert "flag" not in [one["content"]["type"] for one in contents]


async def test_another_title_is_told_and_kept(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "one")
        assert await at.result("chat/update", {"chatId": "c", "title": "Better"}) == {}
        assert at.params("chat/contentReceived")[-1]["content"] == {"type": "metadata", "title": "Better"}
        await prompt(at, "two")
        assert (await at.result("chat/list"))["chats"][0]["title"] == "Better"


async def test_an_opened_chat_is_told_in_the_order_that_clients_expect(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "one")
        before = len(at.methods)
        opened = await at.result("chat/open", {"chatId": "c"})
        assert (opened["found"], opened["chatId"], opened["title"]) == (True, "c", "one")
        assert opened["selection"]["agent"] == "code"
        order = at.methods[before:]
        once = [method for i, method in enumerate(order) if i == 0 or order[i - 1] != method]
        assert once[:3] == ["chat/cleared", "chat/opened", "chat/contentReceived"]
        assert once[-2:] == ["chat/contentReceived", "config/updated"]
        assert [sorted(p["chat"]) for p in at.params("config/updated")][-1] == ["selectTrust"]
        assert {p["chatId"] for p in at.params("config/updated")} == {"c"}


async def test_history_is_paged_by_cursors_and_says_when_one_is_gone(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        for message in ("one", "two", "three"):
            await prompt(at, message)
        whole = await at.result("chat/history", {"chatId": "c"})
        last = await at.result("chat/history", {"chatId": "c", "limit": 3})
        assert last["meta"]["returned"] < whole["meta"]["total"] == last["meta"]["total"]
        earlier = await at.result("chat/history", {"chatId": "c", "before": last["meta"]["beforeCursor"]})
        assert earlier["contents"] + last["contents"] == whole["contents"]
        assert (await at.result("chat/history", {"chatId": "c", "before": "x"}))["error"]["code"] == "cursor_expired"
        assert (await at.result("chat/history", {"chatId": "no"}))["error"]["code"] == "chat_not_found"


async def test_chats_are_listed_newest_first_sorted_as_asked_and_no_more_than_asked(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        for chat in ("one", "two", "one"):
            await prompt(at, chat, chat)

        async def ids(**asked: Any) -> list[str]:
            return [chat["id"] for chat in (await at.result("chat/list", asked))["chats"]]

        assert await ids() == ["one", "two"]
        assert await ids(sortBy="updatedAt") == ["one", "two"]
        assert await ids(sortBy="createdAt") == ["two", "one"]
        assert await ids(limit=1) == ["one"]
        (first, _) = (await at.result("chat/list"))["chats"]
        assert (first["title"], first["status"], first["model"]) == ("one", "idle", "scripted/test")
        assert (first["messageCount"], first["createdAt"] <= first["updatedAt"]) == (2, True)


async def test_a_file_of_the_project_is_a_command_and_a_slip_is_told(tmp_path: Path) -> None:
    (tmp_path / ".eca/commands").mkdir(parents=True)
    (tmp_path / ".eca/commands/review.md").write_text("---\ndescription: Look hard\n---\nReview $ARGS\n")
    async with seat(tmp_path, [{"message": "", "reply": [{"text": "{message}"}]}]) as (_, at):
        (found,) = (await at.result("chat/queryCommands", {"query": "look hard"}))["commands"]
        assert (found["name"], found["type"]) == ("review", "customPrompt")
        assert "Review a.py" in await prompt(at, "/review a.py")
        assert await prompt(at, "/reviw a.py") == ""
        assert "Did you mean `/review`?" in words(at, role="system")
        assert await prompt(at, "/usr/bin is a folder") == "/usr/bin is a folder"


async def test_commands_are_found_by_name_and_by_description(tmp_path: Path) -> None:
    (tmp_path / ".eca" / "commands").mkdir(parents=True)
    (tmp_path / ".eca" / "commands" / "greet.md").write_text("---\ndescription: Says hello\n---\nSay hello to $1.")
    async with seat(tmp_path, STORY) as (_, at):
        result = await at.result("chat/queryCommands", {"chatId": 7, "query": "greet"})
        assert result["chatId"] == 7
        assert [(one["name"], one["type"]) for one in result["commands"]] == [("greet", "customPrompt")]
        all_of_them = (await at.result("chat/queryCommands", {}))["commands"]
        assert {"costs", "login", "doctor"} <= {one["name"] for one in all_of_them if one["type"] == "native"}
        by_words = (await at.result("chat/queryCommands", {"query": "cost"}))["commands"]
        assert "costs" in [one["name"] for one in by_words]
