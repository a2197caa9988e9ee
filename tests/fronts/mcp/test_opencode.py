"""The OpenCode family: the 21 tools of the table, and each of them against a live OpenCode server, at night."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client

from jupyter_eca.errors import ConfigError
from jupyter_eca.fronts.mcp.opencode import OpenCode
from jupyter_eca.fronts.mcp.server import McpFront
from tests.fronts.mcp.live import PROGRAM, SAID, UNRELATED, opencode
from tests.fronts.mcp.programs import on_http, on_stdio
from tests.fronts.mcp.room import LEGACY, MODERN, User, call, ok
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Generator

FIXTURES = Path(__file__).parents[2] / "fixtures"
TABLE: dict[str, dict[str, Any]] = json.loads((FIXTURES / "opencode_tools.json").read_text())
HINTS = {"r": (True, False, True, True), "w": (False, True, False, True), "c": (False, False, False, True)}

# Arguments that must do, and those that must not with a word of the error. {id} is that of a session.
CALLS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "opencode_session_create": ({"title": "Mine", "agent": "plan"}, {"agent": "nobody"}, "no agent 'nobody'"),
    "opencode_run": ({"prompt": "LOOK", "files": ["a.py"]}, {"prompt": "hi", "model": "no/no"}, "no model 'no/no'"),
    "opencode_session_prompt": ({"sessionId": "{id}", "prompt": "you"}, {"sessionId": "ses_0", "prompt": "x"}, "404"),
    "opencode_session_list": ({}, {"x": 1}, "do not fit"),
    "opencode_session_abort": ({"sessionId": "{id}"}, {"sessionId": "../x"}, "no id of a session"),
    "opencode_file_read": ({"path": "a.py"}, {"path": "none.py"}, "no file none.py"),
    "opencode_file_search": ({"pattern": "needle"}, {"pattern": "("}, "OpenCode answered 500"),
    "opencode_find_files": ({"query": "a.py", "type": "file", "limit": 3}, {"query": "a", "limit": 0}, "limit"),
    "opencode_find_symbols": ({"query": "needle"}, {}, "query: Field required"),
    "opencode_model_list": ({"provider": "mock"}, {"provider": "no"}, "no provider 'no'"),
    "opencode_model_configure": (
        {"provider": "mock", "model": "m", "options": {"temperature": 0}},
        {"provider": "mock", "model": "no", "options": {}},
        "no model 'mock/no'",
    ),
    "opencode_provider_list": ({}, {"x": 1}, "do not fit"),
    "opencode_config_get": ({}, {"x": 1}, "do not fit"),
    "opencode_config_update": ({"model": "mock/n", "defaultAgent": "plan"}, {}, "Nothing was to be changed"),
    "opencode_agent_list": ({}, {"x": 1}, "do not fit"),
    "opencode_agent_delegate": ({"agent": "plan", "prompt": "hi"}, {"agent": "no", "prompt": "hi"}, "no agent 'no'"),
    "opencode_skill_list": ({}, {"x": 1}, "do not fit"),
    "opencode_skill_create": (
        {"name": "mine", "description": "Mine", "content": "Do it."},
        {"name": "mine", "description": "Mine", "content": "Do it."},
        "a skill 'mine' already",
    ),
    "opencode_mcp_list": ({}, {"x": 1}, "do not fit"),
    "opencode_mcp_enable": ({"name": "none", "enabled": False}, {"name": "x", "enabled": True}, "no MCP server 'x'"),
    "opencode_tool_list": ({"provider": "mock", "model": "m"}, {"provider": "mock"}, "goes with a model"),
}  # fmt: skip


@pytest.mark.asyncio
async def test_the_tools_arguments_and_annotations_are_those_of_the_table(tmp_path: Path) -> None:
    front = McpFront(OpenCode(tmp_path, {}))
    async with front.running(), Client(front.server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools.keys() == TABLE.keys() == CALLS.keys()
    for name, row in TABLE.items():
        schema, hints = tools[name].input_schema, tools[name].annotations
        assert set(schema.get("required", ())) == set(row["required"])
        assert set(schema.get("properties", ())) == {*row["required"], *row["optional"]}
        assert hints is not None
        found = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        assert found == HINTS[row["hints"]]


@pytest.mark.asyncio
async def test_a_server_that_is_not_there_is_named_with_what_to_do(tmp_path: Path) -> None:
    backend = OpenCode(tmp_path, {"OPENCODE_SERVER_URL": "http://127.0.0.1:9"})
    front = McpFront(backend)
    async with front.running(), Client(front.server, mode=LEGACY) as client:
        failed, data = await call(client, "opencode_agent_list")
        elsewhere, told = await call(client, "opencode_run", prompt="hi", workingDirectory=str(tmp_path / "none"))
    await backend.api.close()
    assert failed
    assert "http://127.0.0.1:9 cannot be reached" in data["error"]
    assert data["suggestions"] == ["Start it: opencode serve --port 4096.", "Set OPENCODE_SERVER_URL to where it is."]
    assert elsewhere
    assert "There is no folder" in told["error"]


@pytest.mark.asyncio
async def test_an_answer_that_drips_without_end_is_given_up_after_the_timeout(tmp_path: Path) -> None:
    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")
        with closing(writer), suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)

    async with await asyncio.start_server(drip, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        environment = {"OPENCODE_SERVER_URL": f"http://127.0.0.1:{port}", "OPENCODE_TIMEOUT": "300"}
        backend = OpenCode(tmp_path, environment)
        front = McpFront(backend)
        async with asyncio.timeout(PATIENCE), front.running(), Client(front.server, mode=LEGACY) as client:
            failed, data = await call(client, "opencode_agent_list")
        await backend.api.close()
    assert failed
    assert "did not answer" in data["error"]
    assert "Set OPENCODE_TIMEOUT higher (milliseconds)." in data["suggestions"]


@pytest.mark.parametrize("wrong", [{"OPENCODE_TIMEOUT": "long"}, {"OPENCODE_SERVER_URL": "here"}])
def test_an_environment_that_makes_no_sense_is_named(tmp_path: Path, wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        OpenCode(tmp_path, wrong)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, str]]:
    if not PROGRAM.exists():
        pytest.skip("npm --prefix tests/npm/opencode install --no-save --ignore-scripts installs OpenCode")
    with opencode(tmp_path_factory.mktemp("opencode")) as environment:
        yield environment


async def every_tool(client: Client, project: Path) -> dict[str, Any]:
    """What each said that is to succeed; those that are to fail do. The configuration is then as it was before."""
    before = (project / "opencode.json").read_text()
    found: dict[str, Any] = {}
    for name, (good, bad, word) in CALLS.items():
        session = found.get("opencode_session_create", {}).get("sessionId")
        given = {key: session if value == "{id}" else value for key, value in good.items()}
        found[name] = await ok(client, name, **given)
        failed, data = await call(client, name, **bad)
        assert failed, name
        assert data.keys() == {"error", "suggestions"}
        assert word in data["error"], (name, data)
        assert data["suggestions"]
    found["config"] = (await ok(client, "opencode_config_get"))["config"]
    (project / ".opencode" / "skills" / "mine" / "SKILL.md").unlink()
    (project / "opencode.json").write_text(before)
    return found


def check(found: dict[str, Any], project: Path) -> None:
    assert found["opencode_run"]["text"] == found["opencode_session_prompt"]["text"] == SAID
    assert (found["opencode_run"]["model"], found["opencode_agent_delegate"]["agent"]) == ("mock/m", "plan")
    (called,) = found["opencode_run"]["toolCalls"]
    assert (called["name"], called["status"], called["arguments"]) == ("glob", "completed", {"pattern": "*.py"})
    assert (found["opencode_session_prompt"]["agent"], found["opencode_session_prompt"]["toolCalls"]) == ("plan", [])
    assert (project / "config.json").read_text() == UNRELATED
    assert found["opencode_model_configure"]["options"] == {"temperature": 0}
    assert found["opencode_config_update"]["changed"] == {"model": "mock/n", "default_agent": "plan"}
    assert (found["config"]["model"], found["config"]["default_agent"]) == ("mock/n", "plan")
    assert found["config"]["provider"]["mock"]["models"]["m"]["options"] == {"temperature": 0}
    assert found["opencode_run"]["directorySource"] == "OPENCODE_DEFAULT_PROJECT"
    assert found["opencode_run"]["directory"] == str(project)
    assert "needle" in found["opencode_file_read"]["content"]
    assert found["opencode_find_files"]["paths"] == ["a.py"]
    assert found["opencode_model_list"]["models"] == ["mock/m", "mock/n"]
    assert found["opencode_session_create"]["sessionId"] in str(found["opencode_session_list"])
    assert "a-secret-key" not in json.dumps(found)
    assert {"name": "none", "status": "disabled"} in found["opencode_mcp_list"]["servers"]


@pytest.mark.nightly
@pytest.mark.asyncio
async def test_all_tools_work_and_fail_over_stdio(live: dict[str, str], tmp_path: Path) -> None:
    project = Path(live["OPENCODE_DEFAULT_PROJECT"])
    async with on_stdio(tmp_path, "--backend", "opencode", more=live) as client:
        check(await every_tool(client, project), project)


@pytest.mark.nightly
@pytest.mark.asyncio
async def test_all_tools_work_and_fail_over_http_beside_another_client(live: dict[str, str], tmp_path: Path) -> None:
    project = Path(live["OPENCODE_DEFAULT_PROJECT"])
    with on_http(tmp_path, "--backend", "opencode", **live) as served:
        async with served.client(LEGACY) as one, served.client(MODERN) as two:
            # A change of the configuration is refused while a session works, so it does not run beside the prompts.
            other = await asyncio.gather(*(ok(client, "opencode_run", prompt="hi") for client in (one, two, two)))
            found = await every_tool(one, project)
    check(found, project)
    assert [answer["text"] for answer in other] == [SAID] * 3
    assert len({answer["sessionId"] for answer in other}) == 3


@pytest.mark.nightly
@pytest.mark.asyncio
async def test_a_permission_that_nobody_can_give_here_is_returned_at_once_and_the_work_goes_on_after_it(
    live: dict[str, str], tmp_path: Path
) -> None:
    made = Path(live["OPENCODE_DEFAULT_PROJECT"]) / "made.txt"
    address, auth = live["OPENCODE_SERVER_URL"], ("opencode", live["OPENCODE_SERVER_PASSWORD"])
    async with on_stdio(tmp_path, "--backend", "opencode", more=live) as client:
        waiting = await ok(client, "opencode_run", prompt="SHELL")
        (pending,) = waiting["pending"]
        assert (waiting["status"], pending["permission"]) == ("waiting for the user", "bash")
        assert f"POST {address}/permission/ID/reply" in " ".join(waiting["howToAnswer"])
        assert not made.exists()
        async with httpx2.AsyncClient(auth=auth, trust_env=False) as user:
            where = {"directory": waiting["directory"]}
            answer = await user.post(
                f"{address}/permission/{pending['id']}/reply", params=where, json={"reply": "once"}
            )
            assert answer.is_success
        assert (await ok(client, "opencode_session_prompt", sessionId=waiting["sessionId"], prompt="hi"))[
            "text"
        ] == SAID
    assert made.read_text() == "made\n"
    made.unlink()


@pytest.mark.nightly
@pytest.mark.asyncio
async def test_a_client_that_can_ask_its_user_asks_for_the_permission(live: dict[str, str], tmp_path: Path) -> None:
    made, user = Path(live["OPENCODE_DEFAULT_PROJECT"]) / "made.txt", User({"decision": "once"})
    async with on_stdio(tmp_path, "--backend", "opencode", user=user, more=live) as client:
        done = await ok(client, "opencode_run", prompt="SHELL")
        user.answers = None
        await call(client, "opencode_run", prompt="SHELL")
    assert "OpenCode asks for permission: bash echo made > made.txt" in user.asked[0]
    assert [(called["name"], called["status"]) for called in done["toolCalls"]] == [("bash", "completed")]
    assert len(user.asked) == 2
    assert made.read_text() == "made\n"
    made.unlink()


def test_the_text_of_an_answer_is_json() -> None:
    from jupyter_eca.fronts.mcp import answers
    from jupyter_eca.fronts.mcp.offers_base import ToolAnswer

    (text,) = answers.make_result(ToolAnswer({"a": ["ä"]}), "2024-11-05").content
    assert isinstance(text, types.TextContent)
    assert text.text == '{\n  "a": [\n    "ä"\n  ]\n}'
