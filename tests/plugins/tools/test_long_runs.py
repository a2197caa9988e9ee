"""Code that runs for long, and the user who does not want to wait: a message, a stop, and the end of a job. The
notebook is open in a page, and the clock of the host is that of the test."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config
from jupyter_eca.host.host import Host
from jupyter_eca.protocol.chat import ChatPromptSteerParams, ChatPromptSteerRemoveParams
from jupyter_eca.workspace.ports import Files, Workspace
from tests.plugins.tools.test_background import ALLOW, CELLS, ended, holding, told
from tests.support.host_and_client import PATIENCE, desk_of, said, settings
from tests.support.notebook_page import PATH, Nobody, Page, Room, called, code, result, script

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from jupyter_eca.transport.eca_client import Progress

pytestmark = pytest.mark.asyncio

RUN: dict[str, Any] = {"tool": "notebook_run_cells", "arguments": {"cells": [1, 2, 3]}}
PRINTED = "Its last lines:\nbegun\n 20%"


class Clock:
    """A clock that stands still until it is advanced."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return 1_000 + self.ahead


@asynccontextmanager
async def watched_room(folder: Path, page: Page, clock: Clock) -> AsyncGenerator[Room]:
    (folder / "work").mkdir()
    config = Config.model_validate(settings(folder, [], **ALLOW))
    host = Host(config, Workspace(Files((folder,)), notebooks=Nobody()), folder / "chats.db", clock=clock)
    async with desk_of(host, folder) as table:
        await page.join(table)
        there = Room(table, page, await table.client())
        await there.show_all()
        try:
            yield there
        finally:
            await page.leave()


async def steer(there: Room, message: str) -> None:
    await there.client.notify("chat/promptSteer", ChatPromptSteerParams(chat_id="chat", message=message))


async def ask(there: Room, call: dict[str, Any], watch: Callable[[Progress], None]) -> list[Any]:
    script(there.table.folder, [call])
    async with asyncio.timeout(PATIENCE):
        return [one async for one in there.client.ask("chat", "go", on_progress=watch)]


async def test_a_message_to_a_run_of_more_than_twenty_seconds_is_answered_while_the_cells_run(tmp_path: Path) -> None:
    page, clock = holding(), Clock()
    sent: list[asyncio.Task[None]] = []
    async with watched_room(tmp_path, page, clock) as there:

        def watch(_: Progress) -> None:
            if not sent:
                clock.ahead = 31
                sent.append(asyncio.ensure_future(steer(there, "How far is it?")))

        received = await ask(there, RUN, watch)
        text = result(called(received)[0])
        assert text.startswith(f"Cells 1-3 of {PATH}: Started as job-")
        assert f"\nStill running: cell 1 (1 of 3), 31s. {PRINTED}" in text
        assert said(received).endswith("Done.")
        assert "How far is it?" in told(await there.table.host.turns.draft("chat"))
        assert not page.interrupted.is_set()


async def test_a_message_to_code_that_runs_in_the_kernel_is_answered_in_the_same_way(tmp_path: Path) -> None:
    page, clock = holding(code("a", "x")), Clock()
    sent: list[asyncio.Task[None]] = []
    async with watched_room(tmp_path, page, clock) as there:

        def watch(_: Progress) -> None:
            if not sent:
                clock.ahead = 25
                sent.append(asyncio.ensure_future(steer(there, "How far?")))

        change = {"changes": [{"do": "insert", "source": "new"}], "run": True}
        received = await ask(there, {"tool": "notebook_change", "arguments": change}, watch)
        text = result(called(received)[0])
        assert text.startswith(f"Done; {PATH} has 2 cells now.\nInserted cell 2 ")
        assert "Still running: cell 2 (1 of 1), 25s." in text


@pytest.mark.parametrize(("seconds", "takes_back"), [(15.0, False), (31.0, True)], ids=["soon", "taken back"])
async def test_a_run_goes_on_without_a_word_when_it_is_short_or_nobody_asks_any_more(
    tmp_path: Path, seconds: float, takes_back: bool
) -> None:
    page, clock = holding(), Clock()
    seen: list[str] = []
    sent: list[asyncio.Task[None]] = []
    async with watched_room(tmp_path, page, clock) as there:

        async def ask_and_think_again() -> None:
            await steer(there, "How far is it?")
            if takes_back:
                remove = ChatPromptSteerRemoveParams(chat_id="chat")
                await there.client.notify("chat/promptSteerRemove", remove)
            clock.ahead = seconds

        def watch(report: Progress) -> None:
            seen.append(report.text)
            if not sent:
                sent.append(asyncio.ensure_future(ask_and_think_again()))
            elif f", {seconds:g}s" in report.text and page.hold is not None:
                page.hold.set()

        received = await ask(there, RUN, watch)
        assert result(called(received)[0]).startswith(f"Ran in {PATH}:")
        assert any(f", {seconds:g}s" in text for text in seen)


async def test_after_a_stop_the_model_knows_how_far_the_cells_were(tmp_path: Path) -> None:
    page = holding()
    sent: list[asyncio.Task[None]] = []
    async with watched_room(tmp_path, page, Clock()) as there:

        def watch(_: Progress) -> None:
            if not sent:
                sent.append(asyncio.ensure_future(there.client.stop("chat")))

        received = await ask(there, RUN, watch)
        text = result(called(received)[0])
        assert text.startswith("The user stopped this call while it was running")
        assert text.endswith(f"How far it was: cell 1 (1 of 3), 0s. {PRINTED}")
        assert page.interrupted.is_set()


async def test_the_end_of_a_job_comes_with_its_last_lines(tmp_path: Path) -> None:
    page = holding(*CELLS)
    async with watched_room(tmp_path, page, Clock()) as there:
        await there.ask([{**RUN, "arguments": {**RUN["arguments"], "background": True}}])
        assert page.hold is not None
        page.hold.set()
        await ended(there, "Background job")
        # What the page reported last while the cells ran is older.
        assert "bg_job reads its output.]\nIts last lines:\nran x\nran y\nran z" in told(
            await there.table.host.turns.draft("chat", "next")
        )


def reading(folder: Path, *, after: str = "") -> dict[str, Any]:
    """A command that prints a line, and then waits for one that the test writes into a pipe."""
    os.mkfifo(folder / "pipe")
    return {"tool": "shell_command", "arguments": {"command": f"echo begun; read line < pipe; echo got $line{after}"}}


async def follow(
    there: Room, rules: list[dict[str, Any]], watch: Callable[[Progress], None]
) -> list[ChatContentReceivedParams]:
    """Ask a model that follows these rules."""
    (there.table.folder / "script.json").write_text(json.dumps({"rules": rules}))
    async with asyncio.timeout(PATIENCE):
        return [one async for one in there.client.ask("chat", "go", on_progress=watch)]


async def write_line(folder: Path, line: str) -> None:
    async with asyncio.timeout(PATIENCE):
        await asyncio.to_thread((folder / "pipe").write_text, f"{line}\n")


async def test_a_command_shows_what_it_has_printed_so_far(tmp_path: Path) -> None:
    seen: list[str] = []
    sent: list[asyncio.Task[None]] = []
    async with watched_room(tmp_path, Page({PATH: []}), Clock()) as there:

        def watch(report: Progress) -> None:
            seen.append(report.text)
            if "begun" in report.text and not sent:
                sent.append(asyncio.ensure_future(write_line(tmp_path, "it")))

        received = await ask(there, reading(tmp_path), watch)
        assert result(called(received)[0]) == "begun\ngot it"
        assert "0s\nbegun" in seen


async def test_a_message_to_a_command_of_more_than_twenty_seconds_is_answered_while_it_runs(tmp_path: Path) -> None:
    clock = Clock()
    sent: list[asyncio.Task[None]] = []
    async with watched_room(tmp_path, Page({PATH: []}), clock) as there:

        def watch(report: Progress) -> None:
            if "begun" in report.text and not sent:
                clock.ahead = 25
                sent.append(asyncio.ensure_future(steer(there, "How far is it?")))

        command = reading(tmp_path, after="; exit 3")
        answers = [{"message": "How far", "reply": [{"text": "It has begun."}]}, {"message": "", "reply": [command]}]
        received = await follow(there, answers, watch)
        text = result(called(received)[0])
        assert text.startswith("Started as job-")
        assert text.endswith("Still running: 25s. Its last lines:\nbegun")
        assert said(received) == "It has begun."
        await write_line(tmp_path, "it")
        assert (await ended(there, "Background job")).endswith("([exit code 3])")
        assert "begun\ngot it" in told(await there.table.host.turns.draft("chat", "next"))


async def test_a_stop_ends_a_command_and_the_model_reads_what_it_had_printed(tmp_path: Path) -> None:
    sent: list[asyncio.Task[None]] = []
    async with watched_room(tmp_path, Page({PATH: []}), Clock()) as there:

        def watch(report: Progress) -> None:
            if "begun" in report.text and not sent:
                sent.append(asyncio.ensure_future(there.client.stop("chat")))

        received = await ask(there, reading(tmp_path), watch)
        assert result(called(received)[0]).endswith("\nbegun\n[ended by the user]")


JOB = {"result": "Started as (?P<id>job-[0-9a-f]{8})", "tool": "shell_command"}
WAIT: dict[str, Any] = {"tool": "bg_job", "arguments": {"action": "wait", "job_id": "$id"}}


async def start_and_wait(
    there: Room, message: str, watch: Callable[[Progress], None]
) -> list[ChatContentReceivedParams]:
    """The model starts a job and waits for it. Then it reads a `message`."""
    start = reading(there.table.folder)
    start["arguments"]["background"] = True
    rules = [{**JOB, "reply": [WAIT]}, {"message": message, "reply": [{"text": "I see."}]}]
    return await follow(there, [*rules, {"message": "^go", "reply": [start]}], watch)


async def test_a_model_that_waits_for_a_job_goes_on_at_its_end_with_its_last_lines(tmp_path: Path) -> None:
    sent: list[asyncio.Task[None]] = []
    async with watched_room(tmp_path, Page({PATH: []}), Clock()) as there:

        def watch(report: Progress) -> None:
            if "begun" in report.text and not sent:
                sent.append(asyncio.ensure_future(write_line(tmp_path, "it")))

        received = await start_and_wait(there, "is done after(.|\n)*begun\ngot it", watch)
        assert said(received) == "I see."
        assert ": completed for" in result(called(received)[-1])


async def test_a_message_ends_the_waiting_for_a_job_and_the_job_goes_on(tmp_path: Path) -> None:
    sent: list[asyncio.Task[None]] = []
    async with watched_room(tmp_path, Page({PATH: []}), Clock()) as there:

        def watch(report: Progress) -> None:
            if "begun" in report.text and not sent:
                sent.append(asyncio.ensure_future(steer(there, "Leave it.")))

        received = await start_and_wait(there, "Leave it", watch)
        assert said(received) == "I see."
        assert result(called(received)[-1]).endswith("Its last lines:\nbegun")
        await write_line(tmp_path, "it")
        assert "is done after" in await ended(there, "Background job")
