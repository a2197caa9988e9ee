"""`%eca` and `%%eca`: from the text of a cell to a finished answer. It decides nothing about how an answer looks
(`answer/`); the state that cells share is in `cell_session`, the parser in `options`.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from jupyter_eca.apps.kernel import options
from jupyter_eca.apps.kernel.cell_session import end_session, session_of
from jupyter_eca.apps.kernel.completion import Completion
from jupyter_eca.apps.kernel.surroundings import find_front_end, kernel_of
from jupyter_eca.apps.kernel.transform import NAME, transform
from jupyter_eca.errors import CellError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.transport.eca_client import EcaClient

# Seconds to wait until the chat that `/resume` continues is shown; nothing comes when there was no such chat.
RESUME_PATIENCE = 1.0


class Magic:
    """`%eca` and `%%eca` in one shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._session = session_of(shell)
        self._completion = Completion(self._session)

    # -- in and out of the shell

    def install(self) -> None:
        """Install the magic in the shell. Installing twice changes nothing."""
        shell = self._shell
        if transform_here in shell.input_transformers_cleanup:
            return
        shell.input_transformers_cleanup.append(transform_here)
        shell.register_magic_function(self._as_magic, "line_cell", "eca")
        shell.user_ns_hidden[NAME] = self.run
        shell.events.register("pre_run_cell", self._appear)
        self._appear()
        self._completion.install()
        self._session.engine.announce()

    def uninstall(self) -> None:
        shell = self._shell
        shell.input_transformers_cleanup.remove(transform_here)
        shell.magics_manager.magics["line"].pop("eca", None)
        shell.magics_manager.magics["cell"].pop("eca", None)
        shell.events.unregister("pre_run_cell", self._appear)
        shell.user_ns.pop(NAME, None)
        self._completion.remove()
        end_session(shell)

    def _appear(self, _info: Any = None) -> None:
        """Put our name into the namespace, again after `%reset`, which empties it."""
        self._shell.user_ns[NAME] = self.run

    def _as_magic(self, line: str, cell: str | None = None) -> None:
        """Ask the assistant: `%eca QUESTION`, or `%%eca` over several lines. `%eca help` shows all."""
        from IPython.core.async_helpers import get_asyncio_loop

        # A whole script is transformed before it loads us. In plain IPython the loop does not run then; in a kernel it
        # always runs.
        if kernel_of(self._shell) is not None or get_asyncio_loop().is_running():
            self._without_waiting(options.parse(line, cell))
        else:
            get_asyncio_loop().run_until_complete(self.run(line, cell))

    def _without_waiting(self, parsed: options.Ask | options.LineCommand | options.Misuse) -> None:
        """Answer in a cell that was transformed before it loaded us. Commands that need no engine work; for the rest,
        tell the user where to ask.

        Raises: CellError.
        """
        match parsed:
            case options.LineCommand(name="help"):
                self._session.say(options.HELP)
            case options.LineCommand(name="use", argument=model) if model:
                self._session.model = model
                self._session.say(f"Answers come from `{model}` now.")
            case options.LineCommand(name="new"):
                self._session.new_chat()
            case options.LineCommand(name="panel", argument=argument):
                from jupyter_eca.apps.kernel.panel.command import show_at_once

                if text := show_at_once(self._session, argument):
                    self._session.say(text)
            case options.Misuse(message=message):
                raise CellError(message)
            case _:
                raise CellError("Ask in the next cell: a cell that loads jupyter_eca cannot wait for an answer itself.")

    # -- what a cell awaits

    async def run(self, line: str, body: str | None = None) -> None:
        match options.parse(line, body):
            case options.Ask() as ask:
                await self._ask(ask)
            case options.LineCommand(name="help"):
                self._session.say(options.HELP)
            case options.LineCommand(name="panel", argument=argument):
                # This branch is separate because the imports of the other commands would double the time until the
                # panel is on the page.
                from jupyter_eca.apps.kernel.panel.command import show

                if text := await show(self._session, argument, self.run):
                    self._session.say(text)
            case options.LineCommand(name=name, argument=argument):
                from jupyter_eca.apps.kernel.commands import COMMANDS

                if text := await COMMANDS[name](self._session, argument):
                    self._session.say(*([text] if isinstance(text, str) else text))
            case options.Misuse(message=message):
                raise CellError(message)

    async def _ask(self, ask: options.Ask) -> None:
        from jupyter_eca.apps.kernel.answer.turn import CellTurn, patiently
        from jupyter_eca.apps.kernel.model_check import check

        session, surroundings = self._session, find_front_end(self._shell)
        client = await session.client()
        model = ask.model or session.model
        await patiently(asyncio.ensure_future(check(client.setup, model, ask.agent, ask.variant)))
        if ask.new:
            session.new_chat()
        if session.turn is not None:
            # Only an interrupt in a terminal leaves a turn behind: it ends the run of the loop, but not the turn.
            await session.turn.stop()
        turn = session.turn = CellTurn(
            self._shell, surroundings, client, session.kernel, session.engine.chat, ask.command
        )
        try:
            async with self._follow_resume(client, ask):
                await turn.run(ask, model, session.locking.of(ask))
            session.locking.learn(turn, ask)
            session.say_warnings(client.setup.warnings)
            session.say_untrusted(client.setup.untrusted)
            await self._completion.learn(client)
        finally:
            session.usage = turn.usage or session.usage
            if session.turn is turn:
                session.turn = None

    @asynccontextmanager
    async def _follow_resume(self, client: EcaClient, ask: options.Ask) -> AsyncGenerator[None]:
        """After `/resume NUMBER` the cells continue with the chat that the server then shows."""
        if ask.command != "resume" or len(ask.message.split()) == 1:
            yield
            return
        resumed: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def take_chat(chat: str) -> None:
            if chat != self._session.engine.chat and not resumed.done():
                resumed.set_result(chat)

        client.on_chat_opened = take_chat
        try:
            yield
            await asyncio.wait((resumed,), timeout=RESUME_PATIENCE)
        finally:
            client.on_chat_opened = None
        if resumed.done():
            self._session.engine.chat, self._session.usage = resumed.result(), None


def transform_here(lines: list[str]) -> list[str]:
    """Transform a cell. This is always the same object, so that it can be found again in the shell's list."""
    return transform(lines)
