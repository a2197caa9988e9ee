"""Asks the kernel of a notebook for the names of its variables and the path of its Python, if it can answer soon.

It must not wait for a kernel that runs a long cell. `notebook_state.py` decides what is wrong with the names.
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

# Seconds that the kernel has to answer. An idle kernel needs milliseconds. A kernel may be busy for a moment with a
# request of the page. Waiting for it costs little, because the programs that check the code of the cells (`ruff.py`,
# `ty.py`) take about half of this time anyway.
LIMIT_SECONDS: Final = 1.0

# Code that prints the path of Python. It runs only in the kernel of the cell that asked the assistant. The path of
# other kernels is in their kernel specification, but that of this kernel is not known here.
_PRINT_PYTHON: Final = "print(__import__('sys').executable)"


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """What is known about a kernel."""

    names: frozenset[str] | None = None
    """The names of the user's variables; None when they are unknown."""
    python: str | None = None
    """The path of its Python; None when it is unknown."""


async def ask_kernel(
    chat: str, document: NotebookDocument, kernels: Kernels | None, asking: Kernel | None = None
) -> KernelFacts:
    """Ask the kernel of a notebook. `chat` is the id of the chat. `asking` is the kernel of the cell that asked the
    assistant. It is busy with that cell, but can still answer. What the kernel does not answer in time is None."""
    if kernels is None or document.kernel_id is None:
        return KernelFacts()
    python = None
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            kernel = await kernels.find(document.path)
            if kernel.id != document.kernel_id:  # the notebook got another kernel after it was read
                return KernelFacts()
            state = await kernel.state()
            program = state.python
            if program is None and kernel is asking:
                program = (await kernel.execute(chat, _PRINT_PYTHON)).text.strip()
            python = await asyncio.to_thread(_find_interpreter, program)
            result = await kernel.variables(chat, ())  # all variables
    except (ToolError, TimeoutError):
        return KernelFacts(python=python)
    names = frozenset(variable.name for variable in result.variables)
    return KernelFacts(names if not result.left_out else None, python)  # an incomplete list would cause false reports


def _find_interpreter(program: str | None) -> str | None:
    """Return the absolute path of a program; None when it does not exist."""
    found = shutil.which(program) if program else None
    return str(Path(found).absolute()) if found else None
