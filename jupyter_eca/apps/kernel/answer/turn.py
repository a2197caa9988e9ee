"""Owns one turn in a cell, which is one question and its answer. It receives the answer piece by piece, draws it, asks
the user about tool calls, and ends cleanly whatever happens.

It must not parse cells: `magic` creates the turn, and `cell_session` holds it while it runs.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_eca.apps.kernel.answer.failure_advice import add_failure, advise
from jupyter_eca.apps.kernel.answer.inert_markdown import as_inert_markdown
from jupyter_eca.apps.kernel.answer.questions import CellQuestions
from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
from jupyter_eca.apps.kernel.engine.interrupt import handle_interrupts_in_turn
from jupyter_eca.apps.kernel.front_end import FrontEndKind, create_screen, get_kernel
from jupyter_eca.errors import CellError, RemoteError
from jupyter_eca.protocol.event import Outcome

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from jupyter_eca.apps.kernel.engine.shell_kernel import ShellKernel
    from jupyter_eca.apps.kernel.options import CellQuestion
    from jupyter_eca.protocol.chat import AnswerLock
    from jupyter_eca.protocol.content import UsageContent
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.transport.eca_client import EcaClient

T = TypeVar("T")

# Seconds after which a waiting cell wakes the loop. An interrupt reaches the cell only when the loop wakes (measured:
# 3.5 s without this).
HEARTBEAT_SECONDS = 0.05

# The most seconds to wait, before code runs, until the answer shows the call as running. The event for that usually
# comes within milliseconds.
SHOW_SECONDS = 0.5

# Seconds that the engine gets to end a stopped turn. After that the cell ends without it.
STOP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ToolCallRecord:
    """A tool call of an answer."""

    name: str
    """The name of the tool."""
    arguments: dict[str, Any]
    """The arguments by name."""
    state: str
    """How the call ended, in words."""
    output: str
    """The output as the model read it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a question: `-> name` in a cell stores it, and `await eca.ask(…)` returns it."""

    text: str
    """The text of the answer, as Markdown."""
    tool_calls: list[ToolCallRecord]
    """The tool calls, in their order."""
    usage: UsageContent | None
    """The tokens and the cost; None if the model has not reported them."""
    outcome: str
    """How the turn ended: `completed`, `failed` or `stopped`."""
    chat: str
    """The id of the chat."""

    @property
    def replayed(self) -> bool:
        """Whether the answer came from a lock file. Then no model was asked, and `usage` is that of the recording."""
        return self.usage is not None and bool(self.usage.replayed)

    def _repr_markdown_(self) -> str:
        """Return the text for IPython, which shows it if the answer is the value of a cell."""
        return as_inert_markdown(self.text)


def build_answer(transcript: CellTranscript, chat: str) -> Answer:
    """Return the answer that a transcript has so far."""
    calls = [ToolCallRecord(call.name, call.arguments, call.state, call.output) for call in transcript.calls]
    return Answer(transcript.text, calls, transcript.usage, str(transcript.outcome or "stopped"), chat)


async def wait_with_heartbeat(task: asyncio.Future[T]) -> T:
    """Wait for a task, with a heartbeat so that interrupts arrive. If the wait is interrupted, cancel the task and
    raise the interrupt."""
    try:
        while not task.done():
            await asyncio.wait((task,), timeout=HEARTBEAT_SECONDS)
    except BaseException:
        task.cancel()
        raise
    return task.result()


class CellTurn:
    """One turn, for which a cell waits."""

    def __init__(
        self,
        shell: Any,
        front_end: FrontEndKind,
        client: EcaClient,
        kernel: ShellKernel,
        chat: str,
        command: str = "",
    ) -> None:
        """`shell` is that of IPython. `client` is connected to the engine, `kernel` runs the code of the assistant, and
        `chat` is the id of the chat. `command` is the name of the `/` command in the prompt; empty if it is not a
        command."""
        self._shell = shell
        self._front_end = front_end
        self._client = client
        self._kernel = kernel
        self._command = command
        self.chat = chat
        self._screen = create_screen(front_end, shell)
        self._transcript = CellTranscript(command)
        self._changed = asyncio.Event()  # set when something was added to the transcript
        self._interrupted = asyncio.Event()  # set when the user has interrupted the cell, and the turn must stop
        self._questions = CellQuestions(front_end, shell.display_pub, client, chat, self._draw, self._interrupted.set)
        # The task that asks the question and receives the answer; None before `run`.
        self._receiving: asyncio.Task[None] | None = None

    async def run(self, question: CellQuestion, model: str, lock: AnswerLock | None = None) -> None:
        """Ask the question and wait for the end of its turn. `model` is its full name, or "" for the default. With
        `lock`, a recorded answer is replayed, or a new one is recorded. Raises: CellError when the turn failed or was
        stopped."""
        # A recorded answer must have the same text for everybody who replays it, so it names nobody.
        self._transcript.names_people = lock is None or lock.on is not True
        self._kernel.begin(self._show_running)
        receiving = self._receiving = asyncio.ensure_future(self._receive_answer(question, model, lock))
        try:
            with self._catch_interrupts():
                while not receiving.done():
                    await asyncio.wait((receiving,), timeout=HEARTBEAT_SECONDS)
                    self._screen.draw(self._transcript)
                    if self._interrupted.is_set():
                        await self.stop()
            receiving.result()
        except (asyncio.CancelledError, KeyboardInterrupt):
            await self._stop_despite_cancellation()
        except RemoteError as error:
            raise CellError(str(error)) from None
        finally:
            self._questions.close()
            self._transcript.metadata = add_failure(self._kernel.output_metadata, self._transcript.failure)
            self._transcript.shown_code = self._kernel.shown_code
            self._screen.finish(self._transcript)
            if question.name:
                self._shell.user_ns[question.name] = build_answer(self._transcript, self.chat)
        self._raise_failure()

    def _catch_interrupts(self) -> AbstractContextManager[None]:
        """Return a context in which an interrupt stops this turn."""
        if get_kernel(self._shell) is not None:
            return contextlib.nullcontext()  # ipykernel cancels the cell
        return handle_interrupts_in_turn(self._interrupted, asyncio.get_running_loop())

    @property
    def usage(self) -> UsageContent | None:
        """The tokens and the cost; None if the model has not reported them."""
        return self._transcript.usage

    @property
    def why_not_replayed(self) -> str:
        """The reason why the recorded answer to a locked question was not replayed, and the model was asked; empty if
        there is none."""
        return self._transcript.why_not_replayed

    async def stop(self) -> None:
        """Stop the turn, and wait for its end: first stop the code that runs here, then the turn in the engine."""
        self._kernel.cancel()
        receiving = self._receiving
        if receiving is not None and not receiving.done():
            await self._client.stop(self.chat)
            await asyncio.wait((receiving,), timeout=STOP_SECONDS)
            receiving.cancel()

    async def _stop_despite_cancellation(self) -> None:
        """Stop the turn, although this task was cancelled and may be cancelled again: some users press Interrupt
        twice."""
        stopping = asyncio.ensure_future(self.stop())
        while not stopping.done():
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
            with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
                await asyncio.wait((stopping,), timeout=HEARTBEAT_SECONDS)

    async def _receive_answer(self, question: CellQuestion, model: str, lock: AnswerLock | None) -> None:
        """Ask the question, and add what is received to the transcript."""
        set_progress = self._transcript.set_progress
        async for received in self._client.ask(
            self.chat, question.message, model, question.agent, question.variant, set_progress, lock
        ):
            self._transcript.add(received)
            self._changed.set()
            self._questions.receive(received, self._transcript)

    def _draw(self) -> None:
        """Draw the present state of the answer at once, without waiting for the next redraw."""
        self._screen.draw(self._transcript, now=True)

    async def answer(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask the user a question of the assistant, at this cell."""
        return await self._questions.answer(question, question.tool_call_id or (self._command and f"/{self._command}"))

    async def _show_running(self) -> None:
        """Show that code runs. This must be done before it runs, because it may block the kernel for hours."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SHOW_SECONDS):
                while not any(call.is_running for call in self._transcript.calls):
                    self._changed.clear()
                    await self._changed.wait()
        self._draw()

    def _raise_failure(self) -> None:
        """Raise CellError, unless the turn was completed."""
        if self._transcript.outcome is Outcome.COMPLETED:
            return
        if self._transcript.outcome is Outcome.FAILED:
            reason = next(iter(self._transcript.remark.splitlines()), "the model's server did not say why.")
            advice = advise(self._transcript.failure)
            raise CellError(f"No answer: {reason}\n{advice}" if advice else f"No answer: {reason}")
        raise CellError("Stopped.")
