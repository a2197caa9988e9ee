"""The commands about what the assistant has changed: `/diff` and `/undo`. `host.operations.changes` does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.changes import command_texts
from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.protocol.changes import ChatRevertResult
from jupyter_eca.protocol.command import CommandArgument

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace


async def diff(place: CommandPlace, call: CommandCall) -> CommandAnswer:
    """Show the changes of the last turn, or of the whole chat."""
    selection = command_texts.parse_selection(call.text)
    if selection is None:
        return CommandAnswer("Write `/diff`, or `/diff all` for the whole chat.")
    changes = await place.host.changes.list(place.chat, extent=selection.extent)
    return CommandAnswer(command_texts.format_changes(selection.select(changes)))


async def undo(place: CommandPlace, call: CommandCall) -> CommandAnswer:
    """Revert changes. Raises: BusyError."""
    selection = command_texts.parse_selection(call.text)
    if selection is None:
        return CommandAnswer("Write `/undo`, `/undo 2 5` with the numbers that `/diff` shows, or `/undo all`.")
    changes = await place.host.changes.list(place.chat, extent=selection.extent)
    reverted, left = await place.host.changes.revert(place.chat, [change.id for change in selection.select(changes)])
    missing = selection.list_missing(changes)
    if reverted and not missing:
        return CommandAnswer("")  # the chat has a note with the same lines already
    return CommandAnswer(command_texts.describe_revert(ChatRevertResult(reverted=reverted, left=left), missing))


COMMANDS: Final = {
    "diff": NativeCommand(
        diff,
        "Show what the last turn that changed something changed",
        (CommandArgument(name="all", description="for what the whole chat changed"),),
    ),
    "undo": NativeCommand(
        undo,
        "Take changes back",
        (CommandArgument(name="numbers", description="the numbers of changes in /diff; all: the whole chat"),),
    ),
}
