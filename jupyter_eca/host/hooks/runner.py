"""Runs the user's hooks: which there are, what each is given, what is shown of it, and those that nobody waits for.

Must not decide anything about a turn: `host.hooks.turn_hooks` does. `host.hooks.process` runs a single program.
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

from jupyter_eca.engine.model.texts import HOOK_SAYS, Section
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.host import hooks
from jupyter_eca.host.hooks import HookReply, HookType
from jupyter_eca.protocol.content import HookActionFinishedContent, HookActionStartedContent, TextContent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.hooks import Action, Effects, Hook, RejectedHook
    from jupyter_eca.host.services import Current
    from jupyter_eca.host.store import Store
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.protocol.content import Content

    Show = Callable[[Content], None]

_log = logging.getLogger(__name__)

HOOKS: Final = "Hooks"

# Seconds that all hooks together may hold up the end of the server.
END_SECONDS: Final = 10.0

# Moments that wait for hooks nobody waits for: one that hangs must not have them pile up.
MAX_WAITING: Final = 100

# Characters of what one wrote that are shown and stored.
_SHOWN: Final = 4_000

_STOPPED: Final = "Ended with the turn."

# Where stepping in (exit code 2) means nothing, so that it is an error.
_ADVISORY: Final = frozenset(HookType) - {
    HookType.PRE_REQUEST,
    HookType.POST_REQUEST,
    HookType.SUBAGENT_POST_REQUEST,
    HookType.PRE_TOOL_CALL,
    HookType.POST_TOOL_CALL,
    HookType.PRE_COMPACT,
}


class Hooks:
    """`started` are the chats whose first prompt since the server began was seen, with what hooks had to say for their
    system prompts; `parents` are those of subagents' chats."""

    def __init__(self, current: Current, subscribers: Subscribers, store: Store, chats: Chats, database: Path) -> None:
        self._current = current
        self._subscribers = subscribers
        self._store = store
        self._chats = chats
        self._database = database
        self._read: tuple[object, tuple[Hook, ...], tuple[RejectedHook, ...]] = (None, (), ())
        self._waiting: asyncio.Queue[tuple[HookType, dict[str, Any]]] = asyncio.Queue(MAX_WAITING)
        self._reported: set[str] = set()
        self._told: dict[str, dict[str, Any]] = {}
        self.started: dict[str, str] = {}
        self.parents: dict[str, str] = {}

    @property
    def all(self) -> tuple[tuple[Hook, ...], tuple[RejectedHook, ...]]:
        """Those in force, in the order in which they run, and those that are not."""
        written = self._current.config.hooks
        if self._read[0] is not written:
            self._read = (written, *hooks.parse_hooks(written))
            self._reported.clear()
        return self._read[1:]

    def complain(self) -> None:
        for refused in self.all[1]:
            self._subscribers.warn(refused.message)

    def sections(self, chat: str) -> tuple[Section, ...]:
        """Of a chat's system prompt."""
        text = self.started.get(chat, "")
        return (Section(HOOKS, text),) if text else ()

    def forget(self, chat: LiveChat) -> None:
        """It was deleted."""
        self.queue(HookType.CHAT_END, self.describe_chat(chat))
        for known in (self.started, self.parents, self._told):
            known.pop(chat.state.id, None)

    # -- that nobody waits for

    async def run(self) -> None:
        """Until it is cancelled."""
        await self.fire(HookType.SESSION_START, self._base)
        while True:
            type, data = await self._waiting.get()
            await self.fire(type, data)
            self._waiting.task_done()

    async def end(self) -> None:
        """The server ends: those that wait still run."""
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await self._waiting.join()
                await self.fire(HookType.SESSION_END, self._base)

    def queue(self, type: HookType, data: dict[str, Any]) -> None:
        """In the order in which it was asked for."""
        if any(hook.type is type for hook in self.all[0]):
            with suppress(asyncio.QueueFull):
                self._waiting.put_nowait((type, data))

    def notify_status(self, chat: LiveChat) -> None:
        """Something was fed to a chat; perhaps its status is another one."""
        if not any(hook.type is HookType.CHAT_STATUS_CHANGED for hook in self.all[0]):
            return
        calls = {status: [one.id for one in chat.state.calls if one.status is status] for status in ToolCallStatus}
        now = {
            "status": str(self._chats.status(chat.state.id)),
            "pending_approvals": calls[ToolCallStatus.WAITING],
            "running_tool_calls": calls[ToolCallStatus.RUNNING],
        }
        if self._told.get(chat.state.id) != now:
            self._told[chat.state.id] = now
            self.queue(HookType.CHAT_STATUS_CHANGED, {**self.describe_chat(chat), **now})

    # -- running them

    @property
    def _base(self) -> dict[str, Any]:
        """What every hook is given."""
        folders = [str(root) for root in self._current.workspace.files.roots]
        return {
            "workspaces": folders,
            "cwd": folders[0],
            "db_cache_path": str(self._database),
            "session_id": hashlib.sha256(self._store.workspace.encode()).hexdigest()[:16],
            "eca_executable": f"{sys.executable} -m jupyter_eca",
        }

    def describe_chat(self, chat: LiveChat) -> dict[str, Any]:
        """What one of a chat is given."""
        setup, choice = chat.state.setup, chat.choice
        agent = setup.agent or choice.agent or self._current.config.default_agent
        found = {
            "chat_id": chat.state.id,
            "agent": agent,
            "behavior": agent,
            "full_model": setup.model or choice.model or None,
            "variant": setup.variant or None,
        }
        return {**self._base, **{name: value for name, value in found.items() if value is not None}}

    async def fire(self, type: HookType, data: dict[str, Any], show: Show | None = None) -> Effects:
        """One after the other, until one says that the others need not. `show` is there when there is a turn."""
        replies: list[HookReply] = []
        for hook in self.all[0]:
            if not hooks.matches(hook, type, data):
                continue
            for number, action in enumerate(hook.actions, 1):
                name = hook.name if len(hook.actions) == 1 else f"{hook.name}-{number}"
                reply = await self._run_one(hook, action, name, data, show)
                replies.append(reply)
                if reply.stops:
                    return hooks.combine(type, replies)
                data = hooks.chain(data, reply)
        return hooks.combine(type, replies)

    async def _run_one(
        self, hook: Hook, action: Action, name: str, data: dict[str, Any], show: Show | None
    ) -> HookReply:
        id, block = uuid.uuid4().hex, show if hook.visible else None
        if block:
            block(HookActionStartedContent(id=id, name=name))
        given = json.dumps({"hook_name": name, "hook_type": hook.type, **data}).encode()
        reply = HookReply(name, 1, error=_STOPPED, visible=hook.visible)
        try:
            ran = await hooks.run(hook, action, given, self._current.workspace.files.roots[0])
            reply = ran.reply(hook, name)
        finally:
            if block:
                block(_make_block(id, reply, data.get("tool_call_id")))
        if reply.is_failure or (reply.blocks and hook.type in _ADVISORY):
            self._report(hook, reply)
        elif show and (words := reply.read_text("systemMessage")):
            show(TextContent(text=HOOK_SAYS.format(name=name, text=words)))
        return reply

    def _report(self, hook: Hook, reply: HookReply) -> None:
        why = next(iter(reply.error.strip().splitlines()[-1:]), "") or f"it ended with {reply.status}"
        _log.warning("the hook %s failed with %s: %s", reply.hook, reply.status, reply.error.strip()[:_SHOWN])
        if hook.name not in self._reported:
            self._reported.add(hook.name)
            self._subscribers.warn(f"The hook {reply.hook!r} failed: {why[:_SHOWN]}")


def _make_block(id: str, reply: HookReply, call: str | None) -> HookActionFinishedContent:
    output, error = (text and text[:_SHOWN] for text in hooks.format_lines(reply))
    return HookActionFinishedContent(
        id=id, name=reply.hook, status=reply.status, output=output, error=error, tool_call_id=call
    )
