"""Converts the code cells of a notebook to a notebook file for linters, without outputs. It must not run linters:
`ruff.py` and `ty.py` do."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from jupyter_eca.workspace.diagnostics.notebook_state import AnalyzedCell


def build_notebook_json(code: Sequence[AnalyzedCell], without: Collection[int] = ()) -> str:
    """Return a notebook in nbformat. The cells at the indexes in `without` become empty, so that the other cells keep
    their positions."""
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"c{place}",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": "" if place in without else analyzed.cell.source,
        }
        for place, analyzed in enumerate(code)
    ]
    language = {"name": "python"}
    return json.dumps({"cells": cells, "metadata": {"language_info": language}, "nbformat": 4, "nbformat_minor": 5})


def collect_words(code: Sequence[AnalyzedCell], without: Collection[int]) -> set[str]:
    """Return all words in the cells at the indexes in `without`. Each word may be a name that such a cell defines."""
    return {word for place in without for word in re.findall(r"\w+", code[place].cell.source)}


def extract_quoted_name(message: str) -> str:
    """Return the name that a linter quotes in its message."""
    return message.partition("`")[2].partition("`")[0]
