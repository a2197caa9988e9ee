"""What a turn is shown to have changed: nothing where nothing changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host.checkpoints.checkpoints import MAX_BYTES
from jupyter_eca.protocol.changes import ChangeExtent
from tests.support.host_and_client import answer, desk, said

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


def write(content: str) -> dict[str, Any]:
    return {"tool": "write_file", "arguments": {"path": "a.txt", "content": content}}


def edit(path: str) -> dict[str, Any]:
    return {"tool": "edit_file", "arguments": {"path": path, "original_content": "not there", "new_content": "x"}}


RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "^write the same text", "reply": [write("a\n")]},
    {"message": "^edit what is not there", "reply": [edit("a.txt")]},
    {"message": "^edit a file that is missing", "reply": [edit("none.txt")]},
    {"message": "^edit a large file", "reply": [edit("large.txt")]},
    {"message": "^write another text", "reply": [write("b\n")]},
]
ALLOWED: dict[str, Any] = {"toolCall": {"approval": {"byDefault": "allow"}}}
NOTHING = ["write the same text", "edit what is not there", "edit a file that is missing", "edit a large file"]


@pytest.mark.parametrize("first", NOTHING)
async def test_a_turn_that_changed_nothing_has_no_changes_also_after_a_later_turn(tmp_path: Path, first: str) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "large.txt").write_bytes(b"x" * (MAX_BYTES + 1))
    async with desk(tmp_path, RULES, **ALLOWED) as table:
        client, changes = await table.client(), table.host.changes
        await answer(client, f"{first} @a.txt")
        assert await changes.list("chat", extent=ChangeExtent.EACH) == ()
        await answer(client, first)
        assert await changes.list("chat", extent=ChangeExtent.EACH) == ()
        assert "There are no changes" in said(await answer(client, "/diff"), "system")
        assert "There are no changes" in said(await answer(client, "/undo"), "system")
        await answer(client, "write another text")
        assert [one.path for one in await changes.list("chat", extent=ChangeExtent.EACH)] == ["a.txt"]
