"""The end of a host, while a chat still works."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import Notification
from tests.support.host_and_client import PATIENCE, desk
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

# A command that does not end when it is asked to. It writes to a pipe when it has begun.
STUBBORN = "trap '' TERM INT; echo > begun; while true; do sleep 0.1; done"
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "", "reply": [{"tool": "shell_command", "arguments": {"command": STUBBORN}}]},
]


async def test_a_client_that_leaves_while_the_host_ends_does_not_hold_its_end_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    async with desk(tmp_path, RULES) as table:
        # Longer than the host may take for its end.
        table.host.unattended_calls.grace = 10 * PATIENCE
        async with connect_and_initialize(table) as client:
            await client.result("chat/prompt", {"chatId": "c", "message": "go"})
            call = await client.content("toolCallRun")
            await client.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": call["id"]})
            await asyncio.to_thread((tmp_path / "begun").read_bytes)
            table.host.close()
            await client.until(
                lambda one: (
                    isinstance(one, Notification)
                    and one.method == "chat/statusChanged"
                    and one.params["status"] == "stopping"
                )
            )
        await client.serving
