"""What changes what may run without asking is asked about each time, whatever was approved, allowed or trusted."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import read_config
from jupyter_eca.host.host import Host
from jupyter_eca.protocol.content import ToolCalledContent, ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.workspace.ports import Files, Workspace
from tests.support.host_and_client import Desk, answer, desk_of, settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio

LOOSE = json.dumps({"toolCall": {"approval": {"byDefault": "allow"}}})


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def plays(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    """A model that makes these calls, one after the other."""
    first, *others = calls
    later: list[dict[str, Any]] = [{"result": "", "reply": [one], "times": 1} for one in others]
    return [{"message": "", "reply": [first]}, *later, {"result": "", "reply": [{"text": "Done."}]}]


def run_contents(received: list[ChatContentReceivedParams]) -> list[ToolCallRunContent]:
    return [one.content for one in received if isinstance(one.content, ToolCallRunContent)]


def asked(received: list[ChatContentReceivedParams]) -> list[str]:
    """What was asked about, by the names of the tools."""
    return [content.name for content in run_contents(received) if content.manual_approval]


def ran(received: list[ChatContentReceivedParams]) -> list[str]:
    return [one.content.name for one in received if isinstance(one.content, ToolCalledContent)]


class Person:
    """Approves for the session what is asked first, and rejects all else."""

    def __init__(self, approves: int = 1) -> None:
        self.approves = approves

    def __call__(self, _call: ToolCallRunContent) -> CallDecision:
        self.approves -= 1
        return CallDecision(approved=self.approves >= 0, session=True)


@asynccontextmanager
async def project(folder: Path, rules: list[dict[str, Any]], **more: Any) -> AsyncGenerator[Desk]:
    """A host that reads its configuration from the files of a project, and reads it again when they change."""
    root = folder / "root"
    (root / ".eca").mkdir(parents=True)
    (folder / "home").mkdir()
    (folder / "user.json").write_text(json.dumps(settings(folder, rules, **more)))
    reading = partial(read_config, (root,), home=folder / "home")
    (folder / "home" / "eca").mkdir()
    (folder / "user.json").rename(folder / "home" / "eca" / "config.json")
    host = Host(reading(), Workspace(Files((root,))), folder / "chats.db", reading)
    async with desk_of(host, root) as table:
        yield table


async def test_an_approval_of_one_file_for_the_session_does_not_hand_over_the_configuration(tmp_path: Path) -> None:
    script = plays(
        call("write_file", path="hello.txt", content="Hello"),
        call("write_file", path=".eca/config.json", content=LOOSE),
        call("shell_command", command="touch PWNED"),
    )
    async with project(tmp_path, script) as table:
        client = await table.client()
        received = await answer(client, "write", Person())
        assert asked(received) == ["write_file", "write_file", "shell_command"]
        assert not (table.folder / "PWNED").exists()
        assert not (table.folder / ".eca" / "config.json").exists()
