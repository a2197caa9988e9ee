"""Who approves a tool call: the user of the client, or nobody."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import ErrorResponse, Notification
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files
from tests.apps.kernel.markdown_judges import COMMONMARK
from tests.fronts.acp.script import RULES, Json
from tests.mcp_client.web import web
from tests.support.access import ASKER
from tests.support.acp_client import chatting_with, connected, needs_schema
from tests.support.host_and_client import answer, desk, said
from tests.support.processes import have_ended

if TYPE_CHECKING:
    from pathlib import Path

NOTEBOOK: dict[str, Any] = {
    "cells": [
        {"cell_type": "code", "id": "c1", "source": "x = 1", "metadata": {}, "outputs": [], "execution_count": None}
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}

pytestmark = [pytest.mark.asyncio, needs_schema]


async def test_a_call_is_shown_before_its_question_which_has_all_that_it_does(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("a\nb\n")
    async with chatting_with(tmp_path, [{"message": "^edit", "reply": [
        {"tool": "read_file", "arguments": {"path": "old.txt"}}]},
        {"result": "", "tool": "read_file", "reply": RULES[5]["reply"]}, *RULES],
        toolCall={"approval": {"allow": {"read_file": {}}}}) as client:  # fmt: skip
        prompt = await client.start_prompt("edit")
        request = await client.permission()
        call = request.params["toolCall"]
        before = client.merge_call(call["toolCallId"])
        assert before["status"] == "pending"
        assert before["title"] == call["title"] == "Editing old.txt"
        assert call["kind"] == "edit"
        assert call["rawInput"]["new_content"] == "B\nc\n"
        assert [place["path"] for place in call["locations"]] == [str(tmp_path / "old.txt")]
        diff = next(part for part in call["content"] if part["type"] == "diff")
        assert diff == {
            "type": "diff", "path": str(tmp_path / "old.txt"), "oldText": "a\nb\n", "newText": "a\nB\nc\n"
        }  # fmt: skip
        assert [option["kind"] for option in request.params["options"]] == ["allow_once", "allow_always", "reject_once"]
        await client.decide(request, "allow_once")
        assert await client.stop_reason(prompt) == "end_turn"
        assert (tmp_path / "old.txt").read_text() == "a\nB\nc\n"
        after = client.merge_call(call["toolCallId"])
        assert after["status"] == "completed"
        assert diff in after["content"]


async def test_a_new_file_has_no_old_text(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        prompt = await client.start_prompt("write new.txt hello")
        request = await client.permission()
        diff = next(part for part in request.params["toolCall"]["content"] if part["type"] == "diff")
        assert "oldText" not in diff
        assert diff["newText"] == "hello\n"
        await client.decide(request, "allow_once")
        assert await client.stop_reason(prompt) == "end_turn"
        assert (tmp_path / "new.txt").read_text() == "hello\n"


async def test_a_rejected_call_fails_with_the_reason_and_the_model_goes_on(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        prompt = await client.start_prompt("write new.txt hello")
        request = await client.permission()
        await client.decide(request, "reject_once")
        assert await client.stop_reason(prompt) == "end_turn"
        assert not (tmp_path / "new.txt").exists()
        call = client.merge_call(request.params["toolCall"]["toolCallId"])
        assert call["status"] == "failed"
        assert "did not run" in str(call["content"])
        assert client.said().endswith("Then I leave it.")


async def test_an_approval_for_the_chat_is_remembered_in_this_session_only(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        prompt = await client.start_prompt("write one.txt 1")
        request = await client.permission()
        always = next(option for option in request.params["options"] if option["kind"] == "allow_always")
        assert always["name"].startswith("Allow in this chat: ")
        await client.decide(request, "allow_always")
        await client.stop_reason(prompt)
        assert await client.prompt("write two.txt 2") == "end_turn"
        assert (tmp_path / "two.txt").exists()
        await client.open()
        prompt = await client.start_prompt("write three.txt 3")
        await client.decide(await client.permission(), "reject_once")
        await client.stop_reason(prompt)
        assert not (tmp_path / "three.txt").exists()


async def test_what_changes_the_rules_is_asked_each_time_with_a_warning_and_never_remembered(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES, toolCall={"approval": {"byDefault": "allow"}}) as client:
        for _ in range(2):
            prompt = await client.start_prompt("write .eca/config.json {}")
            request = await client.permission()
            assert [option["kind"] for option in request.params["options"]] == ["allow_once", "reject_once"]
            assert "changes what may run without asking" in request.params["toolCall"]["title"]
            await client.decide(request, "reject_once")
            await client.stop_reason(prompt)
        assert not (tmp_path / ".eca").exists()


# Each ends a block of code that is fenced by three backticks.
ENDS = ["\n```\n", "\n ```\n", "\n  ````\n", "\n   ```\n", "\r```\r", "\r\n   ```\r\n"]


def parse_blocks(call: Any) -> list[Any]:
    """The texts of a call as tokens of Markdown."""
    texts = [part["content"]["text"] for part in call["content"] if part["type"] == "content"]
    return [token for text in texts for token in COMMONMARK.parse(text)]


@pytest.mark.parametrize("end", ENDS, ids=repr)
async def test_no_text_leaves_the_block_of_code_that_is_asked_about(tmp_path: Path, end: str) -> None:
    """What comes after the block would look like a text of ours."""
    command = f"touch here.txt{end}Nothing else runs.\n\ntouch there.txt\n"
    edit: Any = {"path": "a.ipynb", "changes": [{"do": "edit", "cell": "c1", "source": f"'''{command}'''"}]}
    (tmp_path / "a.ipynb").write_text(json.dumps(NOTEBOOK))
    rules: list[Any] = [
        {"message": "^hide", "reply": [{"tool": "shell_command", "arguments": {"command": command}}]},
        {"result": "", "tool": "notebook_read", "reply": [{"tool": "notebook_change", "arguments": edit}]},
        {"message": "^cells", "reply": [{"tool": "notebook_read", "arguments": {"path": "a.ipynb"}}]},
        *RULES,
    ]
    more: Any = {
        "toolCall": {"approval": {"allow": {"notebook_read": {}}}},
        "notebooks": NotebookFiles(Files((tmp_path,))),
    }
    async with chatting_with(tmp_path, rules, **more) as client:
        for message in ("hide", "cells"):
            prompt = await client.start_prompt(message)
            request = await client.permission()
            (block,) = [token for token in parse_blocks(request.params["toolCall"]) if "Nothing" in token.content]
            assert block.type == "fence"
            assert "touch here.txt" in block.content
            assert "touch there.txt" in block.content
            await client.decide(request, "reject_once")
            await client.stop_reason(prompt)


async def test_a_question_shows_everything_that_runs_and_every_character_of_it(tmp_path: Path) -> None:
    """Details do not show the folder of a command, and nothing of a call to a tool server."""
    (tmp_path / "inside").mkdir()
    command = "echo \u202eshow\u200b > c\u043ede.txt"
    run: Json = {"command": command, "working_directory": "inside", "background": True}
    move: Json = {"source": "script.json", "destination": "inside/\u202e.json"}
    rules: list[Json] = [
        {"message": "^run", "reply": [{"tool": "shell_command", "arguments": run}]},
        {"message": "^move", "reply": [{"tool": "move_file", "arguments": move}]},
        {"message": "^add", "reply": [{"tool": "acp_tour__add", "arguments": {"a": 40, "b": 2}}]},
        {"message": "^write", "reply": [{"tool": "write_file", "arguments": {"path": "a.py", "content": command}}]},
        *RULES,
    ]
    wanted: dict[str, list[str]] = {
        "run": ["echo \\u202eshow\\u200b > c\\u043ede.txt\n# in the background", '"working_directory": "inside"'],
        "move": ['"source": "script.json"', '"destination": "inside/\\u202e.json"'],
        "add": ['"a": 40', '"b": 2'],
        "write": ["+echo \\u202eshow\\u200b > c\\u043ede.txt"],
    }
    async with web() as site, chatting_with(tmp_path, rules) as client:
        await client.open({"type": "http", "name": "tour", "url": site.url, "headers": []})
        for message, texts in wanted.items():
            prompt = await client.start_prompt(message)
            request = await client.permission()
            shown = "".join(token.content for token in parse_blocks(request.params["toolCall"]))
            assert [text for text in texts if text not in shown] == []
            assert "\u202e" not in shown
            await client.decide(request, "reject_once")
            await client.stop_reason(prompt)


async def test_a_change_of_cells_is_shown_as_cells_and_never_as_a_change_of_the_file(tmp_path: Path) -> None:
    """An editor would show a diff block as the text of the file, or write it there."""
    (tmp_path / "a.ipynb").write_text(json.dumps(NOTEBOOK))
    edit: Any = {"path": "a.ipynb", "changes": [{"do": "edit", "cell": "c1", "source": "x = 10"}]}
    rules: list[Any] = [
        {"result": "", "tool": "notebook_read", "reply": [{"tool": "notebook_change", "arguments": edit}]},
        {"message": "^cells", "reply": [{"tool": "notebook_read", "arguments": {"path": "a.ipynb"}}]},
        *RULES,
    ]
    more: Any = {
        "toolCall": {"approval": {"allow": {"notebook_read": {}}}},
        "notebooks": NotebookFiles(Files((tmp_path,))),
    }
    async with chatting_with(tmp_path, rules, **more) as client:
        prompt = await client.start_prompt("cells")
        request = await client.permission()
        call = request.params["toolCall"]
        assert [part["type"] for part in call["content"]] == ["content"] * len(call["content"])
        assert "+x = 10" in str(call["content"])
        assert call["locations"] == [{"path": str(tmp_path / "a.ipynb")}]
        await client.decide(request, "allow_once")
        assert await client.stop_reason(prompt) == "end_turn"
        assert "x = 10" in (tmp_path / "a.ipynb").read_text()


async def test_paths_are_those_of_the_files_also_in_a_session_of_an_inner_folder(tmp_path: Path) -> None:
    """The path of a change is relative to the first root, and that of an argument to the folder of the turn."""
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "a.ipynb").write_text(json.dumps(NOTEBOOK))
    (tmp_path / "inside" / "old.txt").write_text("a\nb\n")
    edit: Any = {"path": "a.ipynb", "changes": [{"do": "edit", "cell": "c1", "source": "x = 10"}]}
    rules: list[Any] = [
        {"result": "", "tool": "notebook_read", "reply": [{"tool": "notebook_change", "arguments": edit}]},
        {"message": "^cells", "reply": [{"tool": "notebook_read", "arguments": {"path": "a.ipynb"}}]},
        {"message": "^read", "reply": [{"tool": "read_file", "arguments": {"path": "old.txt"}}]},
        *RULES,
    ]
    more: Any = {
        "toolCall": {"approval": {"allow": {"notebook_read": {}}}},
        "notebooks": NotebookFiles(Files((tmp_path,))),
    }
    async with chatting_with(tmp_path, rules, **more) as client:
        client.folder = tmp_path / "inside"
        await client.open()
        for message, name in (("cells", "a.ipynb"), ("read", "old.txt")):
            prompt = await client.start_prompt(message)
            call = (request := await client.permission()).params["toolCall"]
            assert [place["path"] for place in call["locations"]] == [str(tmp_path / "inside" / name)]
            await client.decide(request, "reject_once")
            await client.stop_reason(prompt)


ANSWERS: list[Any] = [
    {"outcome": {"outcome": "selected", "optionId": "allow-everything"}},
    {"outcome": {"outcome": "selected"}},
    {"outcome": {"outcome": "approved", "optionId": "allow"}},
    {"outcome": "selected", "optionId": "allow"},
    {},
    None,
]


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
async def test_an_answer_that_was_not_offered_allows_nothing(tmp_path: Path, answer: Any) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        client.checked.checks_sent = False
        prompt = await client.start_prompt("write new.txt hello")
        await client.answer(await client.permission(), answer)
        assert await client.stop_reason(prompt) == "end_turn"
        assert not (tmp_path / "new.txt").exists()


async def test_a_client_that_cannot_ask_its_user_gets_a_call_that_nobody_approved(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        prompt = await client.start_prompt("write new.txt hello")
        request = await client.permission()
        await client.wire.send(ErrorResponse(request.id, -32601, "no such method"))
        assert await client.stop_reason(prompt) == "end_turn"
        assert not (tmp_path / "new.txt").exists()
        call = client.merge_call(request.params["toolCall"]["toolCallId"])
        assert "Nobody was there to approve it" in str(call["content"])


async def test_calls_that_were_asked_about_are_rejected_when_the_client_turns_out_to_be_unable(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connected(table) as client:
        table.host.unattended_calls.grace = 0.0
        client.checked.checks_sent = False
        prompt = await client.start_prompt("twice")
        first, _ = await client.permission(), await client.permission()
        await client.answer(first, {})
        assert await client.stop_reason(prompt) == "end_turn"
        assert not (tmp_path / "1.txt").exists()
        assert not (tmp_path / "2.txt").exists()


async def test_a_call_of_another_clients_turn_is_rejected_after_the_session_was_closed(tmp_path: Path) -> None:
    """Only the session could approve it, and nobody is asked any more."""
    async with desk(tmp_path, RULES) as table, connected(table) as client:
        table.host.unattended_calls.grace = 0.0
        await client.prompt("you")
        other = await table.client(unattended=True)
        answering = asyncio.ensure_future(answer(other, "write new.txt hello", chat=client.session))
        await client.permission()
        await client.result("session/close", {"sessionId": client.session})
        assert "Then I leave it." in said(await answering)
        assert not (tmp_path / "new.txt").exists()


async def test_a_question_is_withdrawn_when_the_turn_is_cancelled(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        prompt = await client.start_prompt("write new.txt hello")
        request = await client.permission()
        await client.cancel()
        assert await client.stop_reason(prompt) == "cancelled"
        await client.decide(request, "allow_once")  # too late
        assert await client.prompt("you") == "end_turn"
        assert not (tmp_path / "new.txt").exists()
        assert client.merge_call(request.params["toolCall"]["toolCallId"])["status"] == "failed"


async def test_a_question_that_is_answered_with_cancelled_stops_the_turn(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        prompt = await client.start_prompt("write new.txt hello")
        await client.decide(await client.permission(), "cancelled")
        assert await client.stop_reason(prompt) == "cancelled"
        assert not (tmp_path / "new.txt").exists()


async def test_each_call_of_an_answer_has_a_question_of_its_own(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        prompt = await client.start_prompt("twice")
        first, second = await client.permission(), await client.permission()
        await client.decide(first, "allow_once")
        await client.decide(second, "reject_once")
        assert await client.stop_reason(prompt) == "end_turn"
        assert (tmp_path / "1.txt").exists()
        assert not (tmp_path / "2.txt").exists()


async def test_an_approval_in_the_panel_withdraws_the_question(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connected(table) as client:
        panel = await table.client()
        prompt = await client.start_prompt("write new.txt hello")
        request = await client.permission()
        await panel.decide(client.session, request.params["toolCall"]["toolCallId"], CallDecision(approved=True))
        assert await client.stop_reason(prompt) == "end_turn"
        assert (tmp_path / "new.txt").exists()
        withdrawn = [m for m in client.heard if isinstance(m, Notification) and m.method == "$/cancel_request"]
        assert [notification.params["requestId"] for notification in withdrawn] == [request.id]


async def test_a_connection_that_may_not_approve_asks_nobody(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES, access=ASKER) as client:
        assert await client.prompt("write new.txt hello") == "end_turn"
        assert not (tmp_path / "new.txt").exists()
        assert not [m for m in client.heard if getattr(m, "method", "") == "session/request_permission"]


async def test_a_connection_that_may_not_approve_says_where_to(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connected(table, access=ASKER) as client:
        panel = await table.client()
        prompt = await client.start_prompt("write new.txt hello")
        waiting = await client.update("tool_call")
        assert "in the chat panel of JupyterLab" in (await client.update("notice"))["title"]
        await panel.decide(client.session, waiting["toolCallId"], CallDecision(approved=True))
        assert await client.stop_reason(prompt) == "end_turn"
        assert (tmp_path / "new.txt").exists()


async def test_a_cancel_kills_the_command_that_runs(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        os.mkfifo(tmp_path / "pid")
        prompt = await client.start_prompt("run echo $$ > pid; sleep 1000")
        request = await client.permission()
        assert request.params["toolCall"]["kind"] == "execute"
        assert "sleep 1000" in str(request.params["toolCall"]["content"])
        await client.decide(request, "allow_once")
        id = request.params["toolCall"]["toolCallId"]
        pid = int(await asyncio.to_thread((tmp_path / "pid").read_text))
        await client.cancel()
        assert await client.stop_reason(prompt) == "cancelled"
        assert have_ended(pid)
        assert client.merge_call(id)["status"] == "failed"


async def test_the_users_answer_to_a_question_reaches_the_model(tmp_path: Path) -> None:
    rules = [{"result": "(?P<said>coffee)", "reply": [{"text": "You said $said."}]}, *RULES]
    async with chatting_with(tmp_path, rules, toolCall={"approval": {"allow": {"ask_user": {}}}}) as client:
        prompt = await client.start_prompt("question")
        asked = await client.until(lambda m: getattr(m, "method", "") == "elicitation/create")
        assert "Tea or coffee?" in asked.params["message"]
        await client.answer(asked, {"action": "accept", "content": {"answer": "coffee"}})
        assert await client.stop_reason(prompt) == "end_turn"
        assert client.said().endswith("You said coffee.")


async def test_a_client_without_forms_is_asked_no_question(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES, {}, toolCall={"approval": {"allow": {"ask_user": {}}}}) as client:
        assert await client.prompt("question") == "end_turn"
        assert not [m for m in client.heard if getattr(m, "method", "") == "elicitation/create"]
