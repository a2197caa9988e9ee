"""Owns the completions that are offered while a user types a message: contexts after `@`, and commands after a `/` at
the beginning.

It must not know the connection. `resources/attachments.py` turns a chosen context into an attachment.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.text.slash_commands import filter_commands
from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.ahp.resources import attachments
from jupyter_eca.host.commands import list_commands
from jupyter_eca.plugins.contexts.resolve import list_offers
from jupyter_eca.protocol.ahp.commands import AhpErrorCode
from jupyter_eca.protocol.context import CursorContext, DirectoryContext, FileContext

if TYPE_CHECKING:
    from jupyter_eca.fronts.ahp.reducers.base import Json
    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.workspace.ports import Files

# The characters after which a client asks for completions.
TRIGGERS: Final = ("@", "/")

# A text that is only the beginning of a command: "/mod".
_COMMAND: Final = re.compile(r"/(?P<query>\S*)")
# A text that ends with the beginning of a context: "Look at @data/in".
_CONTEXT: Final = re.compile(r"(?:.*\s)?(?P<token>@(?P<query>\S*))", re.DOTALL)


async def list_items(host: Host, chat: str, files: Files, text: str, offset: int) -> list[Json]:
    """Return the completions at an offset of a text. Offsets and ranges count UTF-16 code units, as the protocol
    requires. `files` are the files of the chat.

    Raises: RemoteError when the offset is outside of the text.
    """
    units = text.encode("utf-16-le", "surrogatepass")
    if not 0 <= offset <= len(units) // 2:
        raise RemoteError("The offset is outside of the text.", AhpErrorCode.INVALID_PARAMS)
    typed = units[: 2 * offset].decode("utf-16-le", "surrogatepass")  # a code unit has two bytes
    if match := _COMMAND.fullmatch(typed):
        matching = filter_commands(await list_commands(host), match["query"])
        return [
            _make_item(offset, typed, f"/{command.name} ", _make_command_attachment(command.name, command.description))
            for command in matching
        ]
    if match := _CONTEXT.fullmatch(typed):
        root = host.workspace.files.roots[0]
        # `live`: the contexts of an open notebook are offered too.
        contexts = await list_offers(host.tool_contexts.build_surroundings(chat, None), match["query"], live=True)
        # The cursor is left out, because no client of this protocol says where its cursor is.
        mentions = (
            (context, _format_mention(context, files)) for context in contexts if not isinstance(context, CursorContext)
        )
        return [
            _make_item(offset, match["token"], f"@{mention} ", attachments.make_attachment(context, root))
            for context, mention in mentions
            if mention
        ]
    return []


def _format_mention(context: ChatContext, files: Files) -> str:
    """Return the text that is written after the `@`: a path from the chat's folder, or the name of the context."""
    if isinstance(context, FileContext | DirectoryContext):
        real, start = files.resolve(context.path), files.start.resolve()
        return str(real.relative_to(start) if real.is_relative_to(start) else real)
    fields = context.as_json_object()
    return str(fields.get("label") or fields.get("name") or fields.get("url") or fields.get("uri") or fields["type"])


def _make_command_attachment(name: str, description: str) -> Json:
    """Make the attachment of a command. It has a name and no content, because the text itself runs the command."""
    return {"type": "simple", "label": f"/{name}", "_meta": {"description": description}}


def _make_item(offset: int, token: str, insert: str, attachment: Json) -> Json:
    """Make a completion that replaces `token`, the text before the offset, by the text `insert`."""
    start = offset - len(token.encode("utf-16-le", "surrogatepass")) // 2
    return {"insertText": insert, "rangeStart": start, "rangeEnd": offset, "attachment": attachment}
