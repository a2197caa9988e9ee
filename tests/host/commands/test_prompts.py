"""Commands that become a prompt: the user's files, and the prompts of tool servers."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.host import commands
from jupyter_eca.host.commands import CommandAnswer, CommandReplacement
from jupyter_eca.protocol.jsonrpc import Message, Notification
from jupyter_eca.protocol.mcp import ToolServerUpdatedParams
from tests.support.host_and_client import Desk, desk
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own commands."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    folder = tmp_path / "home" / "eca" / "commands"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / ".eca" / "commands"
    folder.mkdir(parents=True)
    return folder


async def test_a_file_becomes_the_prompt_and_the_projects_wins(tmp_path: Path, home: Path, project: Path) -> None:
    (home / "review.md").write_text("Mine")
    (home / "greet.md").write_text("Greet {{who}}")
    (project / "review.md").write_text("---\ndescription: Look hard\n---\nReview $ARGS\n")
    async with desk(tmp_path, []) as table:
        assert await commands.run(table.host, "chat", "/review a.py") == CommandReplacement("Review a.py")
        assert await commands.run(table.host, "chat", "/greet Ada") == CommandReplacement("Greet Ada")
        listed = {one.name: one.description for one in await commands.list_commands(table.host)}
        assert (listed["review"], listed["greet"]) == ("Look hard", "Greet {{who}}")


async def test_a_file_does_not_take_the_place_of_a_native_command(tmp_path: Path, project: Path) -> None:
    (project / "help.md").write_text("Do something else")
    async with desk(tmp_path, []) as table:
        assert isinstance(await commands.run(table.host, "chat", "/help"), CommandAnswer)
        assert [one.description for one in await commands.list_commands(table.host) if one.name == "help"] == [
            "List the commands"
        ]


async def test_a_folder_of_the_machine_is_no_slip_of_the_finger(tmp_path: Path, project: Path) -> None:
    (project / "usrs.md").write_text("List the users")
    (project / "users.md").write_text("List the users")
    async with desk(tmp_path, []) as table:
        assert await commands.run(table.host, "chat", "/usr") is None
        made = await commands.run(table.host, "chat", "/uses")
        assert made == CommandAnswer("There is no command `/uses`. Did you mean `/users`? `/help` lists them all.")


async def test_a_file_that_is_no_command_is_passed_over(tmp_path: Path, project: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.md"
    outside.write_text("Not the project's")
    (project / "link.md").symlink_to(outside)
    (project / "folder.md").mkdir()
    (project / "two words.md").write_text("x")
    (project / "huge.md").write_text("x" * 200_000)
    (project / "notes.txt").write_text("x")
    (project / "bytes.md").write_bytes(b"caf\xe9")
    async with desk(tmp_path, []) as table:
        listed = [one.name for one in await commands.list_commands(table.host) if one.type == "customPrompt"]
        assert listed == ["bytes"]


# In bare messages: the SDK takes most of a second of CPU to start.
SERVER = """
import json, sys

ARGUMENTS = [{"name": "topic", "required": True}, {"name": "tone", "required": False}]
PROMPT = {"name": "ask", "description": "Ask the docs", "arguments": ARGUMENTS}
INFO = {"capabilities": {"prompts": {}}, "serverInfo": {"name": "docs", "version": ""}}


def answer(method, params):
    if method == "initialize":
        return {"result": {**INFO, "protocolVersion": params["protocolVersion"]}}
    if method == "prompts/list":
        return {"result": {"prompts": [PROMPT]}}
    if method != "prompts/get":
        return {"error": {"code": -32601, "message": "Method not found"}}
    topic, tone = params["arguments"]["topic"], params["arguments"].get("tone", "")
    if topic == "nothing":
        return {"error": {"code": 0, "message": "nothing to say"}}
    content = {"type": "text", "text": f"About {topic}, {tone or 'in no tone'}"}
    return {"result": {"messages": [{"role": "user", "content": content}]}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        said = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)
"""


@asynccontextmanager
async def documented(folder: Path) -> AsyncGenerator[Desk]:
    """With a real tool server that has one prompt, as soon as the prompt is known."""
    script = folder / "docs.py"
    script.write_text(SERVER)
    servers = {"docs": {"command": sys.executable, "args": [str(script)]}}
    async with desk(folder, [], mcpServers=servers) as table, connect_and_initialize(table) as client:

        def told(message: Message) -> bool:
            if not isinstance(message, Notification) or message.method != "tool/serverUpdated":
                return False
            return bool(ToolServerUpdatedParams.model_validate(message.params).prompts)

        await client.until(told)
        yield table


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("pandas", "About pandas, in no tone"),
        ("pandas dry and short", "About pandas, dry and short"),
        ("tone=dry 'the index'", "About the index, dry"),
    ],
)
async def test_a_prompt_of_a_server_is_asked_for_with_its_arguments(tmp_path: Path, text: str, made: str) -> None:
    async with documented(tmp_path) as table:
        assert await commands.run(table.host, "chat", f"/docs:ask {text}") == CommandReplacement(made)


async def test_a_prompt_that_cannot_be_had_is_told_and_not_sent_to_the_model(tmp_path: Path) -> None:
    async with documented(tmp_path) as table:
        missing = await commands.run(table.host, "chat", "/docs:ask tone=dry")
        assert missing == CommandAnswer("`/docs:ask` needs topic: write `/docs:ask topic=… tone=…`.")
        failed = await commands.run(table.host, "chat", "/docs:ask nothing")
        assert isinstance(failed, CommandAnswer)
        assert failed.text.startswith("The server 'docs' failed: ")


async def test_prompts_of_servers_are_listed_with_their_arguments(tmp_path: Path) -> None:
    async with documented(tmp_path) as table:
        listed = [one.as_json_object() for one in await commands.list_commands(table.host) if one.type == "mcpPrompt"]
        arguments = [{"name": "topic", "required": True}, {"name": "tone", "required": False}]
        assert listed == [
            {"name": "docs:ask", "description": "Ask the docs", "type": "mcpPrompt", "arguments": arguments}
        ]
