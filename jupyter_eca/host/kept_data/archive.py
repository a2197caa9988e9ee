"""Writes all that is kept about a chat, a workspace or the user into one archive (`.zip`).

    manifest.json                    each file of the archive, and what it is
    chats/01-why-the-merge-fails/    one folder for each chat, the oldest first:
        chat.md                      the conversation, for people
        chat.json                    its title, model, workspace and so on, and all other rows about it
        events.json                  its events, which are all that was said and done
        approvals.json               each tool call: whether it was asked about, and what became of it
        usage.json                   the tokens and the costs of its requests
        changes/, outputs/           files as they were before a change; outputs that were too long for the model
    user/                            what belongs to no single chat

No secret comes into an archive: the keys that this process knows, and what looks like a vendor's key, are replaced. The
caller has registered the keys (`redaction.py`). Everything here blocks.
"""

from __future__ import annotations

import json
import os
import secrets
import zipfile
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca import redaction
from jupyter_eca._version import __version__
from jupyter_eca.engine.chat.export import format_chat, make_file_name
from jupyter_eca.errors import ConfigError
from jupyter_eca.protocol.content import (
    ImageContent,
    ToolCallContent,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
)
from jupyter_eca.protocol.event import DocumentAside, merge_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_eca.host.kept_data.kept_files import KeptFiles
    from jupyter_eca.host.store.kept_rows import KeptRows
    from jupyter_eca.host.store.rows import ChatRow
    from jupyter_eca.protocol.event import Event

# The tables of the database whose rows about a chat are copied into `chat.json`, each with the name of their field
# there.
_CHAT_TABLES: Final = {
    "system_prompts": "systemPrompt",
    "notes": "notesOfClients",
    "asked_in": "notebooks",
    "agent_sessions": "sessionsOfOutsideAgents",
    "agent_options": "optionsOfOutsideAgents",
    "cell_checkpoints": "changesOfCells",
}

_NOTHING_KEPT: Final = "Feedback and memories: this version keeps none. Approvals for a session are in memory only."
_LEFT_OUT: Final = (
    "Keys, tokens and passwords: they are in the keyring of the system or in files of yours, and are not exported.",
    "Your configuration: it is in files of yours, and may contain keys.",
    "The index of the search: it is made from the chats.",
    "Lock files and exported chats in your folders: they are files of yours.",
)

# The time of all entries in the archive. The times that matter are in the files.
_ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)


class _Archive:
    """An archive that is being written, with the entries of its manifest."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        # The files of the archive so far, as the manifest lists them.
        self._entries: list[dict[str, Any]] = []

    def add(self, path: str, description: str, data: bytes) -> None:
        """Add a file. If it is text, secrets in it are replaced. `description` says in the manifest what the file
        is."""
        with suppress(UnicodeDecodeError):
            data = redaction.redact_keys(data.decode()).encode()
        self._write(path, data)
        self._entries.append({"path": path, "what": description, "bytes": len(data)})

    def add_json(self, path: str, description: str, value: Any) -> None:
        """Add a JSON file. Secrets in its texts are replaced before they are encoded."""
        clean = redaction.redact_json(value, redaction.redact_keys)
        self.add_clean_json(path, description, clean)

    def add_clean_json(self, path: str, description: str, value: Any) -> None:
        """Add a JSON file of which the caller has replaced the secrets."""
        data = _dump(value)
        self._write(path, data)
        self._entries.append({"path": path, "what": description, "bytes": len(data)})

    def finish(self, scope: str, counts: dict[str, int]) -> None:
        """Add the manifest. `scope` says in words what is exported, and `counts` how many items of each kind there
        are."""
        manifest = {
            "what": scope,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "madeBy": f"jupyter_eca {__version__}",
            "counts": counts,
            "notKept": _NOTHING_KEPT,
            "leftOut": _LEFT_OUT,
            "files": self._entries,
        }
        self._write("manifest.json", _dump(manifest))

    def _write(self, path: str, data: bytes) -> None:
        """Write an entry of the archive, which only the user can read when it is unpacked."""
        entry = zipfile.ZipInfo(path, _ZIP_TIME)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = 0o600 << 16
        self._file.writestr(entry, data)


def write_archive(target: Path, scope: str, rows: KeptRows, files: KeptFiles) -> dict[str, int]:
    """Write an archive to a new file, which only the user can read. Return how many items of each kind it has.
    `scope` says in words what is exported.

    Raises: ConfigError when there is such a file, or it cannot be written.
    """
    if target.exists():
        raise ConfigError(f"{target} is there already. Choose another name, or remove it first.")
    fresh = target.with_name(f".eca-{secrets.token_hex(8)}")
    try:
        descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w+b") as opened, zipfile.ZipFile(opened, "w") as file:
            counts = _fill(_Archive(file), scope, rows, files)
        fresh.rename(target)
    except OSError as error:
        raise ConfigError(f"{target} cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
    return counts


def _fill(archive: _Archive, scope: str, rows: KeptRows, files: KeptFiles) -> dict[str, int]:
    """Add all files of the archive. Return how many items of each kind there are."""
    chats = rows.list_chats()
    counts = rows.count() | files.count(row.id for row in chats)
    width = max(2, len(str(len(chats))))
    for number, row in enumerate(chats, 1):
        name = PurePath(make_file_name(row.title or "chat")).stem
        _add_chat(archive, f"chats/{number:0{width}}-{name}", row, rows, files)
    _add_user_data(archive, chats, rows, files)
    archive.finish(scope, counts)
    return counts


def _add_chat(archive: _Archive, folder: str, row: ChatRow, rows: KeptRows, files: KeptFiles) -> None:
    """Add the folder of one chat."""
    title = row.title or "Chat"
    about = asdict(row) | {name: found for table, name in _CHAT_TABLES.items() if (found := rows.read(table, row.id))}
    archive.add_json(f"{folder}/chat.json", f"The chat {title!r}: what it was run with, and rows about it", about)
    try:
        events = list(_join_pieces(rows.read_events(row.id)))
    except ValueError:
        # The user must get all other events, even if one is damaged or from another version.
        description = "Its events as they are stored: one of them cannot be read, so there is no chat.md"
        archive.add_json(f"{folder}/events.json", description, rows.read("events", row.id))
    else:
        archive.add(f"{folder}/chat.md", "The conversation, for people", format_chat(title, events).encode())
        description = "Its events: neighbouring pieces of a text are one event"
        archive.add_clean_json(f"{folder}/events.json", description, [_dump_event(event) for event in events])
        if calls := list(_list_approvals(events)):
            archive.add_json(f"{folder}/approvals.json", "Its tool calls: who decided, and what became of them", calls)
    if spending := rows.read("spending", row.id):
        archive.add_json(f"{folder}/usage.json", "The tokens and the costs of its requests", spending)
    changes = rows.read("checkpoints", row.id)
    for number, change in enumerate(changes, 1):
        before: bytes | None = change.pop("before")
        if before is not None:
            # The path may be one of another system.
            path = f"changes/{number:02}-{PurePath(change['path'].replace(chr(92), '/')).name or 'file'}"
            change["before"] = path
            archive.add(f"{folder}/{path}", f"{change['path']} as it was before a change", before)
    if changes:
        archive.add_json(f"{folder}/changes/changes.json", "The files that it has changed", changes)
    for file in files.list_outputs(row.id):
        archive.add(f"{folder}/outputs/{file.name}", "An output that was too long for the model", file.read_bytes())


def _add_user_data(archive: _Archive, chats: list[ChatRow], rows: KeptRows, files: KeptFiles) -> None:
    """Add what belongs to no single chat."""
    lists = {
        "usage.json": ("The tokens and the costs of requests of chats that were deleted", rows.read("spending", "")),
        "choices.json": ("What was chosen for new chats", rows.read("choices")),
        "notebook-rules.json": ("The approval rules of notebooks", rows.read("notebook_rules")),
        "notes.json": (
            "Notes of clients and links to notebooks, of chats without a question",
            _read_rows_without_question(rows),
        ),
        "trusted-folders.json": ("The folders whose settings are trusted, with digests", files.list_trusted_folders()),
        "trusted-answers.json": ("Digests of locked answers that are trusted", [f.name for f in files.list_locks()]),
        "sign-ins.json": ("Whose keys are stored, without the keys", files.list_sign_ins()),
    }
    for name, (description, value) in lists.items():
        if value:
            archive.add_json(f"user/{name}", description, value)
    for file in files.list_mcp_lists():
        archive.add(f"user/mcp-lists/{file.name}", "The tools that an MCP server offered", file.read_bytes())
    for file, place in files.list_rules(sorted({Path(row.workspace) for row in chats})):
        archive.add(f"user/rules/{place}", f"Rules for the assistant, from {file}", file.read_bytes())


def _read_rows_without_question(rows: KeptRows) -> list[dict[str, Any]]:
    """Return the rows about chats in which nothing was asked yet."""
    return [*rows.read("notes", ""), *rows.read("asked_in", "")]


def _join_pieces(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events with the pieces of a text, or of the arguments of a call, joined into one event. Otherwise a
    secret that is cut into two pieces would not be found."""
    for _, group in groupby(merge_pieces(events), key=_get_group_key):
        pieces = list(group)
        first, last = pieces[0].content, pieces[-1]
        if len(pieces) == 1 or not isinstance(first, ToolCallPrepareContent):
            yield from pieces
            continue
        text = "".join(cast("ToolCallPrepareContent", piece.content).arguments_text for piece in pieces)
        yield last.model_copy(update={"content": first.model_copy(update={"arguments_text": text})})


def _get_group_key(event: Event) -> object:
    """Return a key that is equal for neighbouring pieces of the arguments of one call. Any other event has a key of its
    own."""
    content = event.content
    return (event.turn, content.id) if isinstance(content, ToolCallPrepareContent) else object()


def _dump_event(event: Event) -> dict[str, Any]:
    """Return an event as JSON without secrets. The data of images and documents stays as it is: a replaced piece
    would destroy it."""
    dumped = event.model_dump(mode="json", by_alias=True, exclude_none=True)
    clean = redaction.redact_json(dumped, redaction.redact_keys)
    if isinstance(event.content, ImageContent):
        clean["content"]["base64"] = event.content.base64
    if isinstance(event.aside, DocumentAside):
        clean["aside"]["base64"] = event.aside.base64
    return clean


def _list_approvals(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    """Yield each tool call: what it was, whether the user was asked, and what became of it."""
    calls: dict[str, dict[str, Any]] = {}
    for event in events:
        content = event.content
        if not isinstance(content, ToolCallContent):
            continue
        call = calls.setdefault(content.id, {"id": content.id, "tool": content.name, "server": content.server})
        match content:
            case ToolCallRunContent():
                cause = content.cause.model_dump(mode="json", exclude_none=True) if content.cause else None
                call |= {"at": event.at, "arguments": content.arguments}
                # An approved call that must wait is sent again, without the question.
                call["asked"] = call.get("asked", False) or content.manual_approval
                call.setdefault("cause", cause)
            case ToolCalledContent():
                call["became"] = "failed" if content.error else "ran"
            case ToolCallRejectedContent():
                call |= {"became": "did not run", "reason": content.reason}
            case _:
                pass
    yield from calls.values()


def _dump(value: Any) -> bytes:
    """Return a value as readable JSON."""
    return json.dumps(value, ensure_ascii=False, indent=1, default=_encode_unknown).encode("utf-8", "replace") + b"\n"


def _encode_unknown(value: object) -> str:
    """Return the text of a value that JSON has no type for: bytes in a row that another version has written."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
