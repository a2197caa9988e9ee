"""Waiting for servers that are on their way up, as the first question of a notebook does."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.protocol.mcp import ServerStatus
from tests.mcp_client.house import PATIENCE, house, sdk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

NEVER = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}
GONE = {"command": "no-such-program-anywhere"}


async def test_who_waits_finds_the_tools_of_those_that_come_and_is_not_held_up_by_those_that_do_not(
    tmp_path: Path,
) -> None:
    servers = {"tour": sdk(), "gone": GONE, "off": {**sdk(), "disabled": True}}
    async with house(tmp_path, servers) as at, asyncio.timeout(PATIENCE * 4):
        await at.manager.await_started(PATIENCE * 4)
        assert at.tool("tour__add").only_reads
        assert at.shown("gone").status is ServerStatus.FAILED
        at.manager.stop("tour")
        await at.manager.await_started(PATIENCE * 4)  # nobody wants it, so nobody waits for it


async def test_one_that_never_comes_is_waited_for_as_long_as_was_said(tmp_path: Path) -> None:
    async with house(tmp_path, {"never": NEVER}) as at:
        began = time.monotonic()
        await at.manager.await_started(0.2)
        assert time.monotonic() - began >= 0.2
        assert at.shown("never").status is ServerStatus.STARTING
