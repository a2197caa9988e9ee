"""Commands that become a prompt: the user's files, and the prompts of tool servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca import commands
from jupyter_eca.commands import Answer, Replacement
from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.mcp import ServerPrompt, ServerPromptArgument, ServerResource, ToolServerUpdatedParams
from tests.desk import desk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from jupyter_eca.engine.spec import ImagePart

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
        assert await commands.run(table.host, "chat", "/review a.py") == Replacement("Review a.py")
        assert await commands.run(table.host, "chat", "/greet Ada") == Replacement("Greet Ada")
        listed = {one.name: one.description for one in await commands.offered(table.host)}
        assert (listed["review"], listed["greet"]) == ("Look hard", "Greet {{who}}")


async def test_a_file_does_not_take_the_place_of_a_native_command(tmp_path: Path, project: Path) -> None:
    (project / "help.md").write_text("Do something else")
    async with desk(tmp_path, []) as table:
        assert isinstance(await commands.run(table.host, "chat", "/help"), Answer)
        assert [one.description for one in await commands.offered(table.host) if one.name == "help"] == [
            "List the commands"
        ]


async def test_a_folder_of_the_machine_is_no_slip_of_the_finger(tmp_path: Path, project: Path) -> None:
    (project / "usrs.md").write_text("List the users")
    (project / "users.md").write_text("List the users")
    async with desk(tmp_path, []) as table:
        assert await commands.run(table.host, "chat", "/usr") is None
        made = await commands.run(table.host, "chat", "/uses")
        assert made == Answer("There is no command `/uses`. Did you mean `/users`? `/help` lists them all.")


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
        listed = [one.name for one in await commands.offered(table.host) if one.type == "customPrompt"]
        assert listed == ["bytes"]


class Servers:
    """One tool server with one prompt."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str]]] = []

    def servers(self) -> tuple[ToolServerUpdatedParams, ...]:
        arguments = (ServerPromptArgument(name="topic", required=True), ServerPromptArgument(name="tone"))
        prompt = ServerPrompt(name="ask", description="Ask the docs", arguments=arguments)
        return (ToolServerUpdatedParams(type="mcp", name="docs", prompts=(prompt,)),)

    def resources(self) -> Mapping[str, tuple[ServerResource, ...]]:
        return {}

    async def read_resource(self, server: str, uri: str) -> tuple[str, tuple[ImagePart, ...]]:
        raise ToolError(f"{server} has no {uri}.")

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> str:
        if arguments["topic"] == "nothing":
            raise ToolError("The server docs has gone away.")
        self.asked.append((server, name, dict(arguments)))
        return f"About {arguments['topic']}"


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("pandas", {"topic": "pandas"}),
        ("pandas dry and short", {"topic": "pandas", "tone": "dry and short"}),
        ("tone=dry 'the index'", {"topic": "the index", "tone": "dry"}),
    ],
)
async def test_a_prompt_of_a_server_is_asked_for_with_its_arguments(
    tmp_path: Path, text: str, arguments: dict[str, Any]
) -> None:
    async with desk(tmp_path, []) as table:
        table.host.mcp = servers = Servers()  # pyright: ignore[reportAttributeAccessIssue]
        made = await commands.run(table.host, "chat", f"/docs:ask {text}")
        assert made == Replacement(f"About {arguments['topic']}")
        assert servers.asked == [("docs", "ask", arguments)]


async def test_a_prompt_that_cannot_be_had_is_told_and_not_sent_to_the_model(tmp_path: Path) -> None:
    async with desk(tmp_path, []) as table:
        table.host.mcp = Servers()  # pyright: ignore[reportAttributeAccessIssue]
        missing = await commands.run(table.host, "chat", "/docs:ask tone=dry")
        assert missing == Answer("`/docs:ask` needs topic: write `/docs:ask topic=… tone=…`.")
        failed = await commands.run(table.host, "chat", "/docs:ask nothing")
        assert failed == Answer("The server docs has gone away.")


async def test_prompts_of_servers_are_listed_with_their_arguments(tmp_path: Path) -> None:
    async with desk(tmp_path, []) as table:
        table.host.mcp = Servers()  # pyright: ignore[reportAttributeAccessIssue]
        listed = [one.wire() for one in await commands.offered(table.host) if one.type == "mcpPrompt"]
        arguments = [{"name": "topic", "required": True}, {"name": "tone", "required": False}]
        assert listed == [
            {"name": "docs:ask", "description": "Ask the docs", "type": "mcpPrompt", "arguments": arguments}
        ]
