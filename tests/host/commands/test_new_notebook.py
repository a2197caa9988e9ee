"""`/notebook`: a new notebook from a description, with an outline first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.host.chat.ports import CommandAnswer, CommandReplacement
from jupyter_eca.host.commands import dispatch as commands
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files
from tests.support.host_and_client import answer, desk, said

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.host.host import Host

pytestmark = pytest.mark.asyncio


async def replacement(host: Host, line: str) -> str:
    made = await commands.run(host, "chat", line)
    assert isinstance(made, CommandReplacement)
    return made.message


async def test_the_model_is_told_to_show_an_outline_of_the_notebook_that_the_user_describes(tmp_path: Path) -> None:
    rules = [{"message": "First show its outline", "reply": [{"text": "1. Load the data"}]}]
    async with desk(tmp_path, rules) as table:
        text = await replacement(table.host, "/notebook sales by {{region}}, from sales.csv")
        assert text.endswith("What the notebook is for: sales by {{region}}, from sales.csv")
        assert said(await answer(await table.client(), "/notebook sales by region")) == "1. Load the data"
        (row,) = await table.host.chats.list_rows()
        assert row.title == "sales by region"


async def test_without_a_description_the_model_is_not_asked(tmp_path: Path) -> None:
    async with desk(tmp_path, []) as table:
        made = await commands.run(table.host, "chat", "/notebook")
        assert isinstance(made, CommandAnswer)
        assert "/notebook compare" in made.text


async def test_it_is_offered_while_the_user_types(tmp_path: Path) -> None:
    async with desk(tmp_path, []) as table:
        (command,) = [one for one in await commands.list_commands(table.host) if one.name == "notebook"]
        assert [argument.name for argument in command.arguments] == ["purpose"]


async def test_the_notebook_is_made_when_the_user_agrees(tmp_path: Path) -> None:
    cells = [{"source": "# Sales", "cell_type": "markdown"}, "print(1)"]
    make = {"tool": "notebook_create", "arguments": {"path": "sales.ipynb", "cells": cells}}
    rules = [
        {"result": "", "reply": [{"text": "Made."}]},
        {"message": "First show its outline", "reply": [{"text": "1. Load the data"}]},
        {"message": "make it", "reply": [make]},
    ]
    notebooks = NotebookFiles(Files((tmp_path,)))
    async with desk(tmp_path, rules, notebooks, toolCall={"approval": {"byDefault": "allow"}}) as table:
        client = await table.client()
        await answer(client, "/notebook sales by region")
        assert said(await answer(client, "make it")).endswith("Made.")
    document = json.loads((tmp_path / "sales.ipynb").read_text())
    assert ["".join(cell["source"]) for cell in document["cells"]] == ["# Sales", "print(1)"]
