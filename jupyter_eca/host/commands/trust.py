"""The command `/untrust`, which takes back the user's trust in the settings of folders.

The trust is given in the panel, or as an answer to a question. `host.operations.folder_trust` stores it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.host.commands.base import NativeCommand

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace

_WITHDRAWN: Final = (
    "You do not trust `{folder}` any more. The settings that it brings do nothing until you trust it again."
)
_NOT_TRUSTED: Final = "You have not trusted the settings of a folder here, so nothing has changed."
_HOLDS: Final = "They still hold here, because this editor cannot ask you whether you trust the folder."


async def untrust(place: CommandPlace, _call: CommandCall) -> CommandAnswer:
    """Take back the trust in the folders of the workspace. Raises: LocalError when this cannot be stored."""
    host = place.host
    withdrawn = await host.folder_trust.withdraw(host.workspace.files.roots)
    lines = [_WITHDRAWN.format(folder=folder) for folder in withdrawn] or [_NOT_TRUSTED]
    if withdrawn and host.folder_trust.trusts_all:
        lines.append(_HOLDS)
    return CommandAnswer("\n\n".join(lines))


COMMANDS: Final = {
    "untrust": NativeCommand(untrust, "Take back your trust in the settings that the folders of this workspace bring"),
}
