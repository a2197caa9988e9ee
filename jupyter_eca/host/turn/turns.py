"""Owns what people do to a turn: they start it with a prompt, approve or reject its tool calls, steer it and stop it.

It must not know how effects are run (`host.turn.effect_runner`) or how the model, the agent and the tools are chosen
(`host.turn.setup`). `host.chat.registry` passes the inputs to the engine, which decides whether they count.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction
from jupyter_eca.config.policy.document import Feature
from jupyter_eca.engine import inputs
from jupyter_eca.engine.draft import draft_request
from jupyter_eca.engine.text.slash_commands import hide_key
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import BusyError, LocalError, ToolError, UnknownChat
from jupyter_eca.host.chat.live_chat import BUSY, Choice, Prompt, StartedTurn, TurnUnderWay, now
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.host.turn import plan_mode
from jupyter_eca.host.turn.chat_titles import TITLE_TASK
from jupyter_eca.host.turn.open_notebooks import find_asked_notebook, find_open_kernel
from jupyter_eca.host.turn.setup import choose_model
from jupyter_eca.log_fields import LogFields
from jupyter_eca.plugins.contexts.resolve import list_named
from jupyter_eca.protocol.chat import SUBAGENT
from jupyter_eca.protocol.chats import ChatOpenedParams, ChatStatus, ChatStatusChangedParams
from jupyter_eca.protocol.content import FileChangeDetails, RejectReason, TextContent
from jupyter_eca.workspace.notebooks.change_parts import leave_out_parts

if TYPE_CHECKING:
    from collections.abc import Collection

    from jupyter_eca.engine.model.request import DocumentPart, ImagePart, ModelRequest
    from jupyter_eca.engine.tool_call import ToolCall
    from jupyter_eca.host.chat.choice_memory import ChoiceMemory
    from jupyter_eca.host.chat.dialogue import Dialogue
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.ports import CommandRunner
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.chat.tasks import ChatTasks
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.turn.setup import Setups
    from jupyter_eca.host.turn.steering import Steering
    from jupyter_eca.host.turn.subagents import Subagents
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.protocol.event import Person
    from jupyter_eca.workspace.ports import Kernel

_log = logging.getLogger(__name__)

MAX_RUNNING: Final = 500
"""The most chats that are answered at the same time. With a hundred on two cores, users notice no delay."""

_TOO_MANY: Final = "{} chats are being answered, and no more can be. Ask again when one of them has ended, or stop one."


class Turns:
    """Starts, steers and stops the turns of all chats of one host."""

    def __init__(
        self,
        services: Services,
        chats: Chats,
        tasks: ChatTasks,
        setups: Setups,
        subagents: Subagents,
        commands: CommandRunner,
        choice_memory: ChoiceMemory,
        steering: Steering,
    ) -> None:
        self._services = services
        self._chats = chats
        self._tasks = tasks
        self._setups = setups
        self._subagents = subagents
        self._commands = commands
        self._choice_memory = choice_memory
        self._steering = steering

    # -- the beginning of a turn

    async def prompt(self, prompt: Prompt, kernel: Kernel | None = None) -> StartedTurn:
        """Start a turn. Return before the answer begins. `kernel` is that of the cell that asked.

        Raises: BusyError when the chat is still answering, here or in another process, or too many chats are;
        LocalError when its working directory is gone; NotSaved when the turn could not be stored.
        """
        services = self._services
        if prompt.chat.startswith(SUBAGENT) and not self._subagents.is_running(prompt.chat):
            raise LocalError("This chat is a subagent's. Ask in the chat that it belongs to.")
        chat = await self._chats.load(prompt.chat)
        notebook = await find_asked_notebook(services, prompt, kernel)
        if notebook:
            await services.notebook_ids.follow_move(notebook)
        choice = prompt.choice.fill_from(chat.choice)
        if prompt.recalls_choices and not chat.last_seq:
            choice = await self._choice_memory.recall(notebook, choice)
        if chat.state.ended_in_plan:
            prompt, choice = plan_mode.interpret_go_ahead(
                services.current.resolved, services.subscribers, chat, prompt, choice
            )
        choice = replace(choice, model=await self._choose_model(choice))
        # A user's message may be the answer to a question of a command (a dialogue), or a command that no model
        # answers. Then the turn is `local`: the model never reads it. A message of a hook or of a model is never one of
        # these.
        is_from_user = prompt.follow_up_count == 0 and not chat.parent
        accepts = is_from_user and chat.dialogue is not None and chat.dialogue.accepts(prompt.message)
        dialogue = chat.dialogue if accepts else None
        may_be_command = is_from_user and not prompt.model_message and prompt.begins_with_slash
        local = dialogue is not None or (
            may_be_command and await self._commands.is_answered_without_model(prompt.message)
        )
        self._check_folder(choice)
        notebook_kernel = await find_open_kernel(services, prompt.chat, notebook)
        setup = await self._setups.prepare(choice, prompt.chat, kernel, notebook, prompt.bounds, pin=not local)
        await services.store.check_writable()
        if notebook:
            await services.notebook_ids.add(notebook)
        # During the waits above somebody may have begun a turn or rolled the chat back. Then all this is out of date.
        if chat.is_busy or self._chats.get_live(prompt.chat) is not chat:
            raise BusyError(BUSY)
        if not chat.parent and self._count_running() >= MAX_RUNNING:
            raise BusyError(_TOO_MANY.format(MAX_RUNNING))
        chat.choice, chat.under_way = choice, TurnUnderWay(prompt, kernel, notebook, notebook_kernel, chat.choice)
        if not local:
            chat.last_prompt = replace(prompt, message="", contexts=(), sender=None, lock=None, notebook=notebook)
        if not chat.last_seq and not chat.parent:
            opened = ChatOpenedParams(chat_id=prompt.chat)
            services.subscribers.tell(Notice("chat/opened", opened, prompt.chat))
        # The user may have typed a key after `/login`, or as the answer to a question. It is never stored.
        message = hide_key(prompt.message) if prompt.begins_with_slash else prompt.message
        message = dialogue.hide_secret(prompt.message) if dialogue else message
        chat.dialogue = dialogue
        named = list_named(prompt.contexts, message) if prompt.contexts else ()
        prompted = inputs.Prompted(
            now(), prompt.turn or make_id(), message, make_id(), setup, local, named, prompt.author, prompt.job_end
        )
        self._chats.feed(chat, prompted)
        services.store.save_selection(prompt.chat, replace(choice.selection, notebook=notebook or None))
        # The client gets its answer when the prompt is stored. So the prompt is not lost if the server crashes then.
        await services.store.settle()
        return StartedTurn(chat, choice.model, is_login_answer=dialogue is not None)

    def _count_running(self) -> int:
        """Return how many chats are answering, without those of subagents."""
        return sum(live.is_busy and not live.parent for live in self._chats.list_live())

    def _check_folder(self, choice: Choice) -> None:
        """Raises: LocalError when the working directory is no longer a folder of the workspace."""
        if choice.folder:
            try:
                self._services.workspace.files.enter(Path(choice.folder))
            except ToolError as error:
                problem = f"The working directory of this chat cannot be used: {error}"
                raise LocalError(f"{problem} Put the folder back, or start a new chat.") from error

    async def begin_dialogue(self, chat: str, dialogue: Dialogue) -> str:
        """Begin a dialogue, whose questions the next messages in the chat answer. Return its first question."""
        live = await self._chats.load(chat)
        live.dialogue = dialogue
        return await dialogue.begin()

    # -- while a turn is under way

    def stop(self, chat: str) -> None:
        """Stop the turn of a chat, its dialogue, and the request for its title."""
        self._chats.feed_late(chat, inputs.Stopped(now()))
        live = self._chats.get_live(chat)
        if live is not None:
            live.dialogue = None
            self._tasks.cancel(live, TITLE_TASK)
        if live is not None and live.state.status is TurnStatus.STOPPING:
            stopping = ChatStatusChangedParams(chat_id=chat, status=ChatStatus.STOPPING)
            self._services.subscribers.tell(Notice("chat/statusChanged", stopping, chat))

    def break_off(self, id: str, reason: str) -> None:
        """End the turn of a chat because of an internal error, and tell the user."""
        live = self._chats.get_live(id)
        if live is None:
            return
        message = redaction.redact(f"The turn was ended, because of an error in the assistant: {reason}. See the log.")
        try:
            self.stop(id)
            self._chats.add_fact(live, TextContent(text=message))
        except Exception:  # noqa: BLE001  # the last resort: the chat is closed below, whatever its state is
            _log.exception("the turn of the chat %s cannot be stopped", id, extra=LogFields(chat_id=id))
        if live.state.status is not TurnStatus.IDLE:
            self._tasks.start_detached(id, "close", self._close(live))

    async def _close(self, live: LiveChat) -> None:
        """Close a turn that does not end by itself, in the same way as after a crash of the server: the chat is loaded
        again."""
        await asyncio.gather(*live.tasks.values(), return_exceptions=True)
        id = live.state.id
        if live.state.status is TurnStatus.IDLE or self._chats.get_live(id) is not live:
            return
        self._chats.forget(id)
        try:
            await self._chats.load(id)
        except Exception:  # noqa: BLE001  # it is loaded again when somebody asks in it
            _log.exception("the turn of the chat %s cannot be closed", id)

    def approve(
        self,
        chat: str,
        call: str,
        *,
        remember: bool,
        left_out: Collection[int] = (),
        by: Person | None = None,
    ) -> bool:
        """Let a tool call run. Return whether this answer counts: a second one, or one that comes after a stop, changes
        nothing.

        With `remember`, similar calls need no approval in this chat from now on. `by` is the person who approves the
        call, if that is known. `left_out` are the indexes of those parts of its change that are not approved. An
        approval with such parts is not remembered.
        Raises: LocalError when the change has no such parts, or when none would remain. The call then still waits.
        """
        narrowed = self._narrow(chat, call, left_out) if left_out else None
        remember = remember and narrowed is None
        counts = self._chats.feed_late(chat, inputs.Approved(now(), call, remember, narrowed, by))
        if counts and by is not None:
            self._log_decision("approved", chat, call, by)
        if remember:
            self._subagents.share_approvals(chat)
        return counts

    def compute_remaining_change(self, chat: str, call: str, left_out: Collection[int]) -> FileChangeDetails | None:
        """Return what a waiting call changes if these parts of its change are left out. Return None when nothing would
        remain, when it does not have these parts, or when the call does not wait any more."""
        waiting = self._get_waiting_call(chat, call)
        details = waiting.details if waiting else None
        return leave_out_parts(details, left_out) if isinstance(details, FileChangeDetails) else None

    def _narrow(self, chat: str, call: str, left_out: Collection[int]) -> FileChangeDetails | None:
        """Return the change of a call without the parts that are left out. None if the call does not wait any more."""
        if self._get_waiting_call(chat, call) is None:
            return None
        narrowed = self.compute_remaining_change(chat, call, left_out)
        if narrowed is None:
            raise LocalError("The change was not approved, because it does not have the parts that were left out.")
        return narrowed

    def _get_waiting_call(self, chat: str, call: str) -> ToolCall | None:
        """Return the state of a call that waits for approval, None for any other call."""
        live = self._chats.get_live(chat)
        known = next((state for state in live.state.calls if state.id == call), None) if live else None
        return known if known is not None and known.status is ToolCallStatus.WAITING else None

    def reject(self, chat: str, call: str, reason: str, by: Person | None = None) -> bool:
        """Reject a tool call. The model reads the `reason`. Return whether this answer counts: a second one, or one
        that comes after a stop, changes nothing. `by` is the person who rejects the call, if that is known."""
        counts = self._chats.feed_late(chat, inputs.Rejected(now(), call, RejectReason.USER, reason, by))
        if counts and by is not None:
            self._log_decision("rejected", chat, call, by)
        return counts

    @staticmethod
    def _log_decision(decision: str, chat: str, call: str, by: Person) -> None:
        """Log who has approved or rejected a call."""
        fields = LogFields(chat_id=chat, tool_call_id=call)
        _log.info("%s has %s the call %s in the chat %s", by.username, decision, call, chat, extra=fields)

    def reject_unanswered(self, chat: str, call: str) -> None:
        """Reject a tool call because nobody is left who could approve it."""
        self._chats.feed_late(chat, inputs.Rejected(now(), call, RejectReason.NOBODY))

    def steer(self, chat: str, message: str, contexts: tuple[ChatContext, ...] = (), by: Person | None = None) -> None:
        """Add a message with its contexts to the next request to the model. An empty message takes back those that were
        not sent yet. A call that has been running for long then stops waiting, see `Steering`. `by` is the person
        who sends the message, if that is known."""
        self._steering.add(chat, message, contexts, by)

    def choose(self, chat: str, choice: Choice) -> None:
        """Choose the model, agent and other settings of the next turns. Trust already counts for the next tool call.
        The chat need not be in memory."""
        if live := self._chats.get_live(chat):
            self._choose(live, choice)
        else:
            self._tasks.start_detached(chat, "choose", self._load_and_choose(chat, choice))

    def _choose(self, live: LiveChat, choice: Choice) -> None:
        """Choose the settings of the next turns of a chat in memory, see `choose`."""
        id = live.state.id
        live.choice = choice.fill_from(live.choice)
        self._services.store.save_selection(id, live.choice.selection)
        if choice.trust is not None:
            trust = choice.trust and not self._services.config.policy.find_feature_refusal(Feature.TRUST)
            self._chats.feed(live, inputs.TrustChanged(now(), trust))
            self._subagents.set_trust(id, trust=trust)

    async def _load_and_choose(self, id: str, choice: Choice) -> None:
        """Load a chat and choose its settings. A chat that is not stored has no settings of its own yet: the client
        that has chosen them sends them with the first prompt."""
        try:
            self._choose(await self._chats.load(id, must_exist=True), choice)
        except (UnknownChat, BusyError) as error:
            _log.info("a choice for the chat %s is dropped: %s", id, error)

    def note(self, chat: str, text: str, text_for_model: str) -> None:
        """Add a note that belongs to no turn, for example about the end of a background job. The user sees `text`, and
        the model gets `text_for_model` with the next prompt. The chat need not be in memory."""
        note = inputs.NoteAdded(now(), text, text_for_model)
        if live := self._chats.get_live(chat):
            self._chats.feed(live, note)
        else:
            self._tasks.start_detached(chat, "note", self._load_and_note(chat, note))

    async def _load_and_note(self, id: str, note: inputs.NoteAdded) -> None:
        """Load a chat and add a note to it. If the chat is gone or another process answers in it, drop the note."""
        try:
            self._chats.feed(await self._chats.load(id, must_exist=True), note)
        except (UnknownChat, BusyError) as error:
            _log.info("a note for the chat %s is dropped: %s", id, error)

    # -- drafts

    async def draft(self, chat: str, message: str = "", kernel: Kernel | None = None) -> ModelRequest:
        """Return the request that a message would send to the model now. Nothing is sent or stored."""
        return await self.draft_prompt(Prompt(chat, message), kernel)

    async def draft_prompt(
        self,
        prompt: Prompt,
        kernel: Kernel | None = None,
        material: str = "",
        images: tuple[ImagePart, ...] = (),
        documents: tuple[DocumentPart, ...] = (),
    ) -> ModelRequest:
        """Return the request that a prompt would send to the model now, see `draft`. `material` is the text of its
        contexts, which the caller has read, and `images` and `documents` are what else is in them."""
        live = await self._chats.load(prompt.chat)
        choice = prompt.choice.fill_from(live.choice)
        choice = replace(choice, model=await self._choose_model(choice))
        notebook = await find_asked_notebook(self._services, prompt, kernel)
        setup = await self._setups.prepare(choice, prompt.chat, kernel, notebook, prompt.bounds)
        return draft_request(live.state, setup, prompt.message, material, images, documents)

    async def get_model(self, chat: str) -> str:
        """Return the full name of the model that answers in a chat, "" if there is none."""
        return await self._choose_model((await self._chats.load(chat)).choice)

    async def _choose_model(self, choice: Choice) -> str:
        """Return the full name of the model that answers with this choice, "" if there is none."""
        return await choose_model(self._services.current.resolved, self._services.catalog, choice)


def make_id() -> str:
    """Return a new random id."""
    return uuid.uuid4().hex
