"""A notebook's code as linters take it: its code cells alone, never their outputs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from jupyter_eca.workspace.diagnostics.standing import Sheet


def written(code: Sequence[Sheet], without: Collection[int] = ()) -> str:
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
