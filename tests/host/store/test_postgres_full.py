"""PostgreSQL on a disk that is full: what is shown is kept, the chat is told, and it is stored when there is space."""

from __future__ import annotations

import os
import shutil
import string
import subprocess
from contextlib import contextmanager, suppress
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import Notification
from tests.support.host_and_client import desk
from tests.support.locked_store import shorten_waits
from tests.support.postgres import run_postgres
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.support.raw_client import SessionClient

pytestmark = [pytest.mark.asyncio, pytest.mark.nightly]

DISK_MB = 8
# It cannot be compressed, and fits into no page that has space left.
LONG = "".join(Random(1).choices(string.ascii_letters, k=100_000))

RULES: list[dict[str, Any]] = [
    {"message": "long", "reply": [{"text": LONG}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]


@contextmanager
def small_disk(folder: Path) -> Generator[Path]:
    """A file system in memory. Skips the test where this user may not mount one."""
    folder.mkdir()
    command = ("mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "none", str(folder))
    if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount a small disk")
    try:
        shutil.chown(folder, "postgres")
        yield folder
    finally:
        subprocess.run(("umount", "--lazy", str(folder)), check=True)  # noqa: S607  # as it is found


async def find_message(at: SessionClient, words: str) -> str:
    found = await at.until(
        lambda m: isinstance(m, Notification) and m.method == "$/showMessage" and words in m.params["message"]
    )
    return found.params["message"]


async def test_on_a_full_disk_an_answer_is_shown_and_stored_as_soon_as_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_waits(monkeypatch)
    with run_postgres() as server, small_disk(server.folder / "disk") as disk:
        url = server.create_user("ada")
        server.run(f"CREATE TABLESPACE small LOCATION '{disk}'")
        server.run("ALTER ROLE ada SET default_tablespace = small; GRANT CREATE ON TABLESPACE small TO ada")
        async with desk(tmp_path, RULES, store={"url": url}) as table, connect_and_initialize(table) as at:
            await at.result("chat/prompt", {"chatId": "c", "message": "first"})
            await at.finished()
            ballast = disk / "ballast"
            with suppress(OSError), ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            await at.result("chat/prompt", {"chatId": "c", "message": "long"})
            said = await find_message(at, "not saved")
            assert "No space left on device" in said
            await at.finished()
            ballast.unlink()
            await find_message(at, "saved again")
            await at.result("chat/prompt", {"chatId": "c", "message": "you"})
            await at.content("text", text="Hello, you")
            await at.finished()
            assert server.run("SELECT count(*) FROM ada.events WHERE content LIKE '%Hello, you%'") == [(1,)]
