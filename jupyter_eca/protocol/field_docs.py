"""Reads the docstrings below the fields of a model, which Python itself drops.

Only generators of documentation may use it: it parses source code, which would slow down a start. `typescript` and
`config.reference` are its neighbours: they print what it reads.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_eca.protocol.base import Model


def read_field_docs(model: type[Model]) -> dict[str, str]:
    """Return the docstring below each field that has one, as one line. Fields of base classes are not included."""
    [statement] = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    body = statement.body if isinstance(statement, ast.ClassDef) else []
    docs: dict[str, str] = {}
    # A docstring is the statement directly below its field.
    for field, below in pairwise(body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                docs[name] = " ".join(text.split())
            case _:
                pass
    return docs
