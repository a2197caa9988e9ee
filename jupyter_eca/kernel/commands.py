"""The line commands of `%eca`: each gives Markdown, and what a terminal shows where that is something else."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine import undoing
from jupyter_eca.errors import RemoteError
from jupyter_eca.kernel.answer import patiently
from jupyter_eca.protocol.base import Empty
from jupyter_eca.protocol.changes import ChatChangesParams, ChatChangesResult, ChatRevertResult, ChatReviewParams
from jupyter_eca.protocol.chats import ChatListParams, ChatListResult, ChatStatus
from jupyter_eca.protocol.jsonrpc import Code
from jupyter_eca.protocol.lifecycle import DoctorResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_eca.client import Client
    from jupyter_eca.kernel.magic import Magic
    from jupyter_eca.protocol.changes import Change

Said = str | tuple[str, str]
"""Markdown, and plain text."""


async def _set_up(magic: Magic) -> Client:
    """The client, once it knows the models: the engine looks for local servers first."""
    client = await magic.client()
    await patiently(asyncio.ensure_future(client.setup.known.wait()))
    return client


async def _status(magic: Magic, _argument: str) -> str:
    client = await _set_up(magic)
    where = "this kernel" if magic.engine.embedded else "the Jupyter server"
    model = magic.model or client.setup.model or "none, see `%eca doctor`"
    return f"The engine runs in {where}. Model: `{model}`. Chat: `{magic.engine.chat}`."


async def _models(magic: Magic, _argument: str) -> str:
    client = await _set_up(magic)
    chosen = magic.model or client.setup.model
    lines = [f"- `{model}`{' (in use)' if model == chosen else ''}" for model in client.setup.models]
    return "\n".join(lines) or "No model can answer now: `%eca doctor` tells why."


async def _use(magic: Magic, argument: str) -> str:
    client = await _set_up(magic)
    if not argument:
        return "Write `%eca use MODEL`; `%eca models` lists them."
    if "/" not in argument:
        return f"`{argument}` is not a full name: write PROVIDER/MODEL. `%eca models` lists them."
    magic.model = argument
    known = argument in client.setup.models
    return f"Answers come from `{argument}` now." + (
        "" if known else " It is not among `%eca models`; it is tried anyway."
    )


async def _new(magic: Magic, _argument: str) -> str:
    await magic.client()
    magic.new_chat()
    return "The next question starts a new chat."


async def _stop(magic: Magic, _argument: str) -> str:
    client = await magic.client()
    listed = await patiently(asyncio.ensure_future(client.request("chat/list", ChatListParams(), ChatListResult)))
    running = [chat for chat in listed.chats if chat.status is ChatStatus.RUNNING]
    for chat in running:
        await client.stop(str(chat.id))
    return (
        f"Stopped {len(running)} answer{'' if len(running) == 1 else 's'}." if running else "Nothing is being answered."
    )


async def _cost(magic: Magic, _argument: str) -> str:
    usage = magic.usage
    if usage is None:
        return "Nothing was asked in this chat yet."
    price = "price unknown" if usage.session_cost is None else f"{usage.session_cost} USD"
    return (
        f"This chat: {price}; {usage.session_tokens} tokens of context. Last request: {usage.message_input_tokens} "
        f"tokens in, {usage.message_output_tokens} out."
    )


async def _lock(magic: Magic, argument: str) -> str:
    locking = magic.locking
    if argument not in {"", "on", "off", "status"}:
        return "Write `%eca lock on`, `%eca lock off` or `%eca lock status`."
    if argument in {"on", "off"}:
        locking.on = argument == "on"
    state = {True: "on", False: "off", None: "as the configuration says (`notebook.lock`)"}[locking.on]
    notebook = Path(locking.notebook)
    file = f"`{notebook.stem}.eca.lock`" if notebook.suffix == ".ipynb" else "the `*.eca.lock` of this folder"
    lines = [f"Locking is {state}. The file: {file}. Replayed: {locking.replayed}, recorded: {locking.recorded}."]
    return "\n".join([*lines, *(f"- {note}" for note in locking.notes)])


async def _doctor(magic: Magic, _argument: str) -> str:
    client = await magic.client()
    result = await patiently(asyncio.ensure_future(client.request("workspace/doctor", Empty(), DoctorResult)))
    return result.text


async def _diff(magic: Magic, argument: str) -> Said:
    wanted = undoing.wanted(argument)
    if wanted is None:
        return "Write `%eca diff`, or `%eca diff all` for the whole chat."
    try:
        changes = wanted.of(await _changes(magic, wanted))
    except RemoteError as error:
        return _why(error)
    return undoing.drawn(changes), undoing.plain(changes)


async def _undo(magic: Magic, argument: str) -> Said:
    wanted = undoing.wanted(argument)
    if wanted is None:
        return "Write `%eca undo`, `%eca undo 2 5` with the numbers that `%eca diff` shows, or `%eca undo all`."
    client = await magic.client()
    try:
        changes = await _changes(magic, wanted)
        ids = tuple(one.id for one in wanted.of(changes))
        params = ChatReviewParams(chat_id=magic.engine.chat, changes=ids)
        result = await patiently(asyncio.ensure_future(client.request("chat/revert", params, ChatRevertResult)))
    except RemoteError as error:
        return _why(error)
    return undoing.told(result, wanted.missing(changes))


async def _changes(magic: Magic, wanted: undoing.Wanted) -> tuple[Change, ...]:
    client = await magic.client()
    params = ChatChangesParams(chat_id=magic.engine.chat, extent=wanted.extent)
    asked = client.request("chat/changes", params, ChatChangesResult)
    return (await patiently(asyncio.ensure_future(asked))).changes


def _why(error: RemoteError) -> str:
    """A kernel may speak only about chats that it asked in, and a server that was started anew knows of none."""
    if error.code != Code.REFUSED:
        return str(error)
    return "Nothing was asked here yet, or not since the server was started. `%eca /diff` and `%eca /undo` look anyway."


COMMANDS: Final[dict[str, Callable[[Magic, str], Awaitable[Said]]]] = {
    "status": _status,
    "models": _models,
    "use": _use,
    "new": _new,
    "stop": _stop,
    "diff": _diff,
    "undo": _undo,
    "cost": _cost,
    "lock": _lock,
    "doctor": _doctor,
}
