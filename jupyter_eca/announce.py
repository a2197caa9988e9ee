"""What clients are told of the host's set-up: when they come, and when it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca import around
from jupyter_eca.audience import Notice
from jupyter_eca.config import agent, primary
from jupyter_eca.engine.spec import ToolSpec
from jupyter_eca.protocol.content import Origin
from jupyter_eca.protocol.lifecycle import ChatConfig, ConfigUpdatedParams, MessageType, ShowMessageParams
from jupyter_eca.protocol.mcp import ServerTool, ToolServerUpdatedParams
from jupyter_eca.workspace.mcp.naming import tool_name

if TYPE_CHECKING:
    from jupyter_eca.host import Host
    from jupyter_eca.protocol.provider import ProviderStatus
    from jupyter_eca.workspace.base import Kernel


async def chat_config(host: Host, name: str = "") -> ChatConfig:
    """What one may choose from, and what is chosen for a new chat: the configured agent, or one of a client's own.
    Looking for models may take half a second."""
    selected = agent(host.config, name)
    models, default = await host.catalog.listed()
    chosen = selected.default_model or default
    agents = primary(host.config, name)
    return ChatConfig(
        models=models if not chosen or chosen in models else (chosen, *models),
        agents=agents,
        behaviors=agents,
        select_model=chosen or None,
        select_agent=selected.name,
        select_behavior=selected.name,
        default_model=chosen or None,
        default_agent=selected.name,
        default_behavior=selected.name,
        variants=host.catalog.variants(chosen),
        select_variant=selected.variant or "",
        select_trust=host.config.chat.default_trust,
        welcome_message=host.config.welcome_message,
    )


def tool_servers(host: Host, name: str, kernel: Kernel | None) -> list[ToolServerUpdatedParams]:
    """Ours and all others, as an agent has them."""
    return [_native_tools(host, name, kernel), *(tool_server(host, server, name) for server in host.mcp.servers())]


def _native_tools(host: Host, name: str, kernel: Kernel | None) -> ToolServerUpdatedParams:
    who = agent(host.config, name)
    specs = [tool.spec for tool in host.offered(name, around.tools(host, "", kernel), disabled=True)]
    return ToolServerUpdatedParams(
        tools=tuple(
            ServerTool(
                name=spec.name,
                description=spec.description,
                parameters=spec.parameters,
                disabled=who.disables(spec),
            )
            for spec in specs
            if spec.origin is Origin.NATIVE
        )
    )


def tool_server(host: Host, shown: ToolServerUpdatedParams, name: str = "") -> ToolServerUpdatedParams:
    """An MCP server; those of its tools that the configuration switched off, here or for that agent, say so."""
    if not shown.tools:
        return shown
    who = agent(host.config, name)
    tools = (
        (tool, ToolSpec(tool_name(shown.name, tool.name), tool.description, tool.parameters, server=shown.name))
        for tool in shown.tools
    )
    return shown.model_copy(
        update={"tools": tuple(tool.model_copy(update={"disabled": who.disables(spec)}) for tool, spec in tools)}
    )


async def reconfigured(host: Host) -> None:
    config = await chat_config(host)
    host.audiences.tell(Notice("config/updated", ConfigUpdatedParams(chat=config)))
    for server in host.mcp.servers():
        host.audiences.tell(Notice("tool/serverUpdated", tool_server(host, server)))
    for warning in host.config.warnings:
        warned(host, warning)


def warned(host: Host, message: str) -> None:
    shown = ShowMessageParams(type=MessageType.WARNING, message=message)
    host.audiences.tell(Notice("$/showMessage", shown))


def refused(host: Host, message: str) -> None:
    """A configuration that was changed to something that cannot be used; the one before stays in force."""
    shown = ShowMessageParams(type=MessageType.ERROR, message=message)
    host.audiences.tell(Notice("$/showMessage", shown))


async def signed(host: Host, status: ProviderStatus, default: str | None) -> None:
    """Somebody signed in or out: all clients see it, and the models there are now."""
    host.audiences.tell(Notice("providers/updated", status))
    models, _ = await host.catalog.listed()
    config = ConfigUpdatedParams(chat=ChatConfig(models=models, select_model=default))
    host.audiences.tell(Notice("config/updated", config))
