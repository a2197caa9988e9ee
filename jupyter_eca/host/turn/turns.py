"""A turn's life as its chat's clients see it: a prompt begins it, people approve, steer and stop it.

Must not know how effects are carried out (`host.turn.effect_runner`) nor what a turn is run with (`host.turn.setup`).
`host.chat.registry` feeds the engine, which decides whether an input means anything at this moment.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_eca import redaction
from jupyter_eca.engine import inputs
from jupyter_eca.engine.draft import draft_request
from jupyter_eca.engine.text.slash_commands import hide_key
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import BusyError, LocalError, ToolError, UnknownChat
from jupyter_eca.host.chat.live_chat import BUSY, Choice, Prompt, StartedTurn, TurnUnderWay, now
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.host.turn import plan_mode
from jupyter_eca.host.turn.open_notebooks import find_asked_notebook, find_open_kernel
from jupyter_eca.host.turn.setup import choose_model
from jupyter_eca.protocol.chat import SUBAGENT
from jupyter_eca.protocol.chats import ChatOpenedParams, ChatStatus, ChatStatusChangedParams
from jupyter_eca.protocol.content import RejectReason, TextContent

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import DocumentPart, ImagePart, ModelRequest
    from jupyter_eca.host.chat.dialogue import Dialogue
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.ports import CommandRunner
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.chat.tasks import ChatTasks
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.turn.setup import Setups
    from jupyter_eca.host.turn.subagents import Subagents
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.workspace.ports import Kernel

_log = logging.getLogger(__name__)


class Turns:
    def __init__(
        self,
        services: Services,
        chats: Chats,
        tasks: ChatTasks,
        contexts: ToolContexts,
        setups: Setups,
        subagents: Subagents,
        commands: CommandRunner,
    ) -> None:
        self._services = services
        self._chats = chats
        self._tasks = tasks
        self._contexts = contexts
        self._setups = setups
        self._subagents = subagents
        self._commands = commands

    # -- the beginning of a turn

    async def prompt(self, prompt: Prompt, kernel: Kernel | None = None) -> StartedTurn:
        """Start a turn. Returns before the answer begins.

        Raises: BusyError when the chat is still answering, here or in another process; LocalError when its working
        directory is gone; NotSaved when the turn could not be stored.
        """
        services = self._services
        if prompt.chat.startswith(SUBAGENT) and not self._subagents.expects(prompt.chat):
            raise LocalError("This chat is a subagent's. Ask in the chat that it belongs to.")
        chat = await self._chats.load(prompt.chat)
        choice = prompt.choice.over(chat.choice)
        prompt, choice = plan_mode.interpret(services.current.resolved, services.subscribers, chat, prompt, choice)
        choice = replace(choice, model=await self._choose_model(choice))
        plain = prompt.follow_up > 0 or bool(chat.parent)
        dialogue = chat.dialogue if chat.dialogue and not plain and chat.dialogue.takes(prompt.message) else None
        plain = plain or bool(prompt.means)
        local = dialogue is not None or (not plain and await self._commands.answers_here(prompt.message))
        self._check_folder(choice)
        notebook = await find_asked_notebook(services, prompt, kernel)
        notebook_kernel = await find_open_kernel(services, prompt.chat, notebook)
        context = self._contexts.build(prompt.chat, kernel, notebook=notebook, folder=choice.folder)
        setup = await self._setups.prepare(choice, context, prompt.bounds, pin=not local)
        await services.store.check()
        # Meanwhile somebody may have begun a turn, or cut the chat back: then this is no longer what it is like.
        if chat.busy or self._chats.live(prompt.chat) is not chat:
            raise BusyError(BUSY)
        chat.choice, chat.under_way = choice, TurnUnderWay(prompt, kernel, notebook, notebook_kernel, chat.choice)
        if not chat.last and not chat.parent:
            opened = ChatOpenedParams(chat_id=prompt.chat)
            services.subscribers.tell(Notice("chat/opened", opened, prompt.chat))
        message = dialogue.visible_part(prompt.message) if dialogue else hide_key(prompt.message)
        chat.dialogue = dialogue
        self._chats.feed(chat, inputs.Prompted(now(), prompt.turn or fresh_id(), message, fresh_id(), setup, local))
        services.store.select(prompt.chat, choice.selection)
        # Who asked is answered when the prompt is stored: it survives whatever happens then.
        await services.store.settle()
        return StartedTurn(choice.model, login=dialogue is not None)

    def _check_folder(self, choice: Choice) -> None:
        """Raises: LocalError when the working directory is no longer a folder of the workspace."""
        if choice.folder:
            try:
                self._services.workspace.files.enter(Path(choice.folder))
            except ToolError as error:
                problem = f"The working directory of this chat cannot be used: {error}"
                raise LocalError(f"{problem} Put the folder back, or start a new chat.") from error

    async def converse(self, chat: str, dialogue: Dialogue) -> str:
        """Have the next messages in a chat go to a dialogue. Returns the dialogue's first question."""
        live = await self._chats.load(chat)
        live.dialogue = dialogue
        return await dialogue.begin()

    # -- while it is under way

    def stop(self, chat: str) -> None:
        self._chats.feed_late(chat, inputs.Stopped(now()))
        live = self._chats.live(chat)
        if live is not None:
            live.dialogue = None
        if live is not None and live.state.status is TurnStatus.STOPPING:
            stopping = ChatStatusChangedParams(chat_id=chat, status=ChatStatus.STOPPING)
            self._services.subscribers.tell(Notice("chat/statusChanged", stopping, chat))

    def break_off(self, id: str, reason: str) -> None:
        """End the turn of a chat in which something failed that must not fail, and say so."""
        live = self._chats.live(id)
        if live is None:
            return
        words = redaction.redact(f"The turn was ended, because of an error in the assistant: {reason}. See the log.")
        try:
            self.stop(id)
            self._chats.mark(live, TextContent(text=words))
        except Exception:  # noqa: BLE001  # the last resort: the chat is closed below, whatever its state is
            _log.exception("the turn of the chat %s cannot be stopped", id)
        if live.state.status is not TurnStatus.IDLE:
            self._tasks.start_unnamed(id, "close", self._close(live))

    async def _close(self, live: LiveChat) -> None:
        """Close a turn that does not end by itself, as one whose server has died."""
        await asyncio.gather(*live.tasks.values(), return_exceptions=True)
        id = live.state.id
        if live.state.status is TurnStatus.IDLE or self._chats.live(id) is not live:
            return
        self._chats.forget(id)
        try:
            await self._chats.load(id)
        except Exception:  # noqa: BLE001  # it is loaded again when somebody asks in it
            _log.exception("the turn of the chat %s cannot be closed", id)

    def approve(self, chat: str, call: str, *, remember: bool) -> bool:
        """Let a tool call run. Return whether this answer counts: a second one, or one that comes after a stop, changes
        nothing."""
        counts = self._chats.feed_late(chat, inputs.Approved(now(), call, remember))
        if remember:
            self._subagents.share(chat)
        return counts

    def reject(self, chat: str, call: str, words: str) -> bool:
        """Reject a tool call. Return whether this answer counts, see `approve`."""
        return self._chats.feed_late(chat, inputs.Rejected(now(), call, RejectReason.USER, words))

    def reject_unanswered(self, chat: str, call: str) -> None:
        """Reject a tool call because nobody is left who could approve it."""
        self._chats.feed_late(chat, inputs.Rejected(now(), call, RejectReason.NOBODY))

    def steer(self, chat: str, message: str) -> None:
        """Add a message to the model's next step. An empty one takes back those that the model was not told yet."""
        self._chats.feed_late(chat, inputs.Steered(now(), message, fresh_id()))

    def choose(self, chat: str, choice: Choice) -> None:
        """Choose for the turns to come. Trust holds from the next tool call on."""
        if live := self._chats.live(chat):
            live.choice = choice.over(live.choice)
            self._services.store.select(chat, live.choice.selection)
            if choice.trust is not None:
                self._chats.feed(live, inputs.TrustChanged(now(), choice.trust))
                self._subagents.trust(chat, trust=choice.trust)

    def note(self, chat: str, text: str, words: str) -> None:
        """Tell the reader and, with its next prompt, the model something that no turn waited for. The chat need not be
        in memory."""
        noted = inputs.NoteAdded(now(), text, words)
        if live := self._chats.live(chat):
            self._chats.feed(live, noted)
        else:
            self._tasks.start_unnamed(chat, "note", self._note(chat, noted))

    async def _note(self, id: str, noted: inputs.NoteAdded) -> None:
        try:
            self._chats.feed(await self._chats.load(id, must_exist=True), noted)
        except (UnknownChat, BusyError) as error:
            _log.info("nobody is told in %s that %s: %s", id, noted.text, error)

    # -- what a turn would be

    async def draft(self, chat: str, message: str = "", kernel: Kernel | None = None) -> ModelRequest:
        """Return what the model would be sent now. Nothing is sent or stored."""
        return await self.draft_prompt(Prompt(chat, message), kernel)

    async def draft_prompt(
        self,
        prompt: Prompt,
        kernel: Kernel | None = None,
        material: str = "",
        images: tuple[ImagePart, ...] = (),
        documents: tuple[DocumentPart, ...] = (),
    ) -> ModelRequest:
        """Return what the model would be sent now, with what was read of what the prompt points at. See `draft`."""
        live = await self._chats.load(prompt.chat)
        choice = prompt.choice.over(live.choice)
        choice = replace(choice, model=await self._choose_model(choice))
        notebook = await find_asked_notebook(self._services, prompt, kernel)
        tool_context = self._contexts.build(prompt.chat, kernel, notebook=notebook, folder=choice.folder)
        setup = await self._setups.prepare(choice, tool_context, prompt.bounds)
        return draft_request(live.state, setup, prompt.message, material, images, documents)

    async def model(self, chat: str) -> str:
        """Return the full name of the model that answers in a chat; empty when there is none."""
        return await self._choose_model((await self._chats.load(chat)).choice)

    async def _choose_model(self, choice: Choice) -> str:
        return await choose_model(self._services.current.resolved, self._services.catalog, choice)


def fresh_id() -> str:
    return uuid.uuid4().hex
