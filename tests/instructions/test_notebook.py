"""What a notebook asks of the assistant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

from jupyter_eca.protocol.notebook import NotebookInfo
from tests.instructions.told import HELLO
from tests.support.host_and_client import answer, desk
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.host.host import Host
    from jupyter_eca.workspace.ports import Notebooks

pytestmark = pytest.mark.asyncio


@dataclass
class Open:
    """Two notebooks in a page."""

    active: str = "a.ipynb"
    a: str = "Plot with seaborn."
    b: str = ""

    async def list(self) -> tuple[NotebookInfo, ...]:
        both = {"a.ipynb": self.a, "b.ipynb": self.b}
        infos = [NotebookInfo(path=path, active=path == self.active, instructions=both[path]) for path in both]
        return tuple(sorted(infos, key=lambda info: not info.active))


async def asked(host: Host) -> list[str]:
    """What the user said, as the model reads it."""
    return [message.text for message in (await host.turns.draft("chat")).messages if message.role == "user"]


def block(path: str, text: str) -> str:
    return f'\n\n<context name="the user\'s instructions for {path}">\n{text}\n</context>'


async def test_the_notebook_that_is_worked_in_is_heard_once_and_again_when_it_changes(
    tmp_path: Path,
) -> None:
    page = Open()
    async with desk(tmp_path, HELLO, cast("Notebooks", page)) as table:
        client = await table.client()
        before = (await table.host.turns.draft("chat")).system
        for message in ("one", "two"):
            await answer(client, message)
        page.a = "Plot with altair."
        await answer(client, "three")
        page.active = "b.ipynb"
        await answer(client, "four")
        page.active, page.a = "a.ipynb", ""
        for message in ("five", "six"):
            await answer(client, message)
        assert await asked(table.host) == [
            "one" + block("a.ipynb", "Plot with seaborn."),
            "two",
            "three" + block("a.ipynb", "Plot with altair."),
            "four",
            "five" + block("a.ipynb", "(none any more)"),
            "six",
        ]
        assert (await table.host.turns.draft("chat")).system == before


async def test_instructions_without_end_are_left_out_and_told(tmp_path: Path) -> None:
    async with (
        desk(tmp_path, HELLO, cast("Notebooks", Open(a="x" * 30_000))) as table,
        connect_and_initialize(table) as client,
    ):
        await answer(await table.client(), "one")
        await client.ask("chat/list", {})
        assert await asked(table.host) == ["one"]
        (warned,) = client.params("$/showMessage")
        assert warned["message"].startswith("The instructions of a.ipynb were left out")
