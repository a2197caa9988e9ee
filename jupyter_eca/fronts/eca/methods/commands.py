"""Owns the method of ECA that lists the `/` commands while a user types one. `host/commands/` owns the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.text.slash_commands import filter_commands
from jupyter_eca.host.commands import list_commands
from jupyter_eca.protocol import command

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession


async def query_commands(
    session: EcaSession, params: command.ChatQueryCommandsParams
) -> command.ChatQueryCommandsResult:
    """Return the commands that match what the user has typed."""
    matching = filter_commands(await list_commands(session.host, str(params.chat_id or "")), params.query)
    return command.ChatQueryCommandsResult(commands=matching, chat_id=params.chat_id)


HANDLERS: Final = {"chat/queryCommands": query_commands}
