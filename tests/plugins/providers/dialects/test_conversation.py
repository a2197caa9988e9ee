"""The same conversation in every language: what a reader sees does not tell which API the model is behind."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.plugins.providers.scripted import Script
from jupyter_eca.protocol.content import ToolCallRunContent, UsageContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.plugins.providers.dialects.speaking import DIALECTS, Speaking
from tests.support.host_and_client import answer, desk

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk")]

LOOK = {"tool": "directory_tree", "arguments": {"path": "data"}}
READ = {"tool": "read_file", "arguments": {"path": "notes.txt"}}
RULES: list[dict[str, Any]] = [
    {"message": "^1:", "reply": [{"text": "Good morning. What shall we do?", "chunk": 4}]},
    {"message": "^2:", "reply": [{"text": "Grüße, 你好, 👩🏽‍🔬 and \\(x^2\\)", "chunk": 1}]},
    {"message": "^3:", "reply": [{"text": "I look."}, LOOK]},
    {"message": "^4:", "reply": [LOOK, READ]},
    {"message": "^5:", "reply": [{"tool": "read_file", "arguments": {"path": "missing.txt"}}]},
    {"message": "^6:", "reply": [{"reasoning": "Let me think about this."}, {"text": "It is 42."}]},
    {"message": "^7:", "reply": [{"reasoning": "I need the file."}, {"text": "Reading."}, READ]},
    {"message": "^8:", "reply": [{"tool": "write_file", "arguments": {"path": "a.txt", "content": "Ü"}}]},
    {"message": "^9:", "result": "alpha", "tool": "read_file", "reply": [{"text": "Again."}, LOOK]},
    {"message": "^9:", "reply": [READ]},
    {"message": "^10:", "reply": [{"tool": "teleport", "arguments": {"to": "Mars"}}]},
    {"message": "^11:", "reply": [{"text": "A long answer. " * 300, "chunk": 40}]},
    {"message": "^12:", "reply": [{"text": "Two at once:"}, READ, {"tool": "shell_command", "arguments": {}}]},
    {"result": "", "reply": [{"text": "I am done with it.", "chunk": 3}]},
]
TURNS = tuple(f"{number}: go on" for number in range(1, 13))

# Vendors' own: names of things, how long they took, what was counted.
_OWN = {"id", "contentId", "totalTimeMs", "waitsFor"}
# Calls that only read run side by side, and end in any order.
_SIDE_BY_SIDE = {"toolCallRunning", "toolCalled"}


def choose(call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=call.name != "write_file")


def shown(received: Iterable[Any], mark: str = "") -> list[dict[str, Any]]:
    """What was said, in which order; pieces of one thing are one. `mark` begins the thoughts of an API in which they
    are text."""
    made: list[dict[str, Any]] = []
    for item in received:
        if isinstance(item.content, UsageContent):
            made.append({"type": "usage"})
            continue
        wire = item.content.as_json_object()
        one = {"role": item.role, **{name: value for name, value in wire.items() if name not in _OWN}}
        before = made[-1] if made else {}
        grows = "argumentsText" if one["type"] == "toolCallPrepare" else "text"
        rest = {name: value for name, value in one.items() if name != grows}
        if grows in one and one["type"] != "progress" and rest == {n: v for n, v in before.items() if n != grows}:
            before[grows] += one[grows]
        else:
            made.append(one)
    for one in made:
        if one["type"] == "reasonText":
            one["text"] = one["text"].removeprefix(mark)
    groups = groupby(made, key=lambda one: one["type"] in _SIDE_BY_SIDE)
    return [one for side_by_side, group in groups for one in (sorted(group, key=_get_call) if side_by_side else group)]


def _get_call(one: dict[str, Any]) -> str:
    return one["name"]


async def conversation(folder: Path, mark: str = "", **settings: Any) -> list[list[dict[str, Any]]]:
    (folder / "data").mkdir(parents=True)
    (folder / "notes.txt").write_text("alpha\nbeta\n")
    async with desk(folder, RULES, **settings) as table:
        client = await table.client()
        return [shown(await answer(client, message, choose), mark) for message in TURNS]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_twelve_turns_with_tools_are_the_same_events_in_every_language(tmp_path: Path, dialect: str) -> None:
    with Speaking(dialect, Script.model_validate({"rules": RULES})) as server:
        settings = {"providers": {"it": server.provider()}, "defaultModel": "it/m"}
        told = await conversation(tmp_path / "told" / "work", server.mark, **settings)
    assert server.refused == []
    expected = await conversation(tmp_path / "expected" / "work")
    for turn, (ours, theirs) in enumerate(zip(told, expected, strict=True), 1):
        assert ours == theirs, f"turn {turn}"
    assert sum(one["type"] == "toolCalled" for turn in told for one in turn) == 10
