"""Whatever the assistant and the user do to a notebook file and to text files, and in whatever order changes are taken
back: in the end all is as it was at first, or what is not is named."""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jupyter_eca.engine.changes.review import CHANGED
from jupyter_eca.errors import ToolError
from jupyter_eca.host.checkpoints.checkpoints import CallCheckpointer
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.protocol.changes import ChangeExtent
from jupyter_eca.protocol.content import Role, TextContent
from jupyter_eca.protocol.event import Event
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files
from tests.support.host_and_client import desk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.host_and_client import Desk

BOOK = "nb.ipynb"
NAMES = ("a.txt", "b.txt")
STARTS = [("c0", "zero"), ("c1", "one"), ("c2", "two"), ("c3", "three")]

# A quarter of a second each.
MANY = 12

Act = tuple[str, int, int]
TOOLS = ("insert", "edit", "delete", "move", "write")
acts = st.lists(
    st.tuples(st.sampled_from((*TOOLS, *TOOLS, "type", "revert", "keep")), st.integers(0, 5), st.integers(0, 5)),
    max_size=12,
)


@dataclass
class Story:
    table: Desk
    folder: Path
    turn: int = 0
    calls: int = 0
    mine: set[str] = field(default_factory=set[str])

    def cells(self) -> list[tuple[str, str]]:
        book = json.loads((self.folder / BOOK).read_text())
        return [(cell["id"], "".join(cell["source"])) for cell in book["cells"]]

    def texts(self) -> dict[str, str]:
        return {name: (self.folder / name).read_text() for name in NAMES if (self.folder / name).exists()}

    async def act(self, what: str, one: int, two: int) -> None:
        """A turn of one call; a person who types in a cell; somebody who goes through the changes."""
        ids = [id for id, _ in self.cells()]
        match what:
            case "type" if ids:
                self._type(ids[one % len(ids)])
            case "revert" | "keep":
                extent = [ChangeExtent.LAST, ChangeExtent.EACH, ChangeExtent.CHAT][two % 3]
                changes = await self.table.host.changes.list("chat", extent=extent)
                chosen = [change.id for at, change in enumerate(changes) if (at + one) % 2]
                await getattr(self.table.host.changes, what)("chat", chosen)
            case "write":
                name = NAMES[one % len(NAMES)]
                await self._call("write_file", path=name, content=f"{name} {self.calls}")
            case "insert":
                await self._call(
                    "notebook_insert_cell", path=BOOK, source=f"new {self.calls}", after=min(one, len(ids))
                )
            case "edit" if ids:
                await self._call("notebook_edit_cell", path=BOOK, cell=ids[one % len(ids)], source=f"is {self.calls}")
            case "delete" if ids:
                await self._call("notebook_delete_cell", path=BOOK, cell=ids[one % len(ids)])
            case "move" if ids:
                await self._call("notebook_move_cell", path=BOOK, cell=ids[one % len(ids)], index=two + 1)
            case _:
                pass
        # Two calls of one turn as often as one; a chat in which changes are decided about is at rest.
        self.turn += two % 2 or what in {"revert", "keep"}

    def _type(self, id: str) -> None:
        book = json.loads((self.folder / BOOK).read_text())
        (cell,) = [cell for cell in book["cells"] if cell["id"] == id]
        cell["source"] = ["mine"]
        (self.folder / BOOK).write_text(json.dumps(book))
        self.mine.add(id)

    async def _call(self, tool: str, **arguments: Any) -> None:
        self.calls += 1
        host, turn = self.table.host, f"t{self.turn}"
        host.store.append([Event(chat="chat", turn=turn, role=Role.ASSISTANT, content=TextContent(text=tool))])
        checkpointer = CallCheckpointer(host.checkpoints, "chat", turn)
        files, notebooks = host.workspace.files, host.tool_contexts.find_notebooks("chat")
        context = ToolContext("chat", files, f"k{self.calls}", notebooks=notebooks, checkpointer=checkpointer)
        found = host.toolbox.get(tool)
        assert found is not None
        try:
            await found.run(context, arguments)
        except ToolError:
            pass  # where a cell has that number already
        finally:
            await checkpointer.finish()


async def told(acts: Sequence[Act], folder: Path) -> None:
    cells: list[dict[str, Any]] = [
        {"id": id, "cell_type": "markdown", "metadata": {}, "source": [source]} for id, source in STARTS
    ]
    (folder / BOOK).write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    (folder / NAMES[0]).write_text("first")
    async with desk(folder, [], NotebookFiles(Files((folder,)))) as table:
        story = Story(table, folder)
        host = table.host
        host.store.append([Event(chat="chat", turn="t0", role=Role.USER, content=TextContent(text="go"))])
        await host.chats.load("chat")
        for act in acts:
            await story.act(*act)
        turns = await host.checkpoints.list_turns("chat")
        back = await host.checkpoints.restore(
            "chat", turns, host.workspace.files, host.tool_contexts.find_notebooks("chat")
        )
        now = story.cells()
        assert story.texts() == {NAMES[0]: "first"}
        assert {why for _, why in back.skipped} <= {CHANGED}
        assert len(back.skipped) <= len(story.mine)
        expected = [(id, source) for id, source in STARTS if id not in story.mine]
        assert [cell for cell in now if cell[0] not in story.mine] == expected
        if not story.mine:
            assert (now, back.skipped) == (STARTS, ())


@settings(max_examples=MANY, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example([("move", 0, 3), ("move", 0, 3), ("revert", 0, 1), ("delete", 1, 0)])
@example([("write", 0, 1), ("revert", 1, 2), ("write", 0, 1), ("keep", 1, 2)])
@example([("insert", 0, 1), ("delete", 3, 1), ("revert", 1, 2)])
@given(acts)
def test_all_is_as_it_was_or_is_named(acts: list[Act]) -> None:
    import_module("nbformat")  # which takes seconds on a busy machine, and would be waited for
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(told(acts, Path(folder).resolve()))
