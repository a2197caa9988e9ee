"""An ECA editor, as a process sees one: it starts `jupyter-eca server` and speaks frames over its pipes."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, Any

from jupyter_eca.config.trust import trusted_folders
from jupyter_eca.protocol.jsonrpc import FrameReader, Message, Notification, Request, Result, encode_frame

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

# A fresh process imports pydantic, and its first `run_code` starts a kernel, on two busy cores.
PATIENCE = 60.0


class Editor:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.heard: list[Message] = []
        self._reader = FrameReader()
        self._inbox: list[Message] = []

    async def send(self, message: Message) -> None:
        await self.write(encode_frame(message))

    async def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def next(self) -> Message:
        assert self.process.stdout is not None
        while not self._inbox:
            data = await self.process.stdout.read(65536)
            assert data, f"the server ended; heard {self.heard[-3:]}"
            for item in self._reader.feed(data):
                assert not isinstance(item, Exception), f"not a frame on stdout: {item}"
                self._inbox.append(item)
        self.heard.append(self._inbox.pop(0))
        return self.heard[-1]

    async def until(self, wanted: Callable[[Message], bool]) -> Message:
        async with asyncio.timeout(PATIENCE):
            while not wanted(await self.next()):
                pass
        return self.heard[-1]

    async def request(self, id: int, method: str, params: Any) -> Any:
        await self.send(Request(id, method, params))
        reply = await self.until(lambda message: not isinstance(message, Notification | Request) and message.id == id)
        assert isinstance(reply, Result), reply
        return reply.result

    async def initialize(self, folder: Path) -> Any:
        folders = [{"uri": folder.as_uri(), "name": "ws"}]
        result = await self.request(1, "initialize", {"processId": os.getpid(), "workspaceFolders": folders})
        await self.send(Notification("initialized", {}))
        return result

    async def content(self, kind: str, **fields: Any) -> Any:
        """The next content of a kind, with these fields."""

        def wanted(message: Message) -> bool:
            if not (isinstance(message, Notification) and message.method == "chat/contentReceived"):
                return False
            content: dict[str, Any] = message.params["content"]
            return content.get("type") == kind and all(content.get(k) == v for k, v in fields.items())

        message = await self.until(wanted)
        assert isinstance(message, Notification)
        return message.params["content"]

    def said(self) -> str:
        contents = [m.params for m in self.heard if isinstance(m, Notification) and m.method == "chat/contentReceived"]
        return "".join(p["content"].get("text", "") for p in contents if p["role"] == "assistant")


def environment(folder: Path) -> dict[str, str]:
    """Nothing of this machine's user: their keys, configuration, chats and what their shells run stay out of tests. The
    folder is trusted, as it is when the process starts."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    home = folder / "home"
    home.mkdir(exist_ok=True)
    places = {"HOME": home, "XDG_CONFIG_HOME": folder / "config", "JUPYTER_DATA_DIR": folder / "data"}
    places[trusted_folders.VARIABLE] = folder
    return kept | {name: str(place) for name, place in places.items()}


@asynccontextmanager
async def editor(
    folder: Path, *arguments: str, path: Path | None = None, errors: IO[bytes] | int = -1, **variables: str
) -> AsyncGenerator[Editor]:
    """`path` is a folder of packages that the process has beside our own; its stderr goes to `errors`."""
    more = {} if path is None else {"PYTHONPATH": os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")])}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "jupyter_eca", "server", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors,
        cwd=folder, env=environment(folder) | more | variables, limit=2**20,
    )  # fmt: skip
    try:
        yield Editor(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
