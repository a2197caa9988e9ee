"""Owns the line commands of `%eca`, for example `%eca status`. Each is a function that returns the text to show.

Each function has two arguments: the session of the cells, and the words after the command's name ("" if there are
none). They must not know the shell, only the `CellSession`. `magic` calls them and shows their texts. `options` has
their descriptions, and parses a line into a command and its argument.

A request to the engine is awaited by `wait_with_heartbeat`, so that the user can interrupt it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.apps.kernel.answer.turn import wait_with_heartbeat
from jupyter_eca.engine.changes import command_texts
from jupyter_eca.engine.model.budget import describe_outside_cost, format_dollars
from jupyter_eca.errors import CellError, LocalError, RemoteError
from jupyter_eca.protocol.base import Empty
from jupyter_eca.protocol.changes import ChatChangesParams, ChatChangesResult, ChatRevertResult, ChatReviewParams
from jupyter_eca.protocol.chats import ChatListParams, ChatListResult, ChatStatus
from jupyter_eca.protocol.costs import ChatCostsParams, ChatCostsResult
from jupyter_eca.protocol.jsonrpc import ErrorCode
from jupyter_eca.protocol.lifecycle import DoctorResult
from jupyter_eca.workspace.notebooks.prompt_cells import DefaultCellKind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_eca.apps.kernel.cell_session import CellSession
    from jupyter_eca.protocol.changes import Change
    from jupyter_eca.protocol.costs import Cost
    from jupyter_eca.transport.eca_client import EcaClient

CommandText = str | tuple[str, str]
"""The text that a command shows: Markdown, or a pair of Markdown and a text for terminals."""


async def _get_ready_client(session: CellSession) -> EcaClient:
    """Return the client as soon as it knows the models. This takes a moment, because the engine first looks for local
    servers."""
    client = await session.get_client()
    await wait_with_heartbeat(asyncio.ensure_future(client.setup.received.wait()))
    return client


async def _show_status(session: CellSession, _argument: str) -> str:
    """Say where the engine runs, which model or outside agent answers, and the id of the chat."""
    client = await _get_ready_client(session)
    place = "this kernel" if session.engine.is_embedded else "the Jupyter server"
    selection = await session.read_selection(client)
    if selection.agent in client.setup.outside_agents:
        answering = f"Agent: `{selection.agent}`, which chooses its model itself"
    else:
        answering = f"Model: `{session.model or selection.model or 'none, see `%eca doctor`'}`"
    return f"The engine runs in {place}. {answering}. Chat: `{session.engine.chat}`."


async def _list_models(session: CellSession, _argument: str) -> str:
    """List the models that can answer."""
    client = await _get_ready_client(session)
    chosen = session.model or (await session.read_selection(client)).model
    lines = [f"- `{model}`{' (in use)' if model == chosen else ''}" for model in client.setup.models]
    return "\n".join(lines) or "No model can answer now: `%eca doctor` says why."


async def _use_model(session: CellSession, argument: str) -> str:
    """Choose the model that answers."""
    client = await _get_ready_client(session)
    if not argument:
        return "Write `%eca use MODEL`. `%eca models` lists the models."
    if "/" not in argument:
        return f"`{argument}` is not a full name: write PROVIDER/MODEL. `%eca models` lists the models."
    session.model = argument
    await session.announce_model(client)
    known = argument in client.setup.models
    return f"Answers come from `{argument}` now." + (
        "" if known else " `%eca models` does not list it, but the next question tries it."
    )


async def _start_new_chat(session: CellSession, _argument: str) -> str:
    """Let the next question start a new chat."""
    await session.get_client()
    session.new_chat()
    return "The next question starts a new chat."


async def _stop_answers(session: CellSession, _argument: str) -> str:
    """Stop all running answers in the chats of this kernel's notebook."""
    client = await session.get_client()
    listed = await wait_with_heartbeat(
        asyncio.ensure_future(client.request("chat/list", ChatListParams(), ChatListResult))
    )
    running = [chat for chat in listed.chats if chat.status is ChatStatus.RUNNING]
    for chat in running:
        await client.stop(str(chat.id))
    return (
        f"Stopped {len(running)} answer{'' if len(running) == 1 else 's'}." if running else "Nothing is being answered."
    )


async def _show_cost(session: CellSession, _argument: str) -> str:
    """Show the tokens and the cost."""
    client = await session.get_client()
    params = ChatCostsParams(chat_id=session.engine.chat)
    try:
        costs = await wait_with_heartbeat(asyncio.ensure_future(client.request("chat/costs", params, ChatCostsResult)))
    except RemoteError as error:
        return "Nothing was asked in this chat yet." if error.code == ErrorCode.REFUSED else str(error)
    rows = {"Last message": costs.message, "This chat": costs.chat, "This notebook": costs.notebook}
    lines = [f"- {name}: {describe_cost(cost)}" for name, cost in rows.items() if cost is not None]
    outside = [f"- {describe_outside_cost(cost)}" for cost in costs.outside or ()]
    return "\n".join([*lines, f"- Today, all chats: {describe_cost(costs.today)}", *outside])


def describe_cost(cost: Cost) -> str:
    """Return a cost in words. Requests of unknown price are counted apart."""
    cached = f" ({cost.cached_tokens:,} of these cached)" if cost.cached_tokens else ""
    tokens = f"{cost.input_tokens:,} tokens in{cached}, {cost.output_tokens:,} tokens out"
    if not cost.unpriced:
        return f"{format_dollars(cost.cost)} ({tokens})"
    known = f"{format_dollars(cost.cost)}, and " if cost.cost or cost.unpriced < cost.requests else ""
    requests = "1 request" if cost.unpriced == 1 else f"{cost.unpriced} requests"
    return f"{known}{requests} of unknown price ({tokens})"


async def _switch_locking(session: CellSession, argument: str) -> str:
    """Switch the locking of answers on or off, and show its state. A locked answer is recorded in a file beside the
    notebook. When the same question is asked again, the recorded answer is replayed."""
    locking = session.answer_locking
    if argument not in {"", "on", "off", "status"}:
        return "Write `%eca lock on` or `%eca lock off`, or `%eca lock` to see the state."
    if argument in {"on", "off"}:
        locking.on = argument == "on"
    state = {True: "on", False: "off", None: "set by the configuration (`notebook.lock`)"}[locking.on]
    notebook = Path(locking.notebook)
    file = f"`{notebook.stem}.eca.lock`" if notebook.suffix == ".ipynb" else "the `*.eca.lock` of this folder"
    lines = [f"Locking is {state}. The file: {file}. Replayed: {locking.replayed}, recorded: {locking.recorded}."]
    return "\n".join([*lines, *(f"- {note}" for note in locking.notes)])


async def _choose_cell_kind(session: CellSession, argument: str) -> str:
    """Choose what happens to a cell that does not begin with a magic such as `%%eca`: it is sent as a prompt, or it
    runs as code. Without an argument, show what is chosen."""
    kernel = session.prompt_kernel
    if kernel is None:
        return "The cells of this kernel are code. With the kernel ECA (Python) they can be prompts."
    if argument in list(DefaultCellKind):
        kernel.cells = DefaultCellKind(argument)
    elif argument:
        return "Write `%eca cells prompts` or `%eca cells code`."
    if kernel.cells is DefaultCellKind.PROMPTS:
        return "Cells are prompts. Those that begin with `%%python` are code."
    return "Cells are code. Those that begin with `%%eca` are prompts."


async def _write_as_python(session: CellSession, argument: str) -> str:
    """Write a notebook as plain Python."""
    from jupyter_eca.apps.kernel.to_python import write_python

    source = argument or session.answer_locking.notebook
    if not source:
        return "The name of this notebook is not known here: write `%eca to-python NAME.ipynb`."
    try:
        target = await asyncio.to_thread(write_python, Path(source))
    except LocalError as error:
        raise CellError(str(error)) from None
    return f"The notebook, as it was last saved, is now also plain Python in `{target.name}`."


async def _show_report(session: CellSession, _argument: str) -> str:
    """Report what is set up and what is missing."""
    client = await session.get_client()
    result = await wait_with_heartbeat(asyncio.ensure_future(client.request("workspace/doctor", Empty(), DoctorResult)))
    return result.text


async def _show_diff(session: CellSession, argument: str) -> CommandText:
    """Show changes that the assistant has made to files and cells."""
    selection = command_texts.parse_selection(argument)
    if selection is None:
        return "Write `%eca diff`, or `%eca diff all` for the whole chat."
    try:
        changes = selection.select(await _list_changes(session, selection))
    except RemoteError as error:
        return _explain_refusal(error)
    return command_texts.format_changes(changes), command_texts.format_changes_as_text(changes)


async def _undo_changes(session: CellSession, argument: str) -> CommandText:
    """Undo changes of the assistant."""
    selection = command_texts.parse_selection(argument)
    if selection is None:
        return "Write `%eca undo`, `%eca undo 2 5` with the numbers that `%eca diff` shows, or `%eca undo all`."
    client = await session.get_client()
    try:
        changes = await _list_changes(session, selection)
        ids = tuple(change.id for change in selection.select(changes))
        params = ChatReviewParams(chat_id=session.engine.chat, changes=ids)
        result = await wait_with_heartbeat(
            asyncio.ensure_future(client.request("chat/revert", params, ChatRevertResult))
        )
    except RemoteError as error:
        return _explain_refusal(error)
    return command_texts.describe_revert(result, selection.list_missing(changes))


async def _list_changes(session: CellSession, selection: command_texts.ChangeSelection) -> tuple[Change, ...]:
    """Return the changes of the last turn or of the whole chat, as the selection needs them."""
    client = await session.get_client()
    params = ChatChangesParams(chat_id=session.engine.chat, extent=selection.extent)
    request = client.request("chat/changes", params, ChatChangesResult)
    return (await wait_with_heartbeat(asyncio.ensure_future(request))).changes


def _explain_refusal(error: RemoteError) -> str:
    """Explain why the server refused. It refuses a chat in which this kernel has asked nothing. After a restart it
    knows no chat of the kernel."""
    if error.code != ErrorCode.REFUSED:
        return str(error)
    return (
        "Nothing was asked in this chat yet, or nothing since the server started. `%eca /diff` and `%eca /undo` also "
        "find changes from before that."
    )


# The function of each command, by the name of the command. `options.COMMANDS` describes the commands.
COMMANDS: Final[dict[str, Callable[[CellSession, str], Awaitable[CommandText]]]] = {
    "status": _show_status,
    "models": _list_models,
    "use": _use_model,
    "new": _start_new_chat,
    "stop": _stop_answers,
    "diff": _show_diff,
    "undo": _undo_changes,
    "cost": _show_cost,
    "lock": _switch_locking,
    "cells": _choose_cell_kind,
    "to-python": _write_as_python,
    "doctor": _show_report,
}
