"""The moments of a turn at which the user's hooks have a say, and what comes of it.

A turn that is replayed from a lock file has none: nothing of it is decided anew. `host.hooks.runner` runs the hooks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine import inputs, tool_calls
from jupyter_eca.engine.approval.policy import Adjusted, Decision
from jupyter_eca.engine.model.delta import TextDelta
from jupyter_eca.engine.model.texts import HOOK_BLOCKED, HOOK_KEEPS, HOOK_STOPPED, HOOKS_GO_ON
from jupyter_eca.engine.tool_call import ToolCall, ToolCallStatus, parse_arguments
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.host.hooks import HookType
from jupyter_eca.host.hooks.runner import HOOKS, Hooks
from jupyter_eca.protocol.content import TextContent
from jupyter_eca.workspace.tool_result import truncate_result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.engine.effects import RunTool
    from jupyter_eca.engine.inputs import Setup
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.engine.state import ChatState
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.hooks import Effects
    from jupyter_eca.protocol.content import Content
    from jupyter_eca.workspace.tool_result import ToolResult

# Turns in a row that hooks may begin. They are told that they did, and some do not look.
MAX_FOLLOW_UPS: Final = 10

# It waits for the user whatever the rules say, and so hooks that ring a bell hear of it (ECA, "preToolCall").
_ASKS: Final = "eca__ask_user"


@dataclass(frozen=True, slots=True)
class Before:
    """What a request is made with: `context` behind what the prompt points at, `reworded` in the prompt's place, and
    the setup if there is more in it now."""

    context: str = ""
    reworded: str | None = None
    setup: Setup | None = None


class TurnHooks:
    """Runs the user's hooks at the points of a turn, and carries out what they decide."""

    def __init__(self, hooks: Hooks, chats: Chats) -> None:
        self._hooks = hooks
        self._chats = chats

    def note_subagent(self, chat: str, parent: str) -> None:
        """Remember that a chat is a subagent's, before its first prompt: `subagentStart` then runs in place of
        `chatStart`, and `subagentPostRequest` after `postRequest`."""
        self._hooks.parents[chat] = parent

    async def before_request(self, chat: LiveChat, *, command: bool) -> Before | None:
        """None when the turn has been ended. What a `command` says is not reworded."""
        if chat.replay is not None or (prompt := chat.prompt) is None:
            return Before()
        self._hooks.complain()
        setup, id = None, chat.state.id
        if id not in self._hooks.started:
            parent = self._hooks.parents.get(id)
            type = HookType.SUBAGENT_START if parent else HookType.CHAT_START
            more = {"parent_chat_id": parent} if parent else {"resumed": len(chat.state.history) > 1}
            begun = await self._fire(chat, type, more)
            if self._end_if_stopped(chat, begun):
                return None
            text = self._hooks.started[id] = begun.context.strip()
            if text and not (chat.pinned and chat.pinned.has(HOOKS)):
                setup = replace(chat.state.setup, system=f"{chat.state.setup.system}\n\n{text}")
        made = await self._fire(chat, HookType.PRE_REQUEST, {"prompt": prompt.message})
        if self._end_if_stopped(chat, made):
            return None
        if (by := made.blocked) is not None:
            why = "." if by.visible or not by.error.strip() else f": {by.error.strip()}"
            text = HOOK_BLOCKED.format(name=by.hook, why=why)
            self._chats.feed(chat, inputs.CommandEnded(now(), text, failed=True, withdrawn=True), late=True)
            return None
        return Before(made.context, None if command else made.prompt, setup)

    async def before_calls(self, chat: LiveChat) -> Mapping[str, Adjusted] | None:
        """Of the reply that has just ended. None when the turn has been ended."""
        adjusted: dict[str, Adjusted] = {}
        for call in chat.state.calls:
            arguments = parse_arguments(call.arguments_text)
            if call.tool is None or arguments is None:
                continue
            more = _describe_request(chat.state, call, call.tool, arguments)
            made = await self._fire(chat, HookType.PRE_TOOL_CALL, more)
            if self._end_if_stopped(chat, made):
                return None
            adjusted[call.id] = _adjust(made, arguments)
        return adjusted

    async def before_call_from_outside(
        self, chat: LiveChat, setup: Setup, call: ToolCall, spec: ToolSpec, arguments: dict[str, Any]
    ) -> tuple[Adjusted, tuple[Content, ...]]:
        """Before there is a turn: with what is to be shown of it once there is."""
        shown: list[Content] = []
        data = self._hooks.describe_chat(chat) | _describe_request(
            replace(chat.state, setup=setup), call, spec, arguments
        )
        made = await self._hooks.fire(HookType.PRE_TOOL_CALL, data, shown.append)
        if made.stopped is not None:
            shown.append(_explain_stop(made))
            return Adjusted(decision=Decision.DENY), tuple(shown)
        return _adjust(made, arguments), tuple(shown)

    async def after_call(self, chat: LiveChat, effect: RunTool, result: ToolResult) -> tuple[ToolResult, bool]:
        """The result as hooks leave it, and whether the turn ends with it. One that the user has stopped is theirs."""
        runs = any(one.id == effect.call and one.status is ToolCallStatus.RUNNING for one in chat.state.calls)
        if chat.replay is not None or not runs:
            return result, False
        response = {"tool_response": result.text, "error": result.error}
        more = _describe_call(effect.tool, effect.call, effect.arguments) | response
        made = await self._fire(chat, HookType.POST_TOOL_CALL, more)
        if made.output is not None:
            result = replace(result, text=made.output, images=(), links=(), rule="")
        if made.context:
            result = truncate_result(replace(result, text=(result.text + made.context).lstrip("\n")))
        if made.stopped is not None:
            self._show(chat, _explain_stop(made))
        return result, made.stopped is not None

    async def after_request(self, chat: LiveChat) -> str:
        """What is asked next, in the user's name; empty for nothing."""
        if chat.replay is not None or (prompt := chat.prompt) is None or chat.state.local:
            return ""
        number, said = prompt.follow_up, chat.state.history[-1:]
        response = said[0].text if said and said[0].role == "assistant" else ""
        more: dict[str, Any] = {"response": response, "follow_up_active": number > 0}
        wanted: list[str] = []
        moments = [(HookType.POST_REQUEST, more)]
        if parent := self._hooks.parents.get(chat.state.id):
            moments.append((HookType.SUBAGENT_POST_REQUEST, {**more, "parent_chat_id": parent}))
        for type, data in moments:
            made = await self._fire(chat, type, data)
            if made.stopped is not None:
                self._show(chat, _explain_stop(made))
                return ""
            wanted.append(made.follow_up)
        text = "\n\n".join(filter(None, wanted))
        if text and number >= MAX_FOLLOW_UPS:
            self._show(chat, TextContent(text=HOOKS_GO_ON.format(MAX_FOLLOW_UPS)))
            return ""
        return text

    async def before_compaction(self, chat: LiveChat, number: int) -> bool:
        """Whether a summary is to be made after all."""
        summing = chat.state.summary_under_way
        if summing is None:
            return True
        more = {"triggered": _trigger(chat), "custom_instructions": summing.focus}
        made = await self._fire(chat, HookType.PRE_COMPACT, more)
        if self._end_if_stopped(chat, made):
            return False
        if made.blocked is not None:
            self._chats.feed(chat, inputs.ModelFailed(now(), number, HOOK_KEEPS.format(name=made.blocked.hook)))
        return made.blocked is None

    async def after_compaction(self, chat: LiveChat, number: int) -> bool:
        """Whether the turn ends with it. What hooks add becomes a part of the summary."""
        if chat.state.summary_under_way is None or not (text := chat.state.summary_under_way.text.strip()):
            return False
        made = await self._fire(chat, HookType.POST_COMPACT, {"triggered": _trigger(chat), "compact_summary": text})
        if made.context:
            self._chats.feed(chat, inputs.Streamed(now(), number, TextDelta(made.context)))
        if made.stopped is not None:
            self._show(chat, _explain_stop(made))
        return made.stopped is not None

    async def _fire(self, chat: LiveChat, type: HookType, more: dict[str, Any]) -> Effects:
        return await self._hooks.fire(type, {**self._hooks.describe_chat(chat), **more}, partial(self._show, chat))

    def _show(self, chat: LiveChat, content: Content) -> None:
        self._chats.feed(chat, inputs.HookReported(now(), content), late=True)

    def _end_if_stopped(self, chat: LiveChat, made: Effects) -> bool:
        if made.stopped is None:
            return False
        self._show(chat, _explain_stop(made))
        self._chats.feed(chat, inputs.Stopped(now()), late=True)
        return True


def _trigger(chat: LiveChat) -> str:
    return "manual" if chat.state.local else "auto"


def _explain_stop(made: Effects) -> TextContent:
    why = f": {made.reason}" if made.reason else "."
    return TextContent(text=HOOK_STOPPED.format(name=made.stopped, why=why))


def _describe_call(tool: ToolSpec, call: str, arguments: dict[str, Any]) -> dict[str, Any]:
    name = tool.name.removeprefix(f"{tool.server}__")
    return {"server": tool.server, "tool_name": name, "tool_input": arguments, "tool_call_id": call}


def _describe_request(state: ChatState, call: ToolCall, tool: ToolSpec, arguments: dict[str, Any]) -> dict[str, Any]:
    data = _describe_call(tool, call.id, arguments)
    asks = f"{data['server']}__{data['tool_name']}" == _ASKS
    return {
        **data,
        "approval": Decision.ASK if asks else tool_calls.foresee(state, replace(call, tool=tool), arguments),
    }


def _adjust(made: Effects, arguments: dict[str, Any]) -> Adjusted:
    changed = None if made.arguments is None else {**arguments, **made.arguments}
    return Adjusted(changed, made.decision, made.words)
