"""Owns the help at the cursor for one client: rewrites of a selection, which stream, and inline completions (ghost
text).

The text goes directly from a model to the client, without a chat and without tool calls, and nothing is stored. This
module must not know the session, which it sees only as a `CursorClient`. `methods/rewrite.py` and
`methods/completion.py` have the methods, and `engine/model/cursor_requests.py` has the prompts.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca import redaction
from jupyter_eca.config.policy.document import Feature
from jupyter_eca.engine.model.cursor_requests import (
    NO_COMPLETION_MODEL,
    REWRITE_EMPTY,
    TextSelection,
    build_completion_request,
    build_rewrite_request,
    describe_place,
    extract_insertion,
    extract_replacement,
    split_at,
)
from jupyter_eca.engine.model.delta import Paused, ReasoningDelta, Remark, TextDelta
from jupyter_eca.engine.model.texts import PAUSED_TOO_OFTEN
from jupyter_eca.errors import ProviderError, RemoteError
from jupyter_eca.host.costs.ledger import Bill
from jupyter_eca.protocol import cursor_help as wire
from jupyter_eca.protocol.context import Range
from jupyter_eca.protocol.jsonrpc import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.host.host import Host
    from jupyter_eca.plugins.providers.catalog import ChosenModel
    from jupyter_eca.protocol.base import Model

_log = logging.getLogger(__name__)

# Seconds that a model has for a completion. A later one is useless, because the user has continued typing.
COMPLETION_SECONDS = 10.0


class CursorClient(Protocol):
    """The session of the client whose user types. `EcaSession` implements it."""

    @property
    def host(self) -> Host:
        """The object that runs all chats."""
        ...

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work in a task. The task is cancelled when the session ends."""
        ...

    async def notify(self, method: str, params: Model) -> None:
        """Send a notification to the client."""
        ...


class CursorHelp:
    """The running rewrites of one client, and its newest request for a completion."""

    def __init__(self, session: CursorClient, completion_seconds: float = COMPLETION_SECONDS) -> None:
        self._session = session
        self._completion_seconds = completion_seconds
        self._rewrites: dict[str | int, asyncio.Task[None]] = {}  # by the client's id of the rewrite
        # The future of the newest completion request. It is done when the next completion is requested.
        self._newer: asyncio.Future[None] | None = None

    # -- rewrites

    async def rewrite(self, params: wire.RewritePromptParams) -> wire.RewritePromptResult:
        """Start a rewrite. A running rewrite with the same id is cancelled, and sends nothing more.

        Raises: RemoteError when there is no such model.
        """
        host = self._session.host
        model = host.config.rewrite.model or await host.catalog.default()
        chosen = self._choose(model)
        lines = (params.range.start.line, params.range.end.line) if params.range else None
        request = build_rewrite_request(
            model, TextSelection(params.text, params.prompt, describe_place(params.path, lines))
        )
        earlier = self._rewrites.get(params.id)
        if earlier is not None:
            earlier.cancel()
        task = self._session.start(self._rewrite(params, chosen, request, earlier))
        self._rewrites[params.id] = task
        task.add_done_callback(lambda ended: self._forget(params.id, ended))
        return wire.RewritePromptResult(model=model)

    def stop(self, id: str | int) -> None:
        """Cancel a rewrite, so that it sends nothing more. Do nothing if it has ended."""
        if (task := self._rewrites.get(id)) is not None:
            task.cancel()

    def _forget(self, id: str | int, task: asyncio.Task[None]) -> None:
        """Forget a rewrite that has ended, unless a newer one has its id."""
        if self._rewrites.get(id) is task:
            del self._rewrites[id]

    async def _rewrite(
        self,
        params: wire.RewritePromptParams,
        chosen: ChosenModel,
        request: ModelRequest,
        earlier: asyncio.Task[None] | None,
    ) -> None:
        """Run one rewrite, after an earlier one with the same id has ended. Notify the client of its start and its
        end."""
        if earlier is not None:
            await asyncio.wait((earlier,))
        began = time.monotonic()
        await self._notify(params.id, wire.RewriteStarted())
        try:
            await self._stream(params, chosen, request)
        except ProviderError as error:
            await self._notify(params.id, wire.RewriteError(message=redaction.redact(str(error))))
        except Exception as error:  # noqa: BLE001  # the boundary to plugs: whatever they raise, the client must hear
            _log.exception("the provider of %s failed", request.model)
            message = f"The provider of {request.model} failed inside: {error!r}. The log has the details."
            await self._notify(params.id, wire.RewriteError(message=redaction.redact(message)))
        else:
            total_ms = round((time.monotonic() - began) * 1000)
            await self._notify(params.id, wire.RewriteFinished(total_time_ms=total_ms))

    async def _stream(self, params: wire.RewritePromptParams, chosen: ChosenModel, request: ModelRequest) -> None:
        """Send the model's answer piece by piece.

        Raises: ProviderError, also for an empty or unfinished answer: the editor must not replace the selection by it.
        """
        answer = ""
        reasoning = False
        # The bill names only the model: the cost belongs to no chat.
        async with aclosing(self._session.host.model_caller.stream(Bill(request.model), chosen, request)) as deltas:
            async for delta in deltas:
                match delta:
                    case TextDelta(text=text) if text:
                        answer, reasoning = answer + text, False
                        await self._notify(params.id, wire.RewriteText(text=text))
                    case ReasoningDelta() if not reasoning:
                        reasoning = True
                        await self._notify(params.id, wire.RewriteReasoning())
                    # A remark of the provider for the user, for example that the answer was cut off.
                    case Remark(text=text):
                        raise ProviderError(text)
                    # The vendor has interrupted the answer, and would continue it in another request.
                    case Paused():
                        raise ProviderError(PAUSED_TOO_OFTEN)
                    case _:
                        pass
        if not answer.strip():
            raise ProviderError(REWRITE_EMPTY)
        # The whole text may differ from what was sent: for example, the model puts it into a block of code.
        text = extract_replacement(params.text, answer)
        if text.startswith(answer) and text != answer:
            await self._notify(params.id, wire.RewriteText(text=text.removeprefix(answer)))
        elif text != answer:
            await self._notify(params.id, wire.RewriteReplace(text=text))

    async def _notify(self, id: str | int, content: wire.RewriteContent) -> None:
        """Send a piece, the start or the end of a rewrite to the client."""
        params = wire.RewriteContentReceivedParams(rewrite_id=id, content=content)
        await self._session.notify("rewrite/contentReceived", params)

    # -- completions

    async def complete(self, params: wire.CompletionInlineParams) -> wire.CompletionInlineResult:
        """Return the completion at the cursor. Return an empty result when a newer completion was requested meanwhile.

        Raises: RemoteError when no model is configured for completions, or the model fails or takes too long.
        """
        config = self._session.host.config
        if refusal := config.policy.find_feature_refusal(Feature.COMPLETIONS):
            raise RemoteError(refusal, ErrorCode.REFUSED)
        if not (model := config.completion.model):
            raise RemoteError(NO_COMPLETION_MODEL, ErrorCode.REFUSED)
        chosen = self._choose(model)
        newer = self._supersede()
        before, after = split_at(params.doc_text, params.position.line - 1, params.position.character - 1)
        answer = asyncio.ensure_future(self._complete_text(chosen, build_completion_request(model, before, after)))
        try:
            await asyncio.wait((answer, newer), timeout=self._completion_seconds, return_when=asyncio.FIRST_COMPLETED)
            if newer.done():
                return wire.CompletionInlineResult()
            if not answer.done():
                seconds = f"{self._completion_seconds:g}"
                raise RemoteError(
                    f"{model} had no completion within {seconds} s. Choose a faster model.", ErrorCode.REFUSED
                )
            text = extract_insertion(before, answer.result())
        except ProviderError as error:
            raise RemoteError(str(error), ErrorCode.REFUSED) from error
        finally:
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)
        if not text:
            return wire.CompletionInlineResult()
        cursor = Range(start=params.position, end=params.position)
        item = wire.CompletionItem(text=text, doc_version=params.doc_version, range=cursor)
        return wire.CompletionInlineResult(items=(item,))

    def _supersede(self) -> asyncio.Future[None]:
        """Return a future that is done when the next completion is requested. This ends the wait of the request before
        this one."""
        if self._newer is not None and not self._newer.done():
            self._newer.set_result(None)
        self._newer = asyncio.get_running_loop().create_future()
        return self._newer

    async def _complete_text(self, chosen: ChosenModel, request: ModelRequest) -> str:
        """Return the whole answer of the model."""
        async with aclosing(self._session.host.model_caller.stream(Bill(request.model), chosen, request)) as deltas:
            return "".join([delta.text async for delta in deltas if isinstance(delta, TextDelta)])

    def _choose(self, model: str) -> ChosenModel:
        """Return the model with this full name, and its provider. Raises: RemoteError when there is no such model."""
        try:
            return self._session.host.catalog.choose(model)
        except ProviderError as error:
            raise RemoteError(str(error), ErrorCode.REFUSED) from error
