"""Files that a process was writing when it was killed: the next host deletes what is left, and the old file holds."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.host_and_client import desk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it has no such signals")

# Each writes a file, once before it is killed and once while it is.
WRITERS = {
    "trust": """
from jupyter_eca.config.trust import TrustedFolders
def write(number): TrustedFolders(here / "trust.json").add(here, f"digest {number}")
""",
    "sign-ins": """
from jupyter_eca.config.credentials import KeyStore, StoredKey
from tests.support.keyrings import Ring
ring = Ring()
def write(number): KeyStore(here / "auth.json", ring).store(f"provider-{number}", StoredKey("sk-secret-of-nobody"))
""",
    "settings of a project": """
from jupyter_eca.config.mcp_servers import replace_text
def write(number): replace_text(here / ".eca" / "config.json", f"text {number}")
""",
    "settings of the user": """
from jupyter_eca.config.mcp_servers import replace_text
def write(number): replace_text(here / "home" / "eca" / "config.json", f"text {number}")
""",
    "what could not be stored": """
from jupyter_eca.host.store.unsaved_file import UnsavedRows, write_unsaved
def write(number): number == 2 and write_unsaved(here, UnsavedRows("another workspace", [], []))
""",
}
# The system is asked to put the new file on the disk, and the process is killed before this has happened.
KILLED = """
import os, sys
from pathlib import Path
here = Path(sys.argv[1])
{writer}
write(1)
os.fsync = lambda _: os.kill(os.getpid(), 9)
write(2)
"""


def list_files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in {".json", ".new"}
    }


@pytest.mark.asyncio
@pytest.mark.parametrize("writer", WRITERS)
async def test_what_a_killed_process_has_left_of_a_file_is_deleted_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    killed = subprocess.run(  # noqa: ASYNC221  # our own program, and nothing else runs
        [sys.executable, "-c", KILLED.format(writer=WRITERS[writer]), str(tmp_path)], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    left = list_files(tmp_path)
    assert [name for name in left if name.endswith(".new")]
    async with desk(tmp_path, []):
        kept = list_files(tmp_path)
        assert kept.items() >= {name: text for name, text in left.items() if not name.endswith(".new")}.items()
        assert [name for name in kept if name.endswith(".new")] == []
