"""Code that runs for long, and the user who does not want to wait: a message, a stop, and the end of a job. The
notebook is open in a page, and the clock of the host is that of the test."""

from __future__ import annotations

import asyncio
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
        assert f"bg_job reads its output.]\n{PRINTED}" in told(await there.table.host.turns.draft("chat", "next"))
