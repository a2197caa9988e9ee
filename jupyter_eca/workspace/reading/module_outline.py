"""Describes the user's own modules that a notebook imports, for a model. The line about a module lists the functions
and classes that code can call. A model that knows `charts.line(values, title='')` need not search for it.

The functions are pure. `plugins/contexts/reading/place.py` reads the files.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.notebook import CellType
from jupyter_eca.workspace.diagnostics.notebook_state import is_python

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import NotebookDocument

# The most modules that are described, and the most characters of the line about each.
MAX_MODULES: Final = 3
_MAX_LINE: Final = 400

# Imports of more modules are not looked for: most of them are libraries.
_MAX_IMPORTS: Final = 60

# The name of a module, and the beginning of a statement that imports modules.
_MODULE: Final = re.compile(r"[A-Za-z_][\w.]*")
_IMPORT: Final = re.compile(
    rf"^[ \t]*(?:from[ \t]+({_MODULE.pattern})[ \t]+import\b|import[ \t]+([^\n#;]+))", re.MULTILINE
)


def list_imported_files(document: NotebookDocument) -> tuple[str, ...]:
    """Return the paths, relative to the folder of the notebook, at which the modules that it imports would be if they
    were the user's own: `charts.py` for `charts`, and `shop/prices.py` for `shop.prices`. Most of these files do not
    exist, because most modules are libraries."""
    if not is_python(document):
        return ()
    files: dict[str, None] = {}
    for cell in document.cells:
        for match in _IMPORT.finditer(cell.source) if cell.cell_type is CellType.CODE else ():
            names = [match[1]] if match[1] else [part.split()[0] for part in match[2].split(",") if part.split()]
            files |= {f"{name.replace('.', '/')}.py": None for name in names if _MODULE.fullmatch(name)}
    return tuple(files)[:_MAX_IMPORTS]


def outline_module(name: str, source: str) -> str:
    """Return a line about a module: `charts.py: line(values, title=''), class Cart(name)`. `name` is the name of its
    file. Functions and classes whose names begin with `_` are left out. The line is empty if there is nothing to call,
    or Python cannot parse the source."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the user's code, for example an invalid escape
            tree = ast.parse(source)
        offers = [text for node in tree.body if (text := _describe_definition(node))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    shown: list[str] = []
    room = _MAX_LINE - len(name)
    for offer in offers:
        room -= len(offer) + 2
        if room < 0:
            break
        shown.append(offer)
    if not shown:
        return ""
    more = len(offers) - len(shown)
    return f"{name}: {', '.join(shown)}{f', {more} more' if more else ''}"


def _describe_definition(node: ast.stmt) -> str:
    """Return how a function or a class is called; empty for anything else, and for a name that begins with `_`."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() if not node.name.startswith("_"):
            prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
            return f"{prefix}{node.name}({ast.unparse(node.args)})"
        case ast.ClassDef() if not node.name.startswith("_"):
            return f"class {node.name}{_describe_init(node)}"
        case _:
            return ""


def _describe_init(node: ast.ClassDef) -> str:
    """Return the arguments with which a class is called, in brackets; empty if it does not define them."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return f"({ast.unparse(part.args).partition(',')[2].strip()})"
    return ""
