"""Owns the connection to one MCP server: it keeps the lists of tools, prompts and resources up to date, and sends
calls, each with a timeout.

It must not know the status of the server, or reconnect: `server.py` does. `session_run.py` handles the errors of a
connection, `transports.py` moves the messages, and `server_requests.py` answers the requests of the server. The SDK is
the package `mcp`, which implements the protocol.

The SDK calls some protocol versions modern (`MODERN_PROTOCOL_VERSIONS`). In these, a server has no session, and sends
changes only to clients that subscribe. The older versions are called legacy.
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
from jupyter_eca.mcp_client.client_features import NO_CALLER
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

    from jupyter_eca.mcp_client.client_features import McpCaller
    from jupyter_eca.mcp_client.connection_settings import ConnectionSettings

_log = logging.getLogger(__name__)

T = TypeVar("T", bound=BaseModel)

# The largest number of pages that are fetched of one list. A server may send pages without end.
_MAX_PAGES: Final = 100
# Seconds to wait for a list that has changed, or for a subscription. ECA waits as long for a list.
_LISTS_SECONDS: Final = 5.0
# Seconds that a server without other work has to answer a ping.
_PING_SECONDS: Final = 10.0
# Seconds that the SDK has to close a connection.
_CLOSE_SECONDS: Final = 5.0
# MCP's log levels that are not errors.
_LOG_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.DEBUG,
    "notice": logging.DEBUG,
    "warning": logging.WARNING,
}


class ConnectionLostError(Exception):
    """The connection ended by itself. The message says why. `is_refused` means that the server wants credentials."""

    def __init__(self, message: str, *, is_refused: bool = False) -> None:
        super().__init__(message)
        self.is_refused = is_refused


class CallTimeoutError(Exception):
    """A call took longer than its timeout."""


@dataclass(frozen=True, slots=True)
class ConnectionAttempt:
    """One way to connect to a server."""

    open_transport: Callable[[transports.TransportWatch], AbstractAsyncContextManager[TransportStreams]]
    """Opens the transport, which reports to the watch."""
    is_legacy: bool = False
    """Whether only legacy versions of the protocol are used. Otherwise a modern version is tried first."""
    is_http: bool = False
    """Whether the server is reached by a URL."""
    is_first: bool = False
    """Whether this is the first attempt. `session_run.py` decides whether the second attempt follows its failure."""


def list_attempts(settings: ConnectionSettings, auth: httpx2.Auth | None) -> tuple[ConnectionAttempt, ...]:
    """Return the two ways to connect, in the order in which they are tried. The second way is needed for older servers.
    A program may end when it receives a request of a modern version. A URL may speak only the older transport (SSE,
    server-sent events). `auth` signs in to a URL; None for no sign-in."""
    config, find_refusal = settings.config, settings.find_url_refusal
    if config.url:
        return (
            ConnectionAttempt(
                lambda watch: transports.open_http(config, auth, watch, find_refusal), is_http=True, is_first=True
            ),
            ConnectionAttempt(
                lambda watch: transports.open_sse(config, auth, watch, find_refusal), is_legacy=True, is_http=True
            ),
        )
    folder = next(iter(settings.get_folders()), None)

    def open_process(watch: transports.TransportWatch) -> AbstractAsyncContextManager[TransportStreams]:
        """Return the transport to the program of the server. The program is started when the transport is opened."""
        return transports.open_stdio(config, settings.get_environment(), folder, watch)

    return (ConnectionAttempt(open_process, is_first=True), ConnectionAttempt(open_process, is_legacy=True))


@dataclass(frozen=True, slots=True)
class ServerLists:
    """The lists of what a server offers. `tools`, `prompts` and `resources` are in the form of the SDK."""

    tools: tuple[Tool, ...]
    prompts: tuple[Prompt, ...]
    resources: tuple[Resource, ...]
    templates: tuple[ResourceTemplate, ...]
    """The addresses of further resources, with variables in them."""
    instructions: str
    """The instructions of the server for a model. Secrets that we gave to the server are removed."""
    left_out: str
    """Which tools cannot be used, and why; empty when all can be used."""


@dataclass
class ServerConnection:
    """A connection that was made."""

    client: Client
    """The client of the SDK."""
    watch: transports.TransportWatch
    """Notes what arrives on the transport."""
    timeout: float
    """Seconds that a call has."""
    keep_alive: float
    """Seconds between two pings of an idle server."""
    settings: ConnectionSettings
    """The settings with which the connection was made."""
    requests: ServerRequests
    """Answers the requests of the server."""
    calls: ActiveCalls
    """The calls in progress."""
    # The lists as they were last fetched, see `ServerLists`.
    tools: tuple[Tool, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    resources: tuple[Resource, ...] = ()
    templates: tuple[ResourceTemplate, ...] = ()
    _subscriptions: list[str] = field(default_factory=list[str])
    """The URIs of the resources that we subscribed to."""
    _subscription_scope: anyio.CancelScope | None = None
    """Ends the present subscription of a modern version."""
    _subscribed: anyio.Event = field(default_factory=anyio.Event)
    """Set when the newest subscription has begun, or cannot begin."""
    _fetching: str = ""
    """The name of the list that is being fetched; empty for none."""
    _fetched: anyio.Event = field(default_factory=anyio.Event)
    """Set after each list that was fetched, and then replaced by a new event."""
    _roots_changed: anyio.Event = field(default_factory=anyio.Event)
    """Set when the server must be told that the roots changed."""
    _check_wanted: anyio.Event = field(default_factory=anyio.Event)
    """Set when the server must be pinged at once, because a call timed out."""
    _ended: anyio.Event = field(default_factory=anyio.Event)
    """Set when the connection must end, or has ended."""
    _loss: ConnectionLostError | None = None
    """Why the connection ended."""

    @property
    def is_modern(self) -> bool:
        """Whether the server speaks a modern version of the protocol. See the top of the module."""
        return self.client.protocol_version in MODERN_PROTOCOL_VERSIONS

    # -- the tasks of the connection

    async def serve(self, on_change: Callable[[], None]) -> None:
        """Run the tasks of the connection until it is lost. `on_change` is called after one of the lists changed.

        Raises: ConnectionLostError.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._refresh_lists, on_change)
            tasks.start_soon(self._ping_when_idle)
            tasks.start_soon(self._listen_for_changes)
            tasks.start_soon(self._resubscribe)
            tasks.start_soon(self._send_root_changes)
            tasks.start_soon(self._watch_transport)
            await self._ended.wait()
            tasks.cancel_scope.cancel()
        if self._loss is not None:
            raise self._loss

    def end(self, message: str, *, is_refused: bool = False) -> None:
        """End the connection. `message` is the reason. If there are several reasons, the first is reported.
        `is_refused` says whether the server wants another sign-in (HTTP 401)."""
        self._loss = self._loss or ConnectionLostError(message, is_refused=is_refused)
        self._ended.set()

    @property
    def loss(self) -> ConnectionLostError:
        """Why the connection was lost."""
        return self._loss or ConnectionLostError("it ended")

    def announce_roots(self) -> None:
        """Tell the server soon that the folders of the workspace (its roots) have changed."""
        self._roots_changed.set()

    @property
    def has_ended(self) -> bool:
        """Whether the connection has ended, or its transport has."""
        return self._ended.is_set() or self.watch.ended.is_set()

    async def _send_root_changes(self) -> None:
        """Notify the server when the roots changed. In modern versions this is not needed: the server asks for the
        roots whenever it needs them."""
        while not self.is_modern:
            await self._roots_changed.wait()
            self._roots_changed = anyio.Event()
            await self.client.session.send_notification(RootsListChangedNotification())

    async def _watch_transport(self) -> None:
        """End the connection when its transport has ended."""
        await self.watch.ended.wait()
        self.end(self.watch.fault or "it ended")

    async def _ping_when_idle(self) -> None:
        """Ping the server each time `keep_alive` seconds have passed, and after a call that timed out. A server of a
        modern version is pinged only after such a call, because it has no session to keep. During a call no server is
        pinged, because a server that handles one request at a time could not answer."""
        while True:
            with anyio.move_on_after(None if self.is_modern else self.keep_alive):
                await self._check_wanted.wait()
            self._check_wanted = anyio.Event()
            if not self.calls:
                await self._ping_or_end()

    async def _ping_or_end(self) -> None:
        """Ping the server once, and end the connection if it does not answer."""
        statuses: list[int] = []
        transports.ERROR_STATUSES.set(statuses)
        with anyio.move_on_after(min(self.timeout, _PING_SECONDS)) as limit:
            try:
                await self._ping()
            except (MCPError, ValidationError):
                # An error is an answer too. But an HTTP error status may mean that the session is gone.
                if statuses:
                    self.end(f"it answered HTTP {statuses[-1]}", is_refused=401 in statuses)
        if limit.cancelled_caught:
            self.end("it no longer answers")

    async def _ping(self) -> None:
        """Send a request that every server answers. Modern versions have no ping, so the tools are listed instead."""
        if self.is_modern:
            await self.client.list_tools(cache_mode="refresh")
        else:
            await self.client.session.send_request(PingRequest(), EmptyResult)

    # -- the lists

    @property
    def lists(self) -> ServerLists:
        """The lists as they were last fetched."""
        instructions = redaction.redact(self.client.instructions or "")
        left_out = "; ".join(f"the tool {name!r} is left out: {why}" for name, why in self.watch.left_out.items())
        return ServerLists(self.tools, self.prompts, self.resources, self.templates, instructions, left_out)

    async def fetch_list(self, name: str) -> None:
        """Fetch one of the lists: `tools`, `prompts` or `resources`.

        Raises: MCPError, ValidationError.
        """
        client, capabilities = self.client, self.client.server_capabilities
        if name == "tools":
            self.watch.left_out.clear()
            self.tools = (
                ()
                if capabilities.tools is None
                else await self._fetch_pages(client.list_tools, lambda page: page.tools)
            )
            for tool, why in self.watch.left_out.items():
                self.settings.log.write("warning", f"the tool {tool!r} is left out: {why}")
        elif name == "prompts" and capabilities.prompts is not None:
            self.prompts = await self._fetch_pages(client.list_prompts, lambda page: page.prompts)
        elif name == "resources" and capabilities.resources is not None:
            self.resources = await self._fetch_pages(client.list_resources, lambda page: page.resources)
            self.templates = await self._fetch_pages(
                client.list_resource_templates, lambda page: page.resource_templates
            )

    async def _fetch_pages(
        self, fetch: Callable[..., Awaitable[Any]], get_items: Callable[[Any], list[Any]]
    ) -> tuple[Any, ...]:
        """Return the items of all pages of a list. `fetch` requests one page."""
        items: list[Any] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await fetch(cursor=cursor, cache_mode="refresh")
            items += get_items(page)
            if page.next_cursor in {None, cursor}:
                break
            cursor = page.next_cursor
        return tuple(map(_hide_secrets, items))

    async def _refresh_lists(self, on_change: Callable[[], None]) -> None:
        """Fetch each list that changed. If a list cannot be fetched, the old list is kept. See `serve`."""
        while True:
            await self.watch.lists_changed.wait()
            self.watch.lists_changed = anyio.Event()
            for name in sorted(self.watch.stale_lists, reverse=True):  # the tools first
                self.watch.stale_lists.discard(name)
                self._fetching = name
                before = self.lists
                with anyio.move_on_after(self.timeout):
                    try:
                        await self.fetch_list(name)
                    except (MCPError, ValidationError) as error:
                        _log.warning("the %s of a server cannot be listed: %s", name, type(error).__name__)
                self._fetching = ""
                if before != self.lists:
                    on_change()
                fetched, self._fetched = self._fetched, anyio.Event()
                fetched.set()

    async def await_list(self, name: str) -> None:
        """If a list has changed, wait until it is fetched, but not longer than `_LISTS_SECONDS`."""
        with anyio.move_on_after(_LISTS_SECONDS):
            while (name in self.watch.stale_lists or self._fetching == name) and not self.has_ended:
                await self._fetched.wait()

    async def _listen_for_changes(self) -> None:
        """Subscribe to changes, in modern versions. A resource cannot be added to a subscription. So `subscribe` ends
        the present subscription, and this task begins a new one. What changed between the two is not reported, so
        everything is then marked as changed."""
        while self.is_modern:
            with anyio.CancelScope() as self._subscription_scope, contextlib.suppress(SubscriptionLost, TimeoutError):
                try:
                    async with self.client.listen(
                        tools_list_changed=True,
                        prompts_list_changed=True,
                        resources_list_changed=True,
                        resource_subscriptions=tuple(self._subscriptions),
                    ) as events:
                        self._subscribed.set()
                        async for _ in events:
                            """`watch` has already noted the change."""
                except (MCPError, ListenNotSupportedError):
                    self._subscribed.set()
                    return
            if not self._subscription_scope.cancelled_caught:
                # The subscription was lost. A pause, so that a server with a fault does not get one attempt after the
                # other.
                await anyio.sleep(self.keep_alive)
            self.watch.mark_stale("tools", "prompts", "resources")
            self._mark_all_resources_changed()

    async def subscribe(self, uri: str) -> None:
        """Subscribe to the changes of a resource. Do nothing if the server offers no subscriptions.

        Raises: MCPError.
        """
        capability = self.client.server_capabilities.resources
        if capability is None or not capability.subscribe or uri in self._subscriptions:
            return
        self._subscriptions.append(uri)
        if not self.is_modern:
            await self.client.session.send_request(
                SubscribeRequest(params=SubscribeRequestParams(uri=uri)), EmptyResult
            )
        elif self._subscription_scope is not None:
            self._subscribed = anyio.Event()
            self._subscription_scope.cancel()
            with anyio.move_on_after(_LISTS_SECONDS):
                await self._subscribed.wait()

    async def _resubscribe(self) -> None:
        """Subscribe again after a reconnect. Each resource may have changed meanwhile, so all of them are marked."""
        for uri in self.settings.resources.list_subscriptions(self.settings.name):
            with anyio.move_on_after(self.timeout), contextlib.suppress(MCPError, ValidationError):
                await self.subscribe(uri)
        self._mark_all_resources_changed()

    def _mark_all_resources_changed(self) -> None:
        """Note that each resource of this server may have changed since a chat received it."""
        self.settings.resources.mark_changed(self.settings.name)

    async def complete(self, template: str, variable: str, value: str, known: Mapping[str, str]) -> tuple[str, ...]:
        """Return completions for the value of a template's variable; nothing when the server offers none. `value` is
        the part of it that the user has typed, and `known` are the values of the other variables.

        Raises: CallTimeoutError, MCPError.
        """
        if self.client.server_capabilities.completions is None:
            return ()
        reference = ResourceTemplateReference(uri=template)
        argument = {"name": variable, "value": value}
        result = await self.call_with_timeout(lambda _: self.client.complete(reference, argument, dict(known) or None))
        return tuple(result.completion.values)

    # -- calls

    async def call_with_timeout(
        self, work: Callable[[ProgressFnT], Awaitable[Any]], caller: McpCaller = NO_CALLER
    ) -> Any:
        """Run `work` with the timeout, and return its result. `work` gets a callback for progress. When it is cancelled
        or takes too long, the SDK tells the server. `caller` is the chat and the tool call for which this is done: it
        gets the progress, and the questions that the server asks meanwhile.

        Raises: CallTimeoutError.
        """
        limit = asyncio.timeout(self.timeout)
        with self.calls.begin(caller, self.timeout, limit) as call:

            async def report_progress(progress: float, total: float | None, message: str | None) -> None:
                """Pass on the progress that the server reports. The SDK calls this."""
                call.report_progress(Report(message or "", progress, total))

            try:
                async with limit:
                    return await work(report_progress)
            except TimeoutError:
                self._check_wanted.set()
                raise CallTimeoutError(f"did not answer within {self.timeout:g} s") from None

    async def call_tool(self, name: str, arguments: dict[str, Any], caller: McpCaller) -> CallToolResult:
        """Call a tool. If the server answers that the user must open a page first, ask the user, and call the tool
        again. `caller` is explained at `call_with_timeout`.

        Raises: CallTimeoutError, MCPError, ValidationError.
        """

        async def call(progress: ProgressFnT) -> CallToolResult:
            """Call the tool, and once more if the user had to open pages first."""
            try:
                return await self.client.call_tool(name, arguments, progress_callback=progress)
            except MCPError as error:
                if error.code != URL_ELICITATION_REQUIRED:
                    raise
                pages = UrlElicitationRequiredError.from_error(error.error).elicitations
                if not await self.requests.ask_to_open_pages(pages):
                    raise
            return await self.client.call_tool(name, arguments, progress_callback=progress)

        return await self.call_with_timeout(call, caller)


def _hide_secrets(offer: T) -> T:
    """Return what a server offers (a tool, prompt or resource) without the secrets that we gave to the server. The
    server may repeat a secret in any text. Names and addresses are kept as they are, because calls need them."""
    data = offer.model_dump(mode="json", by_alias=True, exclude_unset=True)
    hidden = redaction.redact_json(data)
    if hidden == data:
        return offer
    kept = {key: data[key] for key in ("name", "uri", "uriTemplate") if key in data}
    return type(offer).model_validate({**hidden, **kept})


async def connect_and_serve(
    attempt: ConnectionAttempt,
    settings: ConnectionSettings,
    on_ready: Callable[[ServerConnection], None],
    watch: transports.TransportWatch,
) -> None:
    """Connect in the way that `attempt` describes, list the tools, call `on_ready`, and run the connection until it
    ends. `watch` notes what arrives on the transport.

    Raises: ConnectionLostError, and any error of the SDK.
    """
    calls = ActiveCalls()
    requests = ServerRequests(settings, calls)
    client = Client(
        attempt.open_transport(watch),
        mode="legacy" if attempt.is_legacy else "auto",
        client_info=Implementation(name="jupyter-eca", version=__version__),
        list_roots_callback=requests.list_roots,
        elicitation_callback=requests.elicit,
        sampling_callback=requests.sample,
        logging_callback=_make_log_callback(settings),
        log_level="info",
    )
    connection: ServerConnection | None = None
    with anyio.CancelScope() as scope:
        async with client:
            connection = ServerConnection(
                client, watch, settings.timing.timeout, settings.timing.keep_alive, settings, requests, calls
            )
            watch.protocol_version = client.protocol_version
            await connection.fetch_list("tools")
            watch.was_ready = True
            # These lists are marked before `on_ready`, because whoever learns that the server is ready may wait for
            # them.
            watch.mark_stale("prompts", "resources")
            on_ready(connection)
            try:
                await connection.serve(settings.on_change)
            finally:
                # To close the connection, the SDK ends its session by a request. A server behind a network that is cut
                # never answers it.
                scope.deadline = anyio.current_time() + min(settings.timing.timeout, _CLOSE_SECONDS)
    if scope.cancelled_caught:
        raise connection.loss if connection is not None else ConnectionLostError("it ended")


def _make_log_callback(settings: ConnectionSettings) -> LoggingFnT:
    """Return a callback that writes log messages of the server to our log and to the log of the server."""
    # Servers may log very much, about anything. So their messages have a logger of their own in our log. The log of the
    # server, which clients can show, has all of them.
    log = logging.getLogger(f"{__package__}.servers")

    async def write(params: LoggingMessageNotificationParams) -> None:
        """Write one log message."""
        text = params.data if isinstance(params.data, str) else json.dumps(params.data, ensure_ascii=False)
        log.log(_LOG_LEVELS.get(params.level, logging.ERROR), "%s: %s", settings.name, text[:2_000])
        settings.log.write(params.level, text, params.logger or "")

    return write
