"""Owns the methods of ECA that begin and end a session, from `initialize` to `exit`, and the notifications that a
client gets when it is ready. It also owns the methods `workspace/...`. A session is the connection of one client.

`session.py` owns the state of the session.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.layers import find_default_agent
from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.eca import trust
from jupyter_eca.host.chat.live_chat import Choice
from jupyter_eca.protocol import lifecycle
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.dialect import Dialect
from jupyter_eca.protocol.jsonrpc import ErrorCode
from jupyter_eca.workspace.paths import parse_file_uri
from jupyter_eca.workspace.ports import Files

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol.base import Model


# Seconds that `initialize` waits for the models, for a client that wants them in the reply. A provider that searches
# this machine for models takes at most half a second.
MODELS_SECONDS: Final = 0.7

# The error for a client that may not answer for the user.
_MAY_NOT_TRUST: Final = "Only the user can trust a folder: in the chat panel, or in an editor."

# Seconds that tool servers get to end at `shutdown`. An editor that is being closed waits for the reply.
SERVERS_SECONDS = 3.0


async def initialize(session: EcaSession, params: lifecycle.InitializeParams) -> lifecycle.InitializeResult:
    """Initialize the session, and return what the client needs to start."""
    resolved = (await session.open(params)).current.resolved
    _use_client_agent(session, find_default_agent(params.initialization_options))
    models, default = await _find_models(session)
    return lifecycle.InitializeResult(
        models=models,
        chat_default_model=default,
        chat_behaviors=resolved.list_selectable(session.default_agent),
        chat_default_behavior=resolved.get_agent(session.default_agent).name,
        chat_welcome_message=resolved.config.welcome_message,
        rights=_describe_rights(session),
        user=session.door.access.user if session.dialect is Dialect.OWN else None,
    )


def _describe_rights(session: EcaSession) -> lifecycle.ClientRights | None:
    """Return what a client of ours may do; None if it may do everything."""
    access = session.door.access
    if access.may_approve or session.dialect is not Dialect.OWN:
        return None
    return lifecycle.ClientRights(asks=access.may_ask, approves=False, reason=access.reason)


def _use_client_agent(session: EcaSession, wanted: object) -> None:
    """Use the default agent `wanted` that the client names in its initialization options. Any value that is not the
    name of an agent is ignored.

    A host that belongs to one client is made with these options. A host with many clients was made earlier, so the
    agent is set here for this client. A client that asks for the agent "plan" must not get an agent that changes files.
    """
    resolved = session.host.current.resolved
    if isinstance(wanted, str) and resolved.get_agent(wanted).name != resolved.get_agent().name:
        session.choices[""] = Choice(agent=wanted)


async def _find_models(session: EcaSession) -> tuple[tuple[str, ...], str]:
    """Return all models and the default model, for clients of older revisions, which get no later notification of the
    models. For other clients, return only the configured default model, so that they do not have to wait.
    """
    host = session.host
    configured = host.config.default_model or ""
    # The dialect is the revision of ECA that the client speaks.
    if session.dialect not in {Dialect.OLDEST, Dialect.OLDER}:
        return (), configured
    try:
        async with asyncio.timeout(MODELS_SECONDS):
            return await host.catalog.list_models()
    except TimeoutError:
        return (configured,) if configured else (), configured


def announce_setup(session: EcaSession, _params: Model) -> None:
    """Start to notify the client of what is set up, because it is ready now."""
    session.host.index.refresh_soon()
    session.start(_announce(session))


async def _announce(session: EcaSession) -> None:
    """Notify the client of what is set up: untrusted settings, tool servers, models, warnings. The search for models
    may take half a second."""
    host = session.host
    await _notify_progress(session, "start")
    if host.config.held_back:
        await trust.announce(session, host.config.held_back)
    for server in host.notices.list_servers():
        await session.notify("tool/serverUpdated", session.describe_server(server))
    # The warnings come before the choices, which take time. A cell shows the warnings when its first answer has ended.
    for warning in (*_take_store_warnings(session), *_take_orphan_warnings(session), *host.config.warnings):
        message = lifecycle.ShowMessageParams(type=lifecycle.MessageType.WARNING, message=warning)
        await session.notify("$/showMessage", message)
    config = await host.notices.describe_choices(session.default_agent)
    await session.notify("config/updated", lifecycle.ConfigUpdatedParams(chat=config))
    await _notify_progress(session, "finish")


def _take_store_warnings(session: EcaSession) -> list[str]:
    """Return what was wrong with the file of the chats at the start, and forget it, so that one client gets it. The
    report of `doctor` has it, too."""
    warnings, session.host.store_warnings = session.host.store_warnings, []
    return warnings


def _take_orphan_warnings(session: EcaSession) -> list[str]:
    """Return the warnings about programs that an earlier process left running, and forget them, so that one client gets
    them. A kernel does not get them, because it sees only its own chats."""
    if not session.door.sees_all_chats:
        return []
    host = session.host
    warnings, host.orphan_warnings = host.orphan_warnings, []
    return warnings


async def _notify_progress(session: EcaSession, type: str) -> None:
    """Notify the client that the search for models begins (`start`) or has ended (`finish`)."""
    params = lifecycle.ProgressParams.model_validate({"type": type, "taskId": "models", "title": "Looking for models"})
    await session.notify("$/progress", params)


def change_folders(session: EcaSession, params: lifecycle.DidChangeWorkspaceFoldersParams) -> None:
    """Change the folders of the workspace. If no folder would be left, nothing changes, because a workspace needs at
    least one folder."""
    if not session.door.client_chooses_folders:
        return
    host, event = session.host, params.event
    removed = _parse_folders(event.removed)
    remaining = tuple(root for root in host.workspace.files.roots if root not in removed)
    roots = tuple(dict.fromkeys((*remaining, *_parse_folders(event.added))))
    if roots:
        host.change_folders(Files(roots))


def _parse_folders(named: Iterable[lifecycle.WorkspaceFolder]) -> list[Path]:
    """Return the paths of folders, without those that are not on this machine."""
    return [path for folder in named if (path := parse_file_uri(folder.uri)) is not None]


async def shutdown(session: EcaSession, _params: Model) -> None:
    """End the tool servers before the reply (ECA, shutdown flow), if the host belongs to this client alone. Turns
    continue until `exit` follows."""
    session.is_shut_down = True
    if session.door.client_chooses_folders and session.is_initialized:
        await session.host.mcp.end(SERVERS_SECONDS)


def exit(session: EcaSession, _params: Model) -> None:
    """End the session."""
    session.ended.set()


async def trust_folder(session: EcaSession, params: lifecycle.TrustParams) -> Done:
    """Let the settings that a folder brings take effect, because the user trusts them. The digest says which settings
    the user has seen. Raises: RemoteError, LocalError."""
    if not trust.may_trust(session):
        raise RemoteError(_MAY_NOT_TRUST, ErrorCode.REFUSED)
    await session.host.folder_trust.trust(params.folder, params.digest)
    return Done()


async def report_setup(session: EcaSession, _params: Model) -> lifecycle.DoctorResult:
    """Return the report on what is set up and what is missing."""
    return lifecycle.DoctorResult(text=await session.door.describe_setup(session.host))


HANDLERS: Final = {
    "initialize": initialize,
    "initialized": announce_setup,
    "shutdown": shutdown,
    "exit": exit,
    "workspace/didChangeWorkspaceFolders": change_folders,
    "workspace/doctor": report_setup,
    "workspace/trust": trust_folder,
}
