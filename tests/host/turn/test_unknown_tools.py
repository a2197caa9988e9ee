"""A model calls a tool that there is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.request import ToolUsePart
from tests.support.host_and_client import answer, desk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.asyncio
async def test_the_model_sees_the_arguments_that_it_wrote_for_a_tool_that_there_is_not(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [
        {"message": "", "reply": [{"tool": "read_files", "arguments": {"path": "a.py"}}]},
        {"result": "There is no tool", "reply": [{"text": "I see."}]},
    ]
    async with desk(tmp_path, rules) as table:
        await answer(await table.client(), "go")
        request = await table.host.turns.draft("chat")
    parts = [part for message in request.messages for part in message.parts if isinstance(part, ToolUsePart)]
    assert [(part.name, part.arguments) for part in parts] == [("read_files", {"path": "a.py"})]
