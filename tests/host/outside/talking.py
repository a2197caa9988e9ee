"""A host whose agent `fake` is the scripted outside agent, and a client. Every message between them is held against the
published schema."""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.fronts.client_access import FULL_ACCESS, ClientAccess
from jupyter_eca.protocol.jsonrpc import from_json
from tests.support import acp_schema
from tests.support.host_and_client import answer, desk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from jupyter_eca.protocol.content import ToolCallRunContent
    from jupyter_eca.transport.eca_client import CallDecision, EcaClient
    from jupyter_eca.workspace.ports import Notebooks
    from tests.support.host_and_client import Desk

PROGRAM = Path(__file__).parents[2] / "support/fake_agent.py"

Json = dict[str, Any]

# What an agent sends on purpose although the protocol has no such thing.
ODD = ("dance", "_agent/", "juggle", "hologram")


class Talking:
    """The client, and what went over the pipes of the agent."""

    def __init__(self, table: Desk, client: EcaClient, frames: Path) -> None:
        self.table = table
        self.host = table.host
        self.client = client
        self.frames = frames
        self.checks_frames = True
        """Whether the messages are held against the schema at the end."""

    async def ask(
        self,
        *steps: str,
        choose: Callable[[ToolCallRunContent], CallDecision | None] = lambda _: None,
        chat: str = "chat",
    ) -> list[ChatContentReceivedParams]:
        """Everything that the client gets in one turn of these steps."""
        message = "\n".join(f"DO: {step}" for step in steps)
        return await answer(self.client, message, choose, chat=chat, agent="fake")

    def list_frames(self, sender: str, method: str = "") -> list[Json]:
        """The messages of one side, all or those of one method."""
        lines = self.frames.read_text().splitlines() if self.frames.exists() else []
        found = [message for who, message in map(json.loads, lines) if who == sender]
        return [message for message in found if not method or message.get("method") == method]

    def list_faults(self) -> list[str]:
        """What the schema does not allow in the messages of both sides."""
        conversation = acp_schema.Conversation()
        for line in self.frames.read_text().splitlines() if self.frames.exists() else []:
            sender, message = json.loads(line)
            if not any(word in line for word in ODD):
                conversation.check(from_json(message, null_id=True), sender)
        return conversation.faults


def fake(folder: Path, *quirks: str, **more: Any) -> Json:
    """The configuration of the agent."""
    arguments = [str(PROGRAM), "--frames", str(folder.parent / f"{folder.name}-frames.jsonl")]
    for quirk in quirks:
        arguments += ["--quirk", quirk]
    return {"fake": {"command": sys.executable, "args": arguments, **more}}


@asynccontextmanager
async def talking(
    folder: Path,
    *quirks: str,
    notebooks: Notebooks | None = None,
    settings: Json | None = None,
    rules: list[Json] | None = None,
    access: ClientAccess = FULL_ACCESS,
    **more: Any,
) -> AsyncGenerator[Talking]:
    """A host with the agent. `settings` are further settings of the agent, `more` keys of the configuration."""
    agents = fake(folder, *quirks, **(settings or {}))
    async with desk(folder, rules or [], notebooks, acpAgents=agents, **more) as table:
        client = await table.client(access=access)
        talk = Talking(table, client, folder.parent / f"{folder.name}-frames.jsonl")
        yield talk
    if acp_schema.FILE.exists() and talk.checks_frames:
        assert talk.list_faults() == []
