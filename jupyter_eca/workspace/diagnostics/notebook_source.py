"""Converts the code cells of a notebook to a notebook file for linters, without outputs. It also has two helpers for
what linters report about such a file. It must not run linters: `ruff.py` and `ty.py` do."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from jupyter_eca.workspace.diagnostics.notebook_state import AnalyzedCell


def build_notebook_json(cells: Sequence[AnalyzedCell], emptied: Collection[int] = ()) -> str:
    """Return a notebook in nbformat. The cells at the indexes in `emptied` get an empty source. They are not left out,
    so that the other cells keep their positions."""
    entries: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"c{place}",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": "" if place in emptied else analyzed.cell.source,
        }
        for place, analyzed in enumerate(cells)
    ]
    language = {"name": "python"}
    return json.dumps({"cells": entries, "metadata": {"language_info": language}, "nbformat": 4, "nbformat_minor": 5})


def collect_words(cells: Sequence[AnalyzedCell], emptied: Collection[int]) -> set[str]:
    """Return all words in the cells at the indexes in `emptied`. Each word may be a name that such a cell defines, so
    a linter that did not see the cell may be wrong to call the name undefined."""
    return {word for place in emptied for word in re.findall(r"\w+", cells[place].cell.source)}


def extract_quoted_name(message: str) -> str:
    """Return the name that a linter quotes in its message: "Undefined name `df`" -> "df"."""
    return message.partition("`")[2].partition("`")[0]
