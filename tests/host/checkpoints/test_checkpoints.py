"""Files put back as turns found them, on a real folder, with the tools that changed them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host.checkpoints.checkpoints import MAX_BYTES, CallCheckpointer, Checkpoints, RestoreResult
from jupyter_eca.host.store import Store
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.plugins.tools.files import edit_file, move_file, write_file
from jupyter_eca.workspace.ports import Files

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.plugins.tools.base import Tool

pytestmark = pytest.mark.asyncio


@dataclass
class Room:
    folder: Path
    checkpoints: Checkpoints

    async def run(self, turn: str, tool: Tool, **arguments: Any) -> None:
        keeper = CallCheckpointer(self.checkpoints, "c", turn)
        await tool.run(ToolContext("c", Files((self.folder,)), checkpointer=keeper), arguments)
        await keeper.finish()

    async def back(self, *turns: str) -> RestoreResult:
        return await self.checkpoints.restore("c", turns, Files((self.folder,)))

    def has(self) -> dict[str, str | None]:
        return {
            str(path.relative_to(self.folder)): path.read_text() if path.is_file() else None
            for path in self.folder.rglob("*")
        }


@asynccontextmanager
async def room(base: Path) -> AsyncGenerator[Room]:
    folder = base / "work"
    folder.mkdir()
    store = Store(base / "chats.db", "w", lambda _: None)
    await store.open()
    yield Room(folder, Checkpoints(store))
    await store.close()


async def test_a_file_and_the_folders_made_for_it_are_gone_again(tmp_path: Path) -> None:
    async with room(tmp_path) as one:
        (one.folder / "own").mkdir()
        await one.run("t", write_file, path="a/b/new.txt", content="x")
        await one.run("t", write_file, path="own/new.txt", content="x")
        made = ("a/b/new.txt", "own/new.txt")
        assert await one.back("t") == RestoreResult(made, frozenset(made), ())
        assert one.has() == {"own": None}


async def test_a_moved_folder_is_moved_back(tmp_path: Path) -> None:
    async with room(tmp_path) as one:
        (one.folder / "old" / "deep").mkdir(parents=True)
        (one.folder / "old" / "a").write_text("a")
        (one.folder / "old" / "deep" / "b").write_text("b")
        before = one.has()
        await one.run("t", move_file, source="old", destination="there/new")
        await one.back("t")
        assert one.has() == before


async def test_a_moved_file_whose_place_is_taken_stays_where_it_is(tmp_path: Path) -> None:
    async with room(tmp_path) as one:
        (one.folder / "a").write_text("a")
        await one.run("t", move_file, source="a", destination="b")
        (one.folder / "a").write_text("mine")
        restored = await one.back("t")
        assert restored.done == ()
        assert {path for path, _ in restored.skipped} == {"a", "b"}
        assert one.has() == {"a": "mine", "b": "a"}


@pytest.mark.parametrize("turns", [("t", "t"), ("t", "u")])
async def test_what_the_user_wrote_between_two_changes_is_not_lost(tmp_path: Path, turns: tuple[str, str]) -> None:
    async with room(tmp_path) as one:
        await one.run(turns[0], write_file, path="a", content="one")
        (one.folder / "a").write_text("one, mine")
        await one.run(turns[1], edit_file, path="a", original_content="one", new_content="two")
        assert (await one.back(*turns)).skipped == (("a", "it was changed since"),)
        assert one.has() == {"a": "two, mine"}


async def test_a_file_too_large_to_keep_is_told_and_left(tmp_path: Path) -> None:
    async with room(tmp_path) as one:
        (one.folder / "a").write_bytes(b"x" * (MAX_BYTES + 1))
        await one.run("t", move_file, source="a", destination="b")
        ((path, why),) = [skipped for skipped in (await one.back("t")).skipped if skipped[0] == "a"]
        assert (path, why) == ("a", "it is too large or no plain file, and was not kept")
        assert (one.folder / "b").stat().st_size == MAX_BYTES + 1
