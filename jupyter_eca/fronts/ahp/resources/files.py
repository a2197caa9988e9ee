"""Owns the access of clients of the Agent Host Protocol to the files of the server: all files of the workspace, and the
files outside of it that a user has granted to a client.

Two paths are compared only after their symbolic links were followed. `contents.py` owns the resources that are not
files.
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
from jupyter_eca.engine.text.exact_text import as_exact_text
from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.ahp.reducers.base import Json, omit_none
from jupyter_eca.fronts.ahp.resources import contents
from jupyter_eca.host.tools.path_resolution import find_protected
from jupyter_eca.protocol.ahp.commands import AhpErrorCode
from jupyter_eca.protocol.question import ChatAskQuestionParams, QuestionOption
from jupyter_eca.workspace.files import atomic_write
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.paths import parse_file_uri

if TYPE_CHECKING:
    from _typeshed import StrPath

    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.ahp import commands

# The largest file in bytes that a client may read or write. The file is in memory several times, and must fit into one
# WebSocket frame.
MAX_FILE_BYTES: Final = 32 * 1024 * 1024

# The answer of the user that grants a file.
_ALLOW: Final = "Allow"
# How many characters of a client's name the question shows.
_MAX_NAME_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True)
class ResourceGrant:
    """A file that a user granted to a client, or a folder with everything in it."""

    path: Path
    """The path without symbolic links."""
    write: bool
    """Whether the client may also change the file."""


@dataclass
class Resources:
    """The files that clients read and write."""

    _host: Host
    _grants: dict[str, list[ResourceGrant]] = field(default_factory=dict[str, list[ResourceGrant]])
    """The grants, by the id of the client."""

    async def read(self, params: commands.ResourceRead, client: str) -> Json:
        """Return a file, or other content with a URI of ours, as text or base64. Raises: RemoteError."""
        content = await contents.read(self._host, params.uri)
        if content is None:
            path = self._resolve_allowed(params.uri, client)
            data = await run_read(_read, path, params.uri)
            content = data, mimetypes.guess_type(path.name)[0] or ""
        data, media_type = content
        return omit_none(**_encode(data, params.encoding, media_type), contentType=media_type or None)

    # The methods that change files have the argument `access`: what the client may do. The result {} says that the
    # change was made.

    async def write(self, params: commands.ResourceWrite, client: str, *, access: ClientAccess) -> Json:
        """Write a file. Raises: RemoteError."""
        if len(params.data) > MAX_FILE_BYTES * 4 // 3 + 4:  # base64 has 4 characters for 3 bytes
            raise RemoteError(f"The content has more than {MAX_FILE_BYTES} bytes.", AhpErrorCode.INVALID_PARAMS)
        path = self._resolve_allowed(params.uri, client, write=True)
        data = _decode(params.data, params.encoding)
        await self._check_rights(path, access=access)
        await asyncio.to_thread(_write, path, data, params.uri, create_only=params.create_only)
        self._host.index.mark_stale()  # the list of the workspace's files is made again before its next use
        return {}

    async def list(self, params: commands.ResourceList, client: str) -> Json:
        """Return the entries of a folder. Raises: RemoteError."""
        return {"entries": await run_read(_list_folder, self._resolve_allowed(params.uri, client), params.uri)}

    async def copy(self, params: commands.ResourceCopy, client: str, *, access: ClientAccess) -> Json:
        """Copy a file or a folder. Raises: RemoteError."""
        return await self._transfer(params, client, access=access, move=False)

    async def move(self, params: commands.ResourceMove, client: str, *, access: ClientAccess) -> Json:
        """Move a file or a folder. Raises: RemoteError."""
        return await self._transfer(params, client, access=access, move=True)

    async def _transfer(self, params: commands.ResourceCopy, client: str, *, access: ClientAccess, move: bool) -> Json:
        """Copy or, with `move`, move a file or a folder. Raises: RemoteError."""
        # A copy follows a symbolic link and copies its target. A move moves the link itself.
        source = self._resolve_entry(params.source, client) if move else self._resolve_allowed(params.source, client)
        destination = self._resolve_entry(params.destination, client)
        await self._check_rights(*((source, destination) if move else (destination,)), access=access)
        await asyncio.to_thread(_transfer_entry, source, destination, params, move=move)
        self._host.index.mark_stale()
        return {}

    async def delete(self, params: commands.ResourceDelete, client: str, *, access: ClientAccess) -> Json:
        """Delete a file or a folder. Raises: RemoteError."""
        path = self._resolve_entry(params.uri, client)
        await self._check_rights(path, access=access)
        await asyncio.to_thread(_delete, path, params)
        self._host.index.mark_stale()
        return {}

    async def request(self, params: commands.ResourceRequest, client: str, chats: list[str]) -> Json:
        """Ask the user for the permission that a client reads or changes a file outside of the workspace. The question
        is asked in one of the client's sessions. Raises: RemoteError when the permission is denied, as it is for a
        client without a session."""
        write = bool(params.write)
        real = self._resolve(params.uri)
        if self._is_allowed(real, client, write=write):
            return {}
        if chats and await self._ask_user(chats[0], client, real, write=write):
            self._grants.setdefault(client, []).append(ResourceGrant(real, write))
            return {}
        raise _make_permission_error(params.uri, write=write, read=bool(params.read) or not write)

    async def _ask_user(self, chat: str, client: str, path: Path, *, write: bool) -> bool:
        """Ask the users of a chat whether a client may read or, with `write`, also change a file. Return whether they
        allow it."""
        access = "read and change" if write else "read"
        options = (QuestionOption(label=_ALLOW), QuestionOption(label="Deny"))
        # The path comes first and the name last, because a client chooses its name, and may write another question
        # into it.
        name = as_exact_text(client[:_MAX_NAME_CHARACTERS]).replace("\n", "\\n")
        place = as_exact_text(str(path)).replace("\n", "\\n")
        words = f"May a client {access} {place}? It is outside of the workspace. The client calls itself '{name}'."
        question = ChatAskQuestionParams(chat_id=chat, question=words, options=options, allow_freeform=False)
        return (await self._host.subscribers.ask(chat, question)).answer == _ALLOW

    async def _check_rights(self, *paths: Path, access: ClientAccess) -> None:
        """Check that the client may change these paths. Some files, such as the configuration, decide which tools may
        run without approval. Raises: RemoteError when a client that may not approve would change such a file."""
        if not access.may_approve and (
            path := await find_protected(self._host.workspace.files, self._host.config, paths)
        ):
            raise RemoteError(f"{path} decides what may run. {access.reason}", AhpErrorCode.PERMISSION_DENIED)

    # -- paths

    def _resolve_allowed(self, uri: str, client: str, *, write: bool = False) -> Path:
        """Return the path of a file that the client may read or, with `write`, change. Raises: RemoteError."""
        real = self._resolve(uri)
        if not self._is_allowed(real, client, write=write):
            raise _make_permission_error(uri, write=write, read=not write)
        return real

    def _resolve_entry(self, uri: str, client: str) -> Path:
        """Return the path of a folder's entry that the client may remove or replace. Raises: RemoteError.

        If the entry is a symbolic link, the path is that of the link and not of its target. The folders of the
        workspace themselves, and folders that contain them, are refused.
        """
        real = self._resolve(uri)
        entry = self._resolve(uri, follow=False)
        if not self._is_allowed(entry, client, write=True):
            raise _make_permission_error(uri, write=True, read=False)
        if any(root.is_relative_to(path) for root in self._roots for path in (entry, real)):
            raise RemoteError(f"{uri} is the workspace itself.", AhpErrorCode.PERMISSION_DENIED)
        return entry

    def _resolve(self, uri: str, *, follow: bool = True) -> Path:
        """Return the path of a file URI without symbolic links. Without `follow`, the last part may be a link."""
        path = parse_file_uri(uri)
        try:
            if path is None:
                raise RemoteError(f"{uri} is not a file.", AhpErrorCode.NOT_FOUND)
            # For a path that ends with `..`, `path.parent` is not its parent folder. So such a path is always resolved.
            return path.resolve() if follow or path.name in {"", ".."} else path.parent.resolve() / path.name
        except (OSError, RuntimeError, ValueError) as error:
            raise RemoteError(f"{uri} is not a usable path.", AhpErrorCode.NOT_FOUND) from error

    def _is_allowed(self, real: Path, client: str, *, write: bool) -> bool:
        """Return whether a client may read or, with `write`, change a path whose symbolic links were followed."""
        if any(real.is_relative_to(root) for root in self._roots):
            return True
        granted = self._grants.get(client, ())
        return any(real.is_relative_to(grant.path) and (grant.write or not write) for grant in granted)

    @property
    def _roots(self) -> list[Path]:
        """The folders of the workspace, without symbolic links."""
        return [root.resolve() for root in self._host.workspace.files.roots]


def _make_permission_error(uri: str, *, write: bool, read: bool) -> RemoteError:
    """Make the error for a file outside of the workspace. Its data is the request by which the client can ask for
    permission. `write` and `read` say what the client wanted to do."""
    data = {"request": omit_none(uri=uri, read=read or None, write=write or None)}
    return RemoteError(f"{uri} is outside of the workspace.", AhpErrorCode.PERMISSION_DENIED, data)


def _make_not_found_error(uri: str, error: OSError | None = None) -> RemoteError:
    """Make the error for a file that does not exist, or that the system cannot open."""
    return RemoteError(f"{uri}: {(error and error.strerror) or 'it is not there'}.", AhpErrorCode.NOT_FOUND)


def _encode(data: bytes, encoding: str | None, media_type: str) -> Json:
    """Return content as the fields `data` and `encoding` of an answer: UTF-8 or base64. `encoding` is what the client
    asked for, or None. Bytes that are not valid UTF-8 are always written as base64. Pictures, sound and video are, too,
    unless the client asked for UTF-8."""
    if encoding != "base64" and not (encoding is None and media_type.startswith(("image/", "audio/", "video/"))):
        try:
            return {"data": data.decode("utf-8"), "encoding": "utf-8"}
        except UnicodeDecodeError:
            pass
    return {"data": base64.b64encode(data).decode("ascii"), "encoding": "base64"}


def _decode(data: str, encoding: str) -> bytes:
    """Return the bytes that a client wants to write. Raises: RemoteError when the data is not in this encoding."""
    try:
        return base64.b64decode(data, validate=True) if encoding == "base64" else data.encode("utf-8")
    except (binascii.Error, ValueError) as error:
        raise RemoteError(f"The content is not {encoding}: {error}.", AhpErrorCode.INVALID_PARAMS) from error


def _read(path: Path, uri: str) -> bytes:
    """Return a whole file. Like the functions below, it raises a RemoteError that names the client's URI."""
    try:
        with open_resolved(path) as file:
            if get_size(file) > MAX_FILE_BYTES:
                raise RemoteError(f"{uri} has more than {MAX_FILE_BYTES} bytes.", AhpErrorCode.INTERNAL)
            return read_whole(file, path, MAX_FILE_BYTES)
    except OSError as error:
        raise _make_not_found_error(uri, error) from error


def _write(path: Path, data: bytes, uri: str, *, create_only: bool) -> None:
    """Write a whole file. `create_only`: an existing file is an error."""
    try:
        if create_only:
            with path.open("xb") as file:
                file.write(data)
        elif path.is_dir() or not path.parent.is_dir():
            raise _make_not_found_error(uri)
        else:
            atomic_write.write(path, data)
    except FileExistsError as error:
        raise RemoteError(f"{uri} exists.", AhpErrorCode.ALREADY_EXISTS) from error
    except OSError as error:
        raise _make_not_found_error(uri, error) from error


def _list_folder(path: Path, uri: str) -> list[Json]:
    """Return the entries of a folder, as the protocol describes them."""
    try:
        entries = sorted(path.iterdir())
    except OSError as error:
        raise _make_not_found_error(uri, error) from error
    return [{"name": entry.name, "type": "directory" if entry.is_dir() else "file"} for entry in entries]


def _transfer_entry(source: Path, destination: Path, params: commands.ResourceCopy, *, move: bool) -> None:
    """Copy or move a file or folder. The copy is complete under a temporary name before it replaces the destination."""
    if not os.path.lexists(source):
        raise _make_not_found_error(params.source)
    if os.path.lexists(destination) and params.fail_if_exists:
        raise RemoteError(f"{params.destination} exists.", AhpErrorCode.ALREADY_EXISTS)
    if not destination.parent.is_dir():
        raise _make_not_found_error(params.destination)
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
    """Copy a file of the folder `source`. Raises: OSError, also when the path leads out of the folder, because a part
    of the path was replaced by a symbolic link meanwhile."""
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
    """Delete a file, a link, or a folder. A folder that is not empty is deleted only if the client has sent
    `recursive`."""
    try:
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif not path.is_dir():
            raise _make_not_found_error(params.uri)
        elif params.recursive:
            shutil.rmtree(path)
        elif any(path.iterdir()):
            raise RemoteError(f"{params.uri} is not empty.", AhpErrorCode.INVALID_PARAMS)
        else:
            path.rmdir()
    except OSError as error:
        raise _make_not_found_error(params.uri, error) from error
