"""Starts a turn for a tool call that no model made: a program of the user calls the tool, for example over MCP.

The engine decides the call like any other, so approvals, rules and hooks apply. This module must not know the
protocols: the fronts do. `host.turn.turns` starts all other turns.
"""

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
from jupyter_eca.host.tools.path_resolution import find_call_targets, find_default_notebook
from jupyter_eca.host.turn.call_preview import preview_call
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
    """A tool call that no model made."""

    chat: str
    """The id of the chat that shows the call."""
    tool: Tool
    """The tool."""
    arguments: dict[str, Any]
    """The arguments of the call."""
    message: str
    """The text that the chat shows: who calls what."""
    choice: Choice = NO_CHOICE
    """The choice that names the agent, whose rules of approval apply."""
    known_versions: KnownVersions | None = None
    """The versions of files and cells that the caller knows from all its chats. None: those of this chat."""


class DirectCalls:
    """Starts the direct calls of one host."""

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
        """Start a turn that is one tool call. Return its chat before any event of the turn is shown. The result comes
        as one of these events.

        Raises: BusyError when a turn is under way in the chat; NotSaved when the turn could not be stored.
        """
        chat = await self._chats.load(request.chat)
        if chat.is_busy:
            raise BusyError("This chat is busy with another call.")
        # The caller has received the results of its earlier calls, so it knows the versions that they showed. It may
        # replace a text only if it knows the version of this text.
        chat.known_versions = request.known_versions or chat.known_versions
        chat.known_versions.begin_request()
        id = uuid.uuid4().hex
        notebook = await self._contexts.find_active_notebook(request.chat)
        context = replace(self._contexts.build(request.chat, None, id, notebook), direct=True)
        setup = await self._setups.prepare_direct_call(request.choice.fill_from(chat.choice), notebook)
        spec = self._current.resolved.get_agent(setup.agent).drop_disabled_parts(request.tool.spec)
        call = ToolCall(id, spec.name, spec)
        adjustment, hook_contents = await self._hooks.run_before_direct_call(chat, setup, call, spec, request.arguments)
        arguments = request.arguments if adjustment.arguments is None else adjustment.arguments
        try:
            details = await preview_call(context, request.tool, arguments)
        except ToolError as error:
            details, adjustment = None, replace(adjustment, failure=str(error))
        default_notebook = await find_default_notebook(context, request.tool, arguments)
        targets = await find_call_targets(
            context.files, self._current.config, spec, arguments, default_notebook, details
        )
        # A change that was made without approval, and that the user has not reviewed. As long as there is one, the user
        # is asked about each call that may run code.
        chat.unseen_change = await self._store.do(lambda tables: tables.find_unseen())
        await self._store.check_writable()
        if chat.is_busy or self._chats.get_live(request.chat) is not chat:
            raise BusyError("This chat is busy with another call.")
        setup = replace(setup, tools=(spec,))
        chat.under_way = TurnUnderWay(called_tool=request.tool, notebook=notebook)
        if not chat.last_seq:
            self._subscribers.tell(Notice("chat/opened", ChatOpenedParams(chat_id=request.chat), request.chat))
        turn, message_id = uuid.uuid4().hex, uuid.uuid4().hex
        text = json.dumps(request.arguments)
        self._chats.feed(
            chat,
            inputs.CallRequested(
                at=now(),
                turn=turn,
                message=request.message,
                content_id=message_id,
                setup=setup,
                call=id,
                tool=spec,
                arguments_text=text,
                details=details,
                adjustment=adjustment,
                targets=targets,
                hook_contents=hook_contents,
                unseen_path=chat.unseen_change.path if chat.unseen_change else "",
            ),
        )
        return chat
