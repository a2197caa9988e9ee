"""What every client reads names no magic of cells: an editor, the panel and a program have no cells to type it in."""

from __future__ import annotations

import ast

from tests.support.rooms import OURS, ROOT, sources, tree_of

# The kernel's own texts, the help that says where a notebook shows an id, and the files that are about such cells.
OF_CELLS = ("apps/kernel", "apps/cli.py", "workspace/notebooks/lockfile.py", "workspace/notebooks/prompt_cells.py")


def test_errors_and_texts_for_every_client_do_not_recommend_a_magic() -> None:
    found = [
        f"{path}:{node.lineno}: {node.value!r}"
        for path in sources(OURS)
        if not path.relative_to(ROOT / OURS).as_posix().startswith(OF_CELLS)
        for node in _texts(tree_of(path))
        if "%eca" in node.value
    ]
    assert found == []


def _texts(tree: ast.Module) -> list[ast.Constant]:
    """Texts, but for docstrings."""
    nodes = list(ast.walk(tree))
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [
        node
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]
