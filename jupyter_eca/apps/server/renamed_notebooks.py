"""Follows renamed and deleted notebooks, so that a renamed one keeps the model and the agent that were chosen in it,
and a new notebook does not get those of a deleted one.

Jupyter's contents service emits an event for each rename and each deletion, whoever makes it: a page, the file browser,
or another program that uses the service. A file that is moved in a terminal is not noticed. This module must not know
what is kept of a notebook: `host.chat.choice_memory` does.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.errors import NotSaved

if TYPE_CHECKING:
    from jupyter_eca.apps.server.app import EcaServer
    from jupyter_eca.host.chat.choice_memory import ChoiceMemory

_log = logging.getLogger(__name__)

# Jupyter emits this event after each action on a file.
CONTENTS_EVENT: Final = "https://events.jupyter.org/jupyter_server/contents_service/v1"


class RenamedNotebooks:
    """Passes renames and deletions on to the host. Those that come before the host is started wait for it: a user who
    renames a file needs no assistant."""

    def __init__(self, serverapp: Any, eca_server: EcaServer) -> None:
        self._events = serverapp.event_logger
        self._memory: ChoiceMemory | None = None
        self._waiting: list[dict[str, Any]] = []
        eca_server.on_host = self._apply_waiting

    def start(self) -> None:
        """Begin to follow the contents service."""
        self._events.add_listener(schema_id=CONTENTS_EVENT, listener=self._on_action)

    def stop(self) -> None:
        """Stop following it."""
        self._events.remove_listener(schema_id=CONTENTS_EVENT, listener=self._on_action)

    async def _on_action(self, logger: object, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG002
        if data.get("action") not in {"rename", "delete"}:
            return
        if self._memory is None:
            self._waiting.append(data)
        else:
            await _apply(self._memory, data)

    async def _apply_waiting(self, memory: ChoiceMemory) -> None:
        while self._waiting:
            await _apply(memory, self._waiting.pop(0))
        self._memory = memory


async def _apply(memory: ChoiceMemory, data: dict[str, Any]) -> None:
    path = data["path"].strip("/")
    try:
        if data["action"] == "delete":
            await memory.forget(path)
        else:
            await memory.move(data["source_path"].strip("/"), path)
    except NotSaved as error:
        _log.warning("the choices in %s stay as they are: %s", path, error)
