"""Owns the session of an IPython shell. It has what all cells of the shell share: the client of the engine, the live
kernel, and the running turn.

It must not parse cells or install anything in the shell: `magic` does that. `commands`, `completion` and `panel/` use
the session.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.apps.kernel.engine.connection import EngineConnection
from jupyter_eca.apps.kernel.front_end import FrontEndKind, find_front_end, get_kernel
from jupyter_eca.apps.kernel.locked_cell import AnswerLocking
from jupyter_eca.errors import CellError, EcaError, RemoteError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.apps.kernel.answer.turn import CellTurn
    from jupyter_eca.apps.kernel.engine.shell_kernel import ShellKernel
    from jupyter_eca.protocol.chats import ChatSelection
    from jupyter_eca.protocol.content import UsageContent
    from jupyter_eca.protocol.lifecycle import HeldSettings
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.transport.eca_client import EcaClient
    from jupyter_eca.workspace.notebooks.prompt_cells import DefaultCellKind


class PromptKernel(Protocol):
    """A kernel whose cells can be prompts: `EcaKernel`."""

    cells: DefaultCellKind
    """What a cell without a magic in its first line is: a prompt or code."""


class CellSession:
    """The session of one shell, from the first `%load_ext` until the extension is unloaded."""

    def __init__(self, shell: Any) -> None:
        """`shell` is IPython's object for the shell."""
        self.shell = shell
        self.engine = EngineConnection(shell, self._answer_question)
        self.answer_locking = AnswerLocking(shell)
        """Whether answers are recorded in a file and replayed from it, and what was replayed so far."""
        self.model = ""
        """The model that the user chose with `%eca use`; empty for the default."""
        self._announced_model = ""
        """The model that the server remembers for new chats of this notebook."""
        self.usage: UsageContent | None = None
        """The usage of the last turn; None until the first turn of a chat has ended."""
        self.turn: CellTurn | None = None
        """The turn whose answer a cell waits for; None while no cell waits."""
        self._kernel: ShellKernel | None = None  # see `kernel`; None until it is first needed
        self._shown_notices: set[str] = set()
        """The warnings that were shown, and the digests of the untrusted settings that were shown."""

    @property
    def kernel(self) -> ShellKernel:
        """The kernel as the assistant's tools use it."""
        from jupyter_eca.apps.kernel.engine.shell_kernel import ShellKernel

        if self._kernel is None:
            self._kernel = ShellKernel(self.shell)
        return self._kernel

    @property
    def prompt_kernel(self) -> PromptKernel | None:
        """The kernel, if its cells can be prompts; otherwise None."""
        kernel = get_kernel(self.shell)
        # Only `EcaKernel` has this method. The class is not imported for this, because its module loads IPython's
        # kernel.
        return kernel if hasattr(kernel, "add_prompt_magic") else None

    async def get_client(self) -> EcaClient:
        """Return the client of the engine, to a cell that waits for it. Raises: CellError, which the cell shows as one
        line."""
        from jupyter_eca.apps.kernel.answer.turn import wait_with_heartbeat

        unattended = find_front_end(self.shell) is FrontEndKind.UNATTENDED
        try:
            client = await wait_with_heartbeat(asyncio.ensure_future(self.connect(unattended=unattended)))
        except EcaError as error:
            raise CellError(str(error)) from None
        self.show_engine_notice()
        return client

    def show_engine_notice(self) -> None:
        """Say once that an engine in this kernel answers, where the engine of a server was expected."""
        if self.engine.notice:
            self.show_text(self.engine.notice)
            self.engine.notice = ""

    async def connect(self, *, unattended: bool) -> EcaClient:
        """Return the client of the engine, to code that is not a waiting cell: see `get_client`. `unattended`: nobody
        can approve tool calls. Raises: EcaError."""
        return await self.engine.get_client(self.kernel, unattended=unattended)

    async def announce_model(self, client: EcaClient) -> None:
        """Tell the server once which model the user has chosen with `%eca use`, so that new chats of this notebook
        begin with it. A model that the server does not list is not sent, because it may not exist."""
        from jupyter_eca.protocol.chat import ChatSelectedModelChangedParams

        if self.model not in {"", self._announced_model} and self.model in client.setup.models:
            self._announced_model = self.model
            await client.notify("chat/selectedModelChanged", ChatSelectedModelChangedParams(model=self.model))

    async def read_selection(self, client: EcaClient) -> ChatSelection:
        """Return the model and the other choices with which the next question is answered, if it does not choose
        others."""
        from jupyter_eca.apps.kernel.answer.turn import wait_with_heartbeat
        from jupyter_eca.protocol.chats import ChatSelection, ChatSelectionParams

        params = ChatSelectionParams(chat_id=self.engine.chat)
        return await wait_with_heartbeat(asyncio.ensure_future(client.request("chat/selection", params, ChatSelection)))

    def new_chat(self) -> None:
        """Let the next question start a new chat."""
        self.engine.new_chat()
        self.usage = None

    def show_text(self, markdown: str, plain: str = "") -> None:
        """Show a text in the cell. A terminal shows `plain` instead, if it is given."""
        from jupyter_eca.apps.kernel.answer.inert_markdown import as_inert_markdown

        if find_front_end(self.shell) is FrontEndKind.TERMINAL:
            print(plain or markdown)  # noqa: T201  # a terminal shows no Markdown
        else:
            # The text may contain names of models and folders, which other people have chosen. So it is made inert.
            self.shell.display_pub.publish(
                {"text/markdown": as_inert_markdown(markdown), "text/plain": plain or markdown}
            )

    def show_warnings(self, warnings: list[str]) -> None:
        """Show each warning once, and clear the list. The server repeats its warnings after a lost connection."""
        for text in warnings:
            if text not in self._shown_notices:
                self._shown_notices.add(text)
                self.show_text(text)
        warnings.clear()

    def show_untrusted_settings(self, folders: Sequence[HeldSettings]) -> None:
        """Show, once, which settings of each folder do nothing until the user trusts the folder."""
        for held in folders:
            if held.digest not in self._shown_notices:
                from jupyter_eca.fronts.eca.trust import HOW_TO_TRUST_ELSEWHERE, describe_held_settings

                self._shown_notices.add(held.digest)
                self.show_text(describe_held_settings(held) + HOW_TO_TRUST_ELSEWHERE.format(folder=held.folder))

    async def _answer_question(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Pass a question of the assistant to the waiting cell. Raises: RemoteError when no cell waits in that chat,
        because nobody would see the question."""
        if self.turn is None or self.turn.chat != str(question.chat_id):
            raise RemoteError("no cell waits for an answer in that chat")
        return await self.turn.answer(question)


# The sessions by the ids of the shell objects.
_sessions: dict[int, CellSession] = {}


def get_session(shell: Any) -> CellSession:
    """Return the session of a shell. The first call creates it."""
    if id(shell) not in _sessions:
        _sessions[id(shell)] = CellSession(shell)
    return _sessions[id(shell)]


def end_session(shell: Any) -> None:
    """Close the connection to the engine and forget the session of a shell."""
    _sessions.pop(id(shell)).engine.close()
