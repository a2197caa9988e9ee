"""What the vendors' caches have of a long chat. Marks of Anthropic's cache are left out of comparisons: they are about
the request, not in the prompt, and move on with the chat."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.plugins.providers.scripted import Script
from jupyter_eca.transport.eca_client import CallDecision
from tests.plugins.providers.dialects.speaking import DIALECTS, Speaking
from tests.support.host_and_client import answer, desk, outcomes
from tests.support.samples import sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk")]

TURNS = 20
READS = [{"tool": "read_file", "arguments": {"path": f"{name}.txt"}} for name in "abc"]
RULES: list[dict[str, Any]] = [
    {"message": "many", "result": "", "reply": [{"text": "Now I have read them all."}]},
    {"message": "many", "reply": READS * 6},
    {"result": "", "reply": [{"reasoning": "So that is in it."}, {"text": "It is a list of words. " * 8}]},
    {"message": "", "reply": [{"reasoning": "I must look."}, {"text": "I look."}, *READS]},
]


def yes(_call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


def sent(body: dict[str, Any]) -> tuple[str, str]:
    """What goes before the chat, and the chat without the end of its list."""
    said = [block for one in body.get("messages", ()) for block in one["content"] or () if not isinstance(block, str)]
    blocks: list[dict[str, Any]] = [*body.get("tools", ()), *(body.get("system") or ()), *said]
    for block in blocks:
        block.pop("cache_control", None)
    before = json.dumps([body.get(name) for name in ("tools", "system", "instructions")])
    return before, json.dumps(body.get("messages") or body.get("input"))[:-1]


@pytest.mark.parametrize("dialect", sample(DIALECTS, every=2))
async def test_a_long_chat_is_read_from_the_cache(
    tmp_path: Path, dialect: str, record_property: Callable[[str, object], None]
) -> None:
    counts: list[int] = []
    with Speaking(dialect, Script.model_validate({"rules": RULES})) as server:
        async with desk(tmp_path, [], providers={"it": server.provider()}, defaultModel="it/m") as table:
            for name in "abc":
                (tmp_path / f"{name}.txt").write_text(f"{name} is a word.\n" * 20)
            client = await table.client()
            for turn in range(1, TURNS + 1):
                message = f"{turn}: read them{', many times' if turn == 9 else ''}"
                assert outcomes(await answer(client, message, yes)) == ["completed"]
                counts.append(len(server.shares))
    assert server.refused == []
    tenth = server.shares[counts[8] : counts[9]]
    part = sum(share.read for share in tenth) / sum(share.whole for share in tenth)
    record_property("cached share of turn 10", f"{part:.3f}")
    assert part >= 0.9, [share.part for share in tenth]
    # All that was sent with the last request: also after many calls at once, where Anthropic looks back too short.
    behind = [(before, now) for before, now in pairwise(server.shares) if now.read < 0.95 * before.whole]
    assert behind == []
    requests = [sent(body) for body in server.bodies]
    for (before, chat), (again, longer) in pairwise(requests):
        assert again == before
        assert longer.startswith(chat)
