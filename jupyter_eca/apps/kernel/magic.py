"""Owns the magics `%eca` and `%%eca`: it installs them in an IPython shell, and runs a cell from its text to the
finished answer. A cell with a magic is first transformed into a call of `Magic.run` that is awaited (`transform.py`
says why).

It must not know how an answer is shown: `answer/` does that. `options` parses the text, `commands` has the line
commands, and `cell_session` has the state that cells share.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jupyter_eca.apps.kernel import options
from jupyter_eca.apps.kernel.cell_session import end_session, get_session
from jupyter_eca.apps.kernel.completion import Completion
from jupyter_eca.apps.kernel.engine.run_errors import start_recording, stop_recording
from jupyter_eca.apps.kernel.front_end import find_front_end, get_kernel
from jupyter_eca.apps.kernel.transform import FUNCTION_NAME, transform
from jupyter_eca.errors import CellError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.transport.eca_client import EcaClient

# Seconds to wait, after `/resume`, until the server sends the id of the chat that it continues. If there is no such
# chat, the server sends nothing.
RESUME_SECONDS = 1.0


class Magic:
    """`%eca` and `%%eca` in one shell."""

    def __init__(self, shell: Any) -> None:
        """`shell` is IPython's object for the shell."""
        self._shell = shell
        self._session = get_session(shell)
        self._completion = Completion(self._session)

    # -- install and remove

    def install(self) -> None:
        """Install the magics in the shell. A second call changes nothing."""
        shell = self._shell
        if transform_cell in shell.input_transformers_cleanup:
            return
        shell.input_transformers_cleanup.append(transform_cell)
        shell.register_magic_function(self._run_as_magic, "line_cell", "eca")
        shell.user_ns_hidden[FUNCTION_NAME] = self.run
        shell.events.register("pre_run_cell", self._add_function_to_namespace)
        start_recording(shell)
        self._add_function_to_namespace()
        self._completion.install()
        # `engine` is the connection to the program that calls the model.
        self._session.engine.announce_kernel()

    def uninstall(self) -> None:
        """Remove the magics from the shell, and end its session."""
        shell = self._shell
        shell.input_transformers_cleanup.remove(transform_cell)
        shell.magics_manager.magics["line"].pop("eca", None)
        shell.magics_manager.magics["cell"].pop("eca", None)
        shell.events.unregister("pre_run_cell", self._add_function_to_namespace)
        stop_recording(shell)
        shell.user_ns.pop(FUNCTION_NAME, None)
        self._completion.remove()
        end_session(shell)

    def _add_function_to_namespace(self, _info: Any = None) -> None:
        """Put the function that transformed cells call into the namespace. This is done before each cell, because
        `%reset` empties the namespace."""
        self._shell.user_ns[FUNCTION_NAME] = self.run

    def _run_as_magic(self, line: str, cell: str | None = None) -> None:
        """Ask the assistant: `%eca QUESTION`, or `%%eca` over several lines. `%eca help` shows all."""
        from IPython.core.async_helpers import get_asyncio_loop

        # IPython shows the docstring to users, as the help of `%eca?`. The method is called only by a cell or script
        # that was transformed before it loaded this extension. Every other cell is transformed and awaits `run`. In
        # plain IPython the loop does not run here, so the question can be asked. In a kernel the loop always runs: then
        # only some commands are run, and a question is refused.
        if get_kernel(self._shell) is not None or get_asyncio_loop().is_running():
            self._answer_at_once(options.parse(line, cell))
        else:
            get_asyncio_loop().run_until_complete(self.run(line, cell))

    def _answer_at_once(self, parsed: options.CellQuestion | options.LineCommand | options.Misuse) -> None:
        """Run a command in a cell that was transformed before it loaded us, and that cannot await. Commands that need
        no engine are run. For everything else, an error tells the user to use the next cell.

        Raises: CellError.
        """
        # The panel needs an engine only when a page shows it, so it can be shown here.
        match parsed:
            case options.LineCommand(name="help"):
                self._session.show_text(options.HELP)
            case options.LineCommand(name="use", argument=model) if model:
                self._session.model = model
                self._session.show_text(f"Answers come from `{model}` now.")
            case options.LineCommand(name="new"):
                self._session.new_chat()
            case options.LineCommand(name="panel", argument=argument):
                from jupyter_eca.apps.kernel.panel.command import show_at_once

                if text := show_at_once(self._session, argument):
                    self._session.show_text(text)
            case options.Misuse(message=message):
                raise CellError(message)
            case _:
                raise CellError("Ask in the next cell: a cell that loads jupyter_eca cannot wait for an answer itself.")

    # -- run a cell

    async def run(self, line: str, body: str | None = None) -> None:
        """Run `%eca` or `%%eca`. A transformed cell awaits this. `line` is the text after the magic, and `body` the
        lines below `%%eca`, or None for `%eca`. Raises: CellError."""
        match options.parse(line, body):
            case options.CellQuestion() as question:
                await self._ask_question(question)
            case options.LineCommand(name="help"):
                self._session.show_text(options.HELP)
            case options.LineCommand(name="panel", argument=argument):
                # This branch is separate because the imports of the other commands would double the time until the
                # panel is on the page.
                from jupyter_eca.apps.kernel.panel.command import show

                if text := await show(self._session, argument, self.run):
                    self._session.show_text(text)
            case options.LineCommand(name=name, argument=argument):
                from jupyter_eca.apps.kernel.commands import COMMANDS

                if text := await COMMANDS[name](self._session, argument):
                    # A command returns Markdown, or a pair of Markdown and a text for terminals.
                    self._session.show_text(*([text] if isinstance(text, str) else text))
            case options.Misuse(message=message):
                raise CellError(message)

    async def _ask_question(self, question: options.CellQuestion) -> None:
        """Ask a question and wait for the end of its turn. Raises: CellError."""
        from jupyter_eca.apps.kernel.answer.turn import CellTurn, wait_with_heartbeat
        from jupyter_eca.apps.kernel.choice_check import check_choice

        session, front_end = self._session, find_front_end(self._shell)
        client = await session.get_client()
        model = question.model or session.model
        await session.announce_model(client)
        if question.agent or question.variant:
            setup = client.setup
            if question.variant and not model:  # the variants of the model that answers by default must be known
                selection = await session.read_selection(client)
                setup = replace(setup, model=selection.model or "", variants=selection.variants)
            await wait_with_heartbeat(
                asyncio.ensure_future(check_choice(setup, model, question.agent, question.variant))
            )
        if question.new:
            session.new_chat()
        if session.turn is not None:
            # An interrupt in a terminal stops the loop, but does not end the turn. So an older turn may still run.
            await session.turn.stop()
        turn = session.turn = CellTurn(
            self._shell, front_end, client, session.kernel, session.engine.chat, question.command
        )
        try:
            async with self._follow_resume(client, question):
                await turn.run(question, model, session.answer_locking.create_lock(question))
            session.answer_locking.count_answer(turn, question)
            session.show_warnings(client.setup.warnings)
            session.show_untrusted_settings(client.setup.untrusted)
            await self._completion.remember_suggestions(client)
        finally:
            session.usage = turn.usage or session.usage
            if session.turn is turn:
                session.turn = None

    @asynccontextmanager
    async def _follow_resume(self, client: EcaClient, question: options.CellQuestion) -> AsyncGenerator[None]:
        """If the question is `/resume NUMBER`, wait for the chat that the server names, and make it the chat of the
        cells."""
        if question.command != "resume" or len(question.message.split()) == 1:
            yield
            return
        resumed: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def handle_opened_chat(chat: str) -> None:
            """Handle the id of a chat that the server names."""
            if chat != self._session.engine.chat and not resumed.done():
                resumed.set_result(chat)

        client.on_chat_opened = handle_opened_chat
        try:
            yield
            await asyncio.wait((resumed,), timeout=RESUME_SECONDS)
        finally:
            client.on_chat_opened = None
        if resumed.done():
            self._session.engine.chat, self._session.usage = resumed.result(), None


def transform_cell(lines: list[str]) -> list[str]:
    """Transform a cell. The shell's list must contain this function and not a bound method, because only the same
    object can be found and removed again."""
    return transform(lines)
