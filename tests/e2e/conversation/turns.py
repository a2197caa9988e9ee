"""First part of the story: what can happen in a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_eca.protocol.jsonrpc import Notification

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conversation.caller import Caller

CAN = {
    "chat": True,
    "rewrite": True,
    "editor": {"diagnostics": True, "definition": True, "references": True},
    "chatCapabilities": {"askQuestion": True},
}
# A turn is told of between these; `opened` and the title come with the first one of a chat.
BEGIN = ["status running", "user text"]
FIRST = ["chat/opened", *BEGIN, "metadata"]
END = ["status idle", "progress finished"]
CALLING = ["toolCallPrepare", "usage", "toolCallRun"]


async def greet(at: Caller, folder: Path) -> None:
    folders = [{"uri": folder.as_uri(), "name": folder.name}]
    params = {"processId": None, "capabilities": {"codeAssistant": CAN}, "workspaceFolders": folders}
    await at.result("initialize", params)
    await at.tell("initialized", {})


async def prompt(at: Caller, message: str, chat: str = "c", **more: Any) -> int:
    """Where the turn begins."""
    since = at.read = at.now
    reply = await at.result("chat/prompt", {"chatId": chat, "message": message, **more})
    assert (reply["chatId"], reply["status"]) == (chat, "prompting")
    return since


async def turn(at: Caller, message: str, chat: str = "c", **more: Any) -> int:
    """One that nobody is asked in."""
    since = await prompt(at, message, chat, **more)
    await at.finished(chat)
    return since


async def call_of(at: Caller, message: str, chat: str = "c", **more: Any) -> tuple[int, dict[str, Any]]:
    """The turn's beginning, and the tool call that it waits for approval of."""
    since = await prompt(at, message, chat, **more)
    return since, await at.content("toolCallRun", chat, manualApproval=True)


async def approve(at: Caller, call: dict[str, Any], chat: str = "c") -> None:
    await at.tell("chat/toolCallApprove", {"chatId": chat, "toolCallId": call["id"]})


# -- the scenes


async def set_up(at: Caller) -> None:
    """What a client is told before it can do anything: models, agents, tools; no progress is left open."""
    config = (await at.told("config/updated"))["chat"]
    assert "scripted/test" in config["models"]
    assert (config["selectModel"], config["selectAgent"], config["agents"]) == (
        "scripted/test",
        "code",
        ["code", "plan", "tutor"],
    )
    await at.told("$/progress", type="finish")
    told = [m.params for m in at.heard if isinstance(m, Notification) and m.method == "$/progress"]
    started = {params["taskId"] for params in told if params["type"] == "start"}
    assert started == {params["taskId"] for params in told if params["type"] == "finish"}


async def text_and_reasoning(at: Caller) -> None:
    since = await turn(at, "think hard", "thought")
    reasoning = ["reasonStarted", "reasonText", "reasonFinished"]
    expected = [*FIRST, "progress running", *reasoning, "assistant text", "usage", *END]
    assert at.order(since, "thought") == expected
    contents = [params["content"] for params in at.contents(since, "thought")]
    thoughts = [content for content in contents if content["type"].startswith("reason")]
    assert len({content["id"] for content in thoughts}) == 1
    assert "".join(content.get("text", "") for content in thoughts) == "Hm. Well."
    assert thoughts[-1]["totalTimeMs"] >= 0
    assert at.said(since, "thought") == "I have thought."
    assert contents[0]["contentId"]


async def approved(at: Caller, folder: Path) -> None:
    """Also that the diff is told before anybody approves, and nothing is done before."""
    since, call = await call_of(at, "write new.txt hello")
    assert call["details"]["type"] == "fileChange"
    assert "+hello" in call["details"]["diff"]
    assert call["arguments"] == {"path": "new.txt", "content": "hello\n"}
    assert not (folder / "new.txt").exists()
    await approve(at, call)
    await at.finished()
    assert (folder / "new.txt").read_text() == "hello\n"
    ran = ["progress running", "toolCallRunning", "progress running", "toolCalled"]
    answer = ["progress running", "assistant text", "usage"]
    assert at.order(since) == [*FIRST, "progress running", "assistant text", *CALLING, *ran, *answer, *END]
    kinds = {"toolCallPrepare", "toolCallRun", "toolCallRunning", "toolCalled"}
    calls = [p["content"] for p in at.contents(since) if p["content"]["type"] in kinds]
    assert {(one["id"], one["name"], one["server"]) for one in calls} == {(call["id"], "write_file", "eca")}
    assert not calls[-1]["error"]


async def rejected(at: Caller, folder: Path) -> None:
    """With words for the model, which is told them and that nothing was done."""
    since, call = await call_of(at, "write no.txt no")
    await at.tell("chat/toolCallReject", {"chatId": "c", "toolCallId": call["id"], "reason": "Use yes.txt."})
    assert (await at.content("toolCallRejected", id=call["id"]))["reason"] == "userChoiceDeny"
    await approve(at, call)  # too late: nothing comes of it
    await at.finished()
    assert "It did not run; nothing was changed. Use yes.txt." in at.said(since)
    assert at.ends(since) == ["toolCallRejected write_file"]
    assert not (folder / "no.txt").exists()


async def two_at_once(at: Caller, folder: Path) -> None:
    """One undecided call hides none of the others. They may be decided in any order, and run in that of the answer."""
    since = await prompt(at, "both")
    first = await at.content("toolCallRun", name="write_file")
    second = await at.content("toolCallRun", name="shell_command")
    assert second["details"]["type"] == "shellCommand"
    await approve(at, second)
    await at.content("toolCallRun", id=second["id"], manualApproval=False)
    await approve(at, first)
    await at.content("toolCalled", id=first["id"])
    assert "two" in (await at.content("toolCalled", id=second["id"]))["outputs"][0]["text"]
    await at.finished()
    assert len(at.ends(since)) == 2
    assert (folder / "one.txt").exists()


async def question(at: Caller) -> None:
    since = await prompt(at, "question")
    asked = await at.asked("chat/askQuestion")
    assert asked.params["chatId"] == "c"
    assert asked.params["question"] == "Tea or coffee?"
    assert [option["label"] for option in asked.params["options"]] == ["tea", "coffee"]
    await at.answer(asked, {"answer": "tea", "cancelled": False})
    await at.finished()
    assert "The user answered: tea" in at.said(since)


async def steered(at: Caller) -> None:
    """Words in mid-turn come before the model's next step; those that were taken back do not."""
    since, call = await call_of(at, "run echo steered")
    await at.tell("chat/promptSteer", {"chatId": "c", "message": "no, leave it"})
    await at.tell("chat/promptSteerRemove", {"chatId": "c"})
    await at.tell("chat/promptSteer", {"chatId": "c", "message": "in French"})
    await approve(at, call)
    await at.finished()
    assert at.said(since) == "D'accord."
    assert at.said(since, role="user") == "run echo steeredin French"


async def busy(at: Caller) -> None:
    """A second prompt is refused, with words for the user, and changes nothing about the first."""
    since, call = await call_of(at, "run echo first")
    assert (await at.result("chat/prompt", {"chatId": "c", "message": "second"}))["status"] == "error"
    assert "This chat is still answering." in str(at.heard)
    await approve(at, call)
    await at.finished()
    assert at.said(since, role="user") == "run echo first"
    assert "first" in at.said(since)


async def costs(at: Caller) -> None:
    """A command of ours: no model, and so no model's progress."""
    since = await turn(at, "/costs")
    assert at.order(since) == [*BEGIN, "system text", *END]
    assert "| This chat |" in at.said(since, role="system")


async def contexts(at: Caller, folder: Path) -> None:
    """What is pointed at is for the model; the reader sees their own words."""
    offered = await at.result("chat/queryContext", {"chatId": "c", "query": "notes", "contexts": []})
    found = [context for context in offered["contexts"] if context["type"] == "file"]
    assert [context["path"] for context in found] == [str(folder / "notes.txt")]
    assert at.said(await turn(at, "read @notes.txt")) == "I have read plum."
    assert at.said(await turn(at, "read that", contexts=found)) == "I have read plum."
    assert "plum" not in at.said(0, role="user")
