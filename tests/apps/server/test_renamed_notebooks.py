"""What a notebook keeps when it is renamed: its chats."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from tests.apps.server.cells import PATIENCE
from tests.apps.server.test_websocket import START, reply, until_finished

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Fetch = Callable[..., Awaitable[Any]]

LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 3, "method": "chat/list", "params": {}}


def ask_in(notebook: str, chat: str) -> dict[str, Any]:
    params = {"message": "hello", "chatId": chat, "notebook": notebook}
    return {"jsonrpc": "2.0", "id": 2, "method": "chat/prompt", "params": params}


async def notebooks_of_chats(socket: Any) -> dict[str, str]:
    listed = (await reply(socket, LIST))["result"]["chats"]
    return {chat["id"]: chat["notebook"] for chat in listed}


async def test_a_renamed_notebook_or_folder_keeps_its_chats(
    jp_fetch: Fetch, jp_ws_fetch: Fetch, jp_root_dir: Path
) -> None:
    socket = await jp_ws_fetch("eca", "ws")
    await reply(socket, START)
    for folder, chat in (("mice", "a"), ("mice_too", "b")):
        (jp_root_dir / folder).mkdir()
        (jp_root_dir / folder / "x.ipynb").write_text("{}")
        await socket.write_message(json.dumps(ask_in(f"{folder}/x.ipynb", chat)))
        await until_finished(socket)

    async def rename(before: str, after: str) -> None:
        await jp_fetch("api", "contents", before, method="PATCH", body=json.dumps({"path": after}))
        async with asyncio.timeout(PATIENCE):
            # Jupyter tells of it a moment after its answer.
            while not (await notebooks_of_chats(socket))["a"].startswith(after):
                pass

    await rename("mice/x.ipynb", "mice/y.ipynb")
    await rename("mice", "rats")
    assert await notebooks_of_chats(socket) == {"a": "rats/y.ipynb", "b": "mice_too/x.ipynb"}
    socket.close()
