"""Runs the user's hooks at the events of a turn, and applies their effects to the turn.

Before a request, a hook can end the turn, block or replace the prompt, and add text to it. Before a tool call it can
change the arguments and make the decision stricter. After the call it can replace the result. After a request it can
start another turn. Hooks also run before and after the conversation is summarized.

No hooks run in a turn that is replayed from a lock file, because nothing in it is decided again. It must not start
programs: `host.hooks.runner` runs the hooks, and `host.hooks.hook_replies` reads their replies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine import inputs, tool_calls
from jupyter_eca.engine.approval.call_parts import list_parts
from jupyter_eca.engine.approval.policy import CallAdjustment, Decision
from jupyter_eca.engine.model.delta import TextDelta
from jupyter_eca.engine.model.texts import HOOK_BLOCKED, HOOK_BLOCKED_COMPACTION, HOOK_STOPPED, TOO_MANY_HOOK_TURNS
from jupyter_eca.engine.tool_call import ToolCall, ToolCallStatus, parse_arguments
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.host.hooks import HookEffects, HookType
from jupyter_eca.host.hooks.matching import PARTS
from jupyter_eca.host.hooks.runner import HOOKS_SECTION, Hooks
from jupyter_eca.host.tools.chat_previews import ChatPreviews
from jupyter_eca.protocol.content import TextContent
from jupyter_eca.workspace.head_and_tail import truncate_result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.engine.effects import RunTool
    from jupyter_eca.engine.inputs import Setup
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.engine.state import ChatState
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.store import Store
    from jupyter_eca.protocol.content import Content, FileChangeDetails
    from jupyter_eca.workspace.tool_result import ToolResult

# The turns that hooks may start one after another. A hook can see in `follow_up_active` that a hook started the turn,
# but some hooks ignore it and would continue without end.
MAX_FOLLOW_UPS: Final = 10

# The tool that asks the user a question. It waits for the user whatever the rules say. So the input of the hooks says
# that it asks, for example to play a sound (ECA, "preToolCall").
_ASK_TOOL: Final = "eca__ask_user"


@dataclass(frozen=True, slots=True)
class PromptChanges:
    """What hooks change in a prompt before the model is called."""

    context: str = ""
    """Text that is added after the contexts of the prompt."""
    replacement: str | None = None
    """The prompt that the model gets instead of the user's."""
    setup: Setup | None = None
    """The setup with the text that hooks add to the system prompt. None for no change."""


class TurnHooks:
    """Runs the hooks at each event of a turn, and applies their effects."""

    def __init__(self, hooks: Hooks, chats: Chats, store: Store) -> None:
        self._hooks = hooks
        self._chats = chats
        self._store = store

    def note_subagent(self, chat: str, parent: str) -> None:
        """Remember that a chat is a subagent's, before its first prompt: `subagentStart` then runs in place of
        `chatStart`, and `subagentPostRequest` after `postRequest`."""
        self._hooks.parents[chat] = parent

    async def run_before_request(self, chat: LiveChat, *, is_command: bool) -> PromptChanges | None:
        """Run the hooks before a prompt is sent. Return what they change, None if they ended the turn.

        Before the first prompt of a chat since the server started, the hooks `chatStart` or `subagentStart` run too.
        With `is_command` the model gets the text of a command in place of the prompt, and hooks do not replace this
        text.
        """
        if chat.replay is not None or (prompt := chat.prompt) is None:
            return PromptChanges()
        self._hooks.warn_of_rejected()
        setup, id = None, chat.state.id
        if id not in self._hooks.chat_start_texts:
            parent = self._hooks.parents.get(id)
            type = HookType.SUBAGENT_START if parent else HookType.CHAT_START
            event_fields = {"parent_chat_id": parent} if parent else {"resumed": len(chat.state.history) > 1}
            effects = await self._fire(chat, type, event_fields)
            if self._end_if_stopped(chat, effects):
                return None
            text = self._hooks.chat_start_texts[id] = effects.context.strip()
            # A system prompt that was stored before a restart of the server has such a section already.
            if text and not (chat.pinned_prompt and chat.pinned_prompt.has_section(HOOKS_SECTION)):
                setup = replace(chat.state.setup, system=f"{chat.state.setup.system}\n\n{text}")
        effects = await self._fire(chat, HookType.PRE_REQUEST, {"prompt": prompt.message})
        if self._end_if_stopped(chat, effects):
            return None
        if (reply := effects.blocked_by) is not None:
            # The output of a visible hook, with the reason, is in the chat already.
            why = "." if reply.visible or not reply.error.strip() else f": {reply.error.strip()}"
            text = HOOK_BLOCKED.format(name=reply.hook, why=why)
            # Ends the turn with this text. `withdrawn`: the model never gets the prompt.
            self._chats.feed(chat, inputs.CommandEnded(now(), text, failed=True, withdrawn=True), late=True)
            return None
        return PromptChanges(effects.context, None if is_command else effects.new_prompt, setup)

    async def run_before_calls(self, chat: LiveChat) -> Mapping[str, CallAdjustment] | None:
        """Run the hooks before the tool calls of the model's last reply. Return their changes to each call, by the
        call's id. None if they ended the turn."""
        adjustments: dict[str, CallAdjustment] = {}
        for call in chat.state.calls:
            arguments = parse_arguments(call.arguments_text)
            if call.tool is None or arguments is None:
                continue
            preview = await self._find_preview(chat, call.tool, arguments)
            event_fields = _describe_request(chat.state, call, call.tool, arguments, preview)
            effects = await self._fire(chat, HookType.PRE_TOOL_CALL, event_fields)
            if self._end_if_stopped(chat, effects):
                return None
            adjustments[call.id] = _make_adjustment(effects, arguments)
        return adjustments

    async def run_before_direct_call(
        self, chat: LiveChat, setup: Setup, call: ToolCall, spec: ToolSpec, arguments: dict[str, Any]
    ) -> tuple[CallAdjustment, tuple[Content, ...]]:
        """Run the hooks before a tool call that no model made (see `host.turn.direct_calls`), for which no turn exists
        yet. Return their changes to the call, and the content to show when its turn has begun."""
        shown: list[Content] = []
        preview = await self._find_preview(chat, spec, arguments)
        data = self._hooks.describe_chat(chat) | _describe_request(
            replace(chat.state, setup=setup), call, spec, arguments, preview
        )
        effects = await self._hooks.fire(HookType.PRE_TOOL_CALL, data, shown.append)
        if effects.stopped_by is not None:
            shown.append(_explain_stop(effects))
            return CallAdjustment(decision=Decision.DENY), tuple(shown)
        return _make_adjustment(effects, arguments), tuple(shown)

    async def run_before_outside_call(
        self, chat: LiveChat, id: str, spec: ToolSpec, arguments: dict[str, Any]
    ) -> CallAdjustment:
        """Run the hooks before a tool call that an outside agent makes. Return their changes to it."""
        call = ToolCall(id, spec.name, spec)
        adjustment, contents = await self.run_before_direct_call(chat, chat.state.setup, call, spec, arguments)
        for content in contents:
            self._show(chat, content)
        return adjustment

    async def run_after_call(self, chat: LiveChat, effect: RunTool, result: ToolResult) -> tuple[ToolResult, bool]:
        """Run the hooks after a tool call. Return the result with their changes, and whether they end the turn.

        They do not run for a call that the user has stopped, nor if the user has interrupted its code.
        """
        is_running = any(call.id == effect.call and call.status is ToolCallStatus.RUNNING for call in chat.state.calls)
        if chat.replay is not None or not is_running or result.interrupted:
            return result, False
        response = {"tool_response": result.text, "error": result.error}
        preview = await self._find_preview(chat, effect.tool, effect.arguments)
        event_fields = _describe_call(effect.tool, effect.call, effect.arguments, preview) | response
        effects = await self._fire(chat, HookType.POST_TOOL_CALL, event_fields)
        if effects.new_output is not None:
            result = replace(result, text=effects.new_output, images=(), links=(), fetched_rule="")
        if effects.context:
            result = truncate_result(replace(result, text=(result.text + effects.context).lstrip("\n")))
        if effects.stopped_by is not None:
            self._show(chat, _explain_stop(effects))
        return result, effects.stopped_by is not None

    async def _find_preview(
        self, chat: LiveChat, tool: ToolSpec, arguments: Mapping[str, Any]
    ) -> FileChangeDetails | None:
        """Return the change that a call carries out, if its arguments only name the id of an earlier preview of the
        change. So hooks see what the call does. None for all other calls."""
        id = arguments.get("preview")
        if not tool.parts or not isinstance(id, str):
            return None
        return await ChatPreviews(chat.state.id, self._store).find(id.strip())

    async def run_after_request(self, chat: LiveChat) -> str:
        """Run the hooks after the model's answer. Return the prompt with which they start another turn, "" for none. A
        command that no model answers (`local`) has no such hooks."""
        if chat.replay is not None or (prompt := chat.prompt) is None or chat.state.local:
            return ""
        number, last = prompt.follow_up_count, chat.state.history[-1:]
        response = last[0].text if last and last[0].role == "assistant" else ""
        event_fields: dict[str, Any] = {"response": response, "follow_up_active": number > 0}
        follow_ups: list[str] = []
        events = [(HookType.POST_REQUEST, event_fields)]
        if parent := self._hooks.parents.get(chat.state.id):
            events.append((HookType.SUBAGENT_POST_REQUEST, {**event_fields, "parent_chat_id": parent}))
        for type, data in events:
            effects = await self._fire(chat, type, data)
            if effects.stopped_by is not None:
                self._show(chat, _explain_stop(effects))
                return ""
            follow_ups.append(effects.follow_up)
        text = "\n\n".join(filter(None, follow_ups))
        if text and number >= MAX_FOLLOW_UPS:
            self._show(chat, TextContent(text=TOO_MANY_HOOK_TURNS.format(MAX_FOLLOW_UPS)))
            return ""
        return text

    async def run_before_compaction(self, chat: LiveChat, number: int) -> bool:
        """Run the hooks before the conversation is summarized by the model request with this number. Return whether the
        model is called next: False if they blocked the summary or ended the turn, True if no summary is due."""
        summary = chat.state.summary_under_way
        if summary is None:
            return True
        event_fields = {"triggered": _get_trigger(chat), "custom_instructions": summary.focus}
        effects = await self._fire(chat, HookType.PRE_COMPACT, event_fields)
        if self._end_if_stopped(chat, effects):
            return False
        if effects.blocked_by is not None:
            self._chats.feed(
                chat, inputs.ModelFailed(now(), number, HOOK_BLOCKED_COMPACTION.format(name=effects.blocked_by.hook))
            )
        return effects.blocked_by is None

    async def run_after_compaction(self, chat: LiveChat, number: int) -> bool:
        """Run the hooks after the conversation was summarized by the model request with this number. Return whether
        they end the turn. Text that they add becomes a part of the summary."""
        if chat.state.summary_under_way is None or not (text := chat.state.summary_under_way.text.strip()):
            return False
        event_fields = {"triggered": _get_trigger(chat), "compact_summary": text}
        effects = await self._fire(chat, HookType.POST_COMPACT, event_fields)
        if effects.context:
            self._chats.feed(chat, inputs.Streamed(now(), number, TextDelta(effects.context)))
        if effects.stopped_by is not None:
            self._show(chat, _explain_stop(effects))
        return effects.stopped_by is not None

    async def _fire(self, chat: LiveChat, type: HookType, event_fields: dict[str, Any]) -> HookEffects:
        """Run the hooks of an event in a turn. `event_fields` are added to the input that describes the chat."""
        if not self._hooks.has_hooks(type):
            return HookEffects()
        return await self._hooks.fire(
            type, {**self._hooks.describe_chat(chat), **event_fields}, partial(self._show, chat)
        )

    def _show(self, chat: LiveChat, content: Content) -> None:
        """Show content of a hook in the chat."""
        self._chats.feed(chat, inputs.HookReported(now(), content), late=True)

    def _end_if_stopped(self, chat: LiveChat, effects: HookEffects) -> bool:
        """End the turn if a hook says so. Return whether it does."""
        if effects.stopped_by is None:
            return False
        self._show(chat, _explain_stop(effects))
        self._chats.feed(chat, inputs.Stopped(now()), late=True)
        return True


def _get_trigger(chat: LiveChat) -> str:
    """Return who wanted the summary: "manual" for the user with `/compact`, and "auto" for the engine, because the
    context window was full."""
    return "manual" if chat.state.local else "auto"


def _explain_stop(effects: HookEffects) -> TextContent:
    """Return the line that tells the user which hook ended the turn, and why."""
    why = f": {effects.stop_reason}" if effects.stop_reason else "."
    return TextContent(text=HOOK_STOPPED.format(name=effects.stopped_by, why=why))


def _describe_call(
    tool: ToolSpec, call: str, arguments: dict[str, Any], preview: FileChangeDetails | None
) -> dict[str, Any]:
    """Return the fields of a hook's input that describe a tool call. `preview` is the result of `_find_preview`."""
    name = tool.name.removeprefix(f"{tool.server}__")
    data = {"server": tool.server, "tool_name": name, "tool_input": arguments, "tool_call_id": call}
    parts = [
        {"tool_name": part.tool.name, "tool_input": dict(part.arguments)}
        for part in list_parts(tool, arguments, preview)
        if part.tool is not None
    ]
    return {**data, PARTS: parts} if parts else data


def _describe_request(
    state: ChatState, call: ToolCall, tool: ToolSpec, arguments: dict[str, Any], preview: FileChangeDetails | None
) -> dict[str, Any]:
    """Return the fields of a hook's input before a tool call, with the decision that the rules would make."""
    data = _describe_call(tool, call.id, arguments, preview)
    asks = f"{data['server']}__{data['tool_name']}" == _ASK_TOOL
    return {
        **data,
        "approval": Decision.ASK if asks else tool_calls.predict_decision(state, replace(call, tool=tool), arguments),
    }


def _make_adjustment(effects: HookEffects, arguments: dict[str, Any]) -> CallAdjustment:
    """Return the changes of the hooks to a call with these arguments."""
    changed = None if effects.new_arguments is None else {**arguments, **effects.new_arguments}
    return CallAdjustment(changed, effects.decision, effects.denial_reason)
