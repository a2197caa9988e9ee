"""Owns the methods of MCP (Model Context Protocol). It connects the offers of a backend to the server class of the MCP
SDK. A backend is the program that does the work. Its offers are tools, resources (data with a URI) and prompts.

It must not know a transport (`http.py`, `stdio.py`) or what an offer does (`assistant.py`, `opencode/`).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from jupyter_eca._version import __version__
from jupyter_eca.errors import EcaError, ToolError
from jupyter_eca.fronts.mcp import answers, offers_base
from jupyter_eca.fronts.mcp.offers_base import GuardedShelf, OfferCall, PolledShelf, RefusedCall, ToolAnswer
from jupyter_eca.fronts.mcp.pending_calls import ANSWER_SECONDS, CallsInProgress, find_access
from jupyter_eca.fronts.mcp.watched_resources import WatchedResources
from jupyter_eca.protocol.base import find_fault

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from jupyter_eca.fronts.mcp.offers_base import Backend, ChangeListener, Offer, OfferResult, Offers
    from jupyter_eca.fronts.mcp.pending_calls import CallInProgress

    Context = ServerRequestContext[Any, Any]

_log = logging.getLogger(__name__)

# The largest number of subscriptions. No client needs more; the oldest subscriptions are dropped.
MAX_SUBSCRIPTIONS: Final = 10_000
# The largest number of values in a completion that the protocol allows.
MAX_COMPLETIONS: Final = 100


class McpFront:
    """Serves one backend to any number of clients."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._calls: CallsInProgress | None = None  # None unless the context `running` is open
        # Starts a task that notifies clients of a change. It does nothing unless the context `running` is open.
        self._notify_later: ChangeListener = _ignore_change
        # The subscriptions of clients with older versions: by URI, and by the id of the connection.
        self._subscribed: dict[str, dict[int, ServerSession]] = {}
        # The parts of the SDK that notify clients with the newest version: changes are published on the bus.
        self._bus = InMemorySubscriptionBus()
        self._listener = ListenHandler(self._bus)
        # The resources that are polled, because their changes are not announced.
        self._watched = WatchedResources(self._fingerprint, self._notify_change)
        about = backend.about
        self.server: Server[Any] = Server(
            about.name,
            version=__version__,
            title=about.title,
            instructions=about.instructions,
            # Otherwise the SDK lists and serializes all tools before each call.
            get_tool_input_schema=lambda name: (offer := self._find_offer(name)) and offer.parameters,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._listen,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )
        # This handler is not passed to the constructor, which warns about it. Clients of older versions still send the
        # request.
        self.server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        # The stateless version of the protocol sends the id of a call through the client. The SDK seals the id, so that
        # no client can name the call of another client. A sealed id is accepted for `ANSWER_SECONDS`.
        self.server.middleware.append(
            RequestStateBoundary(RequestStateSecurity.ephemeral(ttl=ANSWER_SECONDS), default_audience=about.name)
        )

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Accept calls while this context lasts. Calls that still run at its end are cancelled."""
        async with asyncio.TaskGroup() as tasks:
            calls = self._calls = CallsInProgress(tasks)
            self._notify_later = lambda change: _drop_task(tasks.create_task(self._notify_change(change)))
            stop_listening = self._backend.listen(self._notify_later)
            watching = tasks.create_task(self._watched.run())
            try:
                yield
            finally:
                watching.cancel()
                stop_listening()
                self._calls = None
                await calls.end()

    # -- tools

    async def _list_tools(
        self, context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Return all tools, in the order of their names."""
        del context
        offers = self._offers.tools
        return types.ListToolsResult(
            tools=[_describe_tool(offer) for offer in sorted(offers, key=lambda offered: offered.name)]
        )

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool. An error of the tool is a result that says what the caller can do."""
        _check_text(params.arguments)
        offer = self._find_offer(params.name)
        if offer is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        access = find_access(context)
        if offer.needs_ask_access and not access.may_ask:
            return answers.make_error_result(RefusedCall(access.reason), context.protocol_version)

        async def work(pending: CallInProgress) -> OfferResult:
            """Run the tool. The call in progress is its `Caller`."""
            return await self._backend.call(
                offer, OfferCall(self._backend, pending, params, self._notify_later), params.arguments or {}
            )

        version = context.protocol_version
        if self._calls is None:
            raise MCPError(types.INTERNAL_ERROR, "The server is ending.")
        try:
            result = await self._calls.request(context, params, work)
        except ToolError as error:
            return answers.make_error_result(error, version)
        except EcaError as error:
            return answers.make_result(answers.make_failure(str(error)), version)
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001  # the boundary to plugs: the connection must not end
            _log.exception("the tool %s failed", offer.name)
            return answers.make_result(answers.make_failure(f"{offer.name} failed inside: {error!r}"), version)
        return answers.make_result(result, version) if isinstance(result, ToolAnswer) else result

    # -- resources

    async def _list_resources(
        self, context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return the resources of all groups (shelves)."""
        del context
        resources = [resource for shelf in self._offers.shelves for resource in await shelf.list(self._backend)]
        return types.ListResourcesResult(resources=resources)

    async def _list_templates(
        self, context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return the forms of the URIs of resources."""
        del context
        templates = [template for shelf in self._offers.shelves for template in shelf.list_templates()]
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return a resource. Raises: MCPError when there is none with this URI."""
        _check_text(params.uri)
        access = find_access(context)
        for shelf in self._offers.shelves:
            if not access.may_ask and isinstance(shelf, GuardedShelf) and shelf.needs_ask_access(params.uri):
                raise MCPError(types.INVALID_PARAMS, access.reason, {"uri": params.uri})
            try:
                result = await shelf.read(self._backend, params.uri)
            except EcaError as error:
                raise MCPError(types.INVALID_PARAMS, str(error), {"uri": params.uri}) from error
            if result is not None:
                return result
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": params.uri})

    async def _subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Subscribe a connection to a resource. This is for older versions of the protocol. The newest version has no
        connections: its clients use `_listen`."""
        uri = str(params.uri)
        await self._watched.remember(uri)
        sessions = self._subscribed.setdefault(uri, {})
        if not sessions:
            self._watched.add(uri)
        sessions[_get_connection_id(context)] = context.session
        while sum(map(len, self._subscribed.values())) > MAX_SUBSCRIPTIONS:
            oldest = next(iter(self._subscribed))
            self._subscribed[oldest].clear()
            self._forget_subscription(oldest)
        return types.EmptyResult()

    async def _unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """End the subscription of a connection to a resource."""
        self._subscribed.get(str(params.uri), {}).pop(_get_connection_id(context), None)
        self._forget_subscription(str(params.uri))
        return types.EmptyResult()

    def _forget_subscription(self, uri: str) -> None:
        """Stop watching a resource if no client is subscribed to it any more."""
        if uri in self._subscribed and not self._subscribed[uri]:
            del self._subscribed[uri]
            self._watched.remove(uri)

    async def _listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Notify a client of changes until it ends this request. This is for the newest version of the protocol."""
        uris = [str(uri) for uri in params.notifications.resource_subscriptions or ()]
        for uri in uris:
            await self._watched.remember(uri)
        with self._watched.watching(uris):
            return await self._listener(context, params)

    async def _fingerprint(self, uri: str) -> str | None:
        """Return a value that is different after each change of a resource; None if its changes are announced."""
        for shelf in self._offers.shelves:
            if isinstance(shelf, PolledShelf) and (found := await shelf.fingerprint(self._backend, uri)) is not None:
                return found
        return None

    async def _notify_change(self, resource: str) -> None:
        """Notify the subscribers of a changed resource, or all clients of a changed list."""
        match resource:
            case offers_base.TOOLS:
                await self._bus.publish(ToolsListChanged())
            case offers_base.PROMPTS:
                await self._bus.publish(PromptsListChanged())
            case uri:
                await self._bus.publish(ResourceUpdated(uri))
                for connection, session in list(self._subscribed.get(uri, {}).items()):
                    try:
                        await session.send_resource_updated(uri)
                    except Exception:  # noqa: BLE001  # a client that has left must not stop the others
                        _log.info("a subscriber of %s has left", uri)
                        self._subscribed.get(uri, {}).pop(connection, None)
                self._forget_subscription(uri)

    # -- prompts

    async def _list_prompts(
        self, context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """Return the prompts of all groups."""
        del context
        listed = [prompt for prompts in self._offers.prompts for prompt in await prompts.list(self._backend)]
        return types.ListPromptsResult(prompts=listed)

    async def _get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Return the text of a prompt. Raises: MCPError when there is none with this name."""
        del context
        _check_text(params.arguments)
        for prompts in self._offers.prompts:
            try:
                result = await prompts.get(self._backend, params)
            except EcaError as error:
                raise MCPError(types.INVALID_PARAMS, str(error)) from error
            if result is not None:
                return result
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")

    async def _complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Return the values that an argument of a resource template can have now."""
        del context
        values: list[str] = []
        if isinstance(params.ref, types.ResourceTemplateReference):
            for shelf in self._offers.shelves:
                if any(template.uri_template == params.ref.uri for template in shelf.list_templates()):
                    values += await shelf.complete(self._backend, params.ref.uri, params.argument.name)
        matching = [value for value in values if value.startswith(params.argument.value)]
        first = matching[:MAX_COMPLETIONS]
        has_more = len(matching) > len(first)
        return types.CompleteResult(completion=types.Completion(values=first, total=len(matching), has_more=has_more))

    async def _set_level(self, context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """Accept a log level and ignore it. We send no log messages to clients, but older clients set the level."""
        del context, params
        return types.EmptyResult()

    def _find_offer(self, tool: str) -> Offer | None:
        """Return the offer of a tool by its name over MCP, None when there is none."""
        return next((offered for offered in self._offers.tools if offered.name == tool), None)

    @property
    def _offers(self) -> Offers:
        """What the backend offers now."""
        return self._backend.list_offers()


def _check_text(data: Any) -> None:
    """Raise MCPError if a text contains half of a surrogate pair, or if a number is NaN or infinite. Some transports of
    the SDK do not refuse such values."""
    if fault := find_fault(data):
        raise MCPError(types.INVALID_PARAMS, f"The params cannot be used: {fault}.")


def _describe_tool(offer: Offer) -> types.Tool:
    """Return a tool in the form of the SDK."""
    return types.Tool(
        name=offer.name,
        description=offer.description,
        input_schema=offer.parameters,
        annotations=offer.hints.annotations,
    )


def _get_connection_id(context: Context) -> int:
    """Return a value that is the same for all requests of a connection. The SDK's session cannot be used: each request
    has its own."""
    return id(context.session.client_params)


def _ignore_change(_resource: str) -> None:
    """Ignore a change. Used before the server runs."""


def _drop_task(_task: asyncio.Task[None]) -> None:
    """Do nothing with a task, because its task group waits for it."""
