"""Owns the files of the workspace for clients, and the files outside of it that users grant to them.

Paths are compared after their links were followed. `contents.py` has the resources that are no files.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import mimetypes
import os
import secrets
import shutil
import stat
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.disk.regular_file import get_size, open_regular, open_resolved, read_whole
from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.ahp.reducers.base import Json, omit_none
from jupyter_eca.fronts.ahp.resources import contents
from jupyter_eca.protocol.ahp.commands import AhpErrorCode
from jupyter_eca.protocol.question import ChatAskQuestionParams, QuestionOption
from jupyter_eca.workspace.files import atomic_write
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.paths import parse_file_uri

if TYPE_CHECKING:
    from _typeshed import StrPath

    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.ahp import commands

# The largest file in bytes, in either direction: it is in memory several times, and must fit into one frame.
MAX_FILE: Final = 32 * 1024 * 1024

_ALLOW: Final = "Allow"


@dataclass(frozen=True, slots=True)
class ResourceGrant:
    """A file that a user granted to a client, or a folder with everything in it."""

    path: Path
    write: bool


@dataclass
class Resources:
    """The files of all clients. `_grants` is by client."""

    _host: Host
    _grants: dict[str, list[ResourceGrant]] = field(default_factory=dict[str, list[ResourceGrant]])

    async def read(self, params: commands.ResourceRead, client: str) -> Json:
        content = await contents.read(self._host, params.uri)
        if content is None:
            path = self._path(params.uri, client)
            data = await run_read(_read, path, params.uri)
            content = data, mimetypes.guess_type(path.name)[0] or ""
        data, kind = content
        return omit_none(**_encode(data, params.encoding, kind), contentType=kind or None)

    async def write(self, params: commands.ResourceWrite, client: str) -> Json:
        if len(params.data) > MAX_FILE * 4 // 3 + 4:
            raise RemoteError(f"The content has more than {MAX_FILE} bytes.", AhpErrorCode.INVALID_PARAMS)
        path = self._path(params.uri, client, write=True)
        data = _decode(params.data, params.encoding)
        await asyncio.to_thread(_write, path, data, params.uri, create_only=params.create_only)
        self._host.index.mark_stale()
        return {}

    async def list(self, params: commands.ResourceList, client: str) -> Json:
        return {"entries": await run_read(_list_folder, self._path(params.uri, client), params.uri)}

    async def copy(self, params: commands.ResourceCopy, client: str) -> Json:
        return await self._transfer(params, client, move=False)

    async def move(self, params: commands.ResourceMove, client: str) -> Json:
        return await self._transfer(params, client, move=True)

    async def _transfer(self, params: commands.ResourceCopy, client: str, *, move: bool) -> Json:
        # A copy contains what the links in its path lead to. A move takes a link itself.
        source = self._entry_path(params.source, client) if move else self._path(params.source, client)
        destination = self._entry_path(params.destination, client)
        await asyncio.to_thread(_transfer_entry, source, destination, params, move=move)
        self._host.index.mark_stale()
        return {}

    async def delete(self, params: commands.ResourceDelete, client: str) -> Json:
        await asyncio.to_thread(_delete, self._entry_path(params.uri, client), params)
        self._host.index.mark_stale()
        return {}

    async def request(self, params: commands.ResourceRequest, client: str, chats: list[str]) -> Json:
        """Ask the users who watch a session of the client for permission. If nobody watches, it is denied."""
        write = bool(params.write)
        real = self._real_path(params.uri)
        if self._is_allowed(real, client, write=write):
            return {}
        for chat in chats:
            if await self._ask_user(chat, client, real, write=write):
                self._grants.setdefault(client, []).append(ResourceGrant(real, write))
                return {}
            break
        raise _permission_error(params.uri, write=write, read=bool(params.read) or not write)

    async def _ask_user(self, chat: str, client: str, path: Path, *, write: bool) -> bool:
        access = "read and change" if write else "read"
        options = (QuestionOption(label=_ALLOW), QuestionOption(label="Deny"))
        words = f"May the client {client} {access} {path}? It is outside of the workspace."
        question = ChatAskQuestionParams(chat_id=chat, question=words, options=options, allow_freeform=False)
        return (await self._host.audiences.ask(chat, question)).answer == _ALLOW

    # -- where a path leads

    def _path(self, uri: str, client: str, *, write: bool = False) -> Path:
        real = self._real_path(uri)
        if not self._is_allowed(real, client, write=write):
            raise _permission_error(uri, write=write, read=not write)
        return real

    def _entry_path(self, uri: str, client: str) -> Path:
        """Return the path of an entry that is to be removed or replaced. See `_path`.

        If it is a link, this is the link and not its target. It is never a root of the workspace.
        """
        real = self._real_path(uri)
        entry = self._real_path(uri, follow=False)
        if not self._is_allowed(entry, client, write=True):
            raise _permission_error(uri, write=True, read=False)
        if any(root.is_relative_to(path) for root in self._roots for path in (entry, real)):
            raise RemoteError(f"{uri} is the workspace itself.", AhpErrorCode.PERMISSION_DENIED)
        return entry

    def _real_path(self, uri: str, *, follow: bool = True) -> Path:
        """Return a path without links. Without `follow` its last part may be a link."""
        path = parse_file_uri(uri)
        try:
            if path is None:
                raise RemoteError(f"{uri} is not a file.", AhpErrorCode.NOT_FOUND)
            # The parent of a path that ends with `..` is not the folder that the path is in.
            return path.resolve() if follow or path.name in {"", ".."} else path.parent.resolve() / path.name
        except (OSError, RuntimeError, ValueError) as error:
            raise RemoteError(f"{uri} is not a usable path.", AhpErrorCode.NOT_FOUND) from error

    def _is_allowed(self, real: Path, client: str, *, write: bool) -> bool:
        if any(real.is_relative_to(root) for root in self._roots):
            return True
        granted = self._grants.get(client, ())
        return any(real.is_relative_to(grant.path) and (grant.write or not write) for grant in granted)

    @property
    def _roots(self) -> list[Path]:
        return [root.resolve() for root in self._host.workspace.files.roots]


def _permission_error(uri: str, *, write: bool, read: bool) -> RemoteError:
    """Make the error, with the request that would get permission."""
    data = {"request": omit_none(uri=uri, read=read or None, write=write or None)}
    return RemoteError(f"{uri} is outside of the workspace.", AhpErrorCode.PERMISSION_DENIED, data)


def _not_found(uri: str, error: OSError | None = None) -> RemoteError:
    return RemoteError(f"{uri}: {(error and error.strerror) or 'it is not there'}.", AhpErrorCode.NOT_FOUND)


def _encode(data: bytes, wished: str | None, kind: str) -> Json:
    """Write content as UTF-8 or base64. Bytes that are no UTF-8 are always written as base64."""
    if wished != "base64" and not (wished is None and kind.startswith(("image/", "audio/", "video/"))):
        try:
            return {"data": data.decode("utf-8"), "encoding": "utf-8"}
        except UnicodeDecodeError:
            pass
    return {"data": base64.b64encode(data).decode("ascii"), "encoding": "base64"}


def _decode(data: str, encoding: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True) if encoding == "base64" else data.encode("utf-8")
    except (binascii.Error, ValueError) as error:
        raise RemoteError(f"The content is not {encoding}: {error}.", AhpErrorCode.INVALID_PARAMS) from error


def _read(path: Path, uri: str) -> bytes:
    try:
        with open_resolved(path) as file:
            if get_size(file) > MAX_FILE:
                raise RemoteError(f"{uri} has more than {MAX_FILE} bytes.", AhpErrorCode.INTERNAL)
            return read_whole(file, path, MAX_FILE)
    except OSError as error:
        raise _not_found(uri, error) from error


def _write(path: Path, data: bytes, uri: str, *, create_only: bool) -> None:
    try:
        if create_only:
            with path.open("xb") as file:
                file.write(data)
        elif path.is_dir() or not path.parent.is_dir():
            raise _not_found(uri)
        else:
            atomic_write.write(path, data)
    except FileExistsError as error:
        raise RemoteError(f"{uri} exists.", AhpErrorCode.ALREADY_EXISTS) from error
    except OSError as error:
        raise _not_found(uri, error) from error


def _list_folder(path: Path, uri: str) -> list[Json]:
    try:
        entries = sorted(path.iterdir())
    except OSError as error:
        raise _not_found(uri, error) from error
    return [{"name": entry.name, "type": "directory" if entry.is_dir() else "file"} for entry in entries]


def _transfer_entry(source: Path, destination: Path, params: commands.ResourceCopy, *, move: bool) -> None:
    """Copy or move a file or folder. The new one is complete before the old one is removed."""
    if not os.path.lexists(source):
        raise _not_found(params.source)
    if os.path.lexists(destination) and params.fail_if_exists:
        raise RemoteError(f"{params.destination} exists.", AhpErrorCode.ALREADY_EXISTS)
    if not destination.parent.is_dir():
        raise _not_found(params.destination)
    if source == destination:
        return
    if destination.is_relative_to(source) or source.is_relative_to(destination):
        raise RemoteError("One of them is inside of the other.", AhpErrorCode.INVALID_PARAMS)
    new = destination.with_name(f".eca-{secrets.token_hex(8)}")
    copy_file = partial(_copy_file, source)
    try:
        if move:
            shutil.move(source, new, copy_file)
        elif source.is_dir():
            shutil.copytree(source, new, symlinks=True, copy_function=copy_file)
        else:
            copy_file(source, new)
        if destination.is_dir() and not destination.is_symlink():
            shutil.rmtree(destination)
        new.replace(destination)
    except (OSError, shutil.Error) as error:
        if not move:
            _remove_copy(new)
        raise RemoteError(f"{params.destination}: {error}.", AhpErrorCode.INTERNAL) from error


def _copy_file(source: Path, file: StrPath, destination: StrPath) -> None:
    """Copy a file of the source. Raises: OSError, also when its path leads out of the source now, because somebody has
    put a link on its way."""
    with open_regular(Path(file), (source,)) as content, Path(destination).open("xb") as copy:
        shutil.copyfileobj(content, copy)
        status = os.fstat(content.fileno())
    Path(destination).chmod(stat.S_IMODE(status.st_mode))
    os.utime(destination, ns=(status.st_atime_ns, status.st_mtime_ns))


def _remove_copy(path: Path) -> None:
    """Remove a copy that is not complete."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _delete(path: Path, params: commands.ResourceDelete) -> None:
    try:
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif not path.is_dir():
            raise _not_found(params.uri)
        elif params.recursive:
            shutil.rmtree(path)
        elif any(path.iterdir()):
            raise RemoteError(f"{params.uri} is not empty.", AhpErrorCode.INVALID_PARAMS)
        else:
            path.rmdir()
    except OSError as error:
        raise _not_found(params.uri, error) from error
