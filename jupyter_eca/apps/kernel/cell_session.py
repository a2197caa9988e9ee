"""What the cells of one shell share: the client of the engine, the live kernel and the turn under way.

It parses no cell and installs nothing in the shell: `magic` does. `commands`, `completion` and `panel/` work on it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.apps.kernel.engine.client import Engine
from jupyter_eca.apps.kernel.locked_cell import CellLocking
from jupyter_eca.apps.kernel.surroundings import FrontEndKind, find_front_end, kernel_of
from jupyter_eca.errors import CellError, EcaError, RemoteError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.apps.kernel.answer.turn import CellTurn
    from jupyter_eca.apps.kernel.engine.shell_kernel import ShellKernel
    from jupyter_eca.protocol.content import UsageContent
    from jupyter_eca.protocol.lifecycle import HeldSettings
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.transport.eca_client import EcaClient
    from jupyter_eca.workspace.notebooks.prompt_cells import DefaultCellKind


class PromptKernel(Protocol):
    """A kernel whose cells can be prompts: `EcaKernel`."""

    cells: DefaultCellKind


class CellSession:
    """The session of one shell, from the first `%load_ext` until the extension is unloaded."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.engine = Engine(shell, self._answer_question)
        self.locking = CellLocking(shell)
        self.model = ""
        """The model that `%eca use` chose; empty for the default."""
        self.usage: UsageContent | None = None
        """The usage of the last turn; None before the first turn of a chat has ended."""
        self.turn: CellTurn | None = None
        """The turn that a cell waits for now."""
        self._kernel: ShellKernel | None = None
        self._shown_notices: set[str] = set()

    @property
    def kernel(self) -> ShellKernel:
        from jupyter_eca.apps.kernel.engine.shell_kernel import ShellKernel

        if self._kernel is None:
            self._kernel = ShellKernel(self.shell)
        return self._kernel

    @property
    def prompt_kernel(self) -> PromptKernel | None:
        """The kernel, if its cells can be prompts."""
        kernel = kernel_of(self.shell)
        return kernel if hasattr(kernel, "as_prompt") else None

    async def client(self) -> EcaClient:
        """Return the client of the engine, for a cell that waits. Raises: CellError, which is one line in the cell."""
        from jupyter_eca.apps.kernel.answer.turn import patiently

        unattended = find_front_end(self.shell) is FrontEndKind.UNATTENDED
        try:
            return await patiently(asyncio.ensure_future(self.connect(unattended=unattended)))
        except EcaError as error:
            raise CellError(str(error)) from None

    async def connect(self, *, unattended: bool) -> EcaClient:
        """Return the client of the engine where no cell waits. See `client`. Raises: EcaError."""
        return await self.engine.client(self.kernel, unattended=unattended)

    def new_chat(self) -> None:
        self.engine.new_chat()
        self.usage = None

    def say(self, markdown: str, plain: str = "") -> None:
        from jupyter_eca.apps.kernel.answer.inert_markdown import inert

        if find_front_end(self.shell) is FrontEndKind.TERMINAL:
            print(plain or markdown)  # noqa: T201  # a terminal shows no Markdown
        else:
            # Names of models and folders come from others too.
            self.shell.display_pub.publish({"text/markdown": inert(markdown), "text/plain": plain or markdown})

    def say_warnings(self, warnings: list[str]) -> None:
        """Say each warning once, and clear the list. The server repeats its warnings after a lost connection."""
        for text in warnings:
            if text not in self._shown_notices:
                self._shown_notices.add(text)
                self.say(text)
        warnings.clear()

    def say_untrusted(self, folders: Sequence[HeldSettings]) -> None:
        """Say once which settings of a folder do nothing until the user trusts it."""
        for held in folders:
            if held.digest not in self._shown_notices:
                from jupyter_eca.fronts.eca.trust import ELSEWHERE, describe

                self._shown_notices.add(held.digest)
                self.say(describe(held) + ELSEWHERE.format(folder=held.folder))

    async def _answer_question(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Pass a question to the cell that waits. Raises: RemoteError when no cell waits in that chat: nobody would see
        it."""
        if self.turn is None or self.turn.chat != str(question.chat_id):
            raise RemoteError("no cell waits for an answer in that chat")
        return await self.turn.answer(question)


_sessions: dict[int, CellSession] = {}


def session_of(shell: Any) -> CellSession:
    """Return the session of a shell; the first call makes it."""
    if id(shell) not in _sessions:
        _sessions[id(shell)] = CellSession(shell)
    return _sessions[id(shell)]


def end_session(shell: Any) -> None:
    """Close the connection to the engine and forget the session of a shell."""
    _sessions.pop(id(shell)).engine.close()
