"""Owns the notification of ECA by which a page reports the output of cells that it runs for a tool. `client_ports.py`
passes it on to the tool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.eca.client_ports import LinkNotebooks

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol import notebook


def report_run_progress(session: EcaSession, params: notebook.NotebookRunProgressParams) -> None:
    """Pass the output on, if the client has notebooks."""
    if isinstance(session.notebooks, LinkNotebooks):
        session.notebooks.report_progress(params)


HANDLERS: Final = {"notebook/runProgress": report_run_progress}
