"""`%eca` and `%%eca`: from the words in a cell to a finished answer. Where things are shown is `screen`'s business."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from jupyter_eca.apps.kernel import options
from jupyter_eca.apps.kernel.completion import Completion
from jupyter_eca.apps.kernel.engine.client import Engine
from jupyter_eca.apps.kernel.locked_cell import Locking
from jupyter_eca.apps.kernel.surroundings import Surroundings, kernel_of, look
from jupyter_eca.apps.kernel.transform import NAME, transform
from jupyter_eca.errors import CellError, EcaError, RemoteError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.apps.kernel.answer.turn import Turn
    from jupyter_eca.apps.kernel.engine.shell_kernel import ShellKernel
    from jupyter_eca.apps.kernel.prompt_kernel import EcaKernel
    from jupyter_eca.protocol.content import UsageContent
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.transport.eca_client import Client

# Seconds until a chat that `/resume` goes on with is shown; nothing comes when there was no such chat.
RESUME_PATIENCE = 1.0


class Magic:
    """One per shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._engine = Engine(shell, self._answer_question)
        self._completion = Completion(shell, self)
        self._kernel: ShellKernel | None = None
        self._turn: Turn | None = None
        self.locking = Locking(shell)
        self.model = ""
        """What `%eca use` chose; empty for the default."""
        self.usage: UsageContent | None = None

    # -- in and out of the shell

    def install(self) -> None:
        """Idempotent."""
        shell = self._shell
        if transform_here in shell.input_transformers_cleanup:
            return
        shell.input_transformers_cleanup.append(transform_here)
        shell.register_magic_function(self._as_magic, "line_cell", "eca")
        shell.user_ns_hidden[NAME] = self.run
        shell.events.register("pre_run_cell", self._appear)
        self._appear()
        self._completion.install()
        self._engine.announce()

    def uninstall(self) -> None:
        shell = self._shell
        shell.input_transformers_cleanup.remove(transform_here)
        shell.magics_manager.magics["line"].pop("eca", None)
        shell.magics_manager.magics["cell"].pop("eca", None)
        shell.events.unregister("pre_run_cell", self._appear)
        shell.user_ns.pop(NAME, None)
        self._completion.remove()
        self._engine.close()

    def _appear(self, _info: Any = None) -> None:
        """Also after `%reset`, which empties the namespace."""
        self._shell.user_ns[NAME] = self.run

    def _as_magic(self, line: str, cell: str | None = None) -> None:
        """Ask the assistant: `%eca QUESTION`, or `%%eca` over several lines. `%eca help` shows all."""
        from IPython.core.async_helpers import get_asyncio_loop

        # Whole scripts are transformed before they load us. Plain IPython's loop is at rest then; a kernel's never is.
        if kernel_of(self._shell) is not None or get_asyncio_loop().is_running():
            self._without_waiting(options.parse(line, cell))
        else:
            get_asyncio_loop().run_until_complete(self.run(line, cell))

    def _without_waiting(self, asked: options.Ask | options.Command | options.Misuse) -> None:
        """In a cell that was transformed before it loaded us: what needs no engine works, the rest says where to ask.

        Raises: CellError.
        """
        match asked:
            case options.Command(name="help"):
                self._say(options.HELP)
            case options.Command(name="use", argument=model) if model:
                self.model = model
                self._say(f"Answers come from `{model}` now.")
            case options.Command(name="new"):
                self.new_chat()
            case options.Command(name="panel", argument=argument):
                from jupyter_eca.apps.kernel.panel.command import show_at_once

                if said := show_at_once(self, argument):
                    self._say(said)
            case options.Misuse(message=message):
                raise CellError(message)
            case _:
                raise CellError("Ask in the next cell: a cell that loads jupyter_eca cannot wait for an answer itself.")

    # -- what a cell awaits

    async def run(self, line: str, body: str | None = None) -> None:
        match options.parse(line, body):
            case options.Ask() as ask:
                await self._ask(ask)
            case options.Command(name="help"):
                self._say(options.HELP)
            case options.Command(name="panel", argument=argument):
                # Apart: what the other commands import would double the time until the panel is on the page.
                from jupyter_eca.apps.kernel.panel.command import show

                if said := await show(self, argument):
                    self._say(said)
            case options.Command(name=name, argument=argument):
                from jupyter_eca.apps.kernel.commands import COMMANDS

                if said := await COMMANDS[name](self, argument):
                    self._say(*([said] if isinstance(said, str) else said))
            case options.Misuse(message=message):
                raise CellError(message)

    async def _ask(self, ask: options.Ask) -> None:
        from jupyter_eca.apps.kernel.answer.turn import Turn, patiently
        from jupyter_eca.apps.kernel.model_check import check

        surroundings = look(self._shell)
        client = await self.client()
        model = ask.model or self.model
        await patiently(asyncio.ensure_future(check(client.setup, model, ask.agent, ask.variant)))
        if ask.new:
            self.new_chat()
        if self._turn is not None:
            # Only a terminal's interrupt leaves one behind: it ends the loop's run, not the turn.
            await self._turn.stop()
        turn = self._turn = Turn(self._shell, surroundings, client, self.kernel, self._engine.chat, ask.command)
        try:
            async with self._resuming(client, ask):
                await turn.run(ask, model, self.locking.of(ask))
            self.locking.learn(turn, ask)
            await self._completion.learn(client)
        finally:
            self.usage = turn.usage or self.usage
            if self._turn is turn:
                self._turn = None

    @asynccontextmanager
    async def _resuming(self, client: Client, ask: options.Ask) -> AsyncGenerator[None]:
        """`/resume NUMBER`: the cells go on with the chat that the server then shows."""
        if ask.command != "resume" or len(ask.message.split()) == 1:
            yield
            return
        shown: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def opened(chat: str) -> None:
            if chat != self._engine.chat and not shown.done():
                shown.set_result(chat)

        client.opened = opened
        try:
            yield
            await asyncio.wait((shown,), timeout=RESUME_PATIENCE)
        finally:
            client.opened = None
        if shown.done():
            self._engine.chat, self.usage = shown.result(), None

    async def _answer_question(self, asked: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Raises: RemoteError when no cell waits for an answer in that chat: nobody would see the question."""
        turn = self._turn
        if turn is None or turn.chat != str(asked.chat_id):
            raise RemoteError("no cell waits for an answer in that chat")
        return await turn.answer(asked)

    # -- for the commands

    @property
    def shell(self) -> Any:
        return self._shell

    @property
    def engine(self) -> Engine:
        return self._engine

    @property
    def kernel(self) -> ShellKernel:
        from jupyter_eca.apps.kernel.engine.shell_kernel import ShellKernel

        if self._kernel is None:
            self._kernel = ShellKernel(self._shell)
        return self._kernel

    @property
    def prompt_kernel(self) -> EcaKernel | None:
        """The kernel, where its cells can be prompts."""
        kernel = kernel_of(self._shell)
        return kernel if hasattr(kernel, "as_prompt") else None

    @property
    def answering(self) -> Turn | None:
        return self._turn

    async def client(self) -> Client:
        """The connection to the engine. Raises: CellError, which is one line in the cell."""
        from jupyter_eca.apps.kernel.answer.turn import patiently

        unattended = look(self._shell) is Surroundings.UNATTENDED
        try:
            return await patiently(asyncio.ensure_future(self.connected(unattended=unattended)))
        except EcaError as error:
            raise CellError(str(error)) from None

    async def connected(self, *, unattended: bool) -> Client:
        """As `client`, where no cell waits. Raises: EcaError."""
        return await self._engine.client(self.kernel, unattended=unattended)

    def new_chat(self) -> None:
        self._engine.new_chat()
        self.usage = None

    def _say(self, markdown: str, plain: str = "") -> None:
        from jupyter_eca.apps.kernel.answer.inert_markdown import inert

        if look(self._shell) is Surroundings.TERMINAL:
            print(plain or markdown)  # noqa: T201  # a terminal shows no Markdown
        else:
            # Names of models and folders are words of others, too.
            self._shell.display_pub.publish({"text/markdown": inert(markdown), "text/plain": plain or markdown})


def transform_here(lines: list[str]) -> list[str]:
    """One object of its own, so that it can be found in the shell's list again."""
    return transform(lines)
