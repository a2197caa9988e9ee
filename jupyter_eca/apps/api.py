"""Owns the assistant's interface for Python code: `async with jupyter_eca.connect() as eca: print(await eca.ask("…"))`.

The engine is the program that calls the model and runs tools. In a notebook, `connect` uses the same engine and kernel
as `%%eca`. In a script, it starts an engine of its own for the folder. This module must not know how an engine is found
or started: `kernel/engine/connection.py` and `process.py` know that.
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
from jupyter_eca.apps.kernel.answer.turn import build_answer
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
    """Decides about a tool call that needs approval."""

# Seconds that the engine gets to end a turn after the program has stopped it.
_STOP_SECONDS: Final = 5.0

# What the model reads about a call that was rejected because there is no `approve`.
_NO_APPROVE_REASON: Final = "The program that asked approves nothing: it was connected without `approve`."


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the program, with all that is sent for it."""

    message: str
    """The text of the question."""
    contexts: tuple[Model, ...] = ()
    """What is sent with the message, for example files."""
    model: str = ""
    """The full name of the model, `provider/model`; empty for the default."""
    agent: str = ""
    """The name of the agent; empty for the default."""
    variant: str = ""
    """The variant of the model; empty for the default."""


class Reply:
    """A question and its answer. `await reply` returns the `Answer`. `async for event in reply` yields the events of
    the answer while they arrive. Whichever of the two is used first sends the question.

    Raises: TurnError when there is no answer or only a part of it, RemoteError when the server refuses the prompt.
    """

    def __init__(self, chat: Chat, question: Question) -> None:
        self._chat = chat
        self._question = question
        self._transcript = CellTranscript()
        # The events of the answer; None until the question is asked.
        self._events: AsyncGenerator[ContentReceived] | None = None

    @property
    def text(self) -> str:
        """The text that has arrived so far."""
        return self._transcript.text

    @property
    def answer(self) -> Answer:
        """The answer that has arrived so far."""
        return build_answer(self._transcript, self._chat.id)

    def __await__(self) -> Generator[Any, None, Answer]:
        """Ask the question if this was not done before, and return the complete answer."""
        return self._wait_for_answer().__await__()

    async def _wait_for_answer(self) -> Answer:
        """Return the complete answer. This also works after a loop over the events has ended."""
        if self._transcript.outcome is None:
            async for _ in self:
                pass
        self._raise_failure()
        return self.answer

    def __aiter__(self) -> AsyncGenerator[ContentReceived]:
        """Iterate over the events. A loop that is left early stops the turn. Raises: LocalError the second time."""
        if self._events is not None:
            raise LocalError("This question was asked already. Ask again for another answer.")
        self._events = self._ask()
        return self._events

    async def _ask(self) -> AsyncGenerator[ContentReceived]:
        """Send the question and yield the events. Tool calls that wait for approval are decided by `Chat.decide`."""
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
            # Everything is caught: the program may be cancelled, it may leave the loop, or its `approve` may raise.
            except BaseException:
                await self._stop_turn(events)
                raise
        self._raise_failure()

    def _raise_failure(self) -> None:
        """Raise TurnError, unless the turn was completed."""
        if self._transcript.outcome is not Outcome.COMPLETED:
            raise TurnError(self._transcript.remark or "The turn was stopped.")

    async def _stop_turn(self, events: AsyncIterator[ContentReceived]) -> None:
        """Stop the turn and wait for its end, so that the chat is idle when the next question comes."""
        await self._chat.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                async for event in events:
                    self._transcript.add(event)


class Chat:
    """A chat: the model sees the earlier questions and answers with each new question. With the `id` of an existing
    chat, that chat is continued."""

    def __init__(self, client: EcaClient, approve: Approve | None = None, id: str = "") -> None:
        """`client` is connected to the engine. Without `approve`, tool calls that need approval are rejected."""
        self.id = id or uuid.uuid4().hex
        """The id of the chat."""
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
        """Ask a question. Each of `contexts` is what a user would write after `@` in a prompt: a path, a web address,
        or a word such as `var:df`, `cell:3` or `error`. It may also be one of ECA's models of contexts."""
        return Reply(self, Question(message, tuple(map(parse_context, contexts)), model, agent, variant))

    async def stop(self) -> None:
        """Stop the running turn of the chat."""
        await self.client.stop(self.id)

    async def decide(self, call: TranscriptCall) -> CallDecision:
        """Let the program's `approve` decide about a tool call. Without `approve`, reject it."""
        if self._approve is None:
            return CallDecision(False, reason=_NO_APPROVE_REASON)
        decision = self._approve(call)
        decision = await decision if inspect.isawaitable(decision) else decision
        return decision if isinstance(decision, CallDecision) else CallDecision(decision)


class Connection(Chat):
    """The result of `connect`. It is itself a new chat, and gives access to other chats."""

    @property
    def models(self) -> tuple[str, ...]:
        """The full names of the models that can answer."""
        return self.client.setup.models

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agents."""
        return self.client.setup.agents

    def chat(self, id: str = "") -> Chat:
        """Return a new chat, or the existing chat with this id."""
        return Chat(self.client, self._approve, id)


@asynccontextmanager
async def connect(
    *,
    approve: Approve | None = None,
    folder: Path | str | None = None,
    config_file: Path | str | None = None,
    trust_folder: bool = False,
) -> AsyncGenerator[Connection]:
    """Connect to the assistant.

    `approve` decides about tool calls that need an approval. It is called with the call, and returns True, False or a
    `CallDecision`. It may be a coroutine function. Without `approve`, such calls are rejected.

    With `folder` or `config_file`, an engine is started for this connection, even in a notebook. `config_file` is read
    in place of all other configuration files. With `trust_folder`, the engine uses all settings in the folder. Without
    it, the engine uses only those that restrict the assistant.

    Raises: RemoteError, with the reason, when no engine can be reached.
    """
    shell = None if folder or config_file else _find_shell()
    if shell is not None:
        yield Connection(await _connect_to_notebook(shell, approves=approve is not None), approve)
        return
    from jupyter_eca.apps.process import connect as connect_to_new_engine

    only_file = _make_absolute(config_file) if config_file else None
    async with connect_to_new_engine(
        _make_absolute(folder or os.curdir), only_file, trust_folder=trust_folder
    ) as client:
        yield Connection(client, approve)


def _make_absolute(path: Path | str) -> Path:
    """Return the path from the root, without following symbolic links."""
    return Path(path).absolute()


async def _connect_to_notebook(shell: Any, *, approves: bool) -> EcaClient:
    """Return the client of this kernel, which its cells use too.

    `approves`: the program itself decides about tool calls. If it does not, and no user watches the cells, the engine
    learns that nobody can approve calls. Only the first connection of the kernel sends this.
    """
    from jupyter_eca.apps.kernel.cell_session import get_session
    from jupyter_eca.apps.kernel.extension import load
    from jupyter_eca.apps.kernel.front_end import FrontEndKind, find_front_end

    load(shell)
    session = get_session(shell)
    client = await session.connect(unattended=not approves and find_front_end(shell) is FrontEndKind.UNATTENDED)
    session.show_engine_notice()
    await client.setup.received.wait()
    return client


def _find_shell() -> Any:
    """Return the IPython shell in which this code runs; None if there is none."""
    if (module := sys.modules.get("IPython")) is None:
        return None
    return module.get_ipython()


def parse_context(word: str | Model) -> Model:
    """Return the context that a word names: a web address, a word such as `var:df`, a folder (`data/`) or a file."""
    if isinstance(word, Model):
        return word
    word = word.removeprefix("@")
    if word.startswith(("http://", "https://")):
        return WebContext(url=word)
    if (live := parse_live(word)) is not None:  # a word such as `var:df`
        return LIVE[live.kind](live.name)  # `LIVE` has a function for each kind, which makes the context
    path, start, end = split_mention(word)
    if path.endswith("/"):
        return DirectoryContext(path=path)
    return FileContext(path=path, lines_range=LinesRange(start=start, end=end) if start else None)
