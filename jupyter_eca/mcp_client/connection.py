"""One connected server: its lists, which are kept fresh, and its calls, each with a timeout. It knows no status and
no retry: `server` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
from mcp import Client, MCPError, UrlElicitationRequiredError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import (
    URL_ELICITATION_REQUIRED,
    EmptyResult,
    Implementation,
    LoggingMessageNotificationParams,
    PingRequest,
    Prompt,
    Resource,
    ResourceTemplate,
    ResourceTemplateReference,
    RootsListChangedNotification,
    SubscribeRequest,
    SubscribeRequestParams,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from jupyter_eca import redaction
from jupyter_eca._version import __version__
from jupyter_eca.mcp_client import transports
from jupyter_eca.mcp_client.active_calls import ActiveCalls
from jupyter_eca.mcp_client.caller import NOBODY
from jupyter_eca.mcp_client.server_requests import ServerRequests
from jupyter_eca.workspace.tool_result import Report

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    import httpx2
    from mcp.client._transport import TransportStreams
    from mcp.client.session import LoggingFnT
    from mcp.shared.dispatcher import ProgressFnT
    from mcp_types import CallToolResult

    from jupyter_eca.mcp_client.caller import McpCaller
    from jupyter_eca.mcp_client.connection_settings import ConnectionSettings

_log = logging.getLogger(__name__)

T = TypeVar("T", bound=BaseModel)

# Pages of one list: a server that pages without end must not hang us.
_PAGES: Final = 100
# Seconds that a call's result may wait for the lists that changed meanwhile (ECA waits as long).
_SETTLE: Final = 5.0
# Seconds for a server without other work to answer a ping.
_PING: Final = 10.0
_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO, "warning": logging.WARNING}


class LostError(Exception):
    """The connection ended by itself; the message says how. `refused`: the server wants credentials."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


class NoAnswerError(Exception):
    """A call took longer than its timeout."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to reach a server. `legacy`: without first asking for the newer era of the protocol."""

    open: Callable[[transports.TransportWatch], AbstractAsyncContextManager[TransportStreams]]
    legacy: bool = False
    http: bool = False
    first: bool = False


def ways(settings: ConnectionSettings, auth: httpx2.Auth | None) -> tuple[Way, ...]:
    """Return the ways to try, one after the other: a server may end itself over a question of the newer era, and a URL
    may be of the older kind."""
    config = settings.settings
    if config.url:
        return (
            Way(lambda watch: transports.http(config, auth, watch), http=True, first=True),
            Way(lambda watch: transports.sse(config, auth, watch), legacy=True, http=True),
        )
    folder = next(iter(settings.folders()), None)

    def process(watch: transports.TransportWatch) -> AbstractAsyncContextManager[TransportStreams]:
        return transports.stdio(config, settings.inherited(), folder, watch)

    return (Way(process, first=True), Way(process, legacy=True))


@dataclass(frozen=True, slots=True)
class ServerLists:
    """What a server offers."""

    tools: tuple[Tool, ...]
    prompts: tuple[Prompt, ...]
    resources: tuple[Resource, ...]
    templates: tuple[ResourceTemplate, ...]
    instructions: str
    """What the server wants a model to know, without our secrets."""
    left_out: str
    """Which tools cannot be used, and why; empty if all can."""


@dataclass
class ServerConnection:
    client: Client
    watch: transports.TransportWatch
    timeout: float
    keep_alive: float
    settings: ConnectionSettings
    asking: ServerRequests
    calls: ActiveCalls
    tools: tuple[Tool, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    resources: tuple[Resource, ...] = ()
    templates: tuple[ResourceTemplate, ...] = ()
    _followed: list[str] = field(default_factory=list[str])
    _listening: anyio.CancelScope | None = None
    _heard: anyio.Event = field(default_factory=anyio.Event)
    _fetching: str = ""
    _fetched: anyio.Event = field(default_factory=anyio.Event)
    _moved: anyio.Event = field(default_factory=anyio.Event)
    _doubt: anyio.Event = field(default_factory=anyio.Event)
    _over: anyio.Event = field(default_factory=anyio.Event)
    _loss: LostError | None = None

    @property
    def modern(self) -> bool:
        return self.client.protocol_version in MODERN_PROTOCOL_VERSIONS

    # -- its life

    async def serve(self, changed: Callable[[], None]) -> None:
        """Run until the connection is lost. Raises: LostError."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._refresh, changed)
            tasks.start_soon(self._keep_alive)
            tasks.start_soon(self._listen)
            tasks.start_soon(self._follow_again)
            tasks.start_soon(self._tell_roots)
            tasks.start_soon(self._await_end)
            await self._over.wait()
            tasks.cancel_scope.cancel()
        if self._loss is not None:
            raise self._loss

    def lose(self, message: str, *, refused: bool = False) -> None:
        """End the connection. Of several reasons the first one is reported."""
        self._loss = self._loss or LostError(message, refused=refused)
        self._over.set()

    def announce_roots(self) -> None:
        """Tell the server that the folders of the workspace changed."""
        self._moved.set()

    @property
    def over(self) -> bool:
        return self._over.is_set() or self.watch.ended.is_set()

    async def _tell_roots(self) -> None:
        """Send the change of roots. A server of the newer era asks for the roots each time, so nobody tells it."""
        while not self.modern:
            await self._moved.wait()
            self._moved = anyio.Event()
            await self.client.session.send_notification(RootsListChangedNotification())

    async def _await_end(self) -> None:
        await self.watch.ended.wait()
        self.lose(self.watch.fault or "it ended")

    async def _keep_alive(self) -> None:
        """Ping the server, but only while no call is in progress: a server that does one thing at a time cannot answer
        then."""
        while True:
            with anyio.move_on_after(None if self.modern else self.keep_alive):
                await self._doubt.wait()
            self._doubt = anyio.Event()
            if not self.calls:
                await self._check()

    async def _check(self) -> None:
        refusal: list[int] = []
        transports.REFUSAL.set(refusal)
        with anyio.move_on_after(min(self.timeout, _PING)) as limit:
            try:
                await self._ping()
            except (MCPError, ValidationError):
                # An error is an answer too, but not of a session that is gone.
                if refusal:
                    self.lose(f"it answered HTTP {refusal[-1]}", refused=401 in refusal)
        if limit.cancelled_caught:
            self.lose("it no longer answers")

    async def _ping(self) -> None:
        if self.modern:
            await self.client.list_tools(cache_mode="refresh")
        else:
            await self.client.session.send_request(PingRequest(), EmptyResult)

    # -- its lists

    @property
    def lists(self) -> ServerLists:
        words = redaction.redact(self.client.instructions or "")
        left_out = "; ".join(f"the tool {name!r} is left out: {why}" for name, why in self.watch.left_out.items())
        return ServerLists(self.tools, self.prompts, self.resources, self.templates, words, left_out)

    async def fetch(self, name: str) -> None:
        """Fetch one of the lists. Raises: MCPError, ValidationError."""
        can = self.client.server_capabilities
        if name == "tools":
            self.watch.left_out.clear()
            self.tools = () if can.tools is None else await self._all(self.client.list_tools, lambda page: page.tools)
            for tool, why in self.watch.left_out.items():
                self.settings.log.write("warning", f"the tool {tool!r} is left out: {why}")
        elif name == "prompts" and can.prompts is not None:
            self.prompts = await self._all(self.client.list_prompts, lambda page: page.prompts)
        elif name == "resources" and can.resources is not None:
            self.resources = await self._all(self.client.list_resources, lambda page: page.resources)
            self.templates = await self._all(self.client.list_resource_templates, lambda page: page.resource_templates)

    async def _all(self, page: Callable[..., Awaitable[Any]], items: Callable[[Any], list[Any]]) -> tuple[Any, ...]:
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            answer = await page(cursor=cursor, cache_mode="refresh")
            found += items(answer)
            if answer.next_cursor in {None, cursor}:
                break
            cursor = answer.next_cursor
        return tuple(map(_hide_secrets, found))

    async def _refresh(self, changed: Callable[[], None]) -> None:
        """Fetch each list that changed. A list that cannot be fetched stays as it was."""
        while True:
            await self.watch.news.wait()
            self.watch.news = anyio.Event()
            for name in sorted(self.watch.stale, reverse=True):
                self.watch.stale.discard(name)
                self._fetching = name
                before = self.lists
                with anyio.move_on_after(self.timeout):
                    try:
                        await self.fetch(name)
                    except (MCPError, ValidationError) as error:
                        _log.warning("the %s of a server cannot be listed: %s", name, type(error).__name__)
                self._fetching = ""
                if before != self.lists:
                    changed()
                done, self._fetched = self._fetched, anyio.Event()
                done.set()

    async def await_list(self, name: str) -> None:
        """Wait until a list that has changed is fetched."""
        with anyio.move_on_after(_SETTLE):
            while (name in self.watch.stale or self._fetching == name) and not self.over:
                await self._fetched.wait()

    async def _listen(self) -> None:
        """Subscribe to changes. In the newer era a server tells them only to subscribers, and a subscription cannot be
        extended."""
        while self.modern:
            with anyio.CancelScope() as self._listening, contextlib.suppress(SubscriptionLost, TimeoutError):
                try:
                    async with self.client.listen(
                        tools_list_changed=True,
                        prompts_list_changed=True,
                        resources_list_changed=True,
                        resource_subscriptions=tuple(self._followed),
                    ) as events:
                        self._heard.set()
                        async for _ in events:
                            """The watch has seen it."""
                except (MCPError, ListenNotSupportedError):
                    self._heard.set()
                    return
            if not self._listening.cancelled_caught:
                await anyio.sleep(self.keep_alive)
            self.watch.mark("tools", "prompts", "resources")
            self._suspect_all()

    async def follow(self, uri: str) -> None:
        """Subscribe to the changes of a resource. A server without subscriptions never tells them. Raises: MCPError."""
        can = self.client.server_capabilities.resources
        if can is None or not can.subscribe or uri in self._followed:
            return
        self._followed.append(uri)
        if not self.modern:
            await self.client.session.send_request(
                SubscribeRequest(params=SubscribeRequestParams(uri=uri)), EmptyResult
            )
        elif self._listening is not None:
            self._heard = anyio.Event()
            self._listening.cancel()
            with anyio.move_on_after(_SETTLE):
                await self._heard.wait()

    async def _follow_again(self) -> None:
        """Subscribe again after a reconnect. What changed meanwhile is unknown, so everything is suspected."""
        for uri in self.settings.attached.list_followed(self.settings.name):
            with anyio.move_on_after(self.timeout), contextlib.suppress(MCPError, ValidationError):
                await self.follow(uri)
        self._suspect_all()

    def _suspect_all(self) -> None:
        self.settings.attached.suspect(self.settings.name)

    async def complete(self, template: str, variable: str, value: str, known: Mapping[str, str]) -> tuple[str, ...]:
        """Return what the value may become; nothing where the server cannot tell. Raises: NoAnswerError, MCPError."""
        if self.client.server_capabilities.completions is None:
            return ()
        wanted = ResourceTemplateReference(uri=template)
        argument = {"name": variable, "value": value}
        found = await self.call_bounded(lambda _: self.client.complete(wanted, argument, dict(known) or None))
        return tuple(found.completion.values)

    # -- its calls

    async def call_bounded(self, work: Callable[[ProgressFnT], Awaitable[Any]], behalf: McpCaller = NOBODY) -> Any:
        """Run `work` within the timeout. `work` is given the callback for progress. The server is told when the call is
        cancelled or times out.

        Raises: NoAnswerError.
        """
        limit = asyncio.timeout(self.timeout)
        with self.calls.begin(behalf, self.timeout, limit) as call:

            async def progress(progress: float, total: float | None, message: str | None) -> None:
                call.progress(Report(message or "", progress, total))

            try:
                async with limit:
                    return await work(progress)
            except TimeoutError:
                self._doubt.set()
                raise NoAnswerError(f"did not answer within {self.timeout:g} s") from None

    async def call_tool(self, name: str, arguments: dict[str, Any], behalf: McpCaller) -> CallToolResult:
        """Call a tool. If the server first wants its user to open a page, call it once more after that. Raises:
        NoAnswerError, MCPError, ValidationError."""

        async def call(progress: ProgressFnT) -> CallToolResult:
            try:
                return await self.client.call_tool(name, arguments, progress_callback=progress)
            except MCPError as error:
                if error.code != URL_ELICITATION_REQUIRED:
                    raise
                pages = UrlElicitationRequiredError.from_error(error.error).elicitations
                if not await self.asking.pages(pages):
                    raise
            return await self.client.call_tool(name, arguments, progress_callback=progress)

        return await self.call_bounded(call, behalf)


def _hide_secrets(offer: T) -> T:
    """Return a tool, prompt or resource without the secrets that we gave to the server: it may repeat one in any text.
    Names and addresses stay, because calls need them."""
    data = offer.model_dump(mode="json", by_alias=True, exclude_unset=True)
    hidden = redaction.redact_json(data)
    if hidden == data:
        return offer
    kept = {key: data[key] for key in ("name", "uri", "uriTemplate") if key in data}
    return type(offer).model_validate({**hidden, **kept})


async def run(
    way: Way, settings: ConnectionSettings, up: Callable[[ServerConnection], None], watch: transports.TransportWatch
) -> None:
    """Connect, list the tools, call `up`, and serve until the connection ends. Raises: LostError, and whatever the SDK
    raises."""
    calls = ActiveCalls()
    asking = ServerRequests(settings, calls)
    client = Client(
        way.open(watch),
        mode="legacy" if way.legacy else "auto",
        client_info=Implementation(name="jupyter-eca", version=__version__),
        list_roots_callback=asking.roots,
        elicitation_callback=asking.elicit,
        sampling_callback=asking.sample,
        logging_callback=_make_log_callback(settings),
        log_level="info",
    )
    async with client:
        connection = ServerConnection(
            client, watch, settings.pace.timeout, settings.pace.keep_alive, settings, asking, calls
        )
        watch.version = client.protocol_version
        await connection.fetch("tools")
        watch.lived = True
        watch.mark("prompts", "resources")  # before `up`: whoever hears of it may wait for these lists
        up(connection)
        await connection.serve(settings.changed)


def _make_log_callback(settings: ConnectionSettings) -> LoggingFnT:
    log = logging.getLogger(f"{__package__}.servers")

    async def write(params: LoggingMessageNotificationParams) -> None:
        words = params.data if isinstance(params.data, str) else json.dumps(params.data, ensure_ascii=False)
        log.log(_LEVELS.get(params.level, logging.ERROR), "%s: %s", settings.name, words[:2_000])
        settings.log.write(params.level, words, params.logger or "")

    return write
