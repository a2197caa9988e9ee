"""Owns `SilentSubscriber`, the base class for parts of the server that watch all chats of a host without a user.

It must not know what is done with the events: its subclasses decide that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.errors import RemoteError

if TYPE_CHECKING:
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.workspace.ports import Editor, Kernel, Notebooks


class SilentSubscriber:
    """A client of the host that gets all events, but has no user, no kernel and no editor. So it approves nothing and
    answers no question. `host/subscribers.py` describes the methods."""

    # It has none of these.
    kernel: Kernel | None = None
    editor: Editor | None = None
    notebooks: Notebooks | None = None

    def sees(self, chat: str) -> bool:  # noqa: ARG002
        """Return True, so that the events of every chat are sent here."""
        return True

    def approves(self, chat: str) -> bool:  # noqa: ARG002
        """Return False: nobody approves tool calls here."""
        return False

    def answers(self, chat: str) -> bool:  # noqa: ARG002
        """Return False: nobody answers questions here."""
        return False

    def reviews(self, chat: str) -> bool:  # noqa: ARG002
        """Return False: nobody reviews changes here."""
        return False

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:  # noqa: ARG002
        """Raise RemoteError. This is never called, because `answers` returns False."""
        raise RemoteError("there is no user to ask")
