"""Today's editors and those of the seeds, as data: what each says, and how it writes it."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.protocol.jsonrpc import Message, decode, encode_frame, to_json
from tests.support.editor_process import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

EDITOR_CAN = {"diagnostics": True, "definition": True, "references": True}
MODERN = {"chat": True, "editor": EDITOR_CAN, "chatCapabilities": {"askQuestion": True}}


def emacs_frame(message: Message) -> bytes:
    """A newline after the JSON is counted in."""
    body = json.dumps(to_json(message)).encode() + b"\n"
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


@dataclass(frozen=True)
class Client:
    """`nothing` is how it writes that there are no parameters; `prompt` is what it sends beside the message, `mine`
    whether it makes up the chat's id itself. `answers` is what it replies to `editor/getDiagnostics`; None: never.
    `typing` is what it asks while a turn waits, `picking` what it tells then."""

    name: str
    can: dict[str, Any]
    nothing: Any = field(default_factory=dict[str, Any])
    options: Any = field(default_factory=dict[str, Any])
    prompt: dict[str, Any] = field(default_factory=dict[str, Any])
    mine: bool = True
    frame: Callable[[Message], bytes] = encode_frame
    watched: bool = True
    answers: dict[str, Any] | None = None
    early: tuple[tuple[str, Any], ...] = ()
    typing: tuple[tuple[str, Any], ...] = ()
    picking: tuple[tuple[str, Any], ...] = ()
    status: str = "prompting"


QUERIES: tuple[tuple[str, Any], ...] = (
    ("chat/queryContext", {"query": "", "contexts": []}),
    ("chat/queryCommands", {"query": "co"}),
)
NOWHERE = {"type": "cursor", "path": None, "position": None}
SETTINGS: tuple[tuple[str, Any], ...] = (("providers/list", {}), ("jobs/list", {}), ("chat/queryFiles", {"query": "a"}))
PROBLEM = {
    "uri": "file:///a.py", "severity": "error", "source": "ty", "message": "an error",
    "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}},
}  # fmt: skip

CLIENTS = (
    Client(
        "emacs", MODERN, nothing=None, options={"chatAgent": None}, frame=emacs_frame,
        prompt={"chatId": "3f6e-emacs", "request-id": 1, "model": None, "agent": None, "contexts": [NOWHERE]},
        answers={"status": "error", "message": "no project"},
        typing=(*QUERIES, *SETTINGS, ("jobs/readOutput", {"job-id": "job-0"}), ("jobs/kill", {"job-id": "job-0"})),
    ),
    Client(
        "vscode", {**MODERN, "chat": {}, "rewrite": {}},
        prompt={"chatId": "9a1c-vscode", "model": "scripted/test", "agent": "code", "variant": None, "contexts": []},
        answers={"diagnostics": [PROBLEM]}, typing=QUERIES + SETTINGS,
    ),
    Client(
        "desktop", {"chat": True, "chatCapabilities": {"askQuestion": True}},
        prompt={"chatId": "5b7d-desktop", "requestId": "0", "model": "scripted/test", "agent": "code", "contexts": []},
        early=(("chat/list", {}), ("chat/list", {"limit": 50, "sortBy": "updatedAt"})), typing=QUERIES + SETTINGS,
    ),
    # Of mid 2025, and as it is since: the chat's id is the server's, the selected contexts are sent, it has an editor.
    Client(
        "nvim", {"chat": True}, nothing=[],
        prompt={
            "chatId": 1, "requestId": "1", "model": "scripted/test", "behavior": "agent",
            "contexts": [{"type": "repoMap", "path": "/ws", "content": "a tree"}],
        },
        typing=QUERIES, status="success",
    ),
    Client(
        "Neovim", {"chat": True, "editor": {"diagnostics": True}}, nothing=[],
        prompt={"requestId": "1", "model": "scripted/test", "behavior": "agent", "contexts": []}, mine=False,
        answers={"diagnostics": [PROBLEM]}, typing=(*QUERIES, ("chat/queryContext", {"query": "a", "contexts": []})),
        picking=(("chat/selectedModelChanged", {"model": "scripted/test", "variant": None}),),
    ),
    Client("cli", {"chat": {}}, prompt={}, mine=False, watched=False, typing=SETTINGS),
    Client(
        "seed 001", {"chat": True, "doc": True, "edit": True, "fix": True}, options={"chatBehavior": "agent"},
        prompt={"requestId": "r1", "model": "scripted/test", "behavior": "agent", "contexts": []}, mine=False,
        typing=QUERIES, status="success",
    ),
    Client(
        "seed 000", {"chat": True, "editor": {"diagnostics": True}}, options={"chatBehavior": "agent"},
        prompt={"model": "scripted/test", "behavior": "agent", "contexts": []}, mine=False,
        answers={"diagnostics": [PROBLEM]}, typing=QUERIES,
    ),
)  # fmt: skip

HEADER = re.compile(rb"Content-Length: (\d+)\r\n\r\n")


@dataclass
class Pipe:
    """The pipes of a process, read as the strictest editor does: one header, then the body, nothing else."""

    process: asyncio.subprocess.Process
    frame: Callable[[Message], bytes]

    async def send(self, message: Message) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(self.frame(message))
        await self.process.stdin.drain()

    async def receive(self) -> Message:
        assert self.process.stdout is not None
        header = HEADER.fullmatch(await self.process.stdout.readuntil(b"\r\n\r\n"))
        assert header is not None
        return decode(await self.process.stdout.readexactly(int(header[1])))

    async def ended(self) -> int:
        return await asyncio.wait_for(self.process.wait(), PATIENCE)
