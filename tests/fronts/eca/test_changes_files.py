"""Changes of files, looked through and taken back one by one, with the tools that made them; and any mixture of it
all, in real notebook files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.changes import ChangeExtent
from jupyter_eca.protocol.content import TextContent
from tests.support.host_and_client import answer, desk
from tests.support.notebook_page import script, yes

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.transport.eca_client import EcaClient
    from tests.support.host_and_client import Desk
    from tests.support.notebook_page import Room

pytestmark = pytest.mark.asyncio


async def last_request(there: Room) -> str:
    """All that the model would be told now."""
    return str((await there.table.host.turns.draft("chat", "next")).messages)


async def act(table: Desk, client: EcaClient, *calls: tuple[str, dict[str, Any]]) -> None:
    script(table.folder, [{"tool": tool, "arguments": arguments} for tool, arguments in calls])
    await answer(client, "go", yes)


async def listed(table: Desk, extent: ChangeExtent = ChangeExtent.LAST) -> dict[str, Any]:
    return {one.path: one for one in await table.host.changes.list("chat", extent=extent)}


async def test_a_file_is_taken_back_and_another_stays(tmp_path: Path) -> None:
    async with desk(tmp_path, []) as table:
        client = await table.client()
        (tmp_path / "a.txt").write_text("one\n")
        await act(
            table,
            client,
            ("edit_file", {"path": "a.txt", "original_content": "one", "new_content": "two"}),
            ("write_file", {"path": "new/b.txt", "content": "b"}),
        )
        found = await listed(table)
        assert {path: one.kind for path, one in found.items()} == {"a.txt": "edited", "new/b.txt": "created"}
        assert (found["a.txt"].text.before, found["a.txt"].text.after) == ("one\n", "two\n")
        reverted, left = await table.host.changes.revert("chat", [found["new/b.txt"].id])
        assert ([one.shown for one in reverted], left) == (["new/b.txt"], ())
        assert not (tmp_path / "new").exists(), "nor the folder that was made for it"
        assert (tmp_path / "a.txt").read_text() == "two\n"
        assert list(await listed(table)) == ["a.txt"]


async def test_a_file_that_somebody_changed_since_is_left(tmp_path: Path) -> None:
    async with desk(tmp_path, []) as table:
        await act(table, await table.client(), ("write_file", {"path": "a.txt", "content": "one"}))
        (tmp_path / "a.txt").write_text("mine")
        change = (await listed(table))["a.txt"]
        assert (change.kind, change.refused, change.text.after) == ("created", "it was changed since", "mine")
        _, left = await table.host.changes.revert("chat", [change.id])
        assert [(one.shown, one.why) for one in left] == [("a.txt", "it was changed since")]
        assert (tmp_path / "a.txt").read_text() == "mine"
        (tmp_path / "a.txt").unlink()
        assert await listed(table) == {}, "nothing of it stands"


async def test_the_only_copy_of_a_moved_file_is_not_removed(tmp_path: Path) -> None:
    async with desk(tmp_path, []) as table:
        (tmp_path / "a.txt").write_text("one")
        await act(table, await table.client(), ("move_file", {"source": "a.txt", "destination": "b.txt"}))
        found = await listed(table)
        assert {path: one.kind for path, one in found.items()} == {"a.txt": "deleted", "b.txt": "created"}
        _, left = await table.host.changes.revert("chat", [found["b.txt"].id])
        assert [one.why for one in left] == ["it may be the only copy of what was moved there"]
        reverted, left = await table.host.changes.revert("chat", [one.id for one in found.values()])
        assert (len(reverted), left) == (2, ())
        assert ((tmp_path / "a.txt").read_text(), (tmp_path / "b.txt").exists()) == ("one", False)


async def test_turns_are_taken_back_one_after_the_other(tmp_path: Path) -> None:
    async with desk(tmp_path, []) as table:
        client = await table.client()
        for words in ("one", "two", "three"):
            await act(table, client, ("write_file", {"path": "a.txt", "content": words}))
        each = await table.host.changes.list("chat", extent=ChangeExtent.EACH)
        assert [one.text and one.text.after for one in each] == ["one", "two", "three"]
        await table.host.changes.keep("chat", [each[1].id])
        assert (await listed(table, ChangeExtent.CHAT))["a.txt"].text.before == "two", (
            "what was before was kept with it"
        )
        for _ in range(2):
            await table.host.changes.revert("chat", [one.id for one in (await listed(table)).values()])
        assert (tmp_path / "a.txt").read_text() == "two"


async def test_what_is_no_text_is_listed_without(tmp_path: Path) -> None:
    async with desk(tmp_path, []) as table:
        (tmp_path / "a.bin").write_bytes(b"\0\1")
        await act(table, await table.client(), ("move_file", {"source": "a.bin", "destination": "b.bin"}))
        assert [(one.kind, one.text) for one in (await listed(table)).values()] == [
            ("deleted", None),
            ("created", None),
        ]


async def test_a_file_taken_back_is_told_in_the_chat(tmp_path: Path) -> None:
    async with desk(tmp_path, []) as table:
        await act(table, await table.client(), ("write_file", {"path": "a.txt", "content": "one"}))
        await table.host.changes.revert("chat", [(await listed(table))["a.txt"].id])
        last = (await table.host.chats.read_events("chat"))[-1]
        assert (last.content, last.turn) == (TextContent(text="Deleted: a.txt, which the assistant had made"), "")
