"""The configuration read again when it changes on disk."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config, read_config, watch
from jupyter_eca.errors import ToolError
from tests.config.files import globally, write
from tests.support.host_and_client import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio


class WatchRecord:
    """Records what a watcher reports, in order. `read_count` counts the readings."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.reports: asyncio.Queue[Config | str] = asyncio.Queue()
        self.read_count = 0

    def read(self) -> Config:
        self.read_count += 1
        return read_config((), home=self.home, environment={})

    async def record_change(self, config: Config) -> None:
        self.reports.put_nowait(config)

    async def next(self) -> Any:
        async with asyncio.timeout(PATIENCE):
            return await self.reports.get()

    async def until_read(self, times: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.read_count < times:  # noqa: ASYNC110  # the watcher has no event for "nothing has changed"
                await asyncio.sleep(0.005)


@asynccontextmanager
async def watching(home: Path) -> AsyncGenerator[WatchRecord]:
    seen = WatchRecord(home)
    task = asyncio.create_task(watch(seen.read(), seen.read, seen.record_change, seen.reports.put_nowait, every=0.01))
    await asyncio.sleep(0)
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled()


async def test_an_edit_is_told_with_the_new_configuration(home: Path) -> None:
    globally(home, {"defaultModel": "a/a"})
    async with watching(home) as seen:
        globally(home, {"defaultModel": "b/bb"})
        assert (await seen.next()).default_model == "b/bb"


async def test_a_disk_that_does_not_answer_is_told_once_and_the_watch_goes_on(home: Path) -> None:
    seen, tries = WatchRecord(home), 0

    async def run_read(read: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal tries
        tries += 1
        if tries <= 2:
            raise ToolError("The disk did not answer.")
        return read(*args, **kwargs)

    current = seen.read()
    globally(home, {"defaultModel": "b/bb"})
    record = (seen.record_change, seen.reports.put_nowait)
    task = asyncio.create_task(watch(current, seen.read, *record, every=0.001, run_read=run_read))
    assert await seen.next() == "The disk did not answer."
    assert (await seen.next()).default_model == "b/bb"
    task.cancel()


async def test_a_file_that_was_not_there_is_noticed(home: Path) -> None:
    async with watching(home) as seen:
        globally(home, {"defaultModel": "a/a"})
        assert (await seen.next()).default_model == "a/a"


async def test_a_bad_edit_is_told_once_and_the_next_good_one_is_read(home: Path) -> None:
    globally(home, {"defaultModel": "a/a"})
    async with watching(home) as seen:
        globally(home, "{")
        assert "is not JSON" in await seen.next()
        with pytest.raises(TimeoutError):  # many looks later nothing more was said
            await asyncio.wait_for(seen.reports.get(), 0.2)
        globally(home, {"defaultModel": "b/b"})
        assert (await seen.next()).default_model == "b/b"
        assert seen.reports.empty()


async def test_a_file_that_was_only_touched_changes_nothing(home: Path) -> None:
    file = globally(home, {"defaultModel": "a/a"})
    async with watching(home) as seen:
        os.utime(file, ns=(1, 1))
        await seen.until_read(2)
        globally(home, {"defaultModel": "b/b"})
        assert (await seen.next()).default_model == "b/b"


async def test_a_file_that_a_key_names_and_an_agent_of_markdown_are_watched_too(home: Path) -> None:
    write(home / "eca" / "words.txt", "One")
    globally(home, {"welcomeMessage": "${file:words.txt}"})
    async with watching(home) as seen:
        write(home / "eca" / "words.txt", "Another")
        assert (await seen.next()).welcome_message == "Another"
        write(home / "eca" / "agents" / "poet.md", "Rhyme.")
        assert "poet" in (await seen.next()).agent
        write(home / "eca" / "agents" / "poet.md", "Rhyme well.")
        assert (await seen.next()).agent["poet"].prompt == "Rhyme well."
