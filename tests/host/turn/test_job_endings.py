"""A turn that begins by itself when a background job has ended, for users who have set `chat.continueAfterJobs`."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host.turn import job_endings
from jupyter_eca.protocol.content import Role, TextContent, ToolCallRunContent
from jupyter_eca.protocol.job import JobParams, JobsKillResult, JobStatus
from jupyter_eca.protocol.jsonrpc import Notification
from tests.host.turn.subagents.family import spawn
from tests.support.host_and_client import PATIENCE, Desk, Notebook, answer, desk, outcomes, said
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.transport.eca_client import EcaClient

pytestmark = pytest.mark.asyncio

Json = dict[str, Any]

ON: dict[str, Any] = {"chat": {"continueAfterJobs": True}}
ALLOW: dict[str, Any] = {"toolCall": {"approval": {"byDefault": "allow"}}}


def start(pipe: str = "pipe", *, background: bool = True) -> dict[str, Any]:
    """A call of a command that prints a line, waits for one that the test writes into a pipe, and prints this too."""
    command = f"echo begun; read line < {pipe}; echo got $line; test $line != bad"
    return {"tool": "shell_command", "arguments": {"command": command, "background": background}}


# The model starts a job, says so, and later says what it reads of the end.
RULES: list[dict[str, Any]] = [
    {"result": "Started as job-", "reply": [{"text": "It runs."}]},
    {"result": "", "reply": [{"text": "It said: {result}"}]},
    {"message": r"\[Background job", "reply": [{"text": "I read: {message}"}]},
    {"message": "^two", "reply": [start(), start("other")]},
    {"message": "^go", "reply": [start()]},
    {"message": "", "reply": [{"text": "Hello."}]},
]


@dataclass
class Room:
    """A chat with a job that waits for a line."""

    table: Desk
    client: EcaClient
    heard: list[ChatContentReceivedParams] = field(default_factory=list["ChatContentReceivedParams"])
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def listen(self) -> None:
        """Hear what comes in the chat from now on."""

        def hear(received: ChatContentReceivedParams) -> None:
            self.heard.append(received)
            self._news.set()

        self.heard.clear()
        self.client.listen("chat", hear)

    async def hear(self, is_heard: Callable[[], Any]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_heard():
                self._news.clear()
                await self._news.wait()

    async def write(self, line: str = "it", pipe: str = "pipe") -> None:
        """Let the job go on to its end."""
        async with asyncio.timeout(PATIENCE):
            await asyncio.to_thread((self.table.folder / pipe).write_text, f"{line}\n")

    async def events(self) -> list[Event]:
        return await self.table.host.chats.read_events("chat")

    async def end_without_turn(self, line: str = "it") -> None:
        """The job ends, and this is a note that belongs to no turn."""
        before = {event.turn for event in await self.events()}
        await self.write(line)
        async with asyncio.timeout(PATIENCE):
            while not (notes := [event for event in await self.events() if "Background job" in text_of(event)]):
                pass  # each look waits for a commit
        assert [note.turn for note in notes] == [""]
        await self.table.host.jobs.wait(self.table.host.jobs.list()[0].id)
        assert {event.turn for event in await self.events()} <= {*before, ""}


def text_of(event: Event) -> str:
    return event.content.text if isinstance(event.content, TextContent) and event.role is Role.SYSTEM else ""


@asynccontextmanager
async def room(
    folder: Path, message: str = "go", rules: list[dict[str, Any]] = RULES, **config: Any
) -> AsyncGenerator[Room]:
    for pipe in ("pipe", "other"):
        os.mkfifo(folder / pipe)
    async with desk(folder, rules, **{**ALLOW, **ON, **config}) as table:
        there = Room(table, await table.client())
        if message:
            await answer(there.client, message)
        there.listen()
        yield there


async def test_the_end_of_a_job_begins_a_turn_that_says_which_job_ended_how_and_with_which_lines(
    tmp_path: Path,
) -> None:
    async with room(tmp_path) as there:
        await there.write()
        await there.hear(lambda: outcomes(there.heard))
        begun = next(one for one in there.heard if isinstance(one.content, TextContent))
        assert begun.role is Role.SYSTEM
        assert said([begun], "system").startswith("Background job is done after ")
        assert not [one for one in there.heard if one.role is Role.USER]
        assert {one.turn for one in there.heard} == {begun.turn}
        answered = said(there.heard)
        assert answered.startswith("I read: [Background job job-")
        assert "is done after" in answered
        assert "Its last lines:\nbegun\ngot it" in answered


async def test_how_a_job_failed_is_said_too(tmp_path: Path) -> None:
    async with room(tmp_path) as there:
        await there.write("bad")
        await there.hear(lambda: outcomes(there.heard))
        assert "failed after" in said(there.heard)
        assert "exit code 1" in said(there.heard)


async def test_the_turn_is_restored_as_it_was(tmp_path: Path) -> None:
    async with room(tmp_path) as there:
        await there.write()
        await there.hear(lambda: outcomes(there.heard))
        before = (await there.table.host.turns.draft("chat")).messages
    async with desk(tmp_path, RULES) as table:
        assert (await table.host.turns.draft("chat")).messages == before


async def test_an_editor_sees_a_chat_that_works_and_a_line_that_is_not_the_users(tmp_path: Path) -> None:
    async with room(tmp_path) as there, connect_and_initialize(there.table) as editor:
        await there.write()
        await editor.finished()
        heard = [message for message in editor.heard if isinstance(message, Notification)]
        statuses = [message.params["status"] for message in heard if message.method == "chat/statusChanged"]
        assert statuses == ["running", "idle"]
        contents: list[Json] = [message.params for message in heard if message.method == "chat/contentReceived"]
        texts: list[Json] = [one for one in contents if one["content"]["type"] == "text"]
        assert texts[0]["role"] == "system"
        assert texts[0]["content"]["text"].startswith("Background job is done")
        assert "user" not in {one["role"] for one in contents}


async def test_two_jobs_that_end_at_once_begin_one_turn_that_tells_of_both(tmp_path: Path) -> None:
    async with room(tmp_path, "two") as there:
        host = there.table.host
        for job in host.jobs.list():
            host.job_endings.announce(job.model_copy(update={"status": JobStatus.COMPLETED}), "")
        await there.hear(lambda: outcomes(there.heard))
        assert len({one.turn for one in there.heard if one.turn}) == 1
        assert said(there.heard).count("[Background job job-") == 2


async def test_a_call_of_the_turn_is_asked_about_and_can_be_stopped_as_in_any_other(tmp_path: Path) -> None:
    write = {"tool": "write_file", "arguments": {"path": "made.txt", "content": "x"}}
    rules = [*RULES[:2], {"message": r"\[Background job", "reply": [write]}, *RULES[3:]]
    allow: dict[str, Any] = {"approval": {"allow": {"shell_command": {}}}}
    async with room(tmp_path, rules=rules, toolCall=allow) as there:
        await there.write()
        await there.hear(
            lambda: [
                one
                for one in there.heard
                if isinstance(one.content, ToolCallRunContent) and one.content.manual_approval
            ]
        )
        await there.client.stop("chat")
        await there.hear(lambda: outcomes(there.heard))
        assert outcomes(there.heard) == ["stopped"]
        assert not (tmp_path / "made.txt").exists()


async def test_without_the_setting_the_end_is_a_note(tmp_path: Path) -> None:
    async with room(tmp_path, chat={}) as there:
        await there.end_without_turn()


async def test_no_turn_begins_when_nobody_could_approve(tmp_path: Path) -> None:
    async with room(tmp_path, "") as there:
        alone = await there.table.client(unattended=True)
        await answer(alone, "go")
        await there.client.close()
        await there.end_without_turn()


async def test_a_cell_that_does_not_wait_for_an_answer_is_nobody_who_could_approve(tmp_path: Path) -> None:
    async with room(tmp_path, "") as there:
        cell = await there.table.client(Notebook())
        await answer(cell, "go")
        await there.client.close()
        await there.end_without_turn()


async def test_no_turn_begins_after_the_user_has_stopped_the_one_of_the_job(tmp_path: Path) -> None:
    rules = [{"result": "Started as job-", "reply": [{"text": "slow " * 5_000, "chunk": 1, "delay": 0.01}]}, *RULES[1:]]
    async with room(tmp_path, "", rules=rules) as there:
        stopping = asyncio.ensure_future(answer(there.client, "go"))
        async with asyncio.timeout(PATIENCE):
            while not there.table.host.jobs.list():
                await there.events()
        await there.client.stop("chat")
        assert outcomes(await stopping) == ["stopped"]
        await there.end_without_turn()


async def test_a_job_that_somebody_has_ended_begins_no_turn(tmp_path: Path) -> None:
    async with room(tmp_path) as there:
        (job,) = there.table.host.jobs.list()
        killed = await there.client.request("jobs/kill", JobParams(job_id=job.id), JobsKillResult)
        assert killed.killed
        notes = [event for event in await there.events() if "Background job was ended" in text_of(event)]
        assert [note.turn for note in notes] == [""]
        assert not (await there.table.host.chats.load("chat")).is_busy


async def test_in_a_chat_that_is_busy_the_end_is_a_note_for_its_next_request(tmp_path: Path) -> None:
    waits = {"message": "^wait", "reply": [start("other", background=False)]}
    async with room(tmp_path, rules=[waits, *RULES]) as there:
        busy = asyncio.ensure_future(answer(there.client, "wait"))
        async with asyncio.timeout(PATIENCE):
            while not (await there.table.host.chats.load("chat")).is_busy:
                await there.events()
        await there.end_without_turn()
        await there.write("that", "other")
        assert said(await busy).endswith("Its last lines:\nbegun\ngot it")


async def test_the_job_of_a_subagent_begins_no_turn(tmp_path: Path) -> None:
    rules = [
        RULES[0],
        {"result": "", "tool": "spawn_agent", "reply": [{"text": "Thanks."}]},
        {"message": "^the part", "reply": [start()]},
        {"message": "", "reply": [spawn("general", "the part")]},
    ]
    async with room(tmp_path, rules=rules) as there:
        (job,) = there.table.host.jobs.list()
        assert job.tool_call_id not in {getattr(event.content, "id", None) for event in await there.events()}
        await there.end_without_turn()


async def test_the_job_of_an_outside_agent_begins_no_turn(tmp_path: Path) -> None:
    async with room(tmp_path) as there:
        live = await there.table.host.chats.load("chat")
        live.state = replace(live.state, setup=replace(live.state.setup, outside=True))
        await there.end_without_turn()


async def test_turns_do_not_begin_by_themselves_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_endings, "MAX_TURNS", 1)
    rules = [RULES[0], {"message": r"\[Background job", "reply": [start("other")]}, *RULES[1:]]
    async with room(tmp_path, rules=rules) as there:
        await there.write()
        await there.hear(lambda: outcomes(there.heard))
        turns = {event.turn for event in await there.events()}
        await there.write("that", "other")
        async with asyncio.timeout(PATIENCE):
            while len([event for event in await there.events() if "Background job" in text_of(event)]) < 2:
                pass  # each look waits for a commit
        assert {event.turn for event in await there.events()} == {*turns, ""}
