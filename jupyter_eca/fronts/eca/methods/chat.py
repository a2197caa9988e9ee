"""Owns the methods of ECA on a turn: prompt, approve and reject tool calls, steer, stop, and select the model and the
agent of the next turns. To steer means to send a message that the model reads while the turn runs.

It must not know how a turn runs: `host/turn/turns.py` does.
"""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.schema import AGENT_ALIASES
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.errors import BusyError, EcaError, LocalError, RemoteError, ToolError
from jupyter_eca.fronts.eca import choices
from jupyter_eca.fronts.eca import trust as folder_trust
from jupyter_eca.fronts.eca.config_rights import check_may_approve
from jupyter_eca.host.chat.live_chat import NO_CHOICE, Choice, Prompt, get_stored_choice
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.host.tools.kept_outputs import make_output_id
from jupyter_eca.host.turn.open_notebooks import find_notebook_of_kernel
from jupyter_eca.protocol import chat, lifecycle
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.dialect import Dialect
from jupyter_eca.protocol.jsonrpc import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol.base import ChatId

_log = logging.getLogger(__name__)

# The statuses of a call that was approved and was not stopped before it ran.
_APPROVED: Final = {ToolCallStatus.QUEUED, ToolCallStatus.RUNNING, ToolCallStatus.STOPPING, ToolCallStatus.CALLED}


async def prompt(session: EcaSession, params: chat.ChatPromptParams) -> chat.ChatPromptResult:
    """Start a turn in a chat, which may be new.

    Raises: RemoteError when the client may not prompt in the chat. BusyError when a turn runs in it.
    """
    # A chat has two ids: the client's (`wire_id`) and the host's (`id`). They differ for a client that numbers its
    # chats.
    wire_id = uuid.uuid4().hex if params.chat_id is None else params.chat_id
    id = session.host_id(wire_id)
    if isinstance(wire_id, int) and id not in session.wire_ids:
        id = uuid.uuid4().hex  # the chat is new
    if not session.door.sees_all_chats and id not in session.wire_ids and await session.host.chats.read_row(id):
        raise RemoteError("this client did not ask in that chat", ErrorCode.REFUSED)
    session.wire_ids[id] = wire_id
    if params.trust:  # the tool calls of the chat run without approval; `folder_trust` is about settings of folders
        check_may_approve(session)
    is_new = params.chat_id is None
    if not is_new and session.host.current.config.held_back:
        await folder_trust.ask_user(session, id)
    agent = params.agent or params.behavior or ""  # older revisions of ECA call an agent a behavior
    # `AGENT_ALIASES` has the current name of an agent by its older names.
    choice = Choice(params.model or "", AGENT_ALIASES.get(agent, agent), params.variant, params.trust)
    notebook = params.notebook
    if notebook is None and session.kernel is None and session.door.kernel_id is not None:
        # The client is a panel in the output of a cell. So the prompt is about the notebook of that kernel.
        notebook = await find_notebook_of_kernel(session.host.services, id, session.door.kernel_id)
    new_prompt = Prompt(
        id,
        params.message,
        choice.fill_from(session.get_choice(id)),
        params.contexts,
        session,
        lock=params.lock,
        notebook=notebook,
        recalls_choices=session.recalls_choices(params.notebook),
        allows_later_review=session.allows_later_review,
        author=session.door.access.user,
    )
    session.host.toolbox.set_client_tools(
        id, session.client_tools, session
    )  # the model can call the tools of this client
    if session.prompted_chats is not None:
        session.prompted_chats.add(id)
    try:
        begun = await session.host.turns.prompt(new_prompt, session.kernel)
    except BusyError as error:
        if session.dialect is Dialect.OWN:
            raise
        # eca-nvim fails on an error response, because it calls `vim.notify` where that is not allowed. So the result
        # says that no turn was started, and a message says why.
        warning = lifecycle.ShowMessageParams(type=lifecycle.MessageType.WARNING, message=str(error))
        await session.notify("$/showMessage", warning)
        return chat.ChatPromptResult(chat_id=wire_id, model=new_prompt.choice.model, status=chat.PromptStatus.ERROR)
    if is_new and session.host.current.config.held_back:
        # The client gets the id of its new chat in this reply. So it can be asked only after the reply.
        session.start(folder_trust.ask_user(session, id))
    status = chat.PromptStatus.LOGIN if begun.is_login_answer else chat.PromptStatus.PROMPTING
    return chat.ChatPromptResult(chat_id=wire_id, model=begun.model, status=status)


def stop(session: EcaSession, params: chat.ChatPromptStopParams) -> None:
    """Stop the turn that runs in a chat."""
    session.host.turns.stop(session.find_chat(params.chat_id))


def steer(session: EcaSession, params: chat.ChatPromptSteerParams) -> None:
    """Add a message that the model reads while the turn runs, with its contexts."""
    session.host.turns.steer(
        session.find_chat(params.chat_id), params.message, params.contexts, session.door.access.user
    )


def remove_steering_message(session: EcaSession, params: chat.ChatPromptSteerRemoveParams) -> None:
    """Remove the steering messages that the model has not read yet."""
    session.host.turns.steer(session.find_chat(params.chat_id), "")


def approve(session: EcaSession, params: chat.ChatToolCallApproveParams) -> None:
    """Approve a tool call, without the parts of its change that the user has left out. Warn the client if another
    client has rejected the call before."""
    if not session.door.access.may_approve:
        _warn(session, session.door.access.reason)
        return
    id = session.find_chat(params.chat_id)
    try:
        is_accepted = session.host.turns.approve(
            id,
            params.tool_call_id,
            remember=params.save == "session",
            left_out=params.left_out,
            by=session.door.access.user,
        )
    except LocalError as error:
        _warn(session, str(error))
        return
    if not is_accepted and _find_status(session, id, params.tool_call_id) is ToolCallStatus.REJECTED:
        _warn(session, "Your approval came too late: the call was rejected or stopped before it. It did not run.")


async def compute_remaining_change(
    session: EcaSession, params: chat.ChatRemainingChangeParams
) -> chat.ChatRemainingChangeResult:
    """Return what a waiting call changes if the user leaves out these parts of its change."""
    id = session.find_chat(params.chat_id)
    details = session.host.turns.compute_remaining_change(id, params.tool_call_id, params.left_out)
    return chat.ChatRemainingChangeResult(details=details)


def reject(session: EcaSession, params: chat.ChatToolCallRejectParams) -> None:
    """Reject a tool call. Warn the client if another client has approved the call before."""
    id = session.find_chat(params.chat_id)
    is_accepted = session.host.turns.reject(id, params.tool_call_id, params.reason, session.door.access.user)
    if not is_accepted and _find_status(session, id, params.tool_call_id) in _APPROVED:
        _warn(session, "Your rejection came too late: the call was approved before it. Stop the answer to end it.")


def _find_status(session: EcaSession, id: str, call: str) -> ToolCallStatus | None:
    """Return the status of a tool call of the last answer. Return None for any other call."""
    live = session.host.chats.get_live(id)
    return next((known.status for known in live.state.calls if known.id == call), None) if live else None


def _warn(session: EcaSession, message: str) -> None:
    """Show a warning to this client alone."""
    session.say(lifecycle.MessageType.WARNING, message)


async def move_to_background(session: EcaSession, params: chat.ChatToolCallBackgroundParams) -> Done:
    """Let a running tool call continue in the background, so that the turn does not wait for it. Raises:
    RemoteError."""
    live = session.host.chats.get_live(session.find_chat(params.chat_id))
    # A running call reports its progress to its reporter, which can also move the call to the background.
    reporter = live.under_way.reporters.get(params.id) if live and live.under_way else None
    if reporter is None or not reporter.move_to_background():
        raise RemoteError("this call has ended, or cannot go on in the background", ErrorCode.REFUSED)
    return Done()


async def read_output(session: EcaSession, params: chat.ChatToolOutputParams) -> chat.ChatToolOutputResult:
    """Read a part of a tool's output that was too long for the model. Raises: RemoteError."""
    outputs, id = session.host.outputs, make_output_id(params.id)
    try:
        part = await outputs.read(session.find_chat(params.chat_id), id, params.offset, params.limit)
    except ToolError as error:
        raise RemoteError("this output is not kept, or it was deleted", ErrorCode.REFUSED) from error
    return chat.ChatToolOutputResult(text=part.text, offset=part.offset, end=part.end, total=part.total)


def select_model(session: EcaSession, params: chat.ChatSelectedModelChangedParams) -> None:
    """Select the model of a chat, or of new chats. Warn the client if the model does not exist."""
    if not session.host.catalog.has(params.model):
        known = ", ".join(sorted(session.host.catalog.entries()))
        _warn(session, f"There is no model {params.model!r}, so the model stays as it was. The providers are: {known}.")
        return
    _save_choice(session, params.chat_id, Choice(model=params.model, variant=params.variant), params.notebook)
    session.start(_log_failure(_remember_model(session, params)))
    session.start(
        session.notify("config/updated", _describe_variants(session, params), _find_host_id(session, params.chat_id))
    )
    # Import the SDK of this model and connect to its server, before the user sends the prompt.
    session.start(session.host.warmup.warm("" if params.chat_id is None else str(params.chat_id), params.model))


def select_agent(session: EcaSession, params: chat.ChatSelectedAgentChangedParams) -> None:
    """Select the agent of a chat, or of new chats."""
    _save_agent(session, params.chat_id, params.agent, params.notebook)
    session.start(_log_failure(_remember_agent(session, params)))


def select_option(session: EcaSession, params: chat.ChatSelectedOptionChangedParams) -> None:
    """Set an option of the outside agent of a chat. Warn the client if the agent does not take the value."""
    session.start(_select_option(session, session.find_chat(params.chat_id), params.option, params.value))


async def _select_option(session: EcaSession, id: str, option: str, value: str) -> None:
    """Send the new value of an option to the outside agent. Warn the client if that fails."""
    host = session.host
    live = await host.chats.load(id)
    try:
        agent = host.current.resolved.get_agent(live.choice.agent)
        await host.outside_agents.choose_option(live, agent, option, value)
    except EcaError as error:
        _warn(session, str(error))


def select_behavior(session: EcaSession, params: chat.ChatSelectedBehaviorChangedParams) -> None:
    """Select the agent of a chat, for a client of an older revision of ECA, which calls it a behavior."""
    _save_agent(session, params.chat_id, params.behavior)


def _save_agent(session: EcaSession, chat_id: ChatId | None, agent: str, notebook: str | None = None) -> None:
    """Save the choice of an agent, and notify the client of the tools of this agent."""
    agent = AGENT_ALIASES.get(agent, agent)
    _save_choice(session, chat_id, Choice(agent=agent), notebook)
    session.agent = agent
    for server in session.host.notices.list_servers():
        session.tell(Notice("tool/serverUpdated", server))


def _describe_variants(
    session: EcaSession, params: chat.ChatSelectedModelChangedParams
) -> lifecycle.ConfigUpdatedParams:
    """Return the notification with the variants of the selected model. Each model has its own variants."""
    variants = session.host.catalog.variants(params.model)
    selected = params.variant if params.variant in variants else ""
    return lifecycle.ConfigUpdatedParams(chat=lifecycle.ChatConfig(variants=variants, select_variant=selected))


def _find_host_id(session: EcaSession, chat_id: ChatId | None) -> str | None:
    """Return the host's id of a chat; None if the selection is for new chats."""
    return None if chat_id is None else session.find_chat(chat_id)


def _save_choice(session: EcaSession, chat_id: ChatId | None, choice: Choice, notebook: str | None) -> None:
    """Change the choice of one chat, or of new chats. The choices of other chats stay as they are (ECA 6.1).

    A choice for new chats is not kept in the session if the host remembers it for each notebook (`choices`). Otherwise
    a choice in one notebook would count for new chats in another one too.
    """
    id = _find_host_id(session, chat_id) or ""
    if id or not choices.remembers_everywhere(session, notebook):
        session.choices[id] = choice.fill_from(session.choices.get(id, NO_CHOICE))
    if id:
        session.host.turns.choose(id, choice)


async def _log_failure(remembering: Awaitable[None]) -> None:
    """Wait for `remembering`, which remembers a choice. If it fails, log a warning: the choice still counts in its
    chat."""
    try:
        await remembering
    except EcaError as error:
        _log.warning("a choice is not remembered: %s", error)


async def _remember_model(session: EcaSession, params: chat.ChatSelectedModelChangedParams) -> None:
    """Remember the model and the variant for new chats, if the client has a user whose choices are remembered."""
    if place := await choices.find_place(session, params.notebook):
        id, memory = _find_host_id(session, params.chat_id), session.host.choice_memory
        live = session.host.chats.get_live(id) if id else None
        row = await session.host.chats.read_row(id) if id and live is None else None
        agent = live.choice.agent if live else session.get_choice(id or "").fill_from(get_stored_choice(row)).agent
        if params.chosen is chat.ChosenPart.VARIANT:
            await memory.remember_variant(place, params.model, params.variant or "", agent)
        else:
            await memory.remember_model(place, params.model, params.variant or "", agent)


async def _remember_agent(session: EcaSession, params: chat.ChatSelectedAgentChangedParams) -> None:
    """Remember the agent for new chats. A choice that came from a kernel is not remembered, because code in the kernel
    could have made it."""
    place = await choices.find_place(session, params.notebook)
    if place is not None and place.is_for_all_notebooks:
        await session.host.choice_memory.remember_agent(place, AGENT_ALIASES.get(params.agent, params.agent))


HANDLERS: Final = {
    "chat/prompt": prompt,
    "chat/promptStop": stop,
    "chat/promptSteer": steer,
    "chat/promptSteerRemove": remove_steering_message,
    "chat/toolCallApprove": approve,
    "chat/remainingChange": compute_remaining_change,
    "chat/toolCallReject": reject,
    "chat/toolCallBackground": move_to_background,
    "chat/toolOutput": read_output,
    "chat/selectedModelChanged": select_model,
    "chat/selectedOptionChanged": select_option,
    "chat/selectedAgentChanged": select_agent,
    "chat/selectedBehaviorChanged": select_behavior,
}
