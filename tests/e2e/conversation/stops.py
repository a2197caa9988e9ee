"""Second part of the story: `chat/promptStop` in every state that a turn and its tool calls can be in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e.conversation.turns import approve, call_of, prompt, turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.e2e.conversation.caller import Caller

    Until = Callable[[Caller], Awaitable[Any]]


async def stop(at: Caller) -> None:
    await at.tell("chat/promptStop", {"chatId": "c"})


async def stopped(at: Caller, since: int, *ends: str) -> None:
    """The turn ends as every turn does, each call has had one end, and the chat is there for the next prompt."""
    await at.finished()
    assert at.ends(since) == [*ends]
    order = at.order(since)
    assert order[-3:] == ["system text", "status idle", "progress finished"], order
    finished = [p for p in at.contents(since) if p["content"].get("state") == "finished"]
    assert len(finished) == 1
    again = await turn(at, "again")
    assert at.said(again) == "Hello, again"
    assert at.ends(again) == []


async def idle(at: Caller) -> None:
    """Nothing is under way: nothing is told."""
    since = at.now
    await stop(at)
    await at.result("chat/list", {})
    assert at.order(since) == []


async def gathering(at: Caller) -> None:
    """What is pointed at is being read."""
    await at.until(lambda message: "Never given." in str(message))
    since = await prompt(at, "/mute:wait")
    await at.content("text", text="/mute:wait")
    await stop(at)
    await stopped(at, since)


async def commanded(at: Caller) -> None:
    """A dialogue of ours: an answer that comes after the stop is nobody's."""
    since = await prompt(at, "/login")
    asked = await at.asked("chat/askQuestion")
    await stop(at)
    await stopped(at, since)
    await at.answer(asked, {"answer": "anthropic", "cancelled": False})
    assert at.said(await turn(at, "well")) == "Hello, well"


async def streaming(at: Caller) -> None:
    """What was said until then stays."""
    since = await prompt(at, "stream")
    await at.content("text", text="word ")
    await stop(at)
    await stopped(at, since)
    assert at.said(since).startswith("word ")


async def reasoning(at: Caller) -> None:
    """The block of reasoning is closed: clients show it as open until then."""
    since = await prompt(at, "ponder")
    begun = await at.content("reasonText")
    await stop(at)
    await at.content("reasonFinished", id=begun["id"])
    await stopped(at, since)


async def preparing(at: Caller, folder: Path) -> None:
    since = await prompt(at, "prepare")
    await at.content("toolCallPrepare")
    await stop(at)
    await stopped(at, since, "toolCallRejected write_file")
    assert not (folder / "never.txt").exists()


async def waiting(at: Caller, folder: Path) -> None:
    """All of those that wait; an approval that comes after the stop runs nothing."""
    (folder / "one.txt").unlink(missing_ok=True)
    since, first = await call_of(at, "both")
    second = await at.content("toolCallRun", name="shell_command")
    await stop(at)
    await approve(at, first)
    await approve(at, second)
    await stopped(at, since, "toolCallRejected write_file", "toolCallRejected shell_command")
    assert not (folder / "one.txt").exists()


async def running(at: Caller) -> None:
    since, call = await call_of(at, "run sleep 60")
    await approve(at, call)
    await at.content("toolCallRunning", id=call["id"])
    await stop(at)
    await at.told("chat/statusChanged", status="stopping")
    await stopped(at, since, "toolCalled shell_command")


async def stopping(at: Caller) -> None:
    """A second stop, and an approval, while the first winds down."""
    since, call = await call_of(at, "run sleep 60")
    await approve(at, call)
    await at.content("toolCallRunning", id=call["id"])
    await stop(at)
    await stop(at)
    await approve(at, call)
    await stopped(at, since, "toolCalled shell_command")


async def some_of_each(at: Caller) -> None:
    """One call has run, the other still waits."""
    since = await prompt(at, "both")
    first = await at.content("toolCallRun", name="write_file")
    await at.content("toolCallRun", name="shell_command")
    await approve(at, first)
    await at.content("toolCalled", id=first["id"])
    await stop(at)
    await stopped(at, since, "toolCalled write_file", "toolCallRejected shell_command")


async def asking(at: Caller) -> None:
    """The question is nobody's any more."""
    since = await prompt(at, "question")
    asked = await at.asked("chat/askQuestion")
    await stop(at)
    await stopped(at, since, "toolCalled ask_user")
    await at.answer(asked, {"answer": "tea", "cancelled": False})
    assert at.said(await turn(at, "well")) == "Hello, well"
