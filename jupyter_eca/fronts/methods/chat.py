"""A turn: asked, approved, steered, stopped, and what the next ones are run with."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import RemoteError
from jupyter_eca.host import Choice, Prompt
from jupyter_eca.protocol import chat
from jupyter_eca.protocol.jsonrpc import Code

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca import EcaSession
    from jupyter_eca.protocol.base import ChatId


async def prompt(session: EcaSession, params: chat.ChatPromptParams) -> chat.ChatPromptResult:
    wire_id = uuid.uuid4().hex if params.chat_id is None else params.chat_id
    id = str(wire_id)
    if not session.door.sees_all and id not in session.own and await session.host.chat(id):
        raise RemoteError("this client did not ask in that chat", Code.REFUSED)
    session.own[id] = wire_id
    choice = Choice(params.model or "", params.agent or params.behavior or "", params.variant, params.trust)
    asked = Prompt(id, params.message, choice.over(session.choice), params.contexts)
    model = await session.host.prompt(asked, session.kernel)
    return chat.ChatPromptResult(chat_id=wire_id, model=model)


def stop(session: EcaSession, params: chat.ChatPromptStopParams) -> None:
    session.host.stop(session.known(params.chat_id))


def approve(session: EcaSession, params: chat.ChatToolCallApproveParams) -> None:
    session.host.approve(session.known(params.chat_id), params.tool_call_id, remember=params.save == "session")


def reject(session: EcaSession, params: chat.ChatToolCallRejectParams) -> None:
    session.host.reject(session.known(params.chat_id), params.tool_call_id, params.reason)


def select_model(session: EcaSession, params: chat.ChatSelectedModelChangedParams) -> None:
    _choose(session, params.chat_id, Choice(model=params.model, variant=params.variant or ""))


def select_agent(session: EcaSession, params: chat.ChatSelectedAgentChangedParams) -> None:
    _choose(session, params.chat_id, Choice(agent=params.agent))


def select_behavior(session: EcaSession, params: chat.ChatSelectedBehaviorChangedParams) -> None:
    _choose(session, None, Choice(agent=params.behavior))


def _choose(session: EcaSession, chat_id: ChatId | None, choice: Choice) -> None:
    session.choice = replace(choice.over(session.choice))
    if chat_id is not None:
        session.host.choose(session.known(chat_id), choice)


HANDLERS: Final = {
    "chat/prompt": prompt,
    "chat/promptStop": stop,
    "chat/toolCallApprove": approve,
    "chat/toolCallReject": reject,
    "chat/selectedModelChanged": select_model,
    "chat/selectedAgentChanged": select_agent,
    "chat/selectedBehaviorChanged": select_behavior,
}
