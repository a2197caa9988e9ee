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
    """Has no user, no kernel and no editor, so it approves nothing and answers no question. `host/subscribers.py`
    describes the methods."""

    kernel: Kernel | None = None
    editor: Editor | None = None
    notebooks: Notebooks | None = None

    def sees(self, chat: str) -> bool:  # noqa: ARG002
        return True

    def approves(self, chat: str) -> bool:  # noqa: ARG002
        return False

    def answers(self, chat: str) -> bool:  # noqa: ARG002
        return False

    def reviews(self, chat: str) -> bool:  # noqa: ARG002
        return False

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:  # noqa: ARG002
        raise RemoteError("there is no user to ask")
