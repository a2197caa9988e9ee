"""Files of chats that are damaged: a database with known chats, and the kinds of damage by name."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.config import Config
from jupyter_eca.host.host import Host
from jupyter_eca.workspace.ports import Files, Workspace
from tests.support.host_and_client import Desk, answer, desk_of, settings

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncGenerator, Callable, Generator
    from pathlib import Path

CHATS: Final = 24
PAGE: Final = 4096

RULES: list[dict[str, Any]] = [
    {"message": r"tell (?P<id>\w+)", "reply": [{"reasoning": "Let me think about $id.", "chunk": 8},
                                               {"text": "All about $id is this. " + "More of it. " * 60}]},
    {"message": r"run (?P<id>\w+)", "reply": [{"tool": "list_files", "arguments": {"path": "."}}]},
    {"result": "", "reply": [{"text": "That was it."}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]  # fmt: skip


@asynccontextmanager
async def desk_at(workspace: Path, database: Path) -> AsyncGenerator[Desk]:
    """A host for a folder whose chats are in a database elsewhere."""
    more = settings(workspace, RULES, toolCall={"approval": {"allow": {"list_files": {}}}})
    host = Host(Config.model_validate(more), Workspace(Files((workspace,))), database)
    async with desk_of(host, workspace) as table:
        yield table


async def make_chats(workspace: Path, database: Path) -> None:
    """Make a database of chats with some prompts each, and close it."""
    async with desk_at(workspace, database) as table:
        client = await table.client()
        for number in range(CHATS):
            for prompt in ("tell", "run", "tell"):
                await answer(client, f"{prompt} subject{number}x", chat=f"chat-{number}")


@dataclass(frozen=True)
class Damage:
    """One kind of damage: what it does to a file, with a random moment and place."""

    name: str
    do: Callable[[Path, random.Random], None]


def _write(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def flip_bytes(path: Path, dice: random.Random) -> None:
    size = path.stat().st_size
    for _ in range(dice.choice([1, 4, 32])):
        at = dice.randrange(size)
        _write(path, at, dice.randbytes(1))


def overwrite_part(path: Path, dice: random.Random) -> None:
    size = path.stat().st_size
    length = dice.choice([64, 512, PAGE, 4 * PAGE])
    data = dice.choice([bytes(length), b"\xff" * length, dice.randbytes(length)])
    _write(path, dice.randrange(max(size - length, 1)), data)


def truncate(path: Path, dice: random.Random) -> None:
    with path.open("r+b") as file:
        file.truncate(dice.randrange(path.stat().st_size))


def overwrite_header(path: Path, dice: random.Random) -> None:
    _write(path, 0, dice.choice([bytes(100), dice.randbytes(100), dice.randbytes(16), b"no database at all" * 4]))


def overwrite_first_page(path: Path, dice: random.Random) -> None:
    _write(path, 0, dice.choice([bytes(PAGE), dice.randbytes(PAGE)]))


def empty(path: Path, _dice: random.Random) -> None:
    with path.open("r+b") as file:
        file.truncate(0)


DAMAGES: Final = tuple(
    Damage(do.__name__, do)
    for do in (flip_bytes, overwrite_part, truncate, overwrite_header, overwrite_first_page, empty)
)


def join_row(chat: str, turn: str, role: str, at: int, content: str) -> bytes:
    """Return the values of an event as they stand in the file."""
    return f"{chat}{turn}{role}".encode() + at.to_bytes(6, "big") + content.encode()


def find_whole_events(original: Path, damaged: bytes) -> set[tuple[str, int]]:
    """The chats and numbers of the events that lie in pages which are the same in both files."""
    before = original.read_bytes()
    found: set[tuple[str, int]] = set()
    with closing(sqlite3.connect(original)) as db:
        for seq, chat, turn, role, at, content in db.execute("SELECT seq, chat, turn, role, at, content FROM events"):
            row = join_row(chat, turn, role, at, content)
            pages: set[int] = set()
            place = before.find(row)
            while place >= 0:
                pages |= {place // PAGE, (place + len(row)) // PAGE}
                place = before.find(row, place + 1)
            if pages and all(damaged[n * PAGE : (n + 1) * PAGE] == before[n * PAGE : (n + 1) * PAGE] for n in pages):
                found.add((chat, seq))
    return found


@contextmanager
def forbid_writing(folder: Path) -> Generator[None]:
    """Nothing in a folder can be written. Root may write whatever the modes of files say, so for root it is another
    mount."""
    if os.geteuid():
        for path in (*folder.iterdir(), folder):
            path.chmod(path.stat().st_mode & ~0o222)
    else:
        for options in (("--bind", str(folder)), ("-o", "remount,ro,bind")):
            subprocess.run(["mount", *options, str(folder)], check=True)  # noqa: S607  # ours
    try:
        yield
    finally:
        if os.geteuid():
            for path in (folder, *folder.iterdir()):
                path.chmod(path.stat().st_mode | 0o200)
        else:
            subprocess.run(["umount", str(folder)], check=True)  # noqa: S607  # ours
