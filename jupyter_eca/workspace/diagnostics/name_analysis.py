"""Which names a cell binds, and which ones it takes from elsewhere: read off its tree, nothing is run."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

Spot = tuple[int, int]
"""Line and character, from 0."""

# What IPython puts beside Python's own.
KNOWN_NAMES: Final = frozenset(
    {*dir(builtins), "get_ipython", "display", "In", "Out", "exit", "quit", "__file__", "__name__"}
)

_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(slots=True)
class CellNames:
    """`takes` are names that are read as the cell runs, before it binds them itself; `later` those that its functions
    read when they are called. `stars`: it imports names that are not written down."""

    binds: set[str] = field(default_factory=set[str])
    reads: dict[str, Spot] = field(default_factory=dict[str, Spot])
    reads_later: dict[str, Spot] = field(default_factory=dict[str, Spot])
    has_star_import: bool = False


def is_known(name: str) -> bool:
    """IPython's history (`_`, `_3`, `_i3`, `__`) too."""
    return (
        name in KNOWN_NAMES
        or (name.startswith("_") and name.strip("_").lstrip("io").isdecimal())
        or not name.strip("_")
    )


def analyze_names(tree: ast.Module) -> CellNames:
    """Raises: RecursionError, of a tree that is too deep."""
    found = CellNames()
    _NameVisitor(found).visit_all(tree.body)
    found.reads_later = {name: spot for name, spot in found.reads_later.items() if name not in found.binds}
    return found


class _NameVisitor(ast.NodeVisitor):
    """`local` are the names of the scopes around, outermost first; none at the cell's own level."""

    def __init__(self, found: CellNames, local: tuple[set[str], ...] = (), *, deferred: bool = False) -> None:
        self._names = found
        self._local = local
        self._deferred = deferred

    def visit_all(self, statements: Iterable[ast.AST]) -> None:
        for statement in statements:
            self.visit(statement)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._add_read(node.id, node)
        else:
            self._add_binding(node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """`x += 1` reads it first."""
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self._add_read(node.target.id, node.target)
        self.visit(node.target)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit_all([node.value, *node.targets])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit_all([node.iter, node.target, *node.body, *node.orelse])

    visit_AsyncFor = visit_For

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add_binding(alias.asname or alias.name.partition(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self._names.has_star_import = True
            else:
                self._add_binding(alias.asname or alias.name)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._add_binding(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self._add_binding(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self._add_binding(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self._add_binding(node.rest)
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Its methods do not see its names; that a body reads its own is what matters here."""
        self.visit_all([*node.decorator_list, *node.bases, *node.keywords])
        inner = _NameVisitor(self._names, (*self._local, _list_type_parameters(node)), deferred=self._deferred)
        inner.visit_all(node.body)
        self._add_binding(node.name)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        arguments = node.args
        self.visit_all([*node.decorator_list, *arguments.defaults, *filter(None, arguments.kw_defaults)])
        self._add_binding(node.name)
        self._visit_function(node, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit_all([*node.args.defaults, *filter(None, node.args.kw_defaults)])
        self._visit_function(node, [node.body])

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        self.visit(node.generators[0].iter)
        stored = {
            one.id
            for part in node.generators
            for one in ast.walk(part.target)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        _NameVisitor(self._names, (*self._local, stored), deferred=self._deferred).generic_visit(node)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        if not self._local:
            self._add_binding(node.target.id)
        elif not self._deferred:  # of a comprehension at the cell's level: it binds outside of that
            self._names.binds.add(node.target.id)

    def _visit_function(self, node: _SCOPES, body: Iterable[ast.AST]) -> None:
        local, outer = _list_bound_names(node)
        self._names.binds |= outer
        _NameVisitor(self._names, (*self._local, local), deferred=True).visit_all(body)

    def _add_binding(self, name: str) -> None:
        if self._local:
            self._local[-1].add(name)
        else:
            self._names.binds.add(name)

    def _add_read(self, name: str, node: ast.Name) -> None:
        found = self._names
        if name in found.binds and not self._deferred:
            return
        if any(name in scope for scope in self._local) or is_known(name):
            return
        (found.reads_later if self._deferred else found.reads).setdefault(name, (node.lineno - 1, node.col_offset))


def _list_bound_names(node: _SCOPES) -> tuple[set[str], set[str]]:
    """The names of a function's own, and those that it binds outside of itself by `global`."""
    every = [node.args, *node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    more = [one for one in (node.args.vararg, node.args.kwarg) if one is not None]
    local = _list_type_parameters(node) | {one.arg for one in (*every, *more) if isinstance(one, ast.arg)}
    outer: set[str] = set()
    waiting: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while waiting:
        one = waiting.pop()
        match one:
            case ast.Global(names=names):
                outer |= set(names)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                local.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                local.add(name)
                continue
            case ast.Lambda():
                continue
            case ast.alias(name=name, asname=asname):
                local.add(asname or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                local.add(name)
            case _:
                pass
        waiting.extend(ast.iter_child_nodes(one))
    return local - outer, outer


def _list_type_parameters(node: ast.AST) -> set[str]:
    """Of types (PEP 695)."""
    return {one.name for one in getattr(node, "type_params", ())}
