"""Owns `Mutant`: one small change of one function, made by the operators of mutmut, and how it is put in place.

mutmut itself starts pytest anew for each mutant and does not change properties. Here the code of the function is
exchanged in a process that has already imported everything, which takes a small part of the time.
"""

from __future__ import annotations
import __future__

import ast
import importlib
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType, ModuleType

ENGINE: Final = Path("jupyter_eca/engine")
PROPERTY: Final = re.compile(r"^(\s+)@property$", re.MULTILINE)


@dataclass(frozen=True)
class Mutant(ABC):
    """One change of the engine."""

    module: str
    """The name within the package, such as `model.budget`."""
    place: str
    """The module and the function, or the row of a table."""
    key: str
    """The name in the list of survivors: the place, what is there, and what it becomes."""
    lines: range
    """The lines of the file that run when the changed statement runs."""

    @property
    def changes_text(self) -> bool:
        """Whether the change gives a text other letters, and changes nothing else."""
        return False

    @property
    def ran_in(self) -> str:
        """The file to which `lines` belong."""
        return self.module

    @abstractmethod
    def install(self) -> None:
        """Put the change in place, for the rest of this process."""


@dataclass(frozen=True)
class CodeMutant(Mutant):
    """One change of the code of a function."""

    owner: str
    """The class of a method; "" for a function."""
    function: str
    """The name of the function."""
    start: int
    """Where the replaced text begins in the source of the module."""
    end: int
    """Where it ends."""
    text: str
    """What takes its place."""
    is_of_text: bool = False
    """Whether both are the text of a string, in quotes."""

    @property
    def changes_text(self) -> bool:
        return self.is_of_text

    def install(self) -> None:
        module = importlib.import_module(f"jupyter_eca.engine.{self.module}")
        owner: Any = getattr(module, self.owner) if self.owner else module
        function = cast("FunctionType", _unwrap(vars(owner)[self.function]))
        changed = cast("FunctionType", _unwrap(self._compile(module, function.__code__.co_freevars)))
        function.__code__ = changed.__code__
        function.__defaults__, function.__kwdefaults__ = changed.__defaults__, changed.__kwdefaults__

    def _compile(self, module: ModuleType, free: tuple[str, ...]) -> Any:
        """Return the changed function. `free` are the variables that it must have from around it: `super()` brings
        `__class__`, and it is named once more in case that the change removes that."""
        source = read_source(self.module)
        body: list[ast.stmt] = ast.parse(f"{source[: self.start]}{self.text}{source[self.end :]}").body
        if self.owner:
            body = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == self.owner)
        definitions = (node for node in body if isinstance(node, ast.FunctionDef) and node.name == self.function)
        definition = next(definitions)
        definition.body[:0] = ast.parse("\n".join(free)).body
        # `global`: a function that calls itself must find itself in its module, and not here.
        tree = ast.parse(f"def make({', '.join(free)}):\n    global {self.function}\n    return {self.function}")
        cast("ast.FunctionDef", tree.body[0]).body.insert(1, definition)
        names: dict[str, Any] = dict(vars(module))
        code = compile(tree, self.place, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True)
        exec(code, names)  # noqa: S102  # our own code with one change
        return names["make"](*(None for _ in free))


def _unwrap(function: Any) -> Any:
    """Return the function of a property or of a class method."""
    if isinstance(function, property):
        return function.fget
    return getattr(function, "__func__", function)


@lru_cache
def read_source(module: str) -> str:
    """Return the source of a module, in which each property is a method: mutmut leaves functions with decorators
    alone."""
    file = (ENGINE / module.replace(".", "/")).with_suffix(".py")
    return PROPERTY.sub(r"\1# property", file.read_text("utf-8"))


def list_modules() -> list[str]:
    """Return the names of all modules of the engine."""
    files = (file.relative_to(ENGINE).with_suffix("") for file in ENGINE.rglob("*.py") if file.stem != "__init__")
    return sorted(".".join(file.parts) for file in files)


def list_code_mutants(module: str) -> Iterator[CodeMutant]:
    """Yield all changes of the functions of a module."""
    # The types of these packages are not known to whoever has not installed them.
    libcst: Any = importlib.import_module("libcst")
    metadata: Any = importlib.import_module("libcst.metadata")
    mutmut: Any = importlib.import_module("mutmut.mutation.file_mutation")
    source = read_source(module)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree, mutations, _, _ = mutmut.create_mutations(module, source)
    wrapper = metadata.MetadataWrapper(tree, unsafe_skip_copy=True)
    positions = wrapper.resolve(metadata.PositionProvider)
    parents = wrapper.resolve(metadata.ParentNodeProvider)

    def find_offsets(node: Any) -> tuple[int, int]:
        position: Any = positions[node]
        edges: list[Any] = [position.start, position.end]
        first, last = (starts[int(edge.line) - 1] + int(edge.column) for edge in edges)
        return first, last

    def find_lines(node: Any) -> range:
        """Return the lines of the statement around a node, without the statements within it."""
        while not isinstance(node, libcst.SimpleStatementLine | libcst.BaseCompoundStatement | libcst.MatchCase):
            node = parents[node]
        first, last = positions[node].start.line, positions[node].end.line
        body = getattr(node, "body", None)
        if isinstance(body, libcst.BaseSuite) and not isinstance(node, libcst.FunctionDef):
            return range(first, max(positions[body].start.line, first + 1))
        if isinstance(node, libcst.Match):
            return range(first, positions[node.cases[0]].start.line)
        return range(first, last + 1)

    def is_of_type(node: Any) -> bool:
        """Return whether a node is within the type that `cast` gets, which does nothing when the code runs."""
        while node in parents:
            node, child = parents[node], node
            if isinstance(node, libcst.Call) and child in node.args[:1] and getattr(node.func, "value", "") == "cast":
                return True
        return False

    def loses_type(node: Any, changed: Any) -> bool:
        """Return whether only the type that `cast` gets is another one."""
        is_cast = isinstance(changed, libcst.Call) and getattr(changed.func, "value", "") == "cast"
        return is_cast and len(changed.args) > 1 and changed.args[0] is not node.args[0]

    for mutation in mutations:
        node, changed, function = (
            mutation.original_node,
            mutation.mutated_node,
            mutation.contained_by_top_level_function,
        )
        if not isinstance(function, libcst.FunctionDef) or is_of_type(node) or loses_type(node, changed):
            continue
        parent: Any = parents[parents[function]] if not isinstance(parents[function], libcst.Module) else None
        owner = parent.name.value if isinstance(parent, libcst.ClassDef) else ""
        if isinstance(node, libcst.Match):  # a case is left out
            (gone,) = [case for case in node.cases if case not in changed.cases]
            start, end = find_offsets(gone)
            text = ""
        else:
            start, end = find_offsets(node)
            text = tree.code_for_node(changed)
        first, last = source.rfind("\n", 0, start) + 1, source.find("\n", end)
        before = " ".join(source[first:last].split())
        after = " ".join(f"{source[first:start]}{text}{source[end:last]}".split())
        name = function.name.value
        place = f"{module}:{owner and owner + '.'}{name}"
        key = f"{place}: {before} -> {after}"
        is_of_text = isinstance(node, libcst.SimpleString) and isinstance(changed, libcst.SimpleString)
        yield CodeMutant(module, place, key, find_lines(node), owner, name, start, end, text, is_of_text)
