"""Denies tool calls that wait for approval when no client is left that could approve them.

It must not know what a call would do. `host.subscribers` knows the connected clients.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine import inputs
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.protocol.content import RejectReason

if TYPE_CHECKING:
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.chat.tasks import ChatTasks
    from jupyter_eca.host.subscribers import Subscriber, Subscribers

# The seconds that a call still waits after the last client that could approve it has disconnected. A page may be
# reloaded, a laptop may sleep, a connection may break: afterwards the question is still open.
GRACE_SECONDS: Final = 60.0


class UnattendedCalls:
    """The calls that wait for approval in chats that no client attends. They are denied after a while."""

    def __init__(self, subscribers: Subscribers, chats: Chats, tasks: ChatTasks) -> None:
        self._subscribers = subscribers
        self._chats = chats
        self._tasks = tasks
        self.grace = GRACE_SECONDS
        """How many seconds pass before the calls of an unattended chat are denied."""

    def disconnect(self, subscriber: Subscriber) -> None:
        """Disconnect a client. Calls that only this client could approve are denied after `grace` seconds."""
        self._subscribers.remove(subscriber)
        for chat in self._chats.list_live():
            if (turn := chat.under_way) and turn.kernel is subscriber.kernel:
                turn.kernel = None  # the kernel's client has left, so its tools cannot be used any more
            self.restart_timer(chat.state.id)

    def restart_timer(self, chat: str) -> None:
        """Restart the timer that denies the calls of a chat, if no client is left that could approve them. Called
        whenever a client leaves or may no longer approve."""
        live = self._chats.get_live(chat)
        if live and any(not call.has_ended for call in live.state.calls) and not self._subscribers.has_approver(chat):
            self._tasks.cancel(live, "deny")
            self._tasks.start(live, "deny", self._deny(live))

    async def _deny(self, chat: LiveChat) -> None:
        """Wait `grace` seconds, and then reject the calls of the turn that still wait for approval, unless a client
        that can approve them has connected meanwhile."""
        turn = chat.state.turn
        await asyncio.sleep(self.grace)
        if chat.state.turn == turn and not self._subscribers.has_approver(chat.state.id):
            for call in chat.state.calls:
                self._chats.feed(chat, inputs.Rejected(now(), call.id, RejectReason.NOBODY), late=True)
