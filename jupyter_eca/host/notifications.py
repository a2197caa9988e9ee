"""What clients are told of the host's set-up: when they come, and when it changes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from jupyter_eca.host.subscribers import Notice
from jupyter_eca.mcp_client.tool_names import tool_name
from jupyter_eca.protocol.content import Origin
from jupyter_eca.protocol.job import JobStatus
from jupyter_eca.protocol.lifecycle import (
    ChatConfig,
    ConfigUpdatedParams,
    MessageType,
    ShowMessageParams,
    UntrustedSettingsParams,
)
from jupyter_eca.protocol.mcp import ServerStatus, ServerTool, ToolServerUpdatedParams

if TYPE_CHECKING:
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.host.turn.setup import Setups
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.host.turn.turns import Turns
    from jupyter_eca.plugins.providers.catalog import Catalog
    from jupyter_eca.protocol.job import Job
    from jupyter_eca.protocol.provider import ProviderStatus
    from jupyter_eca.workspace.jobs.process_records import Orphan
    from jupyter_eca.workspace.ports import Kernel

_log = logging.getLogger(__name__)

# Characters of the last error of a job, in a line that is read in passing.
_NOTE_LENGTH = 300


class Notifications:
    def __init__(self, services: Services, contexts: ToolContexts, setups: Setups) -> None:
        self._services = services
        self._contexts = contexts
        self._setups = setups

    async def describe_choices(self, name: str = "") -> ChatConfig:
        """What one may choose from, and what is chosen for a new chat: the configured agent, or one of a client's own.
        Looking for models may take half a second."""
        selected = self._services.current.resolved.agent(name)
        models, default = await self._services.catalog.list_models()
        chosen = selected.default_model or default
        agents = self._services.current.resolved.list_primary(name)
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
            variants=self._services.catalog.variants(chosen),
            select_variant=selected.variant or "",
            select_trust=self._services.config.chat.default_trust,
            welcome_message=self._services.config.welcome_message,
        )

    def list_servers(self) -> tuple[ToolServerUpdatedParams, ...]:
        """All of them, ours first; for a client, each is to be `seen`."""
        return ToolServerUpdatedParams(), *self._services.mcp.list_servers()

    def describe_server(
        self, server: ToolServerUpdatedParams, name: str, kernel: Kernel | None = None
    ) -> ToolServerUpdatedParams:
        """A server as whoever selected an agent sees it: tools that the agent has not are disabled."""
        there = self._contexts.build_expected(kernel=kernel)
        has = {tool.spec.name for tool in self._setups.list_tools(name, there)}
        if server.type == "native":
            native = (
                tool.spec for tool in self._services.toolbox.list_available(there) if tool.spec.origin is Origin.NATIVE
            )
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

    def find_unsaved(self, chat: str) -> ShowMessageParams | None:
        """Return the message for a client that opens a chat which cannot be stored now. The others have had it."""
        reason = self._services.store.explain_unsaved(chat)
        return _describe_unsaved(chat, reason) if reason else None

    async def announce_configuration(self) -> None:
        config = await self.describe_choices()
        self._services.audiences.tell(Notice("config/updated", ConfigUpdatedParams(chat=config)))
        for server in self.list_servers():
            self._services.audiences.tell(Notice("tool/serverUpdated", server))
        held_back = self._services.config.held_back
        self._services.audiences.tell(Notice("workspace/untrustedSettings", UntrustedSettingsParams(folders=held_back)))
        for warning in self._services.config.warnings:
            self._services.audiences.message(MessageType.WARNING, warning)


def announce_job_end(turns: Turns, job: Job, note: str) -> None:
    """Everybody in its chat sees it; the model reads it when it is next asked something."""
    how = {JobStatus.FAILED: "failed", JobStatus.KILLED: "was ended"}.get(job.status, "is done")
    why = " ".join(note.split())[:_NOTE_LENGTH]
    told = f"{how} after {job.elapsed}: {job.label}{f' ({why})' if why else ''}"
    words = f"[Background job {job.id} {told}. bg_job reads its output.]"
    turns.note(str(job.chat_id), f"Background job {told}", words)


def announce_orphan(turns: Turns, orphan: Orphan) -> str:
    """Tell the chat of a process that ran on after its server was killed that it was ended. Return the same for the
    user."""
    name = " ".join(orphan.name.split())[:_NOTE_LENGTH]
    text = f"The server was killed before. What it had started was still running, and was ended now: {name}"
    _log.warning("%s", text)
    if orphan.chat:
        words = f"[The server was killed while this command ran. It was still running, and was ended now: {name}]"
        turns.note(orphan.chat, text, words)
    return text


def announce_unsaved(audiences: Subscribers, chat: str, reason: str) -> None:
    """Tell the clients of a chat that it cannot be stored now."""
    _tell(audiences, chat, _describe_unsaved(chat, reason))


def announce_saved(audiences: Subscribers, chat: str) -> None:
    """Tell the clients of a chat that all of it is stored again."""
    words = "This chat is saved again. Nothing is missing."
    _tell(audiences, chat, ShowMessageParams(type=MessageType.INFO, message=words, chat_id=chat))


def _describe_unsaved(chat: str, reason: str) -> ShowMessageParams:
    words = (
        f"This chat is not saved at the moment. {reason} Until then it is kept in memory, and no new prompt is taken."
    )
    return ShowMessageParams(type=MessageType.ERROR, message=words, chat_id=chat)


def _tell(audiences: Subscribers, chat: str, message: ShowMessageParams) -> None:
    audiences.tell(Notice("$/showMessage", message, chat))


async def announce_sign_in(
    audiences: Subscribers, catalog: Catalog, status: ProviderStatus, default: str | None
) -> None:
    """Somebody signed in or out: all clients see it, and the models there are now."""
    audiences.tell(Notice("providers/updated", status))
    models, _ = await catalog.list_models()
    config = ConfigUpdatedParams(chat=ChatConfig(models=models, select_model=default))
    audiences.tell(Notice("config/updated", config))
