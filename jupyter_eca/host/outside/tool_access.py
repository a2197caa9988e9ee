"""Owns `ToolAccess`: the calls of our tools that an outside agent makes in its turn, over our MCP endpoint.

Such a call is one of the chat like any other: it has a card with all that it would change, the approval rules decide
about it, and what it changes can be undone. It must not know MCP: `fronts/mcp/agent_endpoint.py` does.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine import inputs
from jupyter_eca.errors import ToolError
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.host.tools.path_resolution import find_call_targets, find_default_notebook
from jupyter_eca.host.turn.call_preview import preview_call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.hooks.turn_hooks import TurnHooks
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.plugins.tools.base import Tool
    from jupyter_eca.protocol.content import ToolCallDetails
    from jupyter_eca.workspace.tool_result import ToolResult

OTHER_NOTEBOOK: Final = "This session works on the notebook {path}. It has no access to {other}."
OVER: Final = "The turn is over; the call did not run."


class ToolAccess:
    """The calls of our tools in one turn of an outside agent."""

    def __init__(
        self,
        services: Services,
        chats: Chats,
        contexts: ToolContexts,
        hooks: TurnHooks,
        chat: LiveChat,
        number: int,
        take_approval: Callable[[Mapping[str, Any]], bool],
    ) -> None:
        """`number` is that of the model request which the agent answers. `take_approval` says whether the user has
        approved a call of the agent with these arguments, and uses the approval up."""
        self._services = services
        self._chats = chats
        self._contexts = contexts
        self._hooks = hooks
        self._chat = chat
        self._number = number
        self._take_approval = take_approval
        # The calls whose results the agent waits for, by their ids in the chat.
        self._waiting: dict[str, asyncio.Future[ToolResult]] = {}
        # How many calls there were so far.
        self._count = 0

    async def call(self, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        """Run a tool, if it may run, and return its result. Raises: ToolError when it must not run, or failed."""
        self._check_notebook(arguments)
        self._count += 1
        id = f"{self._chat.state.turn}-tool-{self._number}-{self._count}"
        waiting = self._waiting[id] = asyncio.get_running_loop().create_future()
        try:
            await self._begin(id, tool, arguments)
            return await waiting
        finally:
            del self._waiting[id]

    async def _begin(self, id: str, tool: Tool, arguments: dict[str, Any]) -> None:
        """Feed a call to the engine, which decides about it. Raises: ToolError when it must fail, or came too late."""
        chat = self._chat
        agent = self._services.current.resolved.get_agent(chat.state.setup.agent)
        spec = agent.drop_disabled_parts(replace(tool.spec, read_only_hint=tool.only_reads))
        self._chats.feed(chat, inputs.CallBegun(now(), self._number, id, spec), late=True)
        context = self._contexts.build(chat.state.id, chat.kernel, id)
        details: ToolCallDetails | None = None
        targets, failure = None, ""
        adjustment = await self._hooks.run_before_outside_call(chat, id, spec, arguments)
        arguments = arguments if adjustment.arguments is None else adjustment.arguments
        try:
            details = await preview_call(context, tool, arguments)
            notebook = await find_default_notebook(context, tool, arguments)
            targets = await find_call_targets(context.files, self._services.config, spec, arguments, notebook, details)
        except ToolError as error:
            failure = str(error)
        # As long as there is a change that the user has not seen, calls that may run code need approval.
        unseen = chat.unseen_change = await self._services.checkpoints.find_unseen()
        unseen_path = unseen.path if unseen else ""
        ready = inputs.CallReady(
            now(),
            self._number,
            id,
            spec,
            arguments,
            is_approved=self._take_approval(arguments),
            adjustment=adjustment,
            details=details,
            targets=targets,
            failure=failure,
            unseen_path=unseen_path,
        )
        self._chats.feed(chat, ready, late=True)
        if failure:
            raise ToolError(failure)
        if all(call.id != id for call in chat.state.calls):
            raise ToolError(OVER)

    def _check_notebook(self, arguments: Mapping[str, Any]) -> None:
        """Check that a call is about the notebook of the session. Raises: ToolError when it is about another one."""
        own, other = self._chat.asked_notebook, arguments.get("path")
        if not own or not isinstance(other, str) or not other.endswith(".ipynb"):
            return
        files = self._services.workspace.files.contents
        if files.resolve(other) != files.resolve(own):
            raise ToolError(OTHER_NOTEBOOK.format(path=own, other=other))

    def finish(self, id: str, result: ToolResult) -> None:
        """Give the result of a call to the agent. From now on the model knows the versions of files that it shows."""
        if (waiting := self._waiting.get(id)) is not None and not waiting.done():
            self._chat.known_versions.begin_request()
            waiting.set_result(result)

    def refuse(self, id: str, text: str) -> None:
        """Tell the agent that a call did not run."""
        if (waiting := self._waiting.get(id)) is not None and not waiting.done():
            waiting.set_exception(ToolError(text))

    def end(self) -> None:
        """Tell the agent that no call runs any more, because the turn is over."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ToolError(OVER))
