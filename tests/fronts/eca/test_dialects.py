"""One conversation with a client of each revision: each sees all of it, and nothing that its document does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.eca.projection import make_content
from jupyter_eca.protocol.content import ChangePart, FileChangeDetails, Role, ToolCallRunContent
from jupyter_eca.protocol.event import Event
from jupyter_eca.protocol.jsonrpc import Notification, encode_frame
from jupyter_eca.protocol.notebook import DeleteCell
from tests.requirements.eca.seat import told
from tests.support.host_and_client import desk
from tests.support.raw_client import MemoryClient, connect

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

STORY: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "write", "reply": [{"reasoning": "A file."}, {"text": "I write. "},
                                   {"tool": "write_file", "arguments": {"path": "a.txt", "content": "one\n"}}]},
    {"message": "", "reply": [{"text": "Hello"}]},
]  # fmt: skip
OLD = {"chat": True, "doc": True, "edit": False, "fix": False}
NEWER = {"chat": True, "editor": {"diagnostics": True}}
CURRENT = {"chat": True, "chatCapabilities": {"askQuestion": True}}
SEED_METHODS = {"chat/contentReceived", "config/updated", "tool/serverUpdated"}


async def write(at: MemoryClient, *, approve: bool, **more: Any) -> Any:
    """A turn with one tool call; gives the result of the prompt and the call's last content."""
    result = await at.result("chat/prompt", {"chatId": "c", "message": "write", **more})
    call = await at.content("toolCallRun")
    decision = "chat/toolCallApprove" if approve else "chat/toolCallReject"
    await at.tell(decision, {"chatId": "c", "toolCallId": call["id"]})
    ended = await at.content("toolCalled" if approve else "toolCallRejected")
    await at.finished()
    return result, ended


async def announced(at: MemoryClient) -> dict[str, Any]:
    """The configuration that a client is told of when it is ready."""
    await at.tell("initialized", {})
    message = await at.until(lambda m: getattr(m, "method", "") == "config/updated")
    return message.params["chat"]


async def test_a_client_of_the_older_seed_finds_its_words_and_no_others(tmp_path: Path) -> None:
    async with desk(tmp_path, STORY) as table:
        at = connect(table)
        hello = await at.initialize(OLD, chatBehavior="agent")
        assert set(hello) >= {
            "models",
            "chatDefaultModel",
            "chatBehaviors",
            "chatDefaultBehavior",
            "chatWelcomeMessage",
        }
        assert (hello["chatBehaviors"], hello["chatDefaultBehavior"]) == (["agent", "plan"], "agent")
        assert "scripted/test" in hello["models"]
        await announced(at)
        result, called = await write(at, approve=True, requestId="r", behavior="agent")
        assert result["status"] == "success"
        assert called["outputs"] == [
            {"type": "text", **dict.fromkeys(("text", "content"), called["outputs"][0]["text"])}
        ]
        assert set(at.methods) == SEED_METHODS
        assert not {"toolCallRunning", "metadata"} & set(at.contents)
        await at.close()


async def test_a_client_of_the_older_seed_is_told_that_the_user_rejected_a_call(tmp_path: Path) -> None:
    async with desk(tmp_path, STORY) as table:
        at = connect(table)
        await at.initialize(OLD)
        assert (await write(at, approve=False, requestId="r"))[1]["reason"] == "user"
        await at.close()


async def test_a_client_of_the_newer_seed_finds_its_words_and_no_others(tmp_path: Path) -> None:
    async with desk(tmp_path, STORY) as table:
        at = connect(table)
        await at.initialize(NEWER)
        config = await announced(at)
        assert (config["behaviors"], config["selectBehavior"]) == (["agent", "plan"], "agent")
        result, called = await write(at, approve=True, behavior="agent")
        assert result["status"] == "prompting"
        assert called["outputs"][0]["text"]
        assert set(at.methods) == SEED_METHODS
        assert {"toolCallRunning", "metadata"} <= set(at.contents)
        assert (await write(at, approve=False))[1]["reason"] == "user-choice"
        await at.close()


@pytest.mark.parametrize(("can", "reason"), [(OLD, "user"), (NEWER, "user-config"), (CURRENT, "userConfigDeny")])
async def test_a_call_that_the_rules_forbid_is_rejected_in_the_clients_words(
    tmp_path: Path, can: Any, reason: str
) -> None:
    deny = {"write_file": {"argsMatchers": {"path": [".*"]}}}
    async with desk(tmp_path, STORY, toolCall={"approval": {"deny": deny}}) as table:
        at = connect(table)
        await at.initialize(can)
        await at.result("chat/prompt", {"chatId": "c", "message": "write"})
        assert (await at.content("toolCallRejected"))["reason"] == reason
        await at.finished()
        await at.close()


async def test_a_notice_about_one_chat_is_kept_from_who_would_take_it_for_all(tmp_path: Path) -> None:
    async with desk(tmp_path, STORY) as table:
        newer, today = connect(table), connect(table)
        await newer.initialize(NEWER)
        await announced(newer)
        await today.initialize(CURRENT)
        await announced(today)
        await today.result("chat/prompt", {"chatId": "c", "message": "/model scripted/test"})
        assert (await told(today, "config/updated", chatId="c"))["chat"] == {"selectModel": "scripted/test"}
        await newer.finished()
        assert len(newer.params("config/updated")) == 1
        await newer.close()
        await today.close()


async def test_a_client_of_today_finds_todays_words(tmp_path: Path) -> None:
    async with desk(tmp_path, STORY) as table:
        at = connect(table)
        await at.initialize(CURRENT)
        config = await announced(at)
        assert (config["agents"], config["selectAgent"]) == (["code", "plan", "tutor"], "code")
        result, _ = await write(at, approve=True, agent="code")
        assert result["status"] == "prompting"
        assert {"chat/opened", "chat/statusChanged", "$/progress"} <= set(at.methods)
        assert (await write(at, approve=False))[1]["reason"] == "userChoiceDeny"
        await at.close()


async def test_a_request_id_in_the_first_prompt_gives_an_older_client_away(tmp_path: Path) -> None:
    async with desk(tmp_path, STORY) as table:
        at = connect(table)
        await at.initialize({"chat": True})
        assert (await at.result("chat/prompt", {"message": "hi", "requestId": "r"}))["status"] == "success"
        await at.finished()
        await at.close()


async def test_a_client_that_uses_a_method_of_today_is_one_of_today_from_then_on(tmp_path: Path) -> None:
    async with desk(tmp_path, STORY) as table:
        at = connect(table)
        await at.initialize({"chat": True, "doc": True})
        await at.result("chat/list", {})
        assert (await at.result("chat/prompt", {"message": "hi", "requestId": "r"}))["status"] == "prompting"
        await at.finished()
        assert "chat/statusChanged" in at.methods
        await at.close()


@pytest.mark.parametrize(
    ("can", "options"), [(OLD, {"chatBehavior": "plan"}), (CURRENT, {"chatAgent": "plan"}), (CURRENT, {})]
)
@pytest.mark.parametrize("prompt", [{"behavior": "plan"}, {"agent": "plan"}])
async def test_plan_is_plan_in_every_revision(tmp_path: Path, can: Any, options: Any, prompt: Any) -> None:
    async with desk(tmp_path, STORY) as table:
        at = connect(table)
        await at.initialize(can, **options)
        await at.tell("initialized")
        await at.result("chat/prompt", {"chatId": "c", "message": "write", **prompt})
        assert (await at.content("toolCallRejected"))["name"] == "write_file"
        await at.finished()
        assert not (tmp_path / "a.txt").exists()
        await at.close()


@pytest.mark.parametrize(("can", "option"), [(OLD, "chatBehavior"), (NEWER, "chatBehavior"), (CURRENT, "chatAgent")])
async def test_plan_in_the_options_is_plan_where_the_host_is_one_for_all(tmp_path: Path, can: Any, option: str) -> None:
    async with desk(tmp_path, STORY, toolCall={"approval": {"byDefault": "allow"}}) as table:
        at, other = connect(table), connect(table)
        hello = await at.initialize(can, **{option: "plan"})
        assert (hello["chatDefaultBehavior"], hello["chatBehaviors"]) == ("plan", ["plan", "agent"])
        config = await announced(at)
        assert (config["selectAgent"], config["agents"], config["defaultBehavior"]) == (
            "plan",
            ["plan", "code", "tutor"],
            "plan",
        )
        native = next(p for p in at.params("tool/serverUpdated") if p["type"] == "native")
        assert "write_file" in [tool["name"] for tool in native["tools"] if tool.get("disabled", True)]
        await at.result("chat/prompt", {"chatId": "c", "message": "write"})
        assert (await at.content("toolCallRejected"))["name"] == "write_file"
        await at.finished()
        await other.initialize(CURRENT)
        assert (await announced(other))["selectAgent"] == "code"
        await at.close()
        await other.close()


@pytest.mark.parametrize("name", ["Neovim", "Emacs"])
async def test_an_editor_that_reads_64_kib_at_once_is_asked_and_told_in_less(tmp_path: Path, name: str) -> None:
    """eca-nvim loses a message that comes in two pieces: it never showed the question, and the turn never ended."""
    long = {"path": "a.txt", "content": "one line of many ✓\n" * 4000}
    rules = [STORY[0], {"message": "", "reply": [{"tool": "write_file", "arguments": long}]}]
    async with desk(tmp_path, rules) as table:
        at = connect(table)
        hello = {"clientInfo": {"name": name}, "capabilities": {"codeAssistant": NEWER}}
        await at.result("initialize", hello)
        chat = (await at.result("chat/prompt", {"message": "go", "contexts": []}))["chatId"]
        call = await at.content("toolCallRun")
        await at.tell("chat/toolCallApprove", {"chatId": chat, "toolCallId": call["id"]})
        await at.content("toolCalled")
        await at.finished()
        told = [message for message in at.heard if isinstance(message, Notification)]
        assert (max(len(encode_frame(message)) for message in told) < 2**15 + 200) == (name == "Neovim")
        assert ("more characters, too many for this editor" in call["details"]["diff"]) == (name == "Neovim")
        assert (tmp_path / "a.txt").read_text() == long["content"]
        await at.close()


@pytest.mark.parametrize("envelope", [True, False])
async def test_a_change_has_no_field_for_another_editor_that_is_not_in_eca(*, envelope: bool) -> None:
    part = ChangePart(start=0, end=1, text="b")
    details = FileChangeDetails(
        path="a.ipynb",
        diff="-a\n+b\n",
        lines_added=1,
        lines_removed=1,
        cells=(DeleteCell(cell_id="1", was="a"),),
        loads="an image of example.org",
        parts=(part, part),
        left_out=(1,),
    )
    content = ToolCallRunContent(id="1", name="n", server="eca", arguments={}, manual_approval=True, details=details)
    event = Event(chat="c", turn="1", role=Role.ASSISTANT, content=content)
    ours = {"cells", "loads", "parts", "leftOut"}
    sent: Any = make_content(event, "c", envelope=envelope).content.as_json_object()["details"]
    assert sent.keys() - ours == {"type", "path", "diff", "linesAdded", "linesRemoved"}
    assert sent.keys() & ours == (ours if envelope else set())
