"""A notebook without a server: a real kernel under nbclient, a scripted model, and all files in one folder."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import jupyter_eca

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import pytest

# Not the usual 5: a kernel starts here, on a machine that may be busy with other things.
PATIENCE = 60
LOAD = "%load_ext jupyter_eca"


def surround(patch: pytest.MonkeyPatch, folder: Path, config: dict[str, Any]) -> None:
    """An environment for kernels of this checkout that neither reads nor writes anything of the user's."""
    (folder / "eca").mkdir()
    (folder / "eca" / "config.json").write_text(json.dumps(config))
    patch.setenv("XDG_CONFIG_HOME", str(folder))
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        patch.setenv(name, str(folder / name))
    patch.setenv("PYTHONPATH", str(Path(jupyter_eca.__file__).parents[1]))
    for name in ("ANTHROPIC_API_KEY", "JPY_PARENT_PID", "JPY_SESSION_NAME", "KERNEL_GATEWAY", "KERNEL_ID"):
        patch.delenv(name, raising=False)


def document(*sources: str) -> Any:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]  # pyright: ignore[reportUnknownMemberType]  # untyped library
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})  # pyright: ignore[reportUnknownMemberType]  # untyped library


@dataclass(frozen=True)
class Ran:
    """`failure` is the error's value as the notebook keeps it, empty when the cell succeeded."""

    outputs: list[Any]
    failure: str

    @property
    def displays(self) -> list[dict[str, str]]:
        kinds = {"display_data", "execute_result", "update_display_data"}
        return [output["data"] for output in self.outputs if output["output_type"] in kinds]

    @property
    def markdown(self) -> str:
        (display,) = self.displays
        return display["text/markdown"]

    @property
    def printed(self) -> str:
        return "".join(output["text"] for output in self.outputs if output["output_type"] == "stream")

    @property
    def traceback(self) -> list[str]:
        return [line for output in self.outputs if output["output_type"] == "error" for line in output["traceback"]]


@dataclass(frozen=True)
class Offered:
    """What Tab offers in place of the code from `start` to `end`."""

    matches: list[str]
    start: int
    end: int


class Book:
    def __init__(self, client: Any) -> None:
        self._client = client

    async def run(self, source: str) -> Ran:
        cell = document(source).cells[0]
        self._client.nb.cells.append(cell)
        failure = ""
        try:
            await self._client.async_execute_cell(cell, len(self._client.nb.cells) - 1)
        except CellExecutionError as error:
            failure = f"{error.ename}: {error.evalue}"
        return Ran(cell.outputs, failure)

    async def tab(self, code: str) -> Offered:
        """The cursor is at the end of the code."""
        request = self._client.kc.complete(code, len(code))
        async with asyncio.timeout(PATIENCE):
            while (reply := await self._client.kc.get_shell_msg())["parent_header"].get("msg_id") != request:
                pass
        content = reply["content"]
        return Offered(content["matches"], content["cursor_start"], content["cursor_end"])


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Book]:
    """Where `surround` has been; the extension is loaded."""
    client: Any = NotebookClient(document(), timeout=PATIENCE, resources={"metadata": {"path": str(folder)}})
    async with client.async_setup_kernel():
        book = Book(client)
        ran = await book.run(LOAD)
        assert (ran.outputs, ran.failure) == ([], "")
        yield book
