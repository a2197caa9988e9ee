"""A turn that begins by itself, because a background job has ended, in a session."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from tests.fronts.ahp.place import place, text_of
from tests.support.host_and_client import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fronts.ahp.place import Json

pytestmark = pytest.mark.asyncio

S = "eca:/s1"
RULES: list[Json] = [
    {"result": "Started as job-", "reply": [{"text": "It runs."}]},
    {"message": r"\[Background job", "reply": [{"text": "It is done."}]},
    {
        "message": "",
        "reply": [{"tool": "shell_command", "arguments": {"command": "read line < pipe", "background": True}}],
    },
]


async def test_a_session_has_the_turn_that_begins_at_the_end_of_a_job_also_when_it_is_loaded_again(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / "pipe")
    allowed: Json = {"approval": {"allow": {"shell_command": {}}}}
    async with place(tmp_path, RULES, toolCall=allowed, chat={"continueAfterJobs": True}) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "go")
        await client.settled(S, 1)
        async with asyncio.timeout(PATIENCE):
            await asyncio.to_thread((tmp_path / "pipe").write_text, "it\n")
        first, second = (await client.settled(S, 2))["turns"]
        assert text_of(first) == "It runs."
        assert second["userMessage"]["text"].startswith("Background job is done after ")
        assert text_of(second) == "It is done."
        await at.wait_until_same(client, S)
    async with place(tmp_path, RULES) as at:
        client = await at.connect()
        loaded = await client.subscribe(S)
        assert [turn["userMessage"] for turn in loaded["turns"]] == [first["userMessage"], second["userMessage"]]
