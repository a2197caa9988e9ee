"""How the text of a cell is read, as a prompt or as code. Pure: the rules of the kernel `eca` stand here, once.

| a cell that begins with | is |
|---|---|
| `%%python` | code, from the next line on, in this kernel; IPython's magic of that name starts a process |
| `%%eca`, another magic, `!command`, `?name` | what it is in every notebook; what stands below it is code |
| `# Parameters`, with assignments of Python below | code: what papermill puts in |
| anything else | a prompt; where cells were made code, code |
"""

from __future__ import annotations

import ast
import re
from enum import StrEnum
from typing import Final

PROMPT = "%%eca\n"
"""What makes a prompt of the lines below it, in every kernel."""

CODE_MAGIC: Final = "%%python\n"
"""What makes code of the lines below it, in the kernel `eca`."""

KERNEL: Final = "eca"
LANGUAGE: Final = "markdown"
"""What the kernel says that its notebooks are written in, while cells that do not say it are prompts."""

# With arguments it is IPython's.
_PYTHON = re.compile(r"(\s*)%%python[ \t]*(?=\n|\Z)")
_MAGIC = re.compile(r"\s*(%%?[^\W\d]|!\S|\?{1,2}\w)")


class Cells(StrEnum):
    """What cells are that do not say it."""

    PROMPTS = "prompts"
    CODE = "code"


def cells_of(language: str) -> Cells:
    """What cells are in a notebook of this language."""
    return Cells.PROMPTS if language.lower() == LANGUAGE else Cells.CODE


def as_code(source: str, default_kind: Cells) -> str:
    """What somebody meant as code, so that it is code where it is put."""
    return CODE_MAGIC + source if is_prompt(source, default_kind) else source


def is_prompt(cell: str, default_kind: Cells) -> bool:
    return (
        default_kind is Cells.PROMPTS
        and bool(cell.strip())
        and not _MAGIC.match(cell)
        and not _is_papermill_parameters(cell)
    )


def _is_papermill_parameters(cell: str) -> bool:
    first, _, rest = cell.partition("\n")
    if first.strip() != "# Parameters":
        return False
    try:
        statements = ast.parse(rest).body
    except (SyntaxError, ValueError):
        return False
    return bool(statements) and all(isinstance(one, ast.Assign | ast.AnnAssign) for one in statements)


def read(cell: str, default_kind: Cells) -> str:
    """What IPython is given for the cell."""
    if is_prompt(cell, default_kind):
        return PROMPT + cell
    # A comment, and not nothing: tracebacks tell the lines of the cell as it is seen.
    return _PYTHON.sub(r"\1# %%python", cell, count=1) if _PYTHON.match(cell) else cell
