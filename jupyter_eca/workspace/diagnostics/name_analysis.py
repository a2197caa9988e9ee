"""Finds which names a cell binds, and which names it reads that other code must bind. It looks only at the syntax tree,
and runs no code.

It must not know notebooks: `notebook_state.py` compares the names of cells.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

Spot = tuple[int, int]
"""Line and character. Both count from 0."""

# Names that always exist: those of Python, and those that IPython adds.
KNOWN_NAMES: Final = frozenset(
    {*dir(builtins), "get_ipython", "display", "In", "Out", "exit", "quit", "__file__", "__name__"}
)

# The nodes of functions, whose bodies are scopes of their own.
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(slots=True)
class CellNames:
    """The names of one cell."""

    binds: set[str] = field(default_factory=set[str])
    """Names that the cell defines."""
    reads: dict[str, Spot] = field(default_factory=dict[str, Spot])
    """Names that are read while the cell runs, before the cell itself binds them, with the place of the first read."""
    reads_later: dict[str, Spot] = field(default_factory=dict[str, Spot])
    """Names that its functions read when they are called, with the place of the first read."""
    has_star_import: bool = False
    """Whether it imports all names of a module (`import *`), so that the names are unknown."""


def is_known(name: str) -> bool:
    """Return whether a name exists in every kernel: a built-in name, or one of IPython's history (`_`, `_3`, `_i3`)."""
    return (
        name in KNOWN_NAMES
        or (name.startswith("_") and name.strip("_").lstrip("io").isdecimal())
        or not name.strip("_")
    )


def analyze_names(tree: ast.Module) -> CellNames:
    """Analyze the tree of a cell.

    Raises: RecursionError for a tree that is too deep.
    """
    names = CellNames()
    _NameVisitor(names).visit_all(tree.body)
    names.reads_later = {name: spot for name, spot in names.reads_later.items() if name not in names.binds}
    return names


class _NameVisitor(ast.NodeVisitor):
    """Visits the nodes of a cell in the order in which Python runs them, and notes each name that is read or bound.
    `visit_<type>` is called for each node of that type of the syntax tree, such as `visit_Import`.

    `local` has the names of each enclosing scope, the outermost first. It is empty at the level of the cell. `deferred`
    means that the code runs only when somebody calls it.
    """

    def __init__(self, names: CellNames, local: tuple[set[str], ...] = (), *, deferred: bool = False) -> None:
        self._names = names
        self._local = local
        self._deferred = deferred

    def visit_all(self, statements: Iterable[ast.AST]) -> None:
        """Visit the nodes one after another."""
        for statement in statements:
            self.visit(statement)

    def visit_Name(self, node: ast.Name) -> None:
        """Note a name that is read, assigned or deleted."""
        if isinstance(node.ctx, ast.Load):
            self._add_read(node.id, node)
        else:
            self._add_binding(node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """`x += 1` reads the name before it binds it."""
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self._add_read(node.target.id, node.target)
        self.visit(node.target)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Visit the value before the targets, because Python computes it first."""
        self.visit_all([node.value, *node.targets])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """`x: int` without a value binds nothing."""
        self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        """Visit the iterable before the target, because Python computes it first."""
        self.visit_all([node.iter, node.target, *node.body, *node.orelse])

    visit_AsyncFor = visit_For

    def visit_Import(self, node: ast.Import) -> None:
        """`import a.b` binds `a`, and `import a.b as c` binds `c`."""
        for alias in node.names:
            self._add_binding(alias.asname or alias.name.partition(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Note the names that are imported. `*` may import any name."""
        for alias in node.names:
            if alias.name == "*":
                self._names.has_star_import = True
            else:
                self._add_binding(alias.asname or alias.name)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """`except E as name` binds the name."""
        if node.name:
            self._add_binding(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        """`case pattern as name` and `case name` bind the name."""
        if node.name:
            self._add_binding(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        """`case [*name]` binds the name."""
        if node.name:
            self._add_binding(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        """`case {**name}` binds the name."""
        if node.rest:
            self._add_binding(node.rest)
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit a class. In Python, methods do not see the names of the class body. Here they do, which is simpler: the
        only effect is that a method's read of such a name is not noted."""
        self.visit_all([*node.decorator_list, *node.bases, *node.keywords])
        inner = _NameVisitor(self._names, (*self._local, _list_type_parameters(node)), deferred=self._deferred)
        inner.visit_all(node.body)
        self._add_binding(node.name)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Visit the decorators and defaults, which are computed at the definition; then bind the name, and visit the
        body, which runs later."""
        arguments = node.args
        self.visit_all([*node.decorator_list, *arguments.defaults, *filter(None, arguments.kw_defaults)])
        self._add_binding(node.name)
        self._visit_function(node, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Visit the defaults, which are computed at once, and then the body, which runs later."""
        self.visit_all([*node.args.defaults, *filter(None, node.args.kw_defaults)])
        self._visit_function(node, [node.body])

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        """A comprehension is a scope of its own, but its first iterable is read outside of this scope."""
        self.visit(node.generators[0].iter)
        stored = {
            target.id
            for part in node.generators
            for target in ast.walk(part.target)
            if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
        }
        _NameVisitor(self._names, (*self._local, stored), deferred=self._deferred).generic_visit(node)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """`(name := value)` binds the name after the value is computed."""
        self.visit(node.value)
        if not self._local:
            self._add_binding(node.target.id)
        elif not self._deferred:  # in a comprehension at the level of the cell, `:=` binds a name of the cell
            self._names.binds.add(node.target.id)

    def _visit_function(self, node: _Function, body: Iterable[ast.AST]) -> None:
        """Visit the body of a function, whose names are local to it."""
        local, outer = _list_bound_names(node)
        self._names.binds |= outer
        _NameVisitor(self._names, (*self._local, local), deferred=True).visit_all(body)

    def _add_binding(self, name: str) -> None:
        """Note that the innermost scope binds a name; without a scope, the cell does."""
        if self._local:
            self._local[-1].add(name)
        else:
            self._names.binds.add(name)

    def _add_read(self, name: str, node: ast.Name) -> None:
        """Note a read, if the name comes from outside of the cell."""
        names = self._names
        if name in names.binds and not self._deferred:
            return
        if any(name in scope for scope in self._local) or is_known(name):
            return
        (names.reads_later if self._deferred else names.reads).setdefault(name, (node.lineno - 1, node.col_offset))


def _list_bound_names(node: _Function) -> tuple[set[str], set[str]]:
    """Return the local names of a function, and the names that it binds in the cell because of a `global` statement."""
    arguments = node.args
    variadic = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *variadic)
    local = _list_type_parameters(node) | {argument.arg for argument in parameters}
    outer: set[str] = set()
    # The nodes that are still to be looked at. Inner functions and classes are skipped: their names are not local here.
    waiting: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while waiting:
        child = waiting.pop()
        match child:
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
        waiting.extend(ast.iter_child_nodes(child))
    return local - outer, outer


def _list_type_parameters(node: ast.AST) -> set[str]:
    """Return the names of the type parameters of a function or class: `T` in `def first[T](items)` (PEP 695)."""
    return {parameter.name for parameter in getattr(node, "type_params", ())}
