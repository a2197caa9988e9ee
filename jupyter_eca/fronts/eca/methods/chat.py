"""Owns the methods on a turn: prompt, approve, steer and stop it, and select what the next turns run with."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import BusyError, RemoteError, ToolError
from jupyter_eca.fronts.base import MAY_NOT_APPROVE
from jupyter_eca.fronts.eca import trust
from jupyter_eca.fronts.eca.config_rights import check_may_approve
from jupyter_eca.host.chat.live_chat import NO_CHOICE, Choice, Prompt
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.host.tools.outputs import make_output_id
from jupyter_eca.protocol import chat, lifecycle
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.dialect import Dialect
from jupyter_eca.protocol.jsonrpc import ErrorCode

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol.base import ChatId


async def prompt(session: EcaSession, params: chat.ChatPromptParams) -> chat.ChatPromptResult:
    wire_id = uuid.uuid4().hex if params.chat_id is None else params.chat_id
    id = session.host_id(wire_id)
    if isinstance(wire_id, int) and id not in session.own:
        id = uuid.uuid4().hex
    if not session.door.sees_all and id not in session.own and await session.host.chats.read_row(id):
        raise RemoteError("this client did not ask in that chat", ErrorCode.REFUSED)
    session.own[id] = wire_id
    if params.trust:
        check_may_approve(session)
    if params.chat_id is not None:
        await trust.ask(session, id)
    choice = Choice(params.model or "", params.agent or params.behavior or "", params.variant, params.trust)
    selected = session.choices.get(id, NO_CHOICE).over(session.choices.get("", NO_CHOICE))
    new_prompt = Prompt(id, params.message, choice.over(selected), params.contexts, session, lock=params.lock)
    session.host.toolbox.lend(id, session.lent, session)
    if session.asking is not None:
        session.asking.add(id)
    try:
        begun = await session.host.turns.prompt(new_prompt, session.kernel)
    except BusyError as error:
        if session.dialect is Dialect.OWN:
            raise
        # eca-nvim cannot handle an error as the answer (it calls `vim.notify` where that is not allowed). So the result
        # says that there is no turn, and a message says why.
        warning = lifecycle.ShowMessageParams(type=lifecycle.MessageType.WARNING, message=str(error))
        await session.notify("$/showMessage", warning)
        return chat.ChatPromptResult(chat_id=wire_id, model=new_prompt.choice.model, status=chat.PromptStatus.ERROR)
    if params.chat_id is None:
        # The client learns the id of its chat from this reply, so it can be asked only afterwards.
        session.start(trust.ask(session, id))
    status = chat.PromptStatus.LOGIN if begun.login else chat.PromptStatus.PROMPTING
    return chat.ChatPromptResult(chat_id=wire_id, model=begun.model, status=status)


def stop(session: EcaSession, params: chat.ChatPromptStopParams) -> None:
    session.host.turns.stop(session.find_chat(params.chat_id))


def steer(session: EcaSession, params: chat.ChatPromptSteerParams) -> None:
    session.host.turns.steer(session.find_chat(params.chat_id), params.message)


def steer_remove(session: EcaSession, params: chat.ChatPromptSteerRemoveParams) -> None:
    session.host.turns.steer(session.find_chat(params.chat_id), "")


def approve(session: EcaSession, params: chat.ChatToolCallApproveParams) -> None:
    if not session.door.approves:
        session.say(lifecycle.MessageType.WARNING, MAY_NOT_APPROVE)
        return
    session.host.turns.approve(
        session.find_chat(params.chat_id), params.tool_call_id, remember=params.save == "session"
    )


def reject(session: EcaSession, params: chat.ChatToolCallRejectParams) -> None:
    session.host.turns.reject(session.find_chat(params.chat_id), params.tool_call_id, params.reason)


async def send_away(session: EcaSession, params: chat.ChatToolCallBackgroundParams) -> Done:
    live = session.host.chats.live(session.find_chat(params.chat_id))
    reporter = live.under_way.reporters.get(params.id) if live and live.under_way else None
    if reporter is None or not reporter.send_away():
        raise RemoteError("this call has ended, or cannot go on in the background", ErrorCode.REFUSED)
    return Done()


async def output(session: EcaSession, params: chat.ChatToolOutputParams) -> chat.ChatToolOutputResult:
    outputs, id = session.host.outputs, make_output_id(params.id)
    try:
        part = await outputs.read(session.find_chat(params.chat_id), id, params.offset, params.limit)
    except ToolError as error:
        raise RemoteError("this output is not kept, or not any more", ErrorCode.REFUSED) from error
    return chat.ChatToolOutputResult(text=part.text, offset=part.offset, end=part.end, total=part.total)


def select_model(session: EcaSession, params: chat.ChatSelectedModelChangedParams) -> None:
    _choose(session, params.chat_id, Choice(model=params.model, variant=params.variant))
    session.start(session.notify("config/updated", _variants(session, params), _scope(session, params.chat_id)))
    session.start(session.host.warming.warm("" if params.chat_id is None else str(params.chat_id), params.model))


def select_agent(session: EcaSession, params: chat.ChatSelectedAgentChangedParams) -> None:
    _choose(session, params.chat_id, Choice(agent=params.agent))
    _show_tools(session, params.agent)


def select_behavior(session: EcaSession, params: chat.ChatSelectedBehaviorChangedParams) -> None:
    _choose(session, params.chat_id, Choice(agent=params.behavior))
    _show_tools(session, params.behavior)


def _show_tools(session: EcaSession, agent: str) -> None:
    """Show the client the tools of one agent: the last one that its user selected."""
    session.agent = agent
    for server in session.host.notifications.list_servers():
        session.tell(Notice("tool/serverUpdated", server))


def _variants(session: EcaSession, params: chat.ChatSelectedModelChangedParams) -> lifecycle.ConfigUpdatedParams:
    """Return the variants of the model. Each model has its own."""
    variants = session.host.catalog.variants(params.model)
    selected = params.variant if params.variant in variants else ""
    return lifecycle.ConfigUpdatedParams(chat=lifecycle.ChatConfig(variants=variants, select_variant=selected))


def _scope(session: EcaSession, chat_id: ChatId | None) -> str | None:
    return None if chat_id is None else session.find_chat(chat_id)


def _choose(session: EcaSession, chat_id: ChatId | None, choice: Choice) -> None:
    """Change the choice of one chat. It does not change the others (ECA 6.1, class 26)."""
    id = _scope(session, chat_id) or ""
    session.choices[id] = choice.over(session.choices.get(id, NO_CHOICE))
    if id:
        session.host.turns.choose(id, choice)


HANDLERS: Final = {
    "chat/prompt": prompt,
    "chat/promptStop": stop,
    "chat/promptSteer": steer,
    "chat/promptSteerRemove": steer_remove,
    "chat/toolCallApprove": approve,
    "chat/toolCallReject": reject,
    "chat/toolCallBackground": send_away,
    "chat/toolOutput": output,
    "chat/selectedModelChanged": select_model,
    "chat/selectedAgentChanged": select_agent,
    "chat/selectedBehaviorChanged": select_behavior,
}
