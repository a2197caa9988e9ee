"""Builds and sends the notices about the host itself: its models, agents, servers and settings, and what goes wrong.

It must not know the clients' protocols: `host.subscribers` sends the notices, and each front puts them
into the messages of its protocol.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from jupyter_eca.host.chat.live_chat import NO_BOUNDS, Bounds
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.mcp_client.tool_names import make_tool_name
from jupyter_eca.plugins.tools.waited_code import as_last_lines
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
    from collections.abc import Sequence

    from jupyter_eca.host.services import Services
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.host.turn.setup import Setups
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.host.turn.turns import Turns
    from jupyter_eca.plugins.providers.catalog import Catalog
    from jupyter_eca.protocol.job import Job, JobLine
    from jupyter_eca.protocol.provider import ProviderStatus
    from jupyter_eca.workspace.jobs.process_records import Orphan
    from jupyter_eca.workspace.ports import Kernel

_log = logging.getLogger(__name__)

# The most characters of a job's last error, or of the name of an orphan, that are shown. The user only glances at the
# line.
_REASON_CHARS = 300


class Notices:
    """Describes the set-up of one host to its clients."""

    def __init__(self, services: Services, contexts: ToolContexts, setups: Setups) -> None:
        self._services = services
        self._contexts = contexts
        self._setups = setups
        # The models that the clients were last told; None as long as no client was told any.
        self._announced_models: tuple[str, ...] | None = None

    async def describe_choices(self, agent_name: str = "") -> ChatConfig:
        """Return the models, agents and variants that the user can choose, and the choice for a new chat.

        `agent_name` is the agent that a client has chosen, "" for the configured one. The search for models may take
        half a second.
        """
        selected = self._services.current.resolved.get_agent(agent_name)
        models, default = await self._services.catalog.list_models()
        self._announced_models = models
        chosen = selected.default_model or default
        agents = self._services.current.resolved.list_selectable(agent_name)
        return ChatConfig(
            models=models if not chosen or chosen in models else (chosen, *models),
            agents=agents,
            outside_agents=self._services.current.resolved.list_outside(),
            behaviors=agents,  # the fields with `behavior` are for older clients, which call an agent so
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
        """Return the servers of tools, our own first. For a client, pass each to `describe_server`."""
        # The defaults of `ToolServerUpdatedParams` are those of our own server.
        return ToolServerUpdatedParams(), *self._services.mcp.list_servers()

    def describe_server(
        self, server: ToolServerUpdatedParams, agent_name: str, kernel: Kernel | None = None
    ) -> ToolServerUpdatedParams:
        """Return a server for a client that has chosen this agent. The tools that the agent does not have are
        disabled."""
        is_native = server.type == "native"
        if not is_native and server.status is not ServerStatus.RUNNING:
            return server
        context = self._contexts.build_expected(kernel=kernel)
        # Many servers report changes when they start. So the tools of the others are not looked at.
        bounds = NO_BOUNDS if is_native else Bounds(servers=frozenset({server.name}))
        enabled = {tool.spec.name for tool in self._setups.list_tools(agent_name, context, bounds)}
        if is_native:
            specs = (
                tool.spec
                for tool in self._services.toolbox.list_available(context)
                if tool.spec.origin is Origin.NATIVE
            )
            tools = tuple(
                ServerTool(
                    name=spec.name,
                    description=spec.description,
                    parameters=spec.parameters,
                    disabled=spec.name not in enabled,
                )
                for spec in specs
            )
        else:
            tools = tuple(
                tool.model_copy(update={"disabled": make_tool_name(server.name, tool.name) not in enabled})
                for tool in server.tools or ()
            )
        return server.model_copy(update={"tools": tools})

    def describe_unsaved(self, chat: str) -> ShowMessageParams | None:
        """Return the message for a client that opens a chat which cannot be stored now; None when it is stored. The
        clients that had the chat open before already have the message."""
        reason = self._services.store.explain_unsaved(chat)
        return _make_unsaved_message(chat, reason) if reason else None

    async def announce_new_models(self) -> None:
        """Look for models again, and send them to all clients if they have changed: for example, a package was
        installed or a local server was started. The search may take half a second."""
        known = self._announced_models
        if known is None or (await self._services.catalog.list_models())[0] == known:
            return
        params = ConfigUpdatedParams(chat=ChatConfig(models=(await self.describe_choices()).models))
        self._services.subscribers.tell(Notice("config/updated", params))

    async def announce_configuration(self) -> None:
        """Send the configuration to all clients after it has changed."""
        config = await self.describe_choices()
        self._services.subscribers.tell(Notice("config/updated", ConfigUpdatedParams(chat=config)))
        for server in self.list_servers():
            self._services.subscribers.tell(Notice("tool/serverUpdated", server))
        held_back = self._services.config.held_back
        self._services.subscribers.tell(
            Notice("workspace/untrustedSettings", UntrustedSettingsParams(folders=held_back))
        )
        for warning in self._services.config.warnings:
            self._services.subscribers.message(MessageType.WARNING, warning)


def describe_job_end(job: Job, reason: str, lines: Sequence[JobLine] = ()) -> tuple[str, str]:
    """Return two texts about the end of a background job: one for the user, and one for the model, which ends with the
    last of the job's `lines`. `reason` says why the job failed or was ended; it is empty if the job has succeeded."""
    outcome = {JobStatus.FAILED: "failed", JobStatus.KILLED: "was ended"}.get(job.status, "is done")
    shown_reason = " ".join(reason.split())[:_REASON_CHARS]
    end = f"{outcome} after {job.elapsed}: {job.label}{f' ({shown_reason})' if shown_reason else ''}"
    text_for_model = f"[Background job {job.id} {end}. bg_job reads its output.]"
    if printed := as_last_lines(lines):
        text_for_model = f"{text_for_model}\n{printed}"
    return f"Background job {end}", text_for_model


def announce_orphan(turns: Turns, orphan: Orphan) -> str:
    """Tell a chat that its orphan was ended, and return the message for the user. An orphan is a process that ran on
    after its server was killed."""
    name = " ".join(orphan.name.split())[:_REASON_CHARS]
    text = f"The server was killed before. A process that it had started was still running, and was ended now: {name}"
    _log.warning("%s", text)
    if orphan.chat:
        text_for_model = (
            f"[The server was killed while this command ran. It was still running, and was ended now: {name}]"
        )
        turns.note(orphan.chat, text, text_for_model)
    return text


def announce_unsaved(subscribers: Subscribers, chat: str, reason: str) -> None:
    """Tell the clients of a chat that it cannot be stored now."""
    _announce(subscribers, chat, _make_unsaved_message(chat, reason))


def announce_saved(subscribers: Subscribers, chat: str) -> None:
    """Tell the clients of a chat that all of it is stored again."""
    message = "This chat is saved again. Nothing is missing."
    _announce(subscribers, chat, ShowMessageParams(type=MessageType.INFO, message=message, chat_id=chat))


def _make_unsaved_message(chat: str, reason: str) -> ShowMessageParams:
    """Return the message that a chat cannot be stored now."""
    message = f"This chat is not saved at the moment. {reason}"
    return ShowMessageParams(type=MessageType.ERROR, message=message, chat_id=chat)


def _announce(subscribers: Subscribers, chat: str, message: ShowMessageParams) -> None:
    """Show a message to the clients of a chat."""
    subscribers.tell(Notice("$/showMessage", message, chat))


async def announce_sign_in(
    subscribers: Subscribers, catalog: Catalog, status: ProviderStatus, default: str | None
) -> None:
    """Tell all clients that the user has signed in or out, and which models are available now. `default` is the default
    model if there was none before; else None."""
    subscribers.tell(Notice("providers/updated", status))
    models, _ = await catalog.list_models()
    config = ConfigUpdatedParams(chat=ChatConfig(models=models, select_model=default))
    subscribers.tell(Notice("config/updated", config))
