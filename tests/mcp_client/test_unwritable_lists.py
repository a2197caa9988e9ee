"""A server's lists that cannot be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.config import McpServerConfig
from jupyter_eca.mcp_client.connection import ServerLists
from jupyter_eca.mcp_client.known_lists import KnownLists

if TYPE_CHECKING:
    from pathlib import Path


def test_lists_that_cannot_be_kept_leave_no_file(tmp_path: Path) -> None:
    lists = ServerLists((), (), (), (), "", "")
    known, settings = KnownLists(tmp_path), McpServerConfig(command="server")
    known.save("s", settings, lists)
    (file,) = tmp_path.iterdir()
    file.unlink()
    file.mkdir()  # so the new file cannot take its place
    known.save("s", settings, lists)
    assert list(tmp_path.iterdir()) == [file]
