"""One turn in a cell: it follows the events, draws them, asks about tool calls, and ends cleanly whatever happens.
It parses no cell: `magic` makes it and `cell_session` holds it.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_eca.apps.kernel.answer.inert_markdown import inert
from jupyter_eca.apps.kernel.answer.questions import CellQuestions
from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
from jupyter_eca.apps.kernel.engine.interrupt import in_turn
from jupyter_eca.apps.kernel.surroundings import FrontEndKind, kernel_of, screen_for
from jupyter_eca.errors import CellError, RemoteError
from jupyter_eca.protocol.event import Outcome

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from jupyter_eca.apps.kernel.engine.shell_kernel import ShellKernel
    from jupyter_eca.apps.kernel.options import Ask
    from jupyter_eca.protocol.chat import ChatLock
    from jupyter_eca.protocol.content import UsageContent
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.transport.eca_client import EcaClient

T = TypeVar("T")

# Seconds. An interrupt reaches an awaiting cell only when its loop next wakes (measured: 3.5 s without this).
HEARTBEAT = 0.05

# Seconds code waits for the event that says it runs; it comes within milliseconds.
SHOW_PATIENCE = 0.5

# Seconds the engine has to end a stopped turn; after that the cell ends anyway.
STOP_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class ToolCallRecord:
    """A tool call after its end: `state` in words, `output` as the model read it."""

    name: str
    arguments: dict[str, Any]
    state: str
    output: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What `-> name` stores, and what awaiting a question returns. `usage` is None when the model reported none."""

    text: str
    tool_calls: list[ToolCallRecord]
    usage: UsageContent | None
    outcome: str
    chat: str

    @property
    def replayed(self) -> bool:
        """Whether it came from a lock file. Then no model was asked, and `usage` is what the recording cost."""
        return self.usage is not None and bool(self.usage.replayed)

    def _repr_markdown_(self) -> str:
        return inert(self.text)


def answer_of(transcript: CellTranscript, chat: str) -> Answer:
    calls = [ToolCallRecord(call.name, call.arguments, call.state, call.output) for call in transcript.calls]
    return Answer(transcript.text, calls, transcript.usage, str(transcript.outcome or "stopped"), chat)


async def patiently(task: asyncio.Future[T]) -> T:
    """Wait with a heartbeat. When the wait is interrupted the task is cancelled, and the interrupt goes on."""
    try:
        while not task.done():
            await asyncio.wait((task,), timeout=HEARTBEAT)
    except BaseException:
        task.cancel()
        raise
    return task.result()


class CellTurn:
    def __init__(
        self,
        shell: Any,
        surroundings: FrontEndKind,
        client: EcaClient,
        kernel: ShellKernel,
        chat: str,
        command: str = "",
    ) -> None:
        """Begin a turn. `command` is the name of the `/` command, if the prompt is one."""
        self._shell = shell
        self._surroundings = surroundings
        self._client = client
        self._kernel = kernel
        self._command = command
        self.chat = chat
        self._screen = screen_for(surroundings, shell)
        self._transcript = CellTranscript(command)
        self._changed = asyncio.Event()
        self._interrupted = asyncio.Event()
        self._asking = CellQuestions(surroundings, shell.display_pub, client, chat, self._draw, self._interrupted.set)
        self._following: asyncio.Task[None] | None = None

    async def run(self, ask: Ask, model: str, lock: ChatLock | None = None) -> None:
        """Run the turn to its end. Raises: CellError when the turn failed or was stopped."""
        self._kernel.begin(self._show_running)
        following = self._following = asyncio.ensure_future(self._follow(ask, model, lock))
        try:
            with self._interrupts():
                while not following.done():
                    await asyncio.wait((following,), timeout=HEARTBEAT)
                    self._screen.draw(self._transcript)
                    if self._interrupted.is_set():
                        await self.stop()
            following.result()
        except (asyncio.CancelledError, KeyboardInterrupt):
            await self._stop_undisturbed()
        except RemoteError as error:
            raise CellError(str(error)) from None
        finally:
            self._asking.close()
            self._transcript.kept = self._kernel.output_metadata
            self._screen.finish(self._transcript)
            if ask.name:
                self._shell.user_ns[ask.name] = answer_of(self._transcript, self.chat)
        self._raise_failure()

    def _interrupts(self) -> AbstractContextManager[None]:
        if kernel_of(self._shell) is not None:
            return contextlib.nullcontext()  # ipykernel cancels the cell
        return in_turn(self._interrupted, asyncio.get_running_loop())

    @property
    def usage(self) -> UsageContent | None:
        return self._transcript.usage

    @property
    def note(self) -> str:
        """Why the model is asked for an answer that was locked; "" when it is not asked."""
        return self._transcript.note

    async def stop(self) -> None:
        """Stop the turn: first the code that runs here, then the rest. Return when it has ended."""
        self._kernel.cancel()
        following = self._following
        if following is not None and not following.done():
            await self._client.stop(self.chat)
            await asyncio.wait((following,), timeout=STOP_PATIENCE)
            following.cancel()

    async def _stop_undisturbed(self) -> None:
        """Stop within a task that was cancelled and may be cancelled again: some users press Interrupt twice."""
        stopping = asyncio.ensure_future(self.stop())
        while not stopping.done():
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
            with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
                await asyncio.wait((stopping,), timeout=HEARTBEAT)

    async def _follow(self, ask: Ask, model: str, lock: ChatLock | None) -> None:
        progressed = self._transcript.progress
        async for received in self._client.ask(self.chat, ask.message, model, ask.agent, ask.variant, progressed, lock):
            self._transcript.add(received)
            self._changed.set()
            self._asking.receive(received, self._transcript)

    def _draw(self) -> None:
        self._screen.draw(self._transcript, now=True)

    async def answer(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask the user at this cell a question of the chat."""
        return await self._asking.answer(question, question.tool_call_id or (self._command and f"/{self._command}"))

    async def _show_running(self) -> None:
        """Show that code runs before it does: it may block the kernel for hours."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SHOW_PATIENCE):
                while not any(call.runs for call in self._transcript.calls):
                    self._changed.clear()
                    await self._changed.wait()
        self._draw()

    def _raise_failure(self) -> None:
        if self._transcript.outcome is Outcome.COMPLETED:
            return
        if self._transcript.outcome is Outcome.FAILED:
            why = next(iter(self._transcript.remark.splitlines()), "the model's server did not say why.")
            raise CellError(f"No answer: {why}")
        raise CellError("Stopped.")
