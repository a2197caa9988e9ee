"""Follows renamed and deleted notebooks, so that a renamed one keeps its chats, and the model and the agent that were
chosen in it. A new notebook does not get the choices of a deleted one.

Jupyter's contents service emits an event for each rename and each deletion, whoever makes it: a page, the file browser,
or another program that uses the service. There is no event for a file that is moved in a terminal. So a notebook with
chats gets an id in its metadata when it is saved. The server writes it, and not the page: the server knows of the chats
that began in cells, and it saves for all pages and for shared documents. A page that changes metadata would make the
notebook of the user unsaved.

This module must not know what is stored for a notebook, nor when an id means that a notebook was moved: `host.chat`
does.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from jupyter_server.services.contents.filemanager import FileContentsManager

from jupyter_eca.errors import NotSaved

if TYPE_CHECKING:
    from jupyter_eca.apps.server.eca_server import EcaServer
    from jupyter_eca.host.host import Host

_log = logging.getLogger(__name__)

# Jupyter emits this event after each action on a file.
CONTENTS_EVENT: Final = "https://events.jupyter.org/jupyter_server/contents_service/v1"


class RenamedNotebooks:
    """Passes renames and deletions on to the host. Those that come before the host is started wait for it, because a
    rename must not start the assistant. Writes the ids of notebooks when they are saved."""

    def __init__(self, serverapp: Any, eca_server: EcaServer) -> None:
        """`serverapp` is Jupyter's object for the server."""
        self._events = serverapp.event_logger
        self._contents = serverapp.contents_manager
        # The host searches this disk for moved notebooks, so a notebook that is stored elsewhere gets no id.
        self._has_files = isinstance(self._contents, FileContentsManager)
        self._start = eca_server.start_child
        self._host: Host | None = None  # None until the first client has started it
        self._waiting: list[dict[str, Any]] = []  # the events that came before the host was started
        eca_server.on_host = self._apply_waiting

    def start(self) -> None:
        """Begin to follow the contents service."""
        self._events.add_listener(schema_id=CONTENTS_EVENT, listener=self._on_action)
        if self._has_files:
            self._contents.register_pre_save_hook(self._write_id)

    def stop(self) -> None:
        """Stop following it."""
        self._events.remove_listener(schema_id=CONTENTS_EVENT, listener=self._on_action)

    async def _on_action(self, logger: object, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG002
        """Handle an event of the contents service. `data` is its content: the action, the path, and the old path."""
        if data.get("action") not in {"rename", "delete"}:
            return
        if self._host is None:
            self._waiting.append(data)
        else:
            await _apply(self._host, data)

    def _write_id(self, model: dict[str, Any], path: str, **_: object) -> None:
        """Write the id of a notebook into what is about to be saved. Jupyter calls this hook for each file. `model` is
        that of the contents API. While no host runs, a notebook keeps the id that the page sends."""
        if self._host is None or model.get("type") != "notebook":
            return
        from jupyter_eca.workspace.notebooks.notebook_id import get_id, set_id

        content = model.get("content")
        found = get_id(content)
        id = self._host.notebook_ids.choose_id_for_save(path.strip("/"), found, self._start)
        if id is not None and id != found:
            set_id(content, id)

    async def _apply_waiting(self, host: Host) -> None:
        """Apply the events that have waited for the host. From now on, events are applied at once."""
        while self._waiting:
            await _apply(host, self._waiting.pop(0))
        self._host = host


async def _apply(host: Host, data: dict[str, Any]) -> None:
    """Let the host move or forget what it stores for a notebook. If that fails, write a warning to the log. `data` is
    the content of an event of the contents service."""
    path = data["path"].strip("/")
    try:
        if data["action"] == "delete":
            await host.choice_memory.forget(path)
            await host.services.notebook_rules.forget(path)
        else:
            before = data["source_path"].strip("/")
            await host.notebook_ids.move(before, path)
    except NotSaved as error:
        _log.warning("the chats and choices of %s stay as they are: %s", path, error)
