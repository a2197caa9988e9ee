"""Owns the notification in which a page reports the progress of cells that it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.eca.client_ports import LinkNotebooks

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol import notebook


def run_progress(session: EcaSession, params: notebook.NotebookRunProgressParams) -> None:
    if isinstance(session.notebooks, LinkNotebooks):
        session.notebooks.report_progress(params)


HANDLERS: Final = {"notebook/runProgress": run_progress}
