"""What the assistant changed: `/diff` and `/undo`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.changes import undo as undoing
from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.protocol.changes import ChatRevertResult
from jupyter_eca.protocol.command import CommandArgument

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace


async def diff(place: CommandPlace, called: CommandCall) -> CommandAnswer:
    wanted = undoing.parse_selection(called.text)
    if wanted is None:
        return CommandAnswer("Write `/diff`, or `/diff all` for the whole chat.")
    changes = await place.host.changes.list(place.chat, extent=wanted.extent)
    return CommandAnswer(undoing.format_changes(wanted.select(changes)))


async def undo(place: CommandPlace, called: CommandCall) -> CommandAnswer:
    """Raises: BusyError."""
    wanted = undoing.parse_selection(called.text)
    if wanted is None:
        return CommandAnswer("Write `/undo`, `/undo 2 5` with the numbers that `/diff` shows, or `/undo all`.")
    changes = await place.host.changes.list(place.chat, extent=wanted.extent)
    reverted, left = await place.host.changes.revert(place.chat, [one.id for one in wanted.select(changes)])
    return CommandAnswer(
        undoing.describe_revert(ChatRevertResult(reverted=reverted, left=left), wanted.list_missing(changes))
    )


COMMANDS: Final = {
    "diff": NativeCommand(
        diff,
        "Show what the last turn that changed something changed",
        (CommandArgument(name="all", description="for what the whole chat changed"),),
    ),
    "undo": NativeCommand(
        undo,
        "Take changes back",
        (CommandArgument(name="numbers", description="which of those that /diff shows; all: of the whole chat"),),
    ),
}
