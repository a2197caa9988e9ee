"""The rooms of the package, who may import whom, and the imports there are.

`ROOMS` is the one list: `tests/test_architecture.py` holds the code against it, and the drawing in `ARCHITECTURE.md` is
made from it by `python -m tests.support.rooms ARCHITECTURE.md`. Read as text: nothing of the package is run.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
OURS = "jupyter_eca"

# From the core outwards: a room imports itself and the rooms before it, never those behind it.
ROOMS = (
    "protocol",
    "engine",
    "config",
    "transport",
    "workspace",
    "mcp_client",
    "acp_client",
    "instructions",
    "plugins",
    "host",
    "fronts",
    "apps",
)
# Modules that any room may import. They import nothing of ours but each other.
LEAVES = ("_version", "errors", "log_fields", "redaction")
# Links carry messages and know nothing of what is configured or decided.
NARROWER = {"transport": frozenset({"protocol", *LEAVES})}
# The hooks that Jupyter, IPython and `python -m` call: they import the apps on first use.
HOOKS = ("", "__main__")

_DRAWING = re.compile(r"(?<=<!-- rooms -->\n).*(?=<!-- /rooms -->)", re.DOTALL)


@dataclass(frozen=True)
class Import:
    """One import of one module, by a file of the package."""

    file: Path
    line: int
    module: str
    typing: bool
    """It stands under `TYPE_CHECKING`."""
    lazy: bool
    """It happens when a function runs."""

    @property
    def room(self) -> str:
        return room_of(module_of(self.file))

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]

    @property
    def imported_room(self) -> str | None:
        """The room that it imports, None when it is none of ours."""
        return room_of(self.module) if self.top == OURS else None

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: imports {self.module}"


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def room_of(module: str) -> str:
    return (*module.split("."), "")[1]


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def sources(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def imports() -> tuple[Import, ...]:
    return tuple(chain.from_iterable(imports_of(path, tree_of(path)) for path in sources(OURS)))


def imports_of(file: Path, node: ast.AST, *, typing: bool = False, lazy: bool = False) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        checked = typing or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        for module in modules_of(child):
            yield Import(file, getattr(child, "lineno", 0), module, checked, inside)
        yield from imports_of(file, child, typing=checked, lazy=inside)


def modules_of(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names, level=0):
            candidates = [f"{module}.{alias.name}" for alias in names]
            return list(dict.fromkeys(name if is_module(name) else module for name in candidates))
        case ast.ImportFrom():
            raise AssertionError(f"line {node.lineno}: a relative import")
        case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(module))]):
            return [module]
        case _:
            return []


def ring(graph: dict[str, set[str]]) -> list[str]:
    """Return the members of a ring in the graph, in order, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def allowed(room: str) -> frozenset[str]:
    """Return the rooms and modules that a room may import."""
    if room in HOOKS:
        return frozenset({*ROOMS, *LEAVES, *HOOKS})
    if room in LEAVES:
        return frozenset(LEAVES)
    return NARROWER.get(room, frozenset({*ROOMS[: ROOMS.index(room)], *LEAVES})) | {room}


def draw() -> str:
    """Return the rooms as a Markdown table, the outermost first: what each owns, and which rooms it really imports."""
    rows = ["| room | owns | imports |", "|---|---|---|"]
    for room in reversed(ROOMS):
        used = {found.imported_room for found in imports() if found.room == room} - {room, None, ""}
        names = ", ".join(f"`{name}`" for name in (*ROOMS, *LEAVES) if name in used)
        rows.append(f"| [`{room}/`](jupyter_eca/{room}) | {_first_sentence(room)} | {names} |")
    return "\n".join(rows) + "\n"


def _first_sentence(room: str) -> str:
    docstring = ast.get_docstring(tree_of(ROOT / OURS / room / "__init__.py")) or ""
    return " ".join(docstring.split("\n\n")[0].split())


def with_drawing(page: str) -> str:
    """Return a page with the drawing of today between its two marks."""
    return _DRAWING.sub(lambda _: draw(), page)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(with_drawing(file.read_text("utf-8")), "utf-8")
