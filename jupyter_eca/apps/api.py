"""The assistant from Python: `async with jupyter_eca.connect() as eca: print(await eca.ask("…"))`.

In a notebook, `connect` uses the engine that `%%eca` asks, with the live kernel. In a script, it starts an engine of
its own for the folder.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import uuid
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
from jupyter_eca.apps.kernel.answer.turn import answer_of
from jupyter_eca.engine.text.mentions import parse_live, split_mention
from jupyter_eca.errors import LocalError, RemoteError, TurnError
from jupyter_eca.plugins.contexts.resolve import LIVE
from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.context import DirectoryContext, FileContext, LinesRange, WebContext
from jupyter_eca.protocol.event import Outcome
from jupyter_eca.transport.eca_client import CallDecision

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterable

    from jupyter_eca.apps.kernel.answer.transcript import TranscriptCall
    from jupyter_eca.apps.kernel.answer.turn import Answer
    from jupyter_eca.transport.eca_client import ContentReceived, EcaClient

    Approve = Callable[[TranscriptCall], "bool | CallDecision | Awaitable[bool | CallDecision]"]

# Seconds that the engine has to end a turn that nobody waits for any more.
_STOP_PATIENCE: Final = 5.0

_UNASKED: Final = "The program that asked approves nothing: it was connected without `approve`."


@dataclass(frozen=True, slots=True)
class Question:
    message: str
    contexts: tuple[Model, ...] = ()
    model: str = ""
    agent: str = ""
    variant: str = ""


class Reply:
    """A question. It is sent as soon as it is awaited or iterated over. Awaiting it returns the `Answer`; iterating
    yields its events.

    Raises: TurnError when there is no answer, or only a part; RemoteError when the prompt is refused.
    """

    def __init__(self, chat: Chat, question: Question) -> None:
        self._chat = chat
        self._question = question
        self._transcript = CellTranscript()
        self._events: AsyncGenerator[ContentReceived] | None = None

    @property
    def text(self) -> str:
        """The text that has arrived so far."""
        return self._transcript.text

    @property
    def answer(self) -> Answer:
        """The answer that has arrived so far."""
        return answer_of(self._transcript, self._chat.id)

    def __await__(self) -> Generator[Any, None, Answer]:
        return self._whole().__await__()

    async def _whole(self) -> Answer:
        """Return the whole answer, also after a loop over the events has ended."""
        if self._transcript.outcome is None:
            async for _ in self:
                pass
        self._check()
        return self.answer

    def __aiter__(self) -> AsyncGenerator[ContentReceived]:
        """Iterate over the events, once; leaving early stops the turn. Raises: LocalError the second time."""
        if self._events is not None:
            raise LocalError("This question was asked already. Ask again for another answer.")
        self._events = self._ask()
        return self._events

    async def _ask(self) -> AsyncGenerator[ContentReceived]:
        client, chat, question = self._chat.client, self._chat.id, self._question
        decided: set[str] = set()
        events = client.ask(
            chat, question.message, question.model, question.agent, question.variant, contexts=question.contexts
        )
        async with aclosing(events):
            try:
                async for event in events:
                    self._transcript.add(event)
                    yield event
                    for call in self._transcript.undecided_calls:
                        if call.id not in decided:
                            decided.add(call.id)
                            await client.decide(chat, call.id, await self._chat.decide(call))
            except RemoteError:
                raise
            # This runs too when the program is cancelled, leaves the loop, or has an `approve` that raises.
            except BaseException:
                await self._end(events)
                raise
        self._check()

    def _check(self) -> None:
        if self._transcript.outcome is not Outcome.COMPLETED:
            raise TurnError(self._transcript.remark or "The turn was stopped.")

    async def _end(self, events: AsyncIterator[ContentReceived]) -> None:
        """End the turn, so that the chat is idle when the next question comes."""
        await self._chat.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_PATIENCE):
                async for event in events:
                    self._transcript.add(event)


class Chat:
    """A conversation, in which each question knows the earlier ones. With the `id` of an existing chat it continues
    that chat."""

    def __init__(self, client: EcaClient, approve: Approve | None = None, id: str = "") -> None:
        self.id = id or uuid.uuid4().hex
        self.client = client
        self._approve = approve

    def ask(
        self,
        message: str,
        contexts: Iterable[str | Model] = (),
        *,
        model: str = "",
        agent: str = "",
        variant: str = "",
    ) -> Reply:
        """Ask a question. `contexts` are paths, addresses or words such as `var:df`, `cell:3` and `error`, as after `@`
        in a prompt; or ECA's models."""
        return Reply(self, Question(message, tuple(map(context, contexts)), model, agent, variant))

    async def stop(self) -> None:
        await self.client.stop(self.id)

    async def decide(self, call: TranscriptCall) -> CallDecision:
        if self._approve is None:
            return CallDecision(False, reason=_UNASKED)
        decision = self._approve(call)
        decision = await decision if inspect.isawaitable(decision) else decision
        return decision if isinstance(decision, CallDecision) else CallDecision(decision)


class Connection(Chat):
    """The result of `connect`: a chat of its own, and access to other chats."""

    @property
    def models(self) -> tuple[str, ...]:
        return self.client.setup.models

    @property
    def agents(self) -> tuple[str, ...]:
        return self.client.setup.agents

    def chat(self, id: str = "") -> Chat:
        return Chat(self.client, self._approve, id)


@asynccontextmanager
async def connect(
    *,
    approve: Approve | None = None,
    folder: Path | str | None = None,
    config_file: Path | str | None = None,
    trust_folder: bool = False,
) -> AsyncGenerator[Connection]:
    """Connect to the assistant. `approve` decides about tool calls that the rules ask about: it is given the call and
    returns True, False or a `Decision`; it may be a coroutine function. Without it such calls are denied. With `folder`
    or `config_file` (which replaces the global and project files) a notebook gets an engine of its own, too. With
    `trust_folder` the settings that the folder brings hold in an engine of its own; else only their restrictions do.

    Raises: RemoteError with the reason when no engine can be reached.
    """
    shell = None if folder or config_file else _shell()
    if shell is not None:
        yield Connection(await _of_the_notebook(shell, asks=approve is not None), approve)
        return
    from jupyter_eca.apps.process import connect

    only = _absolute(config_file) if config_file else None
    async with connect(_absolute(folder or os.curdir), only, trust_folder=trust_folder) as client:
        yield Connection(client, approve)


def _absolute(path: Path | str) -> Path:
    return Path(path).absolute()


async def _of_the_notebook(shell: Any, *, asks: bool) -> EcaClient:
    """Return the client that the cells of the kernel use too. Where nobody watches the cells, the first connection
    decides whether somebody answers questions."""
    from jupyter_eca.apps.kernel.cell_session import session_of
    from jupyter_eca.apps.kernel.extension import load
    from jupyter_eca.apps.kernel.surroundings import FrontEndKind, find_front_end

    load(shell)
    client = await session_of(shell).connect(unattended=not asks and find_front_end(shell) is FrontEndKind.UNATTENDED)
    await client.setup.known.wait()
    return client


def _shell() -> Any:
    """Return the shell of a kernel, or of a terminal whose loop runs."""
    if (module := sys.modules.get("IPython")) is None:
        return None
    return module.get_ipython()


def context(word: str | Model) -> Model:
    if isinstance(word, Model):
        return word
    word = word.removeprefix("@")
    if word.startswith(("http://", "https://")):
        return WebContext(url=word)
    if (meant := parse_live(word)) is not None:
        return LIVE[meant.kind](meant.name)
    path, start, end = split_mention(word)
    if path.endswith("/"):
        return DirectoryContext(path=path)
    return FileContext(path=path, lines_range=LinesRange(start=start, end=end) if start else None)
