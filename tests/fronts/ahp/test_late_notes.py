"""Notes of sessions while the database cannot be used."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.fronts.ahp import persistence
from tests.fronts.ahp.place import place
from tests.support.locked_store import locking, shorten_waits
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_a_note_that_could_not_be_written_is_written_when_the_database_can_be_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shorten_waits(monkeypatch)
    monkeypatch.setattr(persistence, "_RETRY_SECONDS", 0)
    async with place(tmp_path) as at, asyncio.timeout(PATIENCE):
        notes = persistence.NoteStore(at.host.store)
        running = at.tasks.create_task(notes.run())
        with locking(tmp_path / ".data" / "chats.db"):
            notes.set_note("c", {"title": "mine"})
            while not any("written later" in record.getMessage() for record in caplog.records):
                await at.host.store.settle()
        while "c" not in await at.host.store.do(lambda tables: tables.read_notes()):
            await at.host.store.settle()
        running.cancel()
