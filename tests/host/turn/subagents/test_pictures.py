"""The pictures of code that a subagent runs: the subagent sees them, and so does its parent."""

from __future__ import annotations

import base64
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.request import ToolResultPart
from jupyter_eca.protocol.content import ImageContent
from jupyter_eca.protocol.notebook import KernelExecuteResult, KernelVariablesResult, RunStatus, Variable
from jupyter_eca.workspace.kernels.output_text import OutputText
from tests.host.turn.subagents.family import children, house, mine, result, spawn
from tests.support.host_and_client import Notebook, answer

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.engine.model.request import ImagePart
    from tests.support.host_and_client import Desk

pytestmark = pytest.mark.asyncio


def encode_picture(number: int) -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n picture %d" % number).decode()


class PlottingKernel(Notebook):
    """A kernel in which code is a number: so many pictures are shown. Each is another one."""

    shown = 0

    async def execute(self, code: str) -> KernelExecuteResult:
        outputs = OutputText(pictures=True)
        for _ in range(int(code)):
            self.shown += 1
            outputs.add("display_data", {"data": {"image/png": encode_picture(self.shown), "text/plain": "<Figure>"}})
        return KernelExecuteResult(status=RunStatus.OK, text=outputs.text, pictures=outputs.pictures)

    async def variables(self, names: tuple[str, ...]) -> KernelVariablesResult:
        found = tuple(Variable(name=name, type="Figure", image=encode_picture(1)) for name in names)
        return KernelVariablesResult(variables=found)


def plot(pictures: int) -> dict[str, Any]:
    return {"tool": "run_code", "arguments": {"code": str(pictures)}}


def write_rules(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rules of a model whose subagent makes these calls, one after the other."""
    turns = [{"result": "", "tool": old["tool"], "times": 1, "reply": [new]} for old, new in pairwise(calls)]
    return [
        {"message": "ask it", "reply": [spawn("general", "draw it")]},
        {"message": "draw it", "reply": [calls[0]]},
        *turns,
        {"result": "", "tool": "spawn_agent", "reply": [{"text": "Back."}]},
        {"result": "", "reply": [{"text": "The first is best."}]},
    ]


async def read_pictures(table: Desk, chat: str) -> list[list[ImagePart]]:
    """The pictures in each result that the model of a chat would read with its next request."""
    messages = (await table.host.turns.draft(chat)).messages
    parts = [part for message in messages for part in message.parts]
    return [list(part.images) for part in parts if isinstance(part, ToolResultPart)]


async def test_a_subagent_sees_what_its_code_shows_and_its_parent_sees_the_last_four_each_with_its_name(
    tmp_path: Path,
) -> None:
    async with house(tmp_path, write_rules(plot(3), plot(2)), "run_code") as table:
        received = await answer(await table.client(PlottingKernel()), "ask it")
        (child,) = children(received)
        (of_parent,) = await read_pictures(table, "chat")
        first, second = await read_pictures(table, child)
    assert [image.name for image in first] == ["picture 1", "picture 2", "picture 3"]
    assert [image.base64 for image in second] == [encode_picture(4), encode_picture(5)]
    assert [(image.name, image.base64) for image in of_parent] == [
        (f"picture {number} of agent 'general'", encode_picture(number + 1)) for number in (1, 2, 3, 4)
    ]
    assert result(received) == (
        "## Agent 'general' Result\n\nThe first is best.\n\nThe last pictures of its runs:\n"
        "[picture 1 of agent 'general'], its picture 2\n"
        "[picture 2 of agent 'general'], its picture 3\n"
        "[picture 3 of agent 'general'], its picture 1\n"
        "[picture 4 of agent 'general'], its picture 2"
    )
    assert len([one for one in mine(received) if isinstance(one.content, ImageContent)]) == 4


async def test_what_a_subagent_only_looks_at_does_not_fill_the_chat_of_its_parent(tmp_path: Path) -> None:
    look: dict[str, Any] = {"tool": "variables", "arguments": {"names": ["fig"]}}
    async with house(tmp_path, write_rules(look), "variables") as table:
        received = await answer(await table.client(PlottingKernel()), "ask it")
        (child,) = children(received)
        assert [[image.base64 for image in images] for images in await read_pictures(table, child)] == [
            [encode_picture(1)]
        ]
        assert await read_pictures(table, "chat") == [[]]
    assert result(received) == "## Agent 'general' Result\n\nThe first is best."
