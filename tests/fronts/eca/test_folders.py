"""The folders of a workspace, as an editor adds and takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.host_and_client import Door, desk
from tests.support.raw_client import MemoryClient, connect

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

STORY: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "{result}"}]},
    {"message": "", "reply": [{"tool": "read_file", "arguments": {"path": "{message}"}}]},
]


def folders(*paths: Path) -> list[dict[str, str]]:
    return [{"uri": path.as_uri(), "name": path.name} for path in paths]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder beside the workspace, with a space in its name that a URI writes otherwise."""
    folder = tmp_path / "another folder"
    folder.mkdir()
    (folder / "secret.txt").write_text("the words")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


async def reads(at: MemoryClient, file: Path) -> str:
    await at.result("chat/prompt", {"chatId": "c", "message": str(file)})
    called = await at.content("toolCalled")
    await at.finished()
    return called["outputs"][0]["text"]


async def change(at: MemoryClient, **event: Any) -> None:
    await at.tell("workspace/didChangeWorkspaceFolders", {"event": event})


async def test_an_added_folder_can_be_read_and_a_removed_one_no_longer(home: Path, other: Path) -> None:
    async with desk(home, STORY, toolCall={"approval": {"byDefault": "allow"}}) as table:
        at = connect(table)
        await at.initialize()
        assert "outside of the workspace" in await reads(at, other / "secret.txt")
        await change(at, added=folders(other), removed=[])
        assert "the words" in await reads(at, other / "secret.txt")
        await change(at, removed=folders(other))
        assert "outside of the workspace" in await reads(at, other / "secret.txt")
        await at.close()


@pytest.mark.parametrize("uri", ["vscode-remote://ssh/home", "untitled:1", "relative/path", ""])
async def test_a_folder_that_is_on_no_disk_changes_nothing(home: Path, uri: str) -> None:
    async with desk(home, STORY, toolCall={"approval": {"byDefault": "allow"}}) as table:
        at = connect(table)
        await at.initialize()
        await change(at, added=[{"uri": uri, "name": "x"}])
        await at.result("chat/list")
        assert table.host.workspace.files.roots == (home,)
        await at.close()


async def test_the_last_folder_stays(home: Path) -> None:
    async with desk(home, STORY, toolCall={"approval": {"byDefault": "allow"}}) as table:
        at = connect(table)
        await at.initialize()
        await change(at, removed=folders(home))
        await at.result("chat/list")
        assert table.host.workspace.files.roots == (home,)
        await at.close()


async def test_a_client_of_a_jupyter_server_cannot_widen_what_the_assistant_sees(home: Path, other: Path) -> None:
    async with desk(home, STORY, toolCall={"approval": {"byDefault": "allow"}}) as table:
        at = connect(table, Door(table.host, client_chooses_folders=False))
        await at.initialize()
        await change(at, added=folders(other))
        assert "outside of the workspace" in await reads(at, other / "secret.txt")
        await at.close()
