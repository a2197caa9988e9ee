"""A JSON-RPC peer over a link: requests out with their answers, requests in with ours. Knows no method."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from jupyter_eca import redaction
from jupyter_eca.errors import FrameError, RemoteError
from jupyter_eca.protocol.jsonrpc import CANCEL, Code, Failure, Id, Notification, Request, Result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from jupyter_eca.transport.link import Link

_log = logging.getLogger(__name__)


class Peer:
    def __init__(
        self, link: Link, answer: Callable[[str, Any], Awaitable[Any]], heed: Callable[[str, Any], None]
    ) -> None:
        """`answer` is awaited for each request, in a task of its own, so that none holds up the reader; `heed` is
        called for each notification, in order. Both raise RemoteError for what the other side did wrong."""
        self._link = link
        self._answer = answer
        self._heed = heed
        self._waiting: dict[Id, asyncio.Future[Any]] = {}
        self._serving: dict[Id, asyncio.Task[None]] = {}
        self._cancelled: set[Id] = set()
        self._working: set[asyncio.Task[None]] = set()
        self._sent = 0
        self._left = False

    async def run(self) -> None:
        """Until the peer leaves; then requests of ours that wait fail, and answers of ours are cancelled."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                try:
                    async for message in self._link:
                        if isinstance(message, Request):
                            self._serving[message.id] = self._start(self._serve(message))
                        else:
                            await self._take(message)
                finally:
                    self._left = True
                for task in self._working:
                    task.cancel()
        finally:
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(RemoteError("the other side has left"))

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._tasks.create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        return task

    async def _take(self, message: Notification | Result | Failure | FrameError) -> None:
        match message:
            case Notification(method, params) if method == CANCEL:
                self._cancel(params)
            case Notification(method, params):
                try:
                    self._heed(method, params)
                except RemoteError as error:
                    _log.warning("%s was ignored: %s", method, error)
                except Exception:  # noqa: BLE001  # the boundary to a peer: a bug costs one notification, not the session
                    _log.exception("%s failed", method)
            case Result(id, result):
                if (future := self._waiting.pop(id, None)) and not future.done():
                    future.set_result(result)
            case Failure(id, code, text, data):
                if (future := self._waiting.pop(id or "", None)) and not future.done():
                    future.set_exception(RemoteError(text, code, data))
            case FrameError():
                await self._link.send(Failure(None, message.code, str(message)))

    def _cancel(self, params: Any) -> None:
        """One that is answered already, or was never asked, is none of our business."""
        match params:
            case {"id": str() | int() as id} if id in self._serving:
                # A task that is cancelled before its first step would end without an answer.
                asyncio.get_running_loop().call_soon(self._end, id)
            case _:
                pass

    def _end(self, id: Id) -> None:
        if task := self._serving.get(id):
            self._cancelled.add(id)
            task.cancel()

    async def _serve(self, request: Request) -> None:
        try:
            answer = Result(request.id, await self._answer(request.method, request.params))
        except asyncio.CancelledError:
            if request.id not in self._cancelled:
                raise
            answer = Failure(request.id, Code.CANCELLED, f"{request.method} was cancelled")
        except RemoteError as error:
            answer = Failure(request.id, error.code, redaction.hide(str(error)), error.data)
        except Exception as error:  # noqa: BLE001  # the boundary to a peer: a bug of ours must be answered, not hang it
            _log.exception("%s failed", request.method)
            answer = Failure(request.id, Code.INTERNAL, redaction.hide(f"{request.method} failed inside: {error}"))
        finally:
            self._serving.pop(request.id, None)
            self._cancelled.discard(request.id)
        await self._link.send(answer)

    async def notify(self, method: str, params: Any) -> None:
        await self._link.send(Notification(method, params))

    async def request(self, method: str, params: Any) -> Any:
        """Cancelling it takes it back. Raises: RemoteError when the answer is an error or the peer leaves before it."""
        if self._left:
            raise RemoteError("the other side has left")
        # Not a small integer: nvim takes a request with an id it knows for the reply to its own.
        self._sent += 1
        id = f"eca-{self._sent}"
        future = self._waiting[id] = asyncio.get_running_loop().create_future()
        try:
            await self._link.send(Request(id, method, params))
            return await future
        except asyncio.CancelledError:
            self._take_back(id)
            raise
        finally:
            self._waiting.pop(id, None)

    def _take_back(self, id: Id) -> None:
        """Beside whoever is cancelled: it must not wait for a peer that reads slowly."""
        if not self._left:
            self._start(self._link.send(Notification(CANCEL, {"id": id})))
