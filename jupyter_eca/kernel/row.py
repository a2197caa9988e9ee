"""A row of widgets in an output of its own, which is emptied once it has served: nothing dead is saved."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.kernel.screen import Publisher


def toolkit() -> Any:
    """ipywidgets: half a second, and it ships no types."""
    return importlib.import_module("ipywidgets")


class Row:
    def __init__(self, publisher: Publisher, id: str, parts: Sequence[Any], text: str) -> None:
        """`text` is what is shown where there are no widgets."""
        widgets = toolkit()
        for part in parts:
            part.layout.flex = "0 0 auto"
        # In a narrow notebook the row wraps: a shrunk button could not say what it does.
        self._box = widgets.HBox(list(parts), layout=widgets.Layout(flex_flow="row wrap"))
        self._parts = parts
        self._publisher = publisher
        self._display_id = id
        data = {
            "application/vnd.jupyter.widget-view+json": {
                "version_major": 2,
                "version_minor": 0,
                "model_id": self._box.model_id,
            },
            "text/plain": text,
        }
        publisher.publish(data, transient={"display_id": id})

    def withdraw(self) -> None:
        """Twice is once. What was typed goes too: JupyterLab may save the state of every widget that is open."""
        self._publisher.publish({"text/plain": ""}, transient={"display_id": self._display_id}, update=True)
        for part in (*self._parts, self._box):
            part.close()
