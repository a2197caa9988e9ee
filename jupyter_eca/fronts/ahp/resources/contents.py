"""Owns the content behind the URIs that a session's state contains: images, and files as they were before and after a
tool call or the whole session. A client of the Agent Host Protocol reads them to show a change.

It must not know the files of clients (`client_files.py`) or of the workspace (`files.py`). `uris.py` makes and parses
the URIs.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from jupyter_eca.config.disk.regular_file import read_resolved
from jupyter_eca.errors import RemoteError, ToolError
from jupyter_eca.fronts import unified_diff
from jupyter_eca.fronts.ahp.dialect import parse_chat
from jupyter_eca.fronts.ahp.resources import uris
from jupyter_eca.host.store.rows import UNKEPT
from jupyter_eca.protocol.ahp.commands import AhpErrorCode
from jupyter_eca.protocol.changes import ChangeExtent
from jupyter_eca.protocol.content import FileChangeDetails, ImageContent, ToolCallContent, ToolCalledContent
from jupyter_eca.workspace.files import text_file
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.event import Event


async def read(host: Host, uri: str) -> tuple[bytes, str] | None:
    """Return the content of a URI and its media type. Return None for a URI of another form, such as that of a file.

    Raises: RemoteError when the content does not exist.
    """
    if parse_chat(uri.partition("/content/")[0]) is None:
        return None
    if parts := uris.parse_picture(uri):
        session, seq = parts
        for event in await _read_events(host, session):
            if event.seq == seq and isinstance(event.content, ImageContent):
                return base64.b64decode(event.content.base64), event.content.media_type
    elif parts := uris.parse_side(uri):
        session, side, call = parts
        text = await _read_side(host, parse_chat(session) or "", await _read_events(host, session), side, call)
        if text is not None:
            return text.encode("utf-8"), "text/plain"
    elif parts := uris.parse_change(uri):
        session, side, id = parts
        await _read_events(host, session)  # raises an error if there is no such session
        changes = await host.changes.list(parse_chat(session) or "", extent=ChangeExtent.CHAT)
        text = next((change.text for change in changes if change.id == id), None)
        if text is not None and (content := text.before if side == "before" else text.after) is not None:
            return content.encode("utf-8"), "text/plain"
    raise RemoteError(f"There is no content {uri}.", AhpErrorCode.CONTENT_NOT_FOUND)


async def _read_events(host: Host, session: str) -> list[Event]:
    """Return the events of a session's chat. Raises: RemoteError when there is no such session in this workspace."""
    chat = parse_chat(session)
    row = await host.chats.read_row(chat) if chat else None
    if row is None or row.workspace != host.store.workspace:
        raise RemoteError(f"There is no session {session}.", AhpErrorCode.CONTENT_NOT_FOUND)
    return await host.chats.read_events(row.id)


async def _read_side(host: Host, chat: str, events: Sequence[Event], side: str, call: str) -> str | None:
    """Return the text of a file before or after a tool call. Return None if the call does not change a file.

    `side` is "before" or "after", `call` is the id of the call. For a call that has ended, the file before the turn is
    known, and the diffs of the turn's earlier calls are applied to it. A call that waits for approval would change the
    file as it is now. If the whole text cannot be computed, only the lines that the call's diff contains are returned.
    """
    call_events = [event for event in events if isinstance(event.content, ToolCallContent) and event.content.id == call]
    if not call_events:
        return None
    last = call_events[-1]
    details = _get_details(last)
    if not isinstance(details, FileChangeDetails):
        return None
    has_ended = isinstance(last.content, ToolCalledContent)
    before = None
    if details.cells is None:  # the diff of a notebook shows its cells, and not the lines of its file
        before = await _read_start(host, chat, last.turn, details.path, has_ended=has_ended)
    if before is not None and has_ended:
        for event in events:
            if event.content is last.content:
                break
            earlier = _get_details(event)
            succeeded = isinstance(event.content, ToolCalledContent) and not event.content.error
            is_same_file = isinstance(earlier, FileChangeDetails) and earlier.path == details.path
            if event.turn == last.turn and succeeded and is_same_file and isinstance(earlier, FileChangeDetails):
                before = unified_diff.apply_diff(before, earlier.diff) if before is not None else None
    after = None if before is None else unified_diff.apply_diff(before, details.diff)
    if after is None:
        return unified_diff.read_side(details.diff, "-" if side == "before" else "+")
    return before if side == "before" else after


def _get_details(event: Event) -> object:
    """Return the details of the tool call that an event is about; None for other events."""
    return event.content.details if isinstance(event.content, ToolCallContent) else None


async def _read_start(host: Host, chat: str, turn: str, path: str, *, has_ended: bool) -> str | None:
    """Return the text of a file from which the diffs start. If the call has ended, this is the file before its turn,
    which is kept as a checkpoint. For a call that waits for approval, it is the file as it is now. Return None if it is
    not known."""
    try:
        real = host.workspace.files.resolve(path)
    except ToolError:
        return None
    if has_ended:
        checkpoints = await host.store.do(lambda tables: tables.list_checkpoints(chat))
        found = [checkpoint for checkpoint in checkpoints if (checkpoint.turn, checkpoint.path) == (turn, str(real))]
        # UNKEPT: the file existed, but its text before the turn was not kept.
        if not found or (found[0].before is None and found[0].after == UNKEPT):
            return None
        return (found[0].before or b"").decode("utf-8", "replace")
    try:
        if not real.exists():
            return ""
        return (await run_read(read_resolved, real, text_file.MAX_BYTES)).decode("utf-8", "replace")
    except OSError:
        return None
