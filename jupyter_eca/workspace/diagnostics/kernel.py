"""Asks a notebook's kernel for the names that it has and for its Python, if it answers at once.

It must not wait for a busy kernel. What is wrong with the names is decided in `notebook_state.py`.
"""

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

# Seconds. An idle kernel answers in milliseconds; a kernel that has just become busy is not waited for.
LIMIT_SECONDS: Final = 1.0

# Code that prints the path of Python. It runs only in the kernel of the cell that asks, which can answer, and whose
# kernel specification is not known here.
_PRINT_PYTHON: Final = "print(__import__('sys').executable)"


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """What is known of a kernel."""

    names: frozenset[str] | None = None
    """The names of the user's variables; None where they are not known."""
    python: str | None = None
    """The path of its Python; None where it is not known."""


async def ask_kernel(
    chat: str, document: NotebookDocument, kernels: Kernels | None, asking: Kernel | None = None
) -> KernelFacts:
    """Ask the kernel of a notebook. `asking` is the kernel of the cell that asks: it is busy with that cell, and can
    still answer."""
    if kernels is None or document.kernel_id is None:
        return KernelFacts()
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            kernel = await kernels.find(document.path)
            if kernel.id != document.kernel_id:
                return KernelFacts()
            state = await kernel.state()
            word = state.python
            if word is None and kernel is asking:
                word = (await kernel.execute(chat, _PRINT_PYTHON)).text.strip()
            python = await asyncio.to_thread(_find_interpreter, word)
            if state.status != "idle" and kernel is not asking:
                return KernelFacts(python=python)
            result = await kernel.variables(chat, ())
    except (ToolError, TimeoutError):
        return KernelFacts()
    names = frozenset(variable.name for variable in result.variables)
    return KernelFacts(names if not result.left_out else None, python)


def _find_interpreter(word: str | None) -> str | None:
    """Return the absolute path of a program; None when it does not exist."""
    program = shutil.which(word) if word else None
    return str(Path(program).absolute()) if program else None
