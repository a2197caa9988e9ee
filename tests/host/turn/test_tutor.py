"""The agent `tutor`, for students: it reads, changes nothing, and its answer is no plan to carry out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.protocol.content import ProgressContent
from tests.support.host_and_client import answer, desk, outcomes, said

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

RULES = [
    {"message": "solve", "reply": [{"tool": "write_file", "arguments": {"path": "answer.py", "content": "42"}}]},
    {"result": "", "reply": [{"text": "What does the first line return?"}]},
    {"message": "", "reply": [{"text": "Which name does the error give?"}]},
]


async def test_the_tutor_has_its_own_instructions_and_no_tool_that_changes_anything(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        await answer(client, "why?", chat="c", agent="tutor")
        live = table.host.chats.get_live("c")
        assert live is not None
        setup = live.state.setup
        assert setup.system.startswith("You are a tutor")
        names = {tool.name for tool in setup.tools}
        assert "read_file" in names
        assert not names & {"write_file", "shell_command", "run_code", "notebook_change"}


async def test_a_hint_is_no_plan_and_a_call_that_changes_something_does_not_run(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, toolCall={"approval": {"byDefault": "allow"}}) as table:
        client = await table.client()
        for question, hint in (("why?", "Which name"), ("solve it", "What does the first line")):
            received = await answer(client, question, chat="c", agent="tutor")
            assert hint in said(received)
            assert outcomes(received) == ["completed"]
            assert not [item for item in received if isinstance(item.content, ProgressContent) and item.content.plan]
        assert not (tmp_path / "answer.py").exists()
