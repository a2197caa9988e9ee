"""What a notebook's kernel knows, asked only when it answers at once: its names, and which Python it is."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import NotebookDocument
    from jupyter_eca.workspace.ports import Kernel, Kernels

# A kernel that is idle answers in milliseconds; one that became busy just now is not waited for.
LIMIT_SECONDS: Final = 1.0

# Asked of the cell that asks alone: it can answer, and nobody has its kernel's specification at hand.
_PRINT_PYTHON: Final = "print(__import__('sys').executable)"


@dataclass(frozen=True, slots=True)
class Known:
    """`names` are None where they could not be asked for."""

    names: frozenset[str] | None = None
    python: str | None = None


async def known(chat: str, document: NotebookDocument, kernels: Kernels | None, asking: Kernel | None = None) -> Known:
    """`asking` is the kernel of the cell that asks: busy with that cell, and still able to answer."""
    if kernels is None or document.kernel_id is None:
        return Known()
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            kernel = await kernels.of(document.path)
            if kernel.id != document.kernel_id:
                return Known()
            state = await kernel.state()
            word = state.python
            if word is None and kernel is asking:
                word = (await kernel.execute(chat, _PRINT_PYTHON)).text.strip()
            python = await asyncio.to_thread(_find_interpreter, word)
            if state.status != "idle" and kernel is not asking:
                return Known(python=python)
            found = await kernel.variables(chat, ())
    except (ToolError, TimeoutError):
        return Known()
    names = frozenset(one.name for one in found.variables)
    return Known(names if not found.left_out else None, python)


def _find_interpreter(word: str | None) -> str | None:
    """As a path that is there."""
    found = shutil.which(word) if word else None
    return str(Path(found).absolute()) if found else None
