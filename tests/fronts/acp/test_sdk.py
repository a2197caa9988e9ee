"""The client of the official Python SDK drives one whole story over the pipes of the process."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.fronts.acp.test_process import workspace
from tests.support.editor_process import PATIENCE, environment

if TYPE_CHECKING:
    from pathlib import Path

acp: Any = pytest.importorskip("acp", reason="the package agent-client-protocol is not installed")

pytestmark = pytest.mark.asyncio
__all__ = ["workspace"]


class SdkClient:
    """What an editor is: it keeps the updates, and its user allows everything once."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.permissions: list[Any] = []
        self.text_came = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:  # noqa: ARG002
        self.updates.append(update)
        if update.session_update == "agent_message_chunk":
            self.text_came.set()

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:  # noqa: ARG002
        self.permissions.append(tool_call)
        allow = next(option for option in options if option.kind == "allow_once")
        outcome = acp.schema.AllowedOutcome(outcome="selected", option_id=allow.option_id)
        return acp.schema.RequestPermissionResponse(outcome=outcome)

    def on_connect(self, conn: Any) -> None:
        pass


@pytest.mark.cold_start
async def test_the_client_of_the_sdk_has_a_whole_conversation(workspace: Path) -> None:
    client = SdkClient()
    command, folder = (sys.executable, "-m", "jupyter_eca", "acp"), str(workspace)
    patient = {"shutdown_timeout": PATIENCE}
    async with (
        asyncio.timeout(PATIENCE * 2),
        acp.spawn_agent_process(client, *command, env=environment(workspace), cwd=folder, transport_kwargs=patient) as (
            agent,
            process,
        ),
    ):
        started = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert started.protocol_version == 1
        session = await agent.new_session(cwd=str(workspace), mcp_servers=[])
        assert session.modes.current_mode_id == "code"

        prompt = [acp.text_block("write new.txt hello")]
        assert (await agent.prompt(session_id=session.session_id, prompt=prompt)).stop_reason == "end_turn"
        assert (workspace / "new.txt").read_text() == "hello\n"
        (asked,) = client.permissions
        assert [part.new_text for part in asked.content if part.type == "diff"] == ["hello\n"]

        client.text_came.clear()
        prompt = [acp.text_block("stream")]
        answering = asyncio.ensure_future(agent.prompt(session_id=session.session_id, prompt=prompt))
        await client.text_came.wait()
        await agent.cancel(session_id=session.session_id)
        assert (await answering).stop_reason == "cancelled"

        listed = await agent.list_sessions(cwd=str(workspace))
        assert [entry.session_id for entry in listed.sessions] == [session.session_id]
        client.updates.clear()
        await agent.load_session(session_id=session.session_id, cwd=str(workspace), mcp_servers=[])
        users = [u.content.text for u in client.updates if u.session_update == "user_message_chunk"]
        assert sorted(users) == ["stream", "write new.txt hello"]
    assert process.returncode == 0
