"""Owns the messages that the user sends during a turn: it reads their contexts, and gives both to the engine, which
keeps them until the next request to the model.

A message waits until its contexts are read. Later messages wait, too, so that the model reads them in their order. If
the turn ends meanwhile, the message is dropped, as ECA's `chat/promptSteer` says, and the client sends it as a prompt.
The subagents that work for the chat get the message, too: otherwise it would wait for their end. This module
must not know how a context is read: `prompt_contexts` does.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine import inputs
from jupyter_eca.engine.chat.subagents import NOTE_ON_USER_MESSAGE
from jupyter_eca.engine.text.mentions import find_mentions
from jupyter_eca.errors import EcaError
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.plugins.contexts.resolve import as_model_input, list_named

if TYPE_CHECKING:
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.chat.tasks import ChatTasks
    from jupyter_eca.host.turn.prompt_contexts import PromptContexts
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.protocol.event import Person

_log = logging.getLogger(__name__)

# The names of the tasks that read contexts begin with this.
_TASK: Final = "steer "


class Steering:
    """Adds messages to the turns of all chats of one host."""

    def __init__(self, chats: Chats, tasks: ChatTasks, prompt_contexts: PromptContexts) -> None:
        self._chats = chats
        self._tasks = tasks
        self._prompt_contexts = prompt_contexts

    def add(self, id: str, message: str, contexts: tuple[ChatContext, ...], by: Person | None = None) -> None:
        """Add a message to the turn of the chat with this id. An empty message takes back those that the model has not
        read yet. `by` is the person who sends the message, if that is known."""
        chat = self._chats.get_live(id)
        if chat is None:
            return
        content_id = uuid.uuid4().hex
        waiting = {name: task for name, task in chat.tasks.items() if name.startswith(_TASK)}
        # In the chat of a subagent, contexts are never read, because it is a model that writes its prompts. Only the
        # text of the message is added.
        if message and not chat.parent and (waiting or contexts or find_mentions(message)):
            work = self._read_and_add(chat, content_id, message, contexts, tuple(waiting.values()), by)
            self._tasks.start(chat, f"{_TASK}{content_id}", work)
            return
        for name in waiting:
            self._tasks.cancel(chat, name)
        self._feed(chat, inputs.Steered(now(), message, content_id, by=by))

    async def _read_and_add(
        self,
        chat: LiveChat,
        content_id: str,
        message: str,
        contexts: tuple[ChatContext, ...],
        earlier: tuple[asyncio.Task[None], ...],
        by: Person | None,
    ) -> None:
        """Read the contexts of a message, and add both once the `earlier` messages are added."""
        turn = chat.under_way
        try:
            found = await self._prompt_contexts.read_during_turn(chat, message, contexts)
        except EcaError as error:
            _log.warning("the contexts of a message in %s cannot be read: %s", chat.state.id, error)
            found = []
        if earlier:
            await asyncio.wait(earlier)
        if turn is None or chat.under_way is not turn:
            return
        text, images, documents = as_model_input(found)
        named = list_named(contexts, message)
        steered = inputs.Steered(now(), message, content_id, named, text, images, documents, by)
        self._feed(chat, steered)

    def _feed(self, chat: LiveChat, steered: inputs.Steered) -> None:
        """Give a message to the engine. An event of each running call is set (`steered`): a call that has been running
        for long then stops waiting, so that the model can read the message. The event is cleared when the messages are
        taken back. Subagents get the message, too."""
        # With `late`, the engine ignores the message if the turn has ended meanwhile.
        self._chats.feed(chat, steered, late=True)
        for reporter in chat.under_way.reporters.values() if chat.under_way else ():
            if chat.state.steers:
                reporter.steered.set()
            else:
                reporter.steered.clear()
        for subagent in [other for other in self._chats.list_live() if other.parent == chat.state.id and other.is_busy]:
            context = f"{steered.context}\n\n{NOTE_ON_USER_MESSAGE}" if steered.message else ""
            self._feed(subagent, replace(steered, content_id=uuid.uuid4().hex, context=context))
