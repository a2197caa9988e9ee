"""Tab in a cell whose engine is the Jupyter server's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tests.apps.server.cells import PATIENCE, kernel

if TYPE_CHECKING:
    from pathlib import Path


async def test_files_are_offered_as_they_are_named_in_a_message_from_the_folder_of_the_server(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    (jp_root_dir / "data").mkdir()
    (jp_root_dir / "data" / "notable.csv").write_text("a\n1\n")
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        await at.run("%eca you")
        await at.run(f"%cd {jp_root_dir / 'data'}")
        async with asyncio.timeout(PATIENCE):
            while not (found := await offered(at, "%eca read @nota")):
                continue  # The names of the files are still being read.
    assert found == ["data/notable.csv"]


async def offered(at: Any, code: str) -> list[str]:
    id = at.client.complete(code, len(code))
    while True:
        reply = await at.client.get_shell_msg(timeout=PATIENCE)
        if reply["parent_header"]["msg_id"] == id:
            return reply["content"]["matches"]
