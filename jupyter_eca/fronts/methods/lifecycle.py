"""`initialize` to `exit`, and what a client is told when it is ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.config import agent, primary
from jupyter_eca.protocol import lifecycle, mcp

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca import EcaSession
    from jupyter_eca.protocol.base import Model


async def initialize(session: EcaSession, params: lifecycle.InitializeParams) -> lifecycle.InitializeResult:
    config = (await session.open(params)).config
    return lifecycle.InitializeResult(
        chat_default_model=config.default_model or "",
        chat_behaviors=primary(config),
        chat_default_behavior=agent(config).name,
        chat_welcome_message=config.welcome_message,
    )


def initialized(session: EcaSession, _params: Model) -> None:
    session.start(_announce(session))


async def _announce(session: EcaSession) -> None:
    """The set-up of this server, once the client is ready for it. Looking for models may take half a second."""
    host = session.host
    await _progress(session, "start")
    agents, selected = primary(host.config), agent(host.config)
    tools = host.offered(selected.name, host.surroundings("", session.kernel))
    offered = tuple(
        mcp.ServerTool(name=t.spec.name, description=t.spec.description, parameters=t.spec.parameters) for t in tools
    )
    await session.notify("tool/serverUpdated", mcp.ToolServerUpdatedParams(tools=offered))
    models, default = await host.catalog.listed()
    chosen = selected.default_model or default
    config = lifecycle.ChatConfig(
        models=models,
        agents=agents,
        behaviors=agents,
        select_model=chosen or None,
        select_agent=selected.name,
        select_behavior=selected.name,
        variants=host.catalog.variants(chosen),
        select_variant=selected.variant or "",
        select_trust=host.config.chat.default_trust,
        welcome_message=host.config.welcome_message,
    )
    await session.notify("config/updated", lifecycle.ConfigUpdatedParams(chat=config))
    for warning in host.config.warnings:
        shown = lifecycle.ShowMessageParams(type=lifecycle.MessageType.WARNING, message=warning)
        await session.notify("$/showMessage", shown)
    await _progress(session, "finish")


async def _progress(session: EcaSession, type: str) -> None:
    params = lifecycle.ProgressParams.model_validate({"type": type, "taskId": "models", "title": "Looking for models"})
    await session.notify("$/progress", params)


async def shutdown(_session: EcaSession, _params: Model) -> None:
    """`exit` follows; what is running goes on until then."""


def exit(session: EcaSession, _params: Model) -> None:
    session.ended.set()


async def doctor(session: EcaSession, _params: Model) -> lifecycle.DoctorResult:
    return lifecycle.DoctorResult(text=await session.door.doctor(session.host))


HANDLERS: Final = {
    "initialize": initialize,
    "initialized": initialized,
    "shutdown": shutdown,
    "exit": exit,
    "workspace/doctor": doctor,
}
