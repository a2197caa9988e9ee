"""Who may import whom (design, section 2), what is heavy, and how long a file may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
OURS = "jupyter_eca"
MAX_LINES = {OURS: 400, "tests": 600}

# A part is a folder or a module of the package; the empty one is `__init__`, the version and the hooks.
BASE = frozenset({"", "errors", "paths", "plugins", "secrecy", "whole"})
CORE = BASE | {"protocol", "engine"}
SHELL = frozenset(
    {"workspace", "providers", "tools", "contexts", "store", "config", "credentials", "hooks", "instructions", "skills"}
)
# The host, and what it is made of.
HOST = frozenset(
    {"around", "host", "live", "work", "archive", "checkpoints", "cells", "filesback", "changes", "announce"}
    | {"budgets", "estimates", "going", "hooking", "ledger", "locks", "moments", "outputs", "outside", "pins"}
    | {"reporting", "ruling", "sampling", "setups", "subagents", "toolbox", "warming"}
)
INNER = CORE | SHELL | HOST | {"links", "client", "audience", "commands", "fronts"}

MAY_IMPORT: dict[str, frozenset[str]] = {
    "": frozenset({"kernel", "server", "api", "lending"}),
    "api": INNER | {"kernel", "process"},
    "lending": CORE | SHELL,
    "errors": frozenset(),
    "paths": frozenset(),
    "plugins": frozenset(),
    "secrecy": frozenset(),
    "whole": frozenset(),
    "protocol": frozenset({"errors"}),
    "engine": frozenset({"errors", "protocol"}),
    **dict.fromkeys(SHELL, CORE | SHELL),
    "keyrings": frozenset(),
    "credentials": CORE | SHELL | {"keyrings"},
    "links": frozenset({"errors", "protocol", "secrecy"}),
    "client": frozenset({"", "errors", "protocol", "links"}),
    "audience": CORE | SHELL,
    **dict.fromkeys(HOST, CORE | SHELL | HOST | {"audience", "commands"}),
    "doctor": CORE | SHELL | {"host"},
    "commands": CORE | SHELL | HOST | {"audience", "doctor"},
    "fronts": CORE | SHELL | HOST | {"audience", "commands", "links"},
    "process": INNER | {"doctor", "lending"},
    "cli": INNER | {"process"},
    "__main__": frozenset({"cli"}),
    "server": INNER | {"doctor"},
    "kernel": INNER | {"doctor", "lending"},
}
# How a terminal shows an answer and asks is the same in a kernel's console and on the command line.
TERMINAL = ("approve", "choosing", "options", "question", "screen", "transcript")
EXCEPTIONS = {(part, f"{OURS}.kernel.{name}") for part in ("cli", "process") for name in TERMINAL} | {
    ("cli", f"{OURS}.kernel.topython")
}

IMPURE = ("asyncio", "time", "random", "uuid", "os", "pathlib", "sqlite3")
ONLY_IN: dict[str, tuple[str, ...]] = {
    "jupyter_server": ("server", "workspace/server.py"),
    "tornado": ("server",),
    "IPython": ("kernel",),
    "anywidget": ("kernel",),
    "ipywidgets": ("kernel",),
    "sqlite3": ("store",),
    "mcp": ("workspace/mcp", "fronts/mcp"),
    "mcp_types": ("workspace/mcp", "fronts/mcp"),
    "keyring": ("keyrings.py",),
    "starlette": ("fronts/rest", "fronts/mcp", "fronts/plugged.py"),
    "uvicorn": ("fronts/serving.py",),
}
SDKS = ("anthropic", "openai", "xllamacpp", "genai_prices")
HEAVY = (
    "pydantic",
    "anthropic",
    "openai",
    "mcp",
    "anywidget",
    "ipywidgets",
    "sqlite3",
    "keyring",
    "yaml",
    "starlette",
    "uvicorn",
)


@dataclass(frozen=True)
class Import:
    """`typing`: only under TYPE_CHECKING; `lazy`: when a function runs."""

    file: Path
    line: int
    module: str
    typing: bool
    lazy: bool

    @property
    def part(self) -> str:
        return part_of(self.file.relative_to(ROOT / OURS).with_suffix("").parts)

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]

    @property
    def ours(self) -> str | None:
        """The part that it imports, None when it is none of ours."""
        return part_of(tuple(self.module.split("."))[1:]) if self.top == OURS else None

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: imports {self.module}"


def part_of(path: tuple[str, ...]) -> str:
    first = path[0] if path else ""
    return "" if first == "__init__" else first


def sources(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts)


@cache
def imports() -> tuple[Import, ...]:
    return tuple(chain.from_iterable(_imports(path, ast.parse(path.read_text("utf-8"))) for path in sources(OURS)))


def _imports(file: Path, node: ast.AST, *, typing: bool = False, lazy: bool = False) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        checked = typing or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        for module in _modules(child):
            yield Import(file, getattr(child, "lineno", 0), module, checked, inside)
        yield from _imports(file, child, typing=checked, lazy=inside)


def _modules(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names) if module == OURS:
            return [f"{OURS}.{alias.name}" if _is_module(alias.name) else OURS for alias in names]
        case ast.ImportFrom(module=str(module), level=0):
            return [module]
        case ast.ImportFrom():
            raise AssertionError(f"line {node.lineno}: a relative import")
        case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(module))]):
            return [module]
        case _:
            return []


def _is_module(name: str) -> bool:
    return (ROOT / OURS / name).is_dir() or (ROOT / OURS / f"{name}.py").is_file()


def test_every_part_has_a_rule() -> None:
    assert {found.part for found in imports()} <= MAY_IMPORT.keys()


def test_imports_point_inwards() -> None:
    wrong = [
        str(found)
        for found in imports()
        if found.ours is not None
        and found.ours != found.part
        and found.ours not in MAY_IMPORT[found.part]
        and (found.part, found.module) not in EXCEPTIONS
    ]
    assert wrong == []


@pytest.mark.parametrize("part", ["protocol", "engine"])
def test_the_core_is_pure(part: str) -> None:
    assert [str(found) for found in imports() if found.part == part and found.top in IMPURE] == []


@pytest.mark.parametrize("module", ONLY_IN)
def test_a_framework_stays_in_its_place(module: str) -> None:
    places = [ROOT / OURS / place for place in ONLY_IN[module]]
    wrong = [
        str(found)
        for found in imports()
        if found.top == module and not found.typing and not any(found.file.is_relative_to(place) for place in places)
    ]
    assert wrong == []


@pytest.mark.parametrize("sdk", SDKS)
def test_a_vendors_sdk_is_imported_on_first_use_by_one_provider_only(sdk: str) -> None:
    uses = [found for found in imports() if found.top == sdk and not found.typing]
    assert [str(found) for found in uses if not found.lazy or found.part != "providers"] == []
    assert len({found.file for found in uses}) <= 1, [str(found) for found in uses]


def test_a_wrong_import_is_told_with_its_file_and_line() -> None:
    path = ROOT / OURS / "engine" / "imagined.py"
    found = list(_imports(path, ast.parse("import math\ndef f():\n    from jupyter_eca import host\n")))
    assert [str(one) for one in found] == [
        "jupyter_eca/engine/imagined.py:1: imports math",
        "jupyter_eca/engine/imagined.py:3: imports jupyter_eca.host.host",
    ]
    assert (found[1].part, found[1].ours, found[1].lazy) == ("engine", "host", True)


@pytest.mark.parametrize("module", [OURS, f"{OURS}.kernel.magic"])
def test_what_every_kernel_loads_imports_nothing_heavy(module: str) -> None:
    script = f"import sys, {module}; print(*sorted(set({HEAVY!r}) & sys.modules.keys()))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("folder", MAX_LINES)
def test_a_file_can_be_read_in_five_minutes(folder: str) -> None:
    lengths = {str(path.relative_to(ROOT)): path.read_text("utf-8").count("\n") for path in sources(folder)}
    assert {path: length for path, length in lengths.items() if length > MAX_LINES[folder]} == {}
