"""Owns the methods from `initialize` to `exit`, and the notifications that a client gets when it is ready."""

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


# How many seconds longer `initialize` may take for a client that wants the models in its reply. A provider that
# searches this machine for them takes at most half a second.
MODELS_SECONDS: Final = 0.7


_MAY_NOT_TRUST: Final = "Only the user can trust a folder: in the chat panel, or in an editor."


# Seconds that tool servers have to end: an editor that closes waits for the reply.
SERVERS_SECONDS = 3.0


async def initialize(session: EcaSession, params: lifecycle.InitializeParams) -> lifecycle.InitializeResult:
    resolved = (await session.open(params)).current.resolved
    _take_agent(session, find_default_agent(params.initialization_options))
    models, default = await _models(session)
    return lifecycle.InitializeResult(
        models=models,
        chat_default_model=default,
        chat_behaviors=resolved.list_primary(session.default_agent),
        chat_default_behavior=resolved.agent(session.default_agent).name,
        chat_welcome_message=resolved.config.welcome_message,
    )


def _take_agent(session: EcaSession, wanted: object) -> None:
    """Use the client's default agent.

    A process makes its host with the options of its client. Where all clients share a host, each client can still
    choose its agent: a client that asked for "plan" must not get an agent that changes things.
    """
    resolved = session.host.current.resolved
    if isinstance(wanted, str) and resolved.agent(wanted).name != resolved.agent().name:
        session.choices[""] = Choice(agent=wanted)


async def _models(session: EcaSession) -> tuple[tuple[str, ...], str]:
    """Return all models and the default one, for clients of the older revisions, which are not notified of them later.

    Other clients do not wait for what they do not read.
    """
    host = session.host
    configured = host.config.default_model or ""
    if session.dialect not in {Dialect.OLD, Dialect.NEWER}:
        return (), configured
    try:
        async with asyncio.timeout(MODELS_SECONDS):
            return await host.catalog.list_models()
    except TimeoutError:
        return (configured,) if configured else (), configured


def announce_setup(session: EcaSession, _params: Model) -> None:
    session.host.index.refresh_soon()
    session.start(_announce(session))


async def _announce(session: EcaSession) -> None:
    """Notify the setup of this server, once the client is ready for it. Looking for models may take half a second."""
    host = session.host
    await _notify_progress(session, "start")
    if host.config.held_back:
        await trust.announce(session, host.config.held_back)
    for server in host.notifications.list_servers():
        await session.notify("tool/serverUpdated", session.describe_server(server))
    # Before the choices, which take time: a cell shows the warnings when its first answer has ended.
    for warning in (*_take_orphan_warnings(session), *host.config.warnings):
        message = lifecycle.ShowMessageParams(type=lifecycle.MessageType.WARNING, message=warning)
        await session.notify("$/showMessage", message)
    config = await host.notifications.describe_choices(session.default_agent)
    await session.notify("config/updated", lifecycle.ConfigUpdatedParams(chat=config))
    await _notify_progress(session, "finish")


def _take_orphan_warnings(session: EcaSession) -> list[str]:
    """Return once what an earlier process left running. A kernel's client sees only the chats of its notebook."""
    if not session.door.sees_all:
        return []
    host = session.host
    warnings, host.orphan_warnings = host.orphan_warnings, []
    return warnings


async def _notify_progress(session: EcaSession, type: str) -> None:
    params = lifecycle.ProgressParams.model_validate({"type": type, "taskId": "models", "title": "Looking for models"})
    await session.notify("$/progress", params)


def change_folders(session: EcaSession, params: lifecycle.DidChangeWorkspaceFoldersParams) -> None:
    """Change the folders of the workspace. The last one stays: a workspace needs a place to start from."""
    if not session.door.follows:
        return
    host, event = session.host, params.event
    removed = _folders(event.removed)
    remaining = tuple(root for root in host.workspace.files.roots if root not in removed)
    roots = tuple(dict.fromkeys((*remaining, *_folders(event.added))))
    if roots:
        host.move(Files(roots))


def _folders(named: Iterable[lifecycle.WorkspaceFolder]) -> list[Path]:
    return [path for folder in named if (path := parse_file_uri(folder.uri)) is not None]


async def shutdown(session: EcaSession, _params: Model) -> None:
    """End the tool servers of a process before the reply (ECA, shutdown flow). The servers of a shared host continue.
    Turns continue until `exit` follows."""
    session.shut = True
    if session.door.follows and session.initialized:
        await session.host.mcp.end(SERVERS_SECONDS)


def exit(session: EcaSession, _params: Model) -> None:
    session.ended.set()


async def trust_folder(session: EcaSession, params: lifecycle.TrustParams) -> Done:
    if not trust.may_trust(session):
        raise RemoteError(_MAY_NOT_TRUST, ErrorCode.REFUSED)
    await session.host.folder_trust.trust(params.folder, params.digest)
    return Done()


async def doctor(session: EcaSession, _params: Model) -> lifecycle.DoctorResult:
    return lifecycle.DoctorResult(text=await session.door.doctor(session.host))


HANDLERS: Final = {
    "initialize": initialize,
    "initialized": announce_setup,
    "shutdown": shutdown,
    "exit": exit,
    "workspace/didChangeWorkspaceFolders": change_folders,
    "workspace/doctor": doctor,
    "workspace/trust": trust_folder,
}
