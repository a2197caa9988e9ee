"""Which names a cell binds, and which it reads."""

from __future__ import annotations

import ast

import pytest

from jupyter_eca.workspace.diagnostics import name_analysis
from jupyter_eca.workspace.diagnostics.magics import MAX_SOURCE, parse_cell


@pytest.mark.parametrize(
    ("source", "binds", "takes", "later"),
    [
        ("x = y", "x", "y", ""),
        ("x = 1\nx", "x", "", ""),
        ("x\nx = 1", "x", "x", ""),
        ("x += 1", "x", "x", ""),
        ("x: int", "", "", ""),
        ("x: int = y", "x", "y", ""),
        ("import a.b, c as d\nfrom e import f as g", "a d g", "", ""),
        ("def f(a, *b, c=d, **e):\n    return a, b, c, e, g", "f", "d", "g"),
        ("def f():\n    return later\nlater = 1", "f later", "", ""),
        ("def f():\n    global made\n    made = 1", "f made", "", ""),
        ("def f():\n    x = 1\n    def g():\n        return x + y\n    return g", "f", "", "y"),
        ("class A(B):\n    x = 1\n    y = x\n    def m(self):\n        return z", "A", "B", "z"),
        ("[i + k for i in j]", "", "j k", ""),
        ("[last := i for i in j]", "last", "j", ""),
        ("f = lambda a, b=c: a + d", "f", "c", "d"),
        ("for i, (j, k) in l: pass", "i j k", "l", ""),
        ("with open(p) as (a, b): pass", "a b", "p", ""),
        ("try:\n    pass\nexcept E as e:\n    e", "e", "E", ""),
        ("match m:\n    case {'a': x, **rest}: pass\n    case [y, *z] as w: pass", "rest w x y z", "m", ""),
        ("print(len(__file__), _, __, _3, _i3, Out)", "", "", ""),
        ("await f(x)", "", "f x", ""),
        ("a.b = c[d]", "", "a c d", ""),
    ],
)
def test_the_names_of_a_cell(source: str, binds: str, takes: str, later: str) -> None:
    tree = parse_cell(source).tree
    assert isinstance(tree, ast.Module)
    found = name_analysis.analyze_names(tree)
    assert (found.binds, set(found.reads), set(found.reads_later)) == (
        set(binds.split()),
        set(takes.split()),
        set(later.split()),
    )


@pytest.mark.parametrize(
    ("source", "binds"),
    [
        ("%%eca -> answer\nWhy?", "answer"),
        ("%%capture out\nprint(1)", "out"),
        ("%%capture --no-stderr out\nprint(1)", "out"),
        ("%%bash --out o --err e\nls", "o e"),
        ("%%sql rows << select 1", "rows"),
        ("%time x = f()", "x"),
        ("%prun -q x, y = f()", "x y"),
        ("%%bash\nls", ""),
    ],
)
def test_magics_bind_names(source: str, binds: str) -> None:
    assert parse_cell(source).binds == set(binds.split())


@pytest.mark.parametrize(("source", "opaque"), [("%run a.py", True), ("%%mystery\nx", True), ("%pwd", False)])
def test_an_unknown_magic_may_bind_any_name(source: str, opaque: bool) -> None:
    assert parse_cell(source).opaque is opaque


@pytest.mark.parametrize("source", ["x" * (MAX_SOURCE + 1), "\0", "(" * 5000, "%" * 3000 + "(", "!(\n" * 9_000])
def test_a_source_that_cannot_be_parsed_raises_no_error(source: str) -> None:
    parse_cell(source)
