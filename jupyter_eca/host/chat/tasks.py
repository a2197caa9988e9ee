"""Owns the asyncio tasks of chats. Each has a name within its chat, by which it can be cancelled.

It must not know what the tasks do. `host.turn.effect_runner` starts a task for each effect of the engine.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from jupyter_eca.log_fields import LOG_FIELDS, LogFields

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from jupyter_eca.host.chat.live_chat import LiveChat


_log = logging.getLogger(__name__)


class ChatTasks:
    """Starts and cancels the tasks of all chats of one host."""

    on_failure: Callable[[str, str], None]
    """Called with the id of a chat and a description of the failure, when a task ends with an error. The host sets it
    before any task is started. The error ends no other task: the other chats continue, whatever one client sent."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        """The tasks are started in `group`, which the host enters when it runs."""
        self._group = group

    def start(self, chat: LiveChat, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Start a task of a chat, which runs the coroutine `work`. By its `name` it can be cancelled. An earlier task
        with this name continues, but cannot be cancelled by the name any more."""
        task = chat.tasks[name] = self.start_detached(chat.state.id, name, work)
        task.add_done_callback(lambda done: chat.tasks.pop(name) if chat.tasks.get(name) is done else None)

    def start_detached(self, id: str, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task for a chat that may not be in memory. `name` is only for the log: the task cannot be cancelled
        by it."""
        task = self._group.create_task(self._run(id, name, work), name=f"{id} {name}")
        task.add_done_callback(lambda _: work.close())  # it may have been cancelled before it began
        return task

    async def _run(self, id: str, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run a task to its end. An error is logged and passed to `on_failure`."""
        LOG_FIELDS.set(LogFields(chat_id=id))
        try:
            await work
        except Exception as error:  # noqa: BLE001  # the boundary to the chats: a bug ends one turn, not all of them
            _log.exception("the task %r of the chat %s failed", name, id)
            self.on_failure(id, f"the task {name!r} failed ({error!r})")

    def cancel(self, chat: LiveChat, name: str) -> None:
        """Cancel the task of this name, if it runs."""
        if task := chat.tasks.get(name):
            task.cancel()

    async def finish(self, chats: Iterable[LiveChat]) -> None:
        """Wait until all tasks of these chats have ended. Call this after the chats were stopped."""
        for chat in chats:
            # A client that leaves meanwhile starts the timer of the unattended calls again (`deny`). A hook may begin
            # another turn (`follow up`).
            while tasks := [task for task in chat.tasks.values() if not task.done()]:
                self.cancel(chat, "deny")
                self.cancel(chat, "follow up")
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
