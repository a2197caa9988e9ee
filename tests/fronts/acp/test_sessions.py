"""Sessions: they are listed, loaded, resumed, closed and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.acp import sessions as session_requests
from jupyter_eca.protocol.acp import AcpErrorCode
from jupyter_eca.protocol.jsonrpc import ErrorCode
from tests.fronts.acp.script import RULES
from tests.support.acp_client import chatting_with, connected, needs_schema
from tests.support.host_and_client import answer, desk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fronts.acp.script import Json
    from tests.support.acp_client import AcpTestClient

pytestmark = [pytest.mark.asyncio, needs_schema]
ALLOW = {"approval": {"byDefault": "allow"}}


async def reopen(client: AcpTestClient, method: str, session: str = "") -> list[Json]:
    """Load or resume a session, and return the updates that came before the answer."""
    since = len(client.heard)
    params: Any = {"sessionId": session or client.session, "cwd": str(client.folder), "mcpServers": []}
    opened = await client.result(method, params)
    assert opened["modes"]["currentModeId"]
    updates = client.updates(since, session)
    return [update for update in updates if update["sessionUpdate"] != "available_commands_update"]


async def test_a_loaded_session_shows_everything_in_order_and_each_call_once(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, toolCall=ALLOW) as table:
        async with connected(table) as client:
            session = client.session
            await client.prompt("think")
            await client.prompt("write a.txt hello")
            await client.prompt("plan")
        async with connected(table) as other:
            past = await reopen(other, "session/load", session)
    kinds = [update["sessionUpdate"] for update in past]
    wanted = ["user_message_chunk", "agent_thought_chunk", "agent_message_chunk", "user_message_chunk"]
    assert [kind for kind in kinds if kind.endswith("chunk")][:4] == wanted
    calls = [update for update in past if update["sessionUpdate"] == "tool_call"]
    assert [(call["kind"], call["status"]) for call in calls] == [("edit", "completed"), ("think", "completed")]
    assert calls[0]["content"][0]["newText"] == "hello\n"
    assert "tool_call_update" not in kinds
    assert kinds.index("plan") > kinds.index("tool_call")
    assert "session_info_update" in kinds
    users = [update["content"]["text"] for update in past if update["sessionUpdate"] == "user_message_chunk"]
    assert users == ["think", "write a.txt hello", "plan"]


async def test_a_loaded_session_goes_on(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        async with connected(table) as client:
            session = client.session
            await client.prompt("one")
        async with connected(table) as other:
            await reopen(other, "session/load", session)
            since = len(other.heard)
            assert await other.prompt("two", session=session) == "end_turn"
            assert other.said(since, session=session) == "Hello, two"


async def test_a_resumed_session_shows_nothing_of_the_past_and_goes_on(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        async with connected(table) as client:
            session = client.session
            await client.prompt("one")
        async with connected(table) as other:
            assert await reopen(other, "session/resume", session) == []
            assert await other.prompt("two", session=session) == "end_turn"
            assert other.said(session=session) == "Hello, two"


async def test_a_session_without_prompts_can_be_loaded_by_the_client_that_has_it(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        assert await reopen(client, "session/load") == []
        assert await client.prompt("you") == "end_turn"


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_a_session_that_does_not_exist_cannot_be_opened(tmp_path: Path, method: str) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        params: Any = {"sessionId": "no-such", "cwd": str(tmp_path), "mcpServers": []}
        assert await client.code(method, params) == AcpErrorCode.RESOURCE_NOT_FOUND


async def test_prompts_modes_and_options_need_an_open_session(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        requests: list[tuple[str, Json]] = [
            ("session/prompt", {"prompt": []}),
            ("session/set_mode", {"modeId": "plan"}),
            ("session/set_config_option", {"configId": "mode", "value": "plan"}),
            ("session/close", {}),
        ]
        for method, more in requests:
            assert await client.code(method, {"sessionId": "no-such", **more}) == AcpErrorCode.RESOURCE_NOT_FOUND


async def test_sessions_are_listed_by_folder_in_pages_the_last_used_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_requests, "PAGE_SIZE", 2)
    (tmp_path / "inside").mkdir()
    async with chatting_with(tmp_path, RULES) as client:
        sessions: list[str] = []
        for number in range(3):
            await client.open()
            await client.prompt(f"number {number}")
            sessions.insert(0, client.session)
        await client.result("session/new", {"cwd": str(tmp_path / "inside"), "mcpServers": []})
        first = await client.result("session/list", {"cwd": str(tmp_path)})
        assert [entry["title"] for entry in first["sessions"]] == ["number 2", "number 1"]
        assert all(entry["updatedAt"].endswith("+00:00") for entry in first["sessions"])
        second = await client.result("session/list", {"cwd": str(tmp_path), "cursor": first["nextCursor"]})
        assert "nextCursor" not in second
        assert [entry["sessionId"] for entry in first["sessions"] + second["sessions"]] == sessions
        assert (await client.result("session/list", {"cwd": str(tmp_path / "inside")}))["sessions"] == []
        assert len((await client.result("session/list", {}))["sessions"]) == 2
        assert await client.code("session/list", {"cursor": "no-such"}) == ErrorCode.INVALID_PARAMS


async def test_a_closed_session_ends_its_turn_and_can_be_loaded_again(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        prompt = await client.start_prompt("stream")
        await client.update("agent_message_chunk")
        assert await client.result("session/close", {"sessionId": client.session}) == {}
        assert await client.stop_reason(prompt) == "cancelled"
        missing: Any = {"sessionId": client.session, "prompt": []}
        assert await client.code("session/prompt", missing) == AcpErrorCode.RESOURCE_NOT_FOUND
        past = await reopen(client, "session/load")
        assert past[0]["content"]["text"] == "stream"


async def test_a_session_is_deleted_twice_without_an_error(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        await client.prompt("you")
        for _ in range(2):
            assert await client.result("session/delete", {"sessionId": client.session}) == {}
        assert (await client.result("session/list", {"cwd": str(tmp_path)}))["sessions"] == []


async def test_a_session_that_another_client_deletes_answers_its_prompt_with_an_error(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connected(table) as client:
        prompt = await client.start_prompt("stream")
        await client.update("agent_message_chunk")
        await table.host.chat_operations.delete(client.session)
        await client.reply(prompt)
        await client.open()
        assert await client.prompt("you") == "end_turn"


async def test_a_chat_of_the_panel_is_a_session(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connected(table) as client:
        panel = await table.client()
        await answer(panel, "from the panel", chat="chat-of-the-panel")
        listed = await client.result("session/list", {"cwd": str(tmp_path)})
        assert [entry["sessionId"] for entry in listed["sessions"]] == ["chat-of-the-panel"]
        await reopen(client, "session/load", "chat-of-the-panel")
        assert client.said(session="chat-of-the-panel") == "Hello, from the panel"


@pytest.mark.parametrize("cwd", ["relative", "", "/no/such/folder", "/"])
async def test_a_working_directory_that_cannot_be_used_is_refused(tmp_path: Path, cwd: str) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        assert await client.code("session/new", {"cwd": cwd, "mcpServers": []}) == ErrorCode.INVALID_PARAMS


async def test_tools_run_in_the_working_directory_of_the_session(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    async with chatting_with(tmp_path, RULES, toolCall=ALLOW) as client:
        opened = await client.result("session/new", {"cwd": str(tmp_path / "inside"), "mcpServers": []})
        await client.prompt("write a.txt hello", session=opened["sessionId"])
        assert (tmp_path / "inside" / "a.txt").read_text() == "hello\n"
        listed = await client.result("session/list", {"cwd": str(tmp_path / "inside")})
        assert [entry["cwd"] for entry in listed["sessions"]] == [str(tmp_path / "inside")]


async def test_a_session_that_cannot_be_loaded_elsewhere_stays_open(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    async with chatting_with(tmp_path / "one", RULES) as client:
        await client.prompt("you")
        params: Any = {"sessionId": client.session, "cwd": str(tmp_path / "other"), "mcpServers": []}
        assert await client.code("session/load", params) is not None
        assert await client.prompt("you") == "end_turn"
