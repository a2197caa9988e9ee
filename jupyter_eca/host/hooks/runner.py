"""Owns the configured hooks and runs them: builds their input, runs all hooks of an event, and shows their output.

Hooks of the events of a turn run while the turn waits for them. Hooks of the other events, as the start of a session,
run in the background, one after the other.

It must not decide anything about a turn: `host.hooks.turn_hooks` does. `host.hooks.process` runs a single program.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sys
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine.model.texts import HOOK_MESSAGE, Section
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.host import hooks
from jupyter_eca.host.hooks import HookReply, HookType
from jupyter_eca.host.newest_items import NewestItems
from jupyter_eca.protocol.content import HookActionFinishedContent, HookActionStartedContent, TextContent
from jupyter_eca.workspace.jobs.sandbox import make_sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.hooks import Action, Hook, HookEffects
    from jupyter_eca.host.services import Current
    from jupyter_eca.host.store import Store
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.protocol.content import Content

    # A function that shows content in the chat.
    Show = Callable[[Content], None]

_log = logging.getLogger(__name__)

# The name of the section of a system prompt that has the texts of hooks.
HOOKS_SECTION: Final = "Hooks"

# The seconds that all hooks together may delay the end of the server.
END_SECONDS: Final = 10.0

# The events that may wait for their hooks in the background. Later ones are dropped, because they would pile up behind
# a hook that hangs.
MAX_BACKGROUND_EVENTS: Final = 100

# The characters of a hook's output that are shown and stored.
_SHOWN_CHARS: Final = 4_000

_ENDED_WITH_TURN: Final = "Ended with the turn."

# The types of events at which a hook cannot block anything. So exit status 2 is an error there.
_NON_BLOCKING_TYPES: Final = frozenset(HookType) - {
    HookType.PRE_REQUEST,
    HookType.POST_REQUEST,
    HookType.SUBAGENT_POST_REQUEST,
    HookType.PRE_TOOL_CALL,
    HookType.POST_TOOL_CALL,
    HookType.PRE_COMPACT,
}


class Hooks:
    """The configured hooks of one host."""

    def __init__(
        self,
        current: Current,
        subscribers: Subscribers,
        store: Store,
        chats: Chats,
        database: Path,
        get_environment: Callable[[], Mapping[str, str]],
    ) -> None:
        """`get_environment` returns the variables of a hook."""
        self._current = current
        self._get_environment = get_environment
        self._subscribers = subscribers
        self._store = store
        self._chats = chats
        self._database = database
        # The events whose hooks wait to run in the background, each with the input of the hooks.
        self._background: asyncio.Queue[tuple[HookType, dict[str, Any]]] = asyncio.Queue(MAX_BACKGROUND_EVENTS)
        # A configuration, and the names of its hooks whose first failure was shown. With another configuration,
        # failures are shown again.
        self._reported: tuple[object, set[str]] = None, set()
        # The status that the `chatStatusChanged` hooks got last, by chat.
        self._reported_status = NewestItems[str, dict[str, Any]]()
        self.chat_start_texts = NewestItems[str, str]()
        """The texts that `chatStart` hooks add to the system prompt, by chat. It has each chat that had a prompt since
        the server started, up to a limit: for an older one the hooks run again, as after a restart."""
        self.parents = NewestItems[str, str]()
        """The id of the parent chat, by the id of the subagent's chat."""

    def has_hooks(self, type: HookType) -> bool:
        """Return whether there are hooks of a type."""
        return any(hook.type is type for hook in self._current.resolved.hooks)

    def warn_of_rejected(self) -> None:
        """Show a warning for each rejected hook, once."""
        for rejected in self._current.resolved.rejected_hooks:
            self._subscribers.warn(rejected.message)

    def list_sections(self, chat: str) -> tuple[Section, ...]:
        """Return the section of a chat's system prompt that hooks add, if they add any."""
        text = self.chat_start_texts.get(chat, "")
        return (Section(HOOKS_SECTION, text),) if text else ()

    def forget(self, chat: LiveChat) -> None:
        """Forget a chat that was deleted, and queue its `chatEnd` hooks."""
        self.queue(HookType.CHAT_END, self.describe_chat(chat))
        for known in (self.chat_start_texts, self.parents, self._reported_status):
            known.pop(chat.state.id, None)

    # -- in the background

    async def run(self) -> None:
        """Run the `sessionStart` hooks, and then the hooks of queued events until this is cancelled."""
        await self.fire(HookType.SESSION_START, self._common_input)
        while True:
            type, data = await self._background.get()
            await self.fire(type, data)
            self._background.task_done()

    async def end(self) -> None:
        """Run the hooks that still wait, and the `sessionEnd` hooks. Called when the server ends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await self._background.join()
                await self.fire(HookType.SESSION_END, self._common_input)

    def queue(self, type: HookType, data: dict[str, Any]) -> None:
        """Run the hooks of an event in the background, after those of earlier events. Nothing waits for them. `data` is
        the input of the hooks."""
        if self.has_hooks(type):
            with suppress(asyncio.QueueFull):
                self._background.put_nowait((type, data))

    def notify_status(self, chat: LiveChat) -> None:
        """Queue the `chatStatusChanged` hooks if the status has changed. Called after each input to a chat."""
        if not self.has_hooks(HookType.CHAT_STATUS_CHANGED):
            return
        calls = {status: [call.id for call in chat.state.calls if call.status is status] for status in ToolCallStatus}
        report = {
            "status": str(self._chats.get_status(chat.state.id)),
            "pending_approvals": calls[ToolCallStatus.WAITING],
            "running_tool_calls": calls[ToolCallStatus.RUNNING],
        }
        if self._reported_status.get(chat.state.id) != report:
            self._reported_status[chat.state.id] = report
            self.queue(HookType.CHAT_STATUS_CHANGED, {**self.describe_chat(chat), **report})

    # -- running them

    @property
    def _common_input(self) -> dict[str, Any]:
        """The fields of the input that all hooks get."""
        folders = [str(root) for root in self._current.workspace.files.roots]
        return {
            "workspaces": folders,
            "cwd": folders[0],
            "db_cache_path": str(self._database),
            "session_id": hashlib.sha256(self._store.workspace.encode()).hexdigest()[:16],
            # A hook runs in the folder of the workspace, where a module could have the name of ours.
            "eca_executable": f"{sys.executable} -P -m jupyter_eca",
        }

    def describe_chat(self, chat: LiveChat) -> dict[str, Any]:
        """Return the fields of the input that hooks of an event in a chat get."""
        setup, choice = chat.state.setup, chat.choice
        agent = setup.agent or choice.agent or self._current.config.default_agent
        fields = {
            "chat_id": chat.state.id,
            "agent": agent,
            "behavior": agent,
            "full_model": setup.model or choice.model or None,
            "variant": setup.variant or None,
        }
        return {**self._common_input, **{name: value for name, value in fields.items() if value is not None}}

    async def fire(self, type: HookType, data: dict[str, Any], show: Show | None = None) -> HookEffects:
        """Run the hooks of an event one after the other, until one ends the turn, and combine their replies.

        `data` is the input of the programs, to which the name and the type of each hook are added. `show` shows content
        in the chat. It is None if the event is not a part of a turn.
        """
        replies: list[HookReply] = []
        for hook in self._current.resolved.hooks:
            runs = [
                (input, number, action)
                for input in hooks.list_inputs(hook, type, data)
                for number, action in enumerate(hook.actions, 1)
            ]
            for input, number, action in runs:
                name = hook.name if len(hook.actions) == 1 else f"{hook.name}-{number}"
                # The input is about a part of the call (see `list_inputs`), or else it is `data`. The hooks that ran
                # before may have changed `data`.
                is_part = input.get("tool_name") != data.get("tool_name")
                reply = await self._run_action(hook, action, name, input if is_part else data, show)
                replies.append(reply)
                if reply.stops_turn:
                    return hooks.combine(type, replies)
                data = hooks.update_input(data, reply)
        return hooks.combine(type, replies)

    async def _run_action(
        self, hook: Hook, action: Action, name: str, data: dict[str, Any], show: Show | None
    ) -> HookReply:
        """Run one program of a hook under the name `name`, with `data` as its input. Show in the chat that it runs and
        what it wrote."""
        id, show_block = uuid.uuid4().hex, show if hook.visible else None
        if show_block:
            show_block(HookActionStartedContent(id=id, name=name))
        input = json.dumps({"hook_name": name, "hook_type": hook.type, **data}).encode()
        # The reply that is shown if this is cancelled, because the user stops the turn.
        reply = HookReply(name, 1, error=_ENDED_WITH_TURN, visible=hook.visible)
        try:
            roots, settings = self._current.workspace.files.roots, self._current.resolved.config.tool_call.sandbox
            own_sandbox = make_sandbox(settings, roots) if settings.hooks else None
            run = await hooks.run(hook, action, input, roots[0], self._get_environment(), own_sandbox)
            reply = run.as_reply(hook, name)
        finally:
            if show_block:
                show_block(_make_finished_block(id, reply, data.get("tool_call_id")))
        if reply.is_failure or (reply.blocks and hook.type in _NON_BLOCKING_TYPES):
            self._report_failure(hook, reply)
        elif show and (message := reply.read_text("systemMessage")):
            show(TextContent(text=HOOK_MESSAGE.format(name=name, text=message)))
        return reply

    def _report_failure(self, hook: Hook, reply: HookReply) -> None:
        """Log a failure. The user is warned of the first failure of each hook only."""
        last_lines = reply.error.strip().splitlines()[-1:]
        why = last_lines[0] if last_lines else f"it ended with {reply.status}"
        _log.warning("the hook %s failed with %s: %s", reply.hook, reply.status, reply.error.strip()[:_SHOWN_CHARS])
        if self._reported[0] is not self._current.resolved:
            self._reported = self._current.resolved, set()
        if hook.name not in self._reported[1]:
            self._reported[1].add(hook.name)
            self._subscribers.warn(f"The hook {reply.hook!r} failed: {why[:_SHOWN_CHARS]}")


def _make_finished_block(id: str, reply: HookReply, call: str | None) -> HookActionFinishedContent:
    """Return the content that ends the block of a hook in the chat. `call` is the tool call that the event is about."""
    output, error = (text and text[:_SHOWN_CHARS] for text in hooks.format_output_and_errors(reply))
    return HookActionFinishedContent(
        id=id, name=reply.hook, status=reply.status, output=output, error=error, tool_call_id=call
    )
