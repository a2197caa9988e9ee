"""Owns `Peer`, one end of a JSON-RPC connection: it sends requests and waits for answers, and it answers requests.

It must not know any method: its two callbacks do. `eca_client` is its neighbour: it uses a peer for ECA's methods.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca import redaction
from jupyter_eca.errors import FrameError, PeerLeft, RemoteError
from jupyter_eca.log_fields import LOG_FIELDS, LogFields
from jupyter_eca.protocol.base import find_fault, replace_half_surrogates
from jupyter_eca.protocol.jsonrpc import (
    LSP_CANCELLATION,
    Cancellation,
    ErrorCode,
    ErrorResponse,
    Id,
    Notification,
    Request,
    Result,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from jupyter_eca.transport.link import Link

_log = logging.getLogger(__name__)


class Peer:
    """One end of a JSON-RPC connection."""

    def __init__(
        self,
        link: Link,
        answer_request: Callable[[str, Any], Awaitable[Any]],
        handle_notification: Callable[[str, Any], None],
        cancellation: Cancellation = LSP_CANCELLATION,
    ) -> None:
        """Make a peer over a link. Both callbacks get a method and its parameters. `cancellation` is how this protocol
        cancels a request.

        `answer_request` is awaited for each request, in a separate task, so that a slow answer does not stop the
        reading of the link. `handle_notification` is called for each notification, in the order in which they arrive.
        Both raise RemoteError when the other side made a mistake.
        """
        self._link = link
        self._answer_request = answer_request
        self._handle_notification = handle_notification
        self._cancellation = cancellation
        self._pending: dict[Id | None, asyncio.Future[Any]] = {}
        """The answers that we wait for, by the id of our request."""
        self._serving: dict[Id | None, asyncio.Task[None]] = {}
        """The tasks that answer the other side's requests, by the id of the request."""
        self._cancelled: set[Id | None] = set()
        """The requests that the other side has cancelled and that are not answered yet."""
        self._running: set[asyncio.Task[None]] = set()
        """All tasks of this peer that have not ended."""
        self._request_count = 0
        """How many requests we have sent. It makes the next id."""
        self.received_count = 0
        """How many messages the other side has sent. A caller that waits for an answer can compare it, to see whether
        the other side still sends anything."""
        self._left = False
        """Whether the other side has left."""

    async def run(self) -> None:
        """Read the link until the other side leaves. Then our open requests fail and our open answers are cancelled."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                try:
                    async for message in self._link:
                        self.received_count += 1
                        # Data with a fault, such as half of a surrogate pair, cannot be stored or sent to others.
                        if isinstance(message, Request) and (fault := find_fault([message.method, message.params])):
                            answer = ErrorResponse(
                                message.id, ErrorCode.INVALID_PARAMS, f"{message.method[:80]}: {fault}"
                            )
                            await self._link.send(answer)
                        elif isinstance(message, Request):
                            self._serving[message.id] = self._start(self._serve(message))
                        else:
                            await self._handle(message)
                finally:
                    self._left = True
                for task in self._running:
                    task.cancel()
        finally:
            for future in self._pending.values():
                if not future.done():
                    future.set_exception(PeerLeft())

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine as a task that is cancelled when the other side leaves."""
        task = self._tasks.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def _handle(self, message: Notification | Result | ErrorResponse | FrameError) -> None:
        """Handle a message that is not a request."""
        match message:
            case Notification(method, params) if method == self._cancellation.method:
                self._cancel(params)
            case Notification(method, params) if fault := find_fault([method, params]):
                _log.warning("%r was ignored: %s", method, fault)
            case Notification(method, params):
                fields = LOG_FIELDS.set(LogFields(request_method=method))
                try:
                    self._handle_notification(method, params)
                except RemoteError as error:
                    _log.warning("%s was ignored: %s", method, error)
                except Exception:  # noqa: BLE001  # the boundary to a peer: a bug loses one notification, not the session
                    _log.exception("%s failed", method)
                finally:
                    LOG_FIELDS.reset(fields)
            case Result(id, result):
                if (future := self._pending.pop(id, None)) and not future.done():
                    # Replaced and not refused: a result, such as the output of a kernel, cannot be requested again.
                    future.set_result(replace_half_surrogates(result))
            case ErrorResponse(id, code, text, data):
                if (future := self._pending.pop(id or "", None)) and not future.done():
                    future.set_exception(RemoteError(text, code, data))
            case FrameError():
                await self._link.send(ErrorResponse(None, message.code, str(message)))

    def _cancel(self, params: Any) -> None:
        """Cancel the answer to a request. Ids of answered requests, and ids that nobody sent, are ignored."""
        fields = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
        id = fields.get(self._cancellation.field)
        if isinstance(id, str | int | float) and id in self._serving:
            # Not immediately: a task that is cancelled before its first step would end without sending an answer.
            asyncio.get_running_loop().call_soon(self._cancel_task, id)

    def _cancel_task(self, id: Id) -> None:
        """Cancel the task that answers the request of this id, if it is still running."""
        if task := self._serving.get(id):
            self._cancelled.add(id)
            task.cancel()

    async def _serve(self, request: Request) -> None:
        """Answer a request of the other side with the result or an error. It is the work of a task of its own."""
        LOG_FIELDS.set(LogFields(request_method=request.method))
        try:
            answer = Result(request.id, await self._answer_request(request.method, request.params))
        except asyncio.CancelledError:
            if request.id not in self._cancelled:
                raise
            answer = ErrorResponse(request.id, ErrorCode.CANCELLED, f"{request.method} was cancelled")
        except RemoteError as error:
            answer = ErrorResponse(request.id, error.code, redaction.redact(str(error)), error.data)
        except Exception as error:  # noqa: BLE001  # the boundary to a peer: it must get an answer even if we have a bug
            _log.exception("%s failed", request.method)
            answer = ErrorResponse(
                request.id, ErrorCode.INTERNAL, redaction.redact(f"{request.method} failed inside: {error}")
            )
        finally:
            self._serving.pop(request.id, None)
            self._cancelled.discard(request.id)
        await self._link.send(answer)

    async def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        await self._link.send(Notification(method, params))

    async def request(self, method: str, params: Any) -> Any:
        """Send a request and return the result. Cancelling this call cancels the request on the other side too.

        Raises: RemoteError when the answer is an error, or when the other side leaves before it answers.
        """
        if self._left:
            raise PeerLeft()
        # The id is a text: nvim uses small integers, and takes a request with such an id for the answer to its own.
        self._request_count += 1
        id = f"eca-{self._request_count}"
        future = self._pending[id] = asyncio.get_running_loop().create_future()
        try:
            await self._link.send(Request(id, method, params))
            return await future
        except asyncio.CancelledError:
            self._send_cancellation(id)
            raise
        finally:
            self._pending.pop(id, None)

    def _send_cancellation(self, id: Id) -> None:
        """Cancel our request at the other side. This is a task, because the cancelled caller must not wait for a peer
        that reads slowly."""
        if not self._left:
            self._start(self._link.send(Notification(self._cancellation.method, {self._cancellation.field: id})))
