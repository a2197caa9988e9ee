"""A tool call that no model made: a program of the user's own asks for it, and the engine decides as for any other."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine import inputs
from jupyter_eca.engine.tool_call import ToolCall
from jupyter_eca.errors import BusyError, ToolError
from jupyter_eca.host.chat.live_chat import NO_CHOICE, Choice, TurnUnderWay, now
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.host.tools.path_resolution import find_call_targets
from jupyter_eca.host.turn.effect_runner import preview
from jupyter_eca.protocol.chats import ChatOpenedParams

if TYPE_CHECKING:
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.hooks.turn_hooks import TurnHooks
    from jupyter_eca.host.services import Current
    from jupyter_eca.host.store import Store
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.host.turn.setup import Setups
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.plugins.tools.base import Tool
    from jupyter_eca.workspace.known_versions import KnownVersions


@dataclass(frozen=True, slots=True)
class DirectCall:
    """`message` is what the chat shows of it: who calls what. `choice` names the agent whose rules hold. `known` is
    what the caller was shown in other chats; None for this chat alone."""

    chat: str
    tool: Tool
    arguments: dict[str, Any]
    message: str
    choice: Choice = NO_CHOICE
    known: KnownVersions | None = None


class DirectCalls:
    def __init__(
        self,
        current: Current,
        subscribers: Subscribers,
        store: Store,
        chats: Chats,
        contexts: ToolContexts,
        setups: Setups,
        hooks: TurnHooks,
    ) -> None:
        self._current = current
        self._subscribers = subscribers
        self._store = store
        self._chats = chats
        self._contexts = contexts
        self._setups = setups
        self._hooks = hooks

    async def call(self, request: DirectCall) -> LiveChat:
        """Begin a turn that is one tool call; its events tell what comes of it. Returns before any of them is shown.

        Raises: BusyError when something else goes on in the chat; NotSaved when the turn could not be stored.
        """
        chat = await self._chats.load(request.chat)
        if chat.busy:
            raise BusyError("This chat is busy with another call.")
        chat.known = request.known or chat.known
        chat.known.begin_request()
        id = uuid.uuid4().hex
        notebook = await self._contexts.find_active_notebook(request.chat)
        context = replace(self._contexts.build(request.chat, None, id, notebook), direct=True)
        setup = await self._setups.prepare(request.choice.over(chat.choice), context)
        spec = request.tool.spec
        call = ToolCall(id, spec.name, spec)
        adjusted, told = await self._hooks.before_call_from_outside(chat, setup, call, spec, request.arguments)
        arguments = request.arguments if adjusted.arguments is None else adjusted.arguments
        try:
            details = await preview(context, request.tool, arguments)
        except ToolError as error:
            details, adjusted = None, replace(adjusted, failure=str(error))
        targets = await find_call_targets(context.files, self._current.config, spec, arguments, notebook)
        await self._store.check()
        if chat.busy or self._chats.live(request.chat) is not chat:
            raise BusyError("This chat is busy with another call.")
        setup = replace(setup, tools=(spec,))
        chat.under_way = TurnUnderWay(outside=request.tool, notebook=notebook)
        if not chat.last:
            self._subscribers.tell(Notice("chat/opened", ChatOpenedParams(chat_id=request.chat), request.chat))
        turn, said = uuid.uuid4().hex, uuid.uuid4().hex
        text = json.dumps(request.arguments)
        self._chats.feed(
            chat,
            inputs.CallRequested(
                now(), turn, request.message, said, setup, id, spec, text, details, adjusted, targets, told
            ),
        )
        return chat
