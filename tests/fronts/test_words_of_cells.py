"""What every client reads names no magic of cells: an editor, the panel and a program have no cells to type it in."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.support.rooms import OURS, ROOT, sources, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator

# The kernel's own texts, the help that says where a notebook shows an id, and the files that are about such cells.
OF_CELLS = ("apps/kernel", "apps/cli.py", "workspace/notebooks/lockfile.py", "workspace/notebooks/prompt_cells.py")


def test_errors_and_texts_for_every_client_do_not_recommend_a_magic() -> None:
    found = [
        f"{path}:{line}: {text!r}"
        for path in sources(OURS)
        if not path.relative_to(ROOT / OURS).as_posix().startswith(OF_CELLS)
        for line, text in _texts(tree_of(path))
        if "%eca" in text
    ]
    assert found == []


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield texts with their lines, but for docstrings."""
    nodes = list(ast.walk(tree))
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value
