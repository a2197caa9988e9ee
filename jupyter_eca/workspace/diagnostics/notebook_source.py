"""A notebook's code as linters take it: its code cells alone, never their outputs."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from jupyter_eca.workspace.diagnostics.notebook_state import AnalyzedCell


def build_notebook_json(code: Sequence[AnalyzedCell], without: Collection[int] = ()) -> str:
    """As nbformat; the cells that are at these places are empty in it, so that the others keep theirs."""
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"c{place}",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": "" if place in without else sheet.cell.source,
        }
        for place, sheet in enumerate(code)
    ]
    language = {"name": "python"}
    return json.dumps({"cells": cells, "metadata": {"language_info": language}, "nbformat": 4, "nbformat_minor": 5})


def collect_words(code: Sequence[AnalyzedCell], without: Collection[int]) -> set[str]:
    """The words of the cells that are left out: names that the others may have from them."""
    return {word for place in without for word in re.findall(r"\w+", code[place].cell.source)}


def extract_quoted_name(message: str) -> str:
    """The name that a linter speaks of."""
    return message.partition("`")[2].partition("`")[0]
