"""Decides whether a cell is a prompt or code. There is a kernel named `eca`, in which cells are prompts by default. In
all other kernels they are code.

The module is pure, and must not know IPython. `apps/kernel/prompt_kernel.py` is the kernel `eca`, and passes its cells
to this module. The rules in that kernel:

| a cell that begins with | is |
|---|---|
| `%%python` | code for this kernel, from the next line on. (In other kernels, this magic of IPython starts a process) |
| `%%eca`, another magic, `!command`, `?name` | the same as in every notebook; the lines below it are code |
| `# Parameters`, with assignments of Python below | code: papermill inserts such a cell |
| anything else | a prompt; with `c.EcaKernel.cells = "code"` in the configuration, code |
"""

from __future__ import annotations

import ast
import re
from enum import StrEnum
from typing import Final

PROMPT_MAGIC = "%%eca\n"
"""The first line that makes the cell a prompt, in every kernel."""

CODE_MAGIC: Final = "%%python\n"
"""The first line that makes the cell code, in the kernel `eca`."""

KERNEL_NAME: Final = "eca"
"""Jupyter's name of the kernel whose cells are prompts by default."""
LANGUAGE: Final = "markdown"
"""The language that the kernel `eca` reports while cells without a magic are prompts."""

# Only `%%python` without arguments marks code. With arguments it is the magic of IPython, which starts a process.
_PYTHON = re.compile(r"(\s*)%%python[ \t]*(?=\n|\Z)")
# The beginning of a cell that is not a prompt: `%magic`, `%%magic`, `!command`, `?name`.
_MAGIC = re.compile(r"\s*(%%?[^\W\d]|!\S|\?{1,2}\w)")


class DefaultCellKind(StrEnum):
    """What a cell is when it begins with none of the marks in the table at the top."""

    PROMPTS = "prompts"
    CODE = "code"


def choose_default_kind(language: str) -> DefaultCellKind:
    """Return what cells without a mark are in a notebook of this language."""
    return DefaultCellKind.PROMPTS if language.lower() == LANGUAGE else DefaultCellKind.CODE


def as_code(source: str, default_kind: DefaultCellKind) -> str:
    """Return the source with a mark if it needs one, so that the cell is code. `default_kind` is what cells without a
    mark are."""
    return CODE_MAGIC + source if is_prompt(source, default_kind) else source


def is_prompt(cell: str, default_kind: DefaultCellKind) -> bool:
    """Return whether the cell is a prompt and not code."""
    return (
        default_kind is DefaultCellKind.PROMPTS
        and bool(cell.strip())
        and not _MAGIC.match(cell)
        and not _is_papermill_parameters(cell)
    )


def _is_papermill_parameters(cell: str) -> bool:
    """Return whether papermill inserted the cell: `# Parameters`, then only assignments."""
    first, _, following = cell.partition("\n")
    if first.strip() != "# Parameters":
        return False
    try:
        statements = ast.parse(following).body
    except (SyntaxError, ValueError):
        return False
    return bool(statements) and all(isinstance(statement, ast.Assign | ast.AnnAssign) for statement in statements)


def as_ipython_source(cell: str, default_kind: DefaultCellKind) -> str:
    """Return the source that IPython runs for the cell."""
    if is_prompt(cell, default_kind):
        return PROMPT_MAGIC + cell
    # The line `%%python` becomes a comment. If it were removed, the line numbers in tracebacks would not fit the cell
    # that the user sees.
    return _PYTHON.sub(r"\1# %%python", cell, count=1) if _PYTHON.match(cell) else cell
