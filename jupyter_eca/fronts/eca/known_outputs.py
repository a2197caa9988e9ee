"""Remembers the outputs of the cells of open notebooks, so that a page does not send them with every answer.

The outputs of a notebook can have a hundred times the size of its sources, and most of them stay the same while the
assistant reads and edits. So the page numbers the changes of outputs (`outputsVersion`), and the server tells it with
each request the number that it has seen (`knownOutputs`). The page then leaves out the outputs that are older, and also
outputs for which an answer has no room. For example, the server has read a notebook at version 7. Cell `a` runs, which
makes its outputs version 8. The next answer has the outputs of `a` and of no other cell, and the server adds the
others.

This module must not know the connection: `client_ports` sends the requests.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument, OutputsOfCell

# The most notebooks whose outputs are remembered. They may take as much memory as the page needs for them.
_MAX_NOTEBOOKS: Final = 2


class KnownOutputs:
    """The outputs that one page has sent.

    The page may answer several requests at the same time. So outputs are only used for a cell that has, in the answer,
    the very version with which they were remembered.
    """

    def __init__(self) -> None:
        # By the path of the notebook, the one that was read last at the end.
        self._notebooks: OrderedDict[str, _Notebook] = OrderedDict()

    def get_version(self, path: str) -> int:
        """Return the version up to which the outputs of a notebook are known; 0 if none are."""
        known = self._notebooks.get(path)
        return known.version if known else 0

    def list_missing(self, document: NotebookDocument) -> list[str]:
        """Return the ids of the cells whose outputs are neither in this answer of the page nor remembered."""
        known = self._find(document.path)
        return [cell.id for cell in document.cells if _is_left_out(cell) and known.find(cell) is None]

    def complete(self, document: NotebookDocument, fetched: Iterable[OutputsOfCell]) -> NotebookDocument:
        """Return an answer of the page with all outputs, and remember them. `fetched` has the outputs of the cells
        that `list_missing` has returned."""
        if document.outputs_version is None:
            return document  # This page never leaves outputs out.
        fetched_by_id = {cell.id: cell for cell in fetched}
        known, new = self._find(document.path), _Notebook(document.outputs_version, {})
        cells: list[NotebookCell] = []
        for cell in document.cells:
            if cell.outputs_version is None:
                cells.append(cell)
                continue
            version, outputs = cell.outputs_version, cell.outputs
            if found := fetched_by_id.get(cell.id):
                version, outputs = found.outputs_version, found.outputs
            elif _is_left_out(cell):
                outputs = known.find(cell) or ()
            new.outputs[cell.id] = (version, outputs)
            cells.append(cell.model_copy(update={"outputs": outputs, "outputs_version": None}))
        self._notebooks[document.path] = new
        self._notebooks.move_to_end(document.path)
        while len(self._notebooks) > _MAX_NOTEBOOKS:
            self._notebooks.popitem(last=False)
        return document.model_copy(update={"cells": tuple(cells), "outputs_version": None})

    def keep_only(self, paths: Iterable[str]) -> None:
        """Forget the outputs of all other notebooks: those that are not open any more."""
        for path in set(self._notebooks).difference(paths):
            del self._notebooks[path]

    def _find(self, path: str) -> _Notebook:
        """Return the outputs of a notebook that are known; none for an unknown notebook."""
        return self._notebooks.get(path) or _Notebook(0, {})


class _Notebook:
    """The outputs of one notebook."""

    def __init__(self, version: int, outputs: dict[str, tuple[int, tuple[Mapping[str, Any], ...]]]) -> None:
        self.version = version
        # By the id of the cell: the version of its outputs, and the outputs.
        self.outputs = outputs

    def find(self, cell: NotebookCell) -> tuple[Mapping[str, Any], ...] | None:
        """Return the outputs of a cell in the version that it has; None if they are not known."""
        version, outputs = self.outputs.get(cell.id, (None, ()))
        return outputs if version == cell.outputs_version else None


def _is_left_out(cell: NotebookCell) -> bool:
    """Return whether the page has left out the outputs of a cell. For a cell that has none, it sends an empty list."""
    return cell.outputs_version is not None and "outputs" not in cell.model_fields_set
