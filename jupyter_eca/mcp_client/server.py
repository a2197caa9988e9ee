"""One configured server and the task that owns it: it starts, stops and reconnects. It never raises into the task
group of its owner. `status_table` has its states, `session_run` one session of it.

The SDK wants a connection to be entered and left in one task, and left by its own kind of cancelling: then a process
is ended properly. So every end goes through a scope, and the owning task is never cancelled from outside.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca import redaction
from jupyter_eca.config import register_secrets
from jupyter_eca.errors import ToolError
from jupyter_eca.mcp_client.connection_settings import ConnectionSettings, ConnectionTiming
from jupyter_eca.mcp_client.server_log import ServerLog
from jupyter_eca.mcp_client.status_table import Signal, next_status
from jupyter_eca.protocol.lifecycle import MessageType
from jupyter_eca.protocol.mcp import ServerStatus, ServerTool, ToolServerUpdatedParams

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    import anyio

    from jupyter_eca.config import McpServerConfig
    from jupyter_eca.mcp_client.caller import ClientFeatures
    from jupyter_eca.mcp_client.connection import ServerConnection, ServerLists
    from jupyter_eca.mcp_client.oauth import ServerSignIn
    from jupyter_eca.mcp_client.session_run import SessionEnd
    from jupyter_eca.mcp_client.sign_ins import SignIns
    from jupyter_eca.mcp_client.watched_resources import AttachedResources

_log = logging.getLogger(__name__)

# Characters of a reason that is shown in one line.
_REASON: Final = 300


@dataclass(eq=False)
class McpServer:
    """One configured server. The methods may be called at any time: `run`, in the owning task, does what they want."""

    name: str
    settings: McpServerConfig
    folders: tuple[Path, ...]
    """The folders of the workspace: the roots that the server is told."""
    pace: ConnectionTiming
    tell: Callable[[McpServer], None]
    """Called after each change of `info`."""
    credentials: SignIns
    people: ClientFeatures
    attached: AttachedResources
    inherited: Callable[[], dict[str, str]]
    """Returns the environment that a program inherits. The variables of the configuration are added to it."""
    status: ServerStatus = ServerStatus.STOPPED
    error: str | None = None
    """Why the last session ended, in one line without secrets."""
    wanted: bool = True
    """Whether the server should run."""
    connection: ServerConnection | None = None
    """The connection while the server runs."""
    log: ServerLog = field(init=False)
    _proven: bool = False
    """Whether the server has run with these settings. One that never did is not restarted by itself."""
    _hopeful: bool = False
    """Whether the sign-in has changed since the last refusal, so that another attempt is worth it."""
    _passing: bool = False
    """Whether the cause of the last failure may pass by itself."""
    _warned: str = ""
    """The error that the log has a warning of."""
    _kept: ServerLists | None = None
    """The lists of the last connection. They hold until the server is back, or is not wanted any more."""
    _retired: bool = False
    _scope: anyio.CancelScope | None = None
    """Ends the session that is running."""
    _poke: asyncio.Event = field(default_factory=asyncio.Event)
    """Wakes the owning task: something else is wanted of it."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and replaced, at each change: wakes those who wait for a status."""

    def __post_init__(self) -> None:
        self.log = ServerLog(self._redact)
        self._register_secrets()
        if self.settings.disabled:
            self.wanted, self.status = False, ServerStatus.DISABLED

    # -- what one may want of it

    def start(self) -> None:
        """Start the server, for this session also when it is disabled."""
        self.wanted = True
        self._poke.set()

    def stop(self) -> None:
        self.wanted = False
        self._kept = None
        self._signal(Signal.STOP)
        if self._scope is not None:
            self._scope.cancel()
        self._rest()
        self._poke.set()

    def restart(self) -> None:
        """End the running session and begin another. A disabled server that does not run is not started."""
        is_disabled = self.status is ServerStatus.DISABLED
        self.stop()
        if not is_disabled:
            self.start()

    def configure(self, settings: McpServerConfig) -> None:
        """Use new settings, at once."""
        self.settings = settings
        self._register_secrets()
        self._proven = False
        self.stop()
        if not settings.disabled:
            if self.status is ServerStatus.DISABLED:
                self._signal(Signal.ENABLE)
            self.start()
        self._tell()

    def move(self, folders: tuple[Path, ...]) -> None:
        """Use other folders. A running program stays in the folder where it was started."""
        self.folders = folders
        if self.connection is not None:
            self.connection.announce_roots()

    def retire(self) -> None:
        """Stop for good: `run` returns when the server has ended."""
        self._retired = True
        self.stop()

    # -- the owner

    async def run(self) -> None:
        failures = 0
        loop = asyncio.get_running_loop()
        while not self._retired:
            if not self.wanted:
                failures = 0
                await self._await_poke(None)
                continue
            began = loop.time()
            await self._session()
            if self.status is not ServerStatus.FAILED:
                self.wanted = self.wanted and self.status is not ServerStatus.REQUIRES_AUTH
                continue
            failures = 0 if loop.time() - began > self.pace.keep_alive else failures
            # A program that never came up needs its configuration mended, not another attempt. An address may be that
            # of a server which is started later.
            is_worth_retrying = (self._proven or self._hopeful) and failures < len(self.pace.backoff)
            if self._passing or is_worth_retrying:
                await self._await_poke(self.pace.backoff[min(failures, len(self.pace.backoff) - 1)])
                failures += 1
            else:
                self.wanted = False
                self._tell()

    async def _session(self) -> None:
        """Run one session of the server, to its end."""
        self.error = None
        self._poke.clear()
        self._signal(Signal.START)
        folders = self.folders
        await asyncio.to_thread(_import)
        from anyio import CancelScope, current_time

        from jupyter_eca.mcp_client.session_run import run_session

        # One that is stopping already must not take, and end, the sign-in that the next start is for.
        stopping = self.status is ServerStatus.STOPPING
        login = None if stopping else self.credentials.login(self.name, self.settings)
        pace = self.pace.login if login and login.visit else self.pace.timeout
        self._scope = scope = CancelScope(deadline=current_time() + pace)
        if stopping:
            scope.cancel()

        def up(connection: ServerConnection) -> None:
            scope.deadline = float("inf")
            self._proven = True
            self.connection = connection
            if self.folders != folders:
                connection.announce_roots()  # it may have asked for them already
            if login is not None:
                login.end(None)
            self._signal(Signal.UP)

        settings = ConnectionSettings(
            self.name,
            self.settings,
            lambda: self.folders,
            self.pace,
            self._tell,
            self.people,
            self.log,
            self.attached,
            self.inherited,
        )
        ending = await run_session(settings, login.provider if login else None, scope, up)
        self._kept = None if self.status is ServerStatus.STOPPING else self.lists
        self._scope = self.connection = None
        if self.status is ServerStatus.STOPPING:
            if login is not None:
                login.end("the server was stopped")
            self._signal(Signal.ENDED)
            self._rest()
            return
        await self._fail(ending, login)

    async def _fail(self, ending: SessionEnd, login: ServerSignIn | None) -> None:
        why, refused = ending.why, ending.refused
        visit = login.visit if login else None
        if visit is not None and visit.sent and not visit.has_returned:
            why, refused = f"nobody signed in within {self.pace.login:g} s", True
        elif login is not None and login.refusal is not None:
            why, refused = login.refusal, True
        self.error = self._clean(why)
        # An address that nobody answers at is tried again and again; that is worth one warning.
        _log.log(
            logging.DEBUG if self.error == self._warned else logging.WARNING, "the server %r: %s", self.name, self.error
        )
        self._warned = self.error
        self.log.write("error", self.error)
        if login is not None:
            await login.fail(self.error)
        if visit is not None and visit.sent:
            visit.say(MessageType.WARNING, f"Nobody is signed in to the MCP server {self.name!r}: {self.error}.")
        self._passing = ending.passing and not refused
        self._hopeful = refused and await self.credentials.again(self.name, self.settings)
        if self.status is not ServerStatus.STOPPING:
            self._signal(Signal.REFUSED if refused and not self._hopeful else Signal.FAILED)
        else:
            self._signal(Signal.ENDED)
            self._rest()

    # -- what one may ask of it

    async def use(self, work: Callable[[ServerConnection], Awaitable[Any]]) -> Any:
        """Run `work` on the connection. A session or a token that the server forgot is renewed once. Raises:
        ToolError."""
        try:
            return await self._use_retrying(work)
        except ToolError as error:
            raise ToolError(f"The server {self.name!r} failed: {self._clean(str(error))}.") from None

    async def _use_retrying(self, work: Callable[[ServerConnection], Awaitable[Any]]) -> Any:
        connection = await self._ready()
        from jupyter_eca.mcp_client.session_run import StaleError, call_server

        try:
            return await call_server(connection, work)
        except StaleError:
            connection.lose("it had forgotten our session")
        try:
            return await call_server(await self._ready(connection), work)
        except StaleError:
            raise ToolError("it forgets our session again and again") from None

    async def _ready(self, stale: ServerConnection | None = None) -> ServerConnection:
        """Return the connection. While it is being made again, wait for it and skip the pause before the next
        attempt."""
        hurried = False
        try:
            async with asyncio.timeout(self.pace.timeout):
                while self.wanted and not self._retired:
                    live = self.connection
                    if live is not None and live is not stale and not live.over:
                        return live
                    news = self._news
                    if self.status is ServerStatus.FAILED:
                        if hurried:
                            break
                        hurried = True
                        self._poke.set()
                    await news.wait()
        except TimeoutError:
            pass
        raise ToolError(f"it is {self.status.value}{f': {self.error}' if self.error else ''}")

    # -- how it is

    @property
    def info(self) -> ToolServerUpdatedParams:
        shown = ToolServerUpdatedParams(
            type="mcp",
            name=self.name,
            status=self.status,
            command=self.settings.command,
            args=redaction.redact_arguments(self.settings.args) if self.settings.command else None,
            url=self.settings.url and redaction.redact_url(self.settings.url),
            disabled=self.settings.disabled,
            has_auth=self.credentials.has(self.name, self.settings),
            error=self.error,
        )
        if self.lists is None:
            return shown
        described = shown.model_copy(update=_describe(self.lists))
        return described.model_copy(update={"error": self.error}) if self.error else described

    @property
    def lists(self) -> ServerLists | None:
        """What the server offers. While a lost connection is made again, it is what the server offered last: a call
        waits for the connection. None for a server that never ran, or is not wanted."""
        if not self.wanted:  # the connection of a stopped server ends a moment later
            return None
        return self.connection.lists if self.connection is not None else self._kept

    @property
    def is_starting(self) -> bool:
        return self.wanted and self.status in {ServerStatus.STOPPED, ServerStatus.STARTING}

    async def await_started(self) -> None:
        """Wait until the server runs, or no longer starts by itself."""
        while self.is_starting:
            await self._news.wait()

    # -- inside

    def _signal(self, signal: Signal) -> None:
        status = next_status(self.status, signal)
        if status is not self.status:
            self.status = status
            self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
        self.tell(self)

    def _rest(self) -> None:
        if self.settings.disabled and self.status is ServerStatus.STOPPED:
            self._signal(Signal.DISABLE)

    async def _await_poke(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._poke.wait()
        except TimeoutError:
            pass
        self._poke.clear()

    def _clean(self, text: str) -> str:
        """Return the text in one line, without the secrets that we gave to the server."""
        return " ".join(self._redact(text).split()).rstrip(".")[:_REASON]

    def _register_secrets(self) -> None:
        """Register what the configuration has of secrets, also those that are written out in the command."""
        register_secrets(self.settings)
        redaction.register_url_secrets(self.settings.url or "")
        redaction.register_secret(*redaction.find_secrets(self.settings.args))

    def _redact(self, text: str) -> str:
        hidden = (*self.settings.env.values(), *self.settings.headers.values(), self.settings.client_secret)
        values = [secret.get_secret_value() for secret in (*hidden, *self.credentials.secrets(self.name)) if secret]
        values += redaction.find_secrets((*self.settings.args, self.settings.url or ""))
        for part in (part for value in values for part in value.split()):
            if len(part) >= 6:
                text = text.replace(part, "***")
        return redaction.redact(text)


def _describe(lists: ServerLists) -> dict[str, Any]:
    """Return the lists as clients are shown them. A server may repeat a secret in its texts that we gave to it."""
    from jupyter_eca.mcp_client import results

    return {
        "tools": tuple(
            ServerTool(
                name=tool.name, description=redaction.redact(tool.description or ""), parameters=tool.input_schema
            )
            for tool in lists.tools
        ),
        "prompts": tuple(map(results.server_prompt, lists.prompts)),
        "resources": tuple(map(results.server_resource, lists.resources)),
        "instructions": lists.instructions or None,
        **({"error": redaction.redact(lists.left_out)} if lists.left_out else {}),
    }


def _import() -> None:
    """Import the SDK, which takes a second the first time, so it is not done on the loop."""
    importlib.import_module("jupyter_eca.mcp_client.session_run")
    importlib.import_module("jupyter_eca.mcp_client.results")
    redaction.install_log_filter()
