"""What the assistant changed: `/diff` and `/undo`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.changes import undo as undoing
from jupyter_eca.host.chat.ports import Answer
from jupyter_eca.protocol.changes import ChatRevertResult

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import Called
    from jupyter_eca.host.commands.base import Command, Place


async def diff(place: Place, called: Called) -> Answer:
    wanted = undoing.wanted(called.text)
    if wanted is None:
        return Answer("Write `/diff`, or `/diff all` for the whole chat.")
    changes = await place.host.changes.list(place.chat, extent=wanted.extent)
    return Answer(undoing.drawn(wanted.of(changes)))


async def undo(place: Place, called: Called) -> Answer:
    """Raises: BusyError."""
    wanted = undoing.wanted(called.text)
    if wanted is None:
        return Answer("Write `/undo`, `/undo 2 5` with the numbers that `/diff` shows, or `/undo all`.")
    changes = await place.host.changes.list(place.chat, extent=wanted.extent)
    reverted, left = await place.host.changes.revert(place.chat, [one.id for one in wanted.of(changes)])
    return Answer(undoing.told(ChatRevertResult(reverted=reverted, left=left), wanted.missing(changes)))


COMMANDS: Final[dict[str, Command]] = {"diff": diff, "undo": undo}
