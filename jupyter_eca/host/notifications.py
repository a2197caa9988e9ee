"""What clients are told of the host's set-up: when they come, and when it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.config import agent, primary
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.host.turn import setup, tool_context
from jupyter_eca.mcp_client.tool_names import tool_name
from jupyter_eca.protocol.content import Origin
from jupyter_eca.protocol.job import JobStatus
from jupyter_eca.protocol.lifecycle import ChatConfig, ConfigUpdatedParams, MessageType
from jupyter_eca.protocol.mcp import ServerStatus, ServerTool, ToolServerUpdatedParams

if TYPE_CHECKING:
    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.job import Job
    from jupyter_eca.protocol.provider import ProviderStatus
    from jupyter_eca.workspace.ports import Kernel

# Characters of the last error of a job, in a line that is read in passing.
_NOTE_LENGTH = 300


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


def tool_servers(host: Host) -> tuple[ToolServerUpdatedParams, ...]:
    """All of them, ours first; for a client, each is to be `seen`."""
    return ToolServerUpdatedParams(), *host.mcp.servers()


def seen(
    host: Host, server: ToolServerUpdatedParams, name: str, kernel: Kernel | None = None
) -> ToolServerUpdatedParams:
    """A server as whoever selected an agent sees it: tools that the agent has not are disabled."""
    there = tool_context.promised(host, kernel=kernel)
    has = {tool.spec.name for tool in setup.offered(host, name, there)}
    if server.type == "native":
        native = (tool.spec for tool in host.toolbox.available(there) if tool.spec.origin is Origin.NATIVE)
        tools = tuple(
            ServerTool(
                name=one.name, description=one.description, parameters=one.parameters, disabled=one.name not in has
            )
            for one in native
        )
    elif server.status is ServerStatus.RUNNING:
        tools = tuple(
            tool.model_copy(update={"disabled": tool_name(server.name, tool.name) not in has})
            for tool in server.tools or ()
        )
    else:
        return server
    return server.model_copy(update={"tools": tools})


async def reconfigured(host: Host) -> None:
    config = await chat_config(host)
    host.audiences.tell(Notice("config/updated", ConfigUpdatedParams(chat=config)))
    for server in tool_servers(host):
        host.audiences.tell(Notice("tool/serverUpdated", server))
    for warning in host.config.warnings:
        host.audiences.message(MessageType.WARNING, warning)


def job_ended(host: Host, job: Job, note: str) -> None:
    """Everybody in its chat sees it; the model reads it when it is next asked something."""
    how = {JobStatus.FAILED: "failed", JobStatus.KILLED: "was ended"}.get(job.status, "is done")
    why = " ".join(note.split())[:_NOTE_LENGTH]
    told = f"{how} after {job.elapsed}: {job.label}{f' ({why})' if why else ''}"
    words = f"[Background job {job.id} {told}. bg_job reads its output.]"
    host.note(str(job.chat_id), f"Background job {told}", words)


async def signed(host: Host, status: ProviderStatus, default: str | None) -> None:
    """Somebody signed in or out: all clients see it, and the models there are now."""
    host.audiences.tell(Notice("providers/updated", status))
    models, _ = await host.catalog.listed()
    config = ConfigUpdatedParams(chat=ChatConfig(models=models, select_model=default))
    host.audiences.tell(Notice("config/updated", config))
