"""What a notebook keeps when its file is moved or copied outside of Jupyter. The files are real, and are moved by the
operating system."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.apps.server.test_renamed_notebooks import ask_in
from tests.apps.server.test_websocket import reply, until_finished
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from pathlib import Path

    Fetch = Callable[..., Awaitable[Any]]

START_PANEL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"capabilities": {"codeAssistant": {"chat": True, "envelope": True}}},
}
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "read", "reply": [{"tool": "notebook_read", "arguments": {"path": "a.ipynb"}}]},
    {
        "message": "edit",
        "reply": [{"tool": "notebook_edit_cell", "arguments": {"path": "a.ipynb", "cell": "c1", "source": "x = 2"}}],
    },
    {"message": "", "reply": [{"text": "Hello."}]},
]
CELL: dict[str, Any] = {
    "id": "c1",
    "cell_type": "code",
    "source": "x = 1",
    "metadata": {},
    "outputs": [],
    "execution_count": None,
}
NOTEBOOK: dict[str, Any] = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [CELL]}


class Pages:
    """The pages of the user: they read and save notebooks by Jupyter's contents API, and have a panel."""

    _socket: Any

    def __init__(self, root: Path, fetch: Fetch, connect: Fetch) -> None:
        self.root = root
        self._fetch = fetch
        self._connect = connect

    async def start(self) -> None:
        """Open the panel, with a notebook `a.ipynb` in front."""
        self._socket = await self._connect("eca", "ws")
        await reply(self._socket, START_PANEL)
        await self.save("a.ipynb")

    def close(self) -> None:
        self._socket.close()

    async def save(self, path: str, content: dict[str, Any] = NOTEBOOK) -> None:
        """Save what a page shows. By default it has no id: the page was opened before the notebook got one."""
        body = json.dumps({"type": "notebook", "format": "json", "content": content})
        await self._fetch("api", "contents", path, method="PUT", body=body)

    async def open_and_save(self, path: str) -> None:
        opened = json.loads((await self._fetch("api", "contents", path)).body)
        await self.save(path, opened["content"])

    async def ask(self, path: str, chat: str, message: str = "hello") -> None:
        request = ask_in(path, chat)
        request["params"]["message"] = message
        await self._socket.write_message(json.dumps(request))
        await until_finished(self._socket)

    async def request(self, method: str, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 4, "method": method, "params": params}
        return (await reply(self._socket, message))["result"]

    async def list_chats(self, path: str) -> list[str]:
        """Return the ids of the chats that the panel shows with a notebook."""
        listed = (await self.request("chat/list", notebook=path))["chats"]
        return sorted(chat["id"] for chat in listed if chat["notebook"] == path)

    async def notify(self, method: str, **params: Any) -> None:
        await self._socket.write_message(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def read(self, path: str) -> dict[str, Any]:
        return json.loads((self.root / path).read_text())

    def read_id(self, path: str) -> str | None:
        return self.read(path)["metadata"].get("jupyter_eca", {}).get("id")

    def move(self, before: str, after: str) -> None:
        os.rename(self.root / before, self.root / after)  # noqa: PTH104  # what `mv` does


@pytest.fixture
def approve_with_token() -> bool:
    return True


@pytest.fixture
def pages(jp_root_dir: Path, tmp_path: Path, jp_fetch: Fetch, jp_ws_fetch: Fetch) -> Generator[Pages]:
    config = settings(tmp_path, RULES, toolCall={"approval": {"byDefault": "allow"}})
    models = config["providers"]["scripted"]["models"]
    models["other"] = models["test"]
    (jp_root_dir / ".eca" / "config.json").write_text(json.dumps(config))
    found = Pages(jp_root_dir, jp_fetch, jp_ws_fetch)
    yield found
    found.close()


async def test_a_notebook_gets_an_id_only_when_it_has_a_chat_and_is_saved(pages: Pages) -> None:
    await pages.start()
    await pages.save("a.ipynb")
    assert pages.read_id("a.ipynb") is None
    file = pages.root / "a.ipynb"
    before = file.read_bytes()
    await pages.ask("a.ipynb", "1")
    assert file.read_bytes() == before
    await pages.save("a.ipynb")
    id = pages.read_id("a.ipynb")
    assert id
    await pages.ask("a.ipynb", "2")
    await pages.save("a.ipynb", NOTEBOOK | {"metadata": {"jupyter_eca": {"instructions": "be short"}}})
    written = json.loads(file.read_text())["metadata"]["jupyter_eca"]
    assert written == {"instructions": "be short", "id": id}


async def test_a_moved_notebook_or_folder_keeps_its_chats(pages: Pages) -> None:
    await pages.start()
    await pages.ask("a.ipynb", "1")
    await pages.save("a.ipynb")
    (pages.root / "old").mkdir()
    pages.move("a.ipynb", "old/b.ipynb")
    assert await pages.list_chats("old/b.ipynb") == ["1"]
    pages.move("old", "new")
    assert await pages.list_chats("new/b.ipynb") == ["1"]
    assert await pages.list_chats("a.ipynb") == []
    await pages.save("a.ipynb")
    assert pages.read_id("a.ipynb") is None


async def test_a_moved_notebook_keeps_the_chosen_model(pages: Pages) -> None:
    await pages.start()
    await pages.ask("a.ipynb", "1")
    await pages.save("a.ipynb")
    await pages.notify("chat/selectedModelChanged", model="scripted/other", notebook="a.ipynb")
    await pages.notify("chat/selectedModelChanged", model="scripted/test", notebook="elsewhere.ipynb")
    pages.move("a.ipynb", "b.ipynb")
    assert (await pages.request("chat/selection", notebook="b.ipynb"))["model"] == "scripted/other"
    assert (await pages.request("chat/selection", notebook="a.ipynb"))["model"] == "scripted/test"


async def test_what_was_changed_before_a_notebook_was_moved_can_be_undone_after_it(pages: Pages) -> None:
    await pages.start()
    await pages.ask("a.ipynb", "1")
    await pages.save("a.ipynb")
    await pages.ask("a.ipynb", "1", "read")
    await pages.ask("a.ipynb", "1", "edit")
    assert pages.read("a.ipynb")["cells"][0]["source"] == ["x = 2"]
    pages.move("a.ipynb", "b.ipynb")
    assert await pages.list_chats("b.ipynb") == ["1"]
    changed = (await pages.request("chat/changes", chatId="1"))["changes"]
    ids = [change["id"] for change in changed if change["path"] == "b.ipynb"]
    assert len(ids) == 1
    assert (await pages.request("chat/revert", chatId="1", changes=ids))["left"] == []
    assert pages.read("b.ipynb")["cells"][0]["source"] == ["x = 1"]


async def test_a_notebook_that_was_moved_and_saved_before_anybody_looked_keeps_its_chats(pages: Pages) -> None:
    await pages.start()
    await pages.ask("a.ipynb", "1")
    await pages.save("a.ipynb")
    id = pages.read_id("a.ipynb")
    pages.move("a.ipynb", "b.ipynb")
    await pages.open_and_save("b.ipynb")
    await pages.ask("b.ipynb", "2")
    assert await pages.list_chats("b.ipynb") == ["1", "2"]
    assert pages.read_id("b.ipynb") == id


async def test_a_copy_takes_no_chats_and_gets_an_id_of_its_own_when_it_is_saved(pages: Pages) -> None:
    await pages.start()
    await pages.ask("a.ipynb", "1")
    await pages.save("a.ipynb")
    shutil.copy(pages.root / "a.ipynb", pages.root / "copy.ipynb")
    assert await pages.list_chats("copy.ipynb") == []
    assert await pages.list_chats("a.ipynb") == ["1"]
    await pages.open_and_save("copy.ipynb")
    ids = [pages.read_id("a.ipynb"), pages.read_id("copy.ipynb")]
    assert None not in ids
    assert ids[0] != ids[1]
    # From now on each of them is followed.
    await pages.ask("copy.ipynb", "2")
    pages.move("a.ipynb", "original.ipynb")
    pages.move("copy.ipynb", "a.ipynb")
    assert await pages.list_chats("original.ipynb") == ["1"]
    assert await pages.list_chats("a.ipynb") == ["2"]


async def test_the_id_of_another_user_is_adopted(pages: Pages) -> None:
    await pages.start()
    theirs = NOTEBOOK | {"metadata": {"jupyter_eca": {"id": "theirs"}}}
    await pages.ask("a.ipynb", "1")
    await pages.save("a.ipynb", theirs)
    assert pages.read_id("a.ipynb") == "theirs"
    (pages.root / "b.ipynb").write_text(json.dumps(theirs | {"metadata": {"jupyter_eca": {"id": "others"}}}))
    await pages.ask("b.ipynb", "2")
    for before, after in (("a", "c"), ("b", "d")):
        pages.move(f"{before}.ipynb", f"{after}.ipynb")
    assert await pages.list_chats("c.ipynb") == ["1"]
    assert await pages.list_chats("d.ipynb") == ["2"]


@pytest.mark.parametrize("metadata", [None, [], {"jupyter_eca": 7}, {"jupyter_eca": {"id": ["x"]}}])
async def test_a_notebook_with_odd_metadata_can_be_saved_and_asked_in(pages: Pages, metadata: Any) -> None:
    await pages.start()
    (pages.root / "a.ipynb").write_text(json.dumps(NOTEBOOK | {"metadata": metadata}))
    await pages.ask("a.ipynb", "1")
    await pages.save("a.ipynb")
    pages.move("a.ipynb", "b.ipynb")
    (pages.root / "c.ipynb").write_text("no JSON")
    assert await pages.list_chats("c.ipynb") == []
    assert await pages.list_chats("b.ipynb") == ["1"]
