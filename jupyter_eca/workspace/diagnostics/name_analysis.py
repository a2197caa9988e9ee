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
KNOWN: Final = frozenset(
    {*dir(builtins), "get_ipython", "display", "In", "Out", "exit", "quit", "__file__", "__name__"}
)

_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(slots=True)
class Names:
    """`takes` are names that are read as the cell runs, before it binds them itself; `later` those that its functions
    read when they are called. `stars`: it imports names that are not written down."""

    binds: set[str] = field(default_factory=set[str])
    takes: dict[str, Spot] = field(default_factory=dict[str, Spot])
    later: dict[str, Spot] = field(default_factory=dict[str, Spot])
    stars: bool = False


def is_known(name: str) -> bool:
    """IPython's history (`_`, `_3`, `_i3`, `__`) too."""
    return name in KNOWN or (name.startswith("_") and name.strip("_").lstrip("io").isdecimal()) or not name.strip("_")


def of(tree: ast.Module) -> Names:
    """Raises: RecursionError, of a tree that is too deep."""
    found = Names()
    _Reader(found).body(tree.body)
    found.later = {name: spot for name, spot in found.later.items() if name not in found.binds}
    return found


class _Reader(ast.NodeVisitor):
    """`local` are the names of the scopes around, outermost first; none at the cell's own level."""

    def __init__(self, found: Names, local: tuple[set[str], ...] = (), *, deferred: bool = False) -> None:
        self._found = found
        self._local = local
        self._deferred = deferred

    def body(self, statements: Iterable[ast.AST]) -> None:
        for statement in statements:
            self.visit(statement)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._take(node.id, node)
        else:
            self._bind(node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """`x += 1` reads it first."""
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self._take(node.target.id, node.target)
        self.visit(node.target)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.body([node.value, *node.targets])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.body([node.iter, node.target, *node.body, *node.orelse])

    visit_AsyncFor = visit_For

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._bind(alias.asname or alias.name.partition(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self._found.stars = True
            else:
                self._bind(alias.asname or alias.name)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self._bind(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self._bind(node.rest)
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Its methods do not see its names; that a body reads its own is what matters here."""
        self.body([*node.decorator_list, *node.bases, *node.keywords])
        inner = _Reader(self._found, (*self._local, _parameters(node)), deferred=self._deferred)
        inner.body(node.body)
        self._bind(node.name)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        arguments = node.args
        self.body([*node.decorator_list, *arguments.defaults, *filter(None, arguments.kw_defaults)])
        self._bind(node.name)
        self._function(node, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.body([*node.args.defaults, *filter(None, node.args.kw_defaults)])
        self._function(node, [node.body])

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        self.visit(node.generators[0].iter)
        stored = {
            one.id
            for part in node.generators
            for one in ast.walk(part.target)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        _Reader(self._found, (*self._local, stored), deferred=self._deferred).generic_visit(node)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        if not self._local:
            self._bind(node.target.id)
        elif not self._deferred:  # of a comprehension at the cell's level: it binds outside of that
            self._found.binds.add(node.target.id)

    def _function(self, node: _SCOPES, body: Iterable[ast.AST]) -> None:
        local, outer = _bound(node)
        self._found.binds |= outer
        _Reader(self._found, (*self._local, local), deferred=True).body(body)

    def _bind(self, name: str) -> None:
        if self._local:
            self._local[-1].add(name)
        else:
            self._found.binds.add(name)

    def _take(self, name: str, node: ast.Name) -> None:
        found = self._found
        if name in found.binds and not self._deferred:
            return
        if any(name in scope for scope in self._local) or is_known(name):
            return
        (found.later if self._deferred else found.takes).setdefault(name, (node.lineno - 1, node.col_offset))


def _bound(node: _SCOPES) -> tuple[set[str], set[str]]:
    """The names of a function's own, and those that it binds outside of itself by `global`."""
    every = [node.args, *node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    more = [one for one in (node.args.vararg, node.args.kwarg) if one is not None]
    local = _parameters(node) | {one.arg for one in (*every, *more) if isinstance(one, ast.arg)}
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


def _parameters(node: ast.AST) -> set[str]:
    """Of types (PEP 695)."""
    return {one.name for one in getattr(node, "type_params", ())}
