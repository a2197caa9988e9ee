"""Third part of the story: what becomes of a chat that has been had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e.conversation.turns import approve, call_of, prompt, turn

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conversation.caller import Caller

AGAIN = ["chat/cleared", "chat/opened"]


def message_id(at: Caller, since: int, chat: str = "p") -> str:
    """Of the first message of the user's."""
    return next(p["content"]["contentId"] for p in at.contents(since, chat) if p["role"] == "user")


async def shown_again(at: Caller, since: int, chat: str = "p") -> int:
    """Where the chat is shown from its beginning; until all of it has come."""
    at.read = since
    await at.told("chat/cleared", chatId=chat)
    begin = at.read
    await at.told("chat/statusChanged", chatId=chat)
    return begin


async def flagged(at: Caller) -> None:
    first = await turn(at, "one", "p")
    await turn(at, "two", "p")
    marked = {"chatId": "p", "contentId": message_id(at, first)}
    at.read = at.now
    assert await at.result("chat/addFlag", {**marked, "text": "here"}) == {}
    assert (await at.content("flag", "p"))["contentId"] == marked["contentId"]
    since = at.now
    await at.result("chat/open", {"chatId": "p"})
    kinds = [p["content"]["type"] for p in at.contents(since, "p")]
    assert kinds[kinds.index("flag") - 1] == "text"
    since = at.now
    assert await at.result("chat/removeFlag", marked) == {}
    await shown_again(at, since)
    assert "flag" not in at.order(since, "p")
    assert at.said(since, "p") == "Hello, oneHello, two"


async def rolled_back(at: Caller, folder: Path) -> None:
    """The chat to before the message, and the files with it."""
    (folder / "kept.txt").write_text("before\n")
    # The model may replace only a file that it has read.
    read = [{"type": "file", "path": str(folder / "kept.txt")}]
    since, call = await call_of(at, "write kept.txt after", "p", contexts=read)
    await approve(at, call, "p")
    await at.finished("p")
    assert (folder / "kept.txt").read_text() == "after\n"
    id = message_id(at, since)
    since = at.now
    assert await at.result("chat/rollback", {"chatId": "p", "contentId": id}) == {}
    await shown_again(at, since)
    at.read = since
    assert (folder / "kept.txt").read_text() == "before\n"
    await at.until(lambda m: "kept.txt" in str(m) and "'system'" in str(m))
    assert at.said(since, "p", "user") == "onetwo"
    assert at.said(await turn(at, "three", "p"), "p") == "Hello, three"


async def forked(at: Caller) -> None:
    """From the first message on; then both go their own way."""
    begin = at.now
    await at.result("chat/open", {"chatId": "p"})
    since = at.read = at.now
    assert await at.result("chat/fork", {"chatId": "p", "contentId": message_id(at, begin)}) == {}
    fork = (await at.told("chat/opened"))["chatId"]
    assert fork != "p"
    await at.content("text", "p")
    assert "Forked" in at.said(since, "p", "system")
    assert at.said(since, fork, "user") == "one"
    assert at.said(await turn(at, "apart", fork), fork) == "Hello, apart"
    assert at.said(begin, "p").count("apart") == 0
    assert await at.result("chat/delete", {"chatId": fork}) == {}


async def renamed(at: Caller) -> None:
    at.read = at.now
    assert await at.result("chat/update", {"chatId": "p", "title": "The plan"}) == {}
    assert (await at.content("metadata", "p"))["title"] == "The plan"
    chats = (await at.result("chat/list", {"limit": 1}))["chats"]
    assert [(chat["id"], chat["title"], chat["status"]) for chat in chats] == [("p", "The plan", "idle")]


async def cleared(at: Caller) -> None:
    """Its messages go; it and its title stay."""
    await turn(at, "gone", "q")
    since = at.now
    assert await at.result("chat/clear", {"chatId": "q", "messages": True}) == {}
    await shown_again(at, since, "q")
    assert {p["content"]["type"] for p in at.contents(since, "q")} <= {"metadata"}
    chats = (await at.result("chat/list", {}))["chats"]
    assert [chat["title"] for chat in chats if chat["id"] == "q"] == ["gone"]


async def cut_off(at: Caller) -> str:
    """The last thing before the server ends: what was shown of an answer that goes on."""
    since = await prompt(at, "stream", "p")
    for _ in range(5):
        await at.content("text", "p", text="word ")
    return at.said(since, "p")


async def opened(at: Caller, shown: str) -> None:
    """After a restart everything is there, also what was shown of an answer that was cut off."""
    since = at.now
    result = await at.result("chat/open", {"chatId": "p"})
    assert (result["found"], result["title"], result["selection"]["model"]) == (True, "The plan", "scripted/test")
    order = at.order(since, "p")
    assert (order[:2], order[-3:]) == (AGAIN, ["status idle", "metadata", "config/updated"])
    assert order[-4] == "progress finished"
    assert at.said(since, "p").startswith("Hello, oneHello, twoHello, three" + shown)
    assert at.said(since, "p", "user") == "onetwothreestream"
    assert at.said(await turn(at, "four", "p"), "p") == "Hello, four"
    assert await at.result("chat/open", {"chatId": "nobody's"}) == {"found": False}


async def paged(at: Caller) -> None:
    """Page by page to the beginning: together they are the whole, in order."""
    whole = await at.result("chat/history", {"chatId": "p"})
    assert len(whole["contents"]) == whole["meta"]["returned"]
    pages: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    for _ in range(20):
        page = await at.result("chat/history", {"chatId": "p", "limit": 2, **cursor})
        pages.insert(0, page)
        if page["meta"].get("beforeCursor") is None:
            break
        cursor = {"before": page["meta"]["beforeCursor"]}
    assert len(pages) > 2
    assert [text_of(page) for page in pages if not text_of(page)] == []
    assert "".join(map(text_of, pages)) == text_of(whole)
    gone = await at.result("chat/history", {"chatId": "p", "before": "999999"})
    assert gone["error"]["code"] == "cursor_expired"
    nobody = await at.result("chat/history", {"chatId": "nobody's"})
    assert nobody["error"]["code"] == "chat_not_found"


def text_of(page: dict[str, Any]) -> str:
    return "".join(params["content"].get("text", "") for params in page["contents"])


async def deleted(at: Caller) -> None:
    at.read = at.now
    assert await at.result("chat/delete", {"chatId": "p"}) == {}
    await at.told("chat/deleted", chatId="p")
    assert "p" not in [chat["id"] for chat in (await at.result("chat/list", {}))["chats"]]
    assert await at.result("chat/open", {"chatId": "p"}) == {"found": False}
