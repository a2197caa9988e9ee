"""Owns one configured server: a task starts it, stops it and reconnects to it. The task never raises.

The module must not know the protocol. `session_run.py` runs one session of the server, `connection.py` sends calls, and
`status_table.py` is the table of its states.

The SDK requires that one task opens and closes a connection, and that the task is cancelled by a cancel scope. Only
then does it end a process in the right way. So each session is ended by a scope, and nobody cancels the task itself.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca import redaction
from jupyter_eca.config import register_secrets
from jupyter_eca.errors import ToolError
from jupyter_eca.log_fields import LOG_FIELDS, LogFields
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
    from jupyter_eca.mcp_client.client_features import ClientFeatures
    from jupyter_eca.mcp_client.connection import ServerConnection, ServerLists
    from jupyter_eca.mcp_client.known_lists import KnownLists
    from jupyter_eca.mcp_client.oauth import ServerSignIn
    from jupyter_eca.mcp_client.session_run import SessionEnd
    from jupyter_eca.mcp_client.sign_ins import SignIns
    from jupyter_eca.mcp_client.start_queue import StartQueue
    from jupyter_eca.mcp_client.watched_resources import AttachedResources

_log = logging.getLogger(__name__)

# Characters of an error that is shown in one line.
_MAX_ERROR: Final = 300

# Why a server with a reserved name does not run. It is shown after the name of the server.
_RESERVED: Final = "in rules of approval its name stands for other tools, so give it another name"


@dataclass(eq=False)
class McpServer:
    """One configured server. Its methods may be called at any time. They only note what is wanted, and the task that
    runs `run` does it."""

    name: str
    """The name of the server in the configuration."""
    settings: McpServerConfig
    """The entry of the server in the configuration."""
    folders: tuple[Path, ...]
    """The folders of the workspace, which are the roots of the server."""
    timing: ConnectionTiming
    """The time limits and pauses."""
    on_change: Callable[[McpServer], None]
    """Called after each change of `info`."""
    credentials: SignIns
    """The sign-ins of all servers."""
    client_features: ClientFeatures
    """Answers what the server requests from us."""
    resources: AttachedResources
    """The resources that chats have received."""
    get_environment: Callable[[], dict[str, str]]
    """Returns the environment variables that the program inherits. Those of the configuration are added."""
    known_lists: KnownLists
    """What the servers offered when they last ran."""
    start_queue: StartQueue
    """Holds the server back while others start."""
    is_name_reserved: bool = False
    """Whether the name stands for other tools in rules. Then the server never runs, see `tool_names`."""
    refusal: str = ""
    """Why the administrator's policy does not allow the server; "" if it does. Then it never runs."""
    find_url_refusal: Callable[[str], str] = lambda _: ""
    """Returns why the administrator's policy does not allow a request to an address; "" if it does."""
    status: ServerStatus = ServerStatus.STOPPED
    """What the server is doing now, as clients show it."""
    error: str | None = None
    """Why the last session ended, in one line without secrets."""
    is_wanted: bool = True
    """Whether the server should run."""
    connection: ServerConnection | None = None
    """The connection while the server runs."""
    log: ServerLog = field(init=False)
    """The log of the server, which clients can show."""
    _has_run: bool = False
    """Whether the server has run with these settings. If it never did, it is not restarted automatically."""
    _can_retry_sign_in: bool = False
    """Whether another attempt may succeed after the server refused our tokens, because the sign-in has others now or
    will renew them."""
    _failure_is_temporary: bool = False
    """Whether the cause of the last failure may be gone later."""
    _logged_error: str = ""
    """The last error that was logged as a warning."""
    _last_lists: ServerLists | None = None
    """The lists of the last connection, which may be one of an earlier process. They are used until the server runs
    again, fails to start, or is no longer wanted."""
    _kept_lists: ServerLists | None = None
    """The lists that are on disk."""
    _keeping_lists: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while lists are written, so that older lists are never written after newer ones."""
    _redacted: tuple[McpServerConfig, int, tuple[tuple[str, ...] | None, str | None]] | None = None
    """The settings and the number of known secrets for which `_redact_settings` was last computed, and its result."""
    _retired: bool = False
    """Whether the server was removed, so that `run` must return."""
    _scope: anyio.CancelScope | None = None
    """Ends the session that runs now."""
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to wake the task, because something else is wanted."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and replaced by a new event, at each change. It wakes the tasks that wait for a status."""

    def __post_init__(self) -> None:
        self.log = ServerLog(self._redact)
        self._register_secrets()
        if self.settings.disabled:
            self.is_wanted, self.status = False, ServerStatus.DISABLED

    # -- start and stop

    def start(self) -> None:
        """Start the server. A disabled server is started too, until our program ends."""
        self.is_wanted = True
        self._wake.set()

    def stop(self) -> None:
        """Stop the server. It may still run when this returns."""
        self.is_wanted = False
        self._last_lists = None
        self._signal(Signal.STOP)
        if self._scope is not None:
            self._scope.cancel()
        self._disable_if_configured()
        self._wake.set()

    def restart(self) -> None:
        """End the session that runs, and begin another. A disabled server that does not run is not started."""
        is_disabled = self.status is ServerStatus.DISABLED
        self.stop()
        if not is_disabled:
            self.start()

    def configure(self, settings: McpServerConfig) -> None:
        """Use new settings. The server is restarted, or stopped if it is disabled now."""
        self.settings = settings
        self._register_secrets()
        self._has_run = False
        self._kept_lists = None
        self.stop()
        if not settings.disabled:
            if self.status is ServerStatus.DISABLED:
                self._signal(Signal.ENABLE)
            self.start()
        self._report_change()

    def change_folders(self, folders: tuple[Path, ...]) -> None:
        """Use other folders. A program that runs keeps its working directory."""
        self.folders = folders
        if self.connection is not None:
            self.connection.announce_roots()

    def retire(self) -> None:
        """Stop the server, so that it cannot be started again. `run` returns when the server has ended."""
        self._retired = True
        self.stop()

    # -- the task of the server

    async def run(self) -> None:
        """Run sessions of the server whenever it is wanted. Return after `retire`. This is a task of its own."""
        LOG_FIELDS.set(LogFields(mcp_server=self.name))
        failures = 0
        loop = asyncio.get_running_loop()
        while not self._retired:
            if not self.is_wanted:
                failures = 0
                await self._wait_until_woken(None)
                continue
            began = loop.time()
            await self._run_session()
            if self.status is not ServerStatus.FAILED:
                # A server that wants a sign-in is not started again by itself.
                self.is_wanted = self.is_wanted and self.status is not ServerStatus.REQUIRES_AUTH
                continue
            failures = 0 if loop.time() - began > self.timing.keep_alive else failures
            # If a program was never ready, another attempt does not help: its configuration must be corrected. But a
            # server at an address may be started later.
            is_worth_retrying = (self._has_run or self._can_retry_sign_in) and failures < len(self.timing.backoff)
            if self._failure_is_temporary or is_worth_retrying:
                await self._wait_until_woken(self.timing.backoff[min(failures, len(self.timing.backoff) - 1)])
                failures += 1
            else:
                self.is_wanted = False
                self._report_change()

    async def _load_known_lists(self) -> None:
        """Offer what the server offered when it last ran, until it runs."""
        if not self.is_wanted or self.is_name_reserved or self.refusal or self._kept_lists is not None:
            return
        self._kept_lists = await asyncio.to_thread(self.known_lists.load, self.name, self.settings)
        if self.is_wanted and self.lists is None and self._kept_lists is not None:
            self._last_lists = self._kept_lists
            self._report_change()

    async def keep_lists(self) -> None:
        """Write the present lists to the disk, if they are new."""
        async with self._keeping_lists:
            if self.connection is not None and (lists := self.connection.lists) != self._kept_lists:
                self._kept_lists = lists
                await asyncio.to_thread(self.known_lists.save, self.name, self.settings, lists)

    async def _run_session(self) -> None:
        """Run one session of the server, to its end. The program of a server waits until few others are starting."""
        self.error = None
        self._wake.clear()
        self._signal(Signal.START)
        await self.start_queue.import_sdk()
        await self._load_known_lists()
        if not self.settings.command:
            await self._run_started_session(_do_nothing)
            return
        from anyio import CancelScope

        # If the server is stopped while it waits for its slot, the scope ends only the wait. The session then begins,
        # finds that the server is stopping, and ends. The slot is held until the end of the session at the latest.
        async with AsyncExitStack() as stack:
            release: Callable[[], None] = _do_nothing
            with CancelScope() as self._scope:
                release = await stack.enter_async_context(self.start_queue.wait_for_slot())
            await self._run_started_session(release)

    async def _run_started_session(self, on_started: Callable[[], None]) -> None:
        """Run one session, whose turn to start has come. `on_started` is called when the server runs."""
        folders = self.folders
        from anyio import CancelScope, current_time

        from jupyter_eca.mcp_client.session_run import SessionEnd, run_session

        # If the server is stopping already, this session must not use the sign-in, and so end it: the next start needs
        # it.
        stopping = self.status is ServerStatus.STOPPING
        sign_in = None if stopping else self.credentials.prepare_session(self.name, self.settings)
        start_seconds = self.timing.login if sign_in and sign_in.attempt else self.timing.timeout
        self._scope = scope = CancelScope(deadline=current_time() + start_seconds)
        if stopping:
            scope.cancel()

        def on_ready(connection: ServerConnection) -> None:
            """Note that the server runs. The session has no time limit from now on."""
            scope.deadline = float("inf")
            on_started()
            self._has_run = True
            self.connection = connection
            if self.folders != folders:
                connection.announce_roots()  # the server may have requested the old ones already
            if sign_in is not None:
                sign_in.end(None)
            self._signal(Signal.UP)

        settings = ConnectionSettings(
            self.name,
            self.settings,
            lambda: self.folders,
            self.timing,
            self._report_change,
            self.client_features,
            self.log,
            self.resources,
            self.get_environment,
            self.find_url_refusal,
        )
        if self.refusal:
            ending = SessionEnd(self.refusal)
        elif self.is_name_reserved:
            ending = SessionEnd(_RESERVED)
        else:
            ending = await run_session(settings, sign_in.provider if sign_in else None, scope, on_ready)
        # A server that did not run with these settings may no longer offer what it once did.
        self._last_lists = self.lists if self._has_run and self.status is not ServerStatus.STOPPING else None
        self._scope = self.connection = None
        if self.status is ServerStatus.STOPPING:
            if sign_in is not None:
                sign_in.end("the server was stopped")
            self._signal(Signal.ENDED)
            self._disable_if_configured()
            return
        await self._handle_failure(ending, sign_in)

    async def _handle_failure(self, ending: SessionEnd, sign_in: ServerSignIn | None) -> None:
        """Report a session that failed, and find out whether another attempt is worth it."""
        why, refused = ending.why, ending.is_refused
        attempt = sign_in.attempt if sign_in else None
        if attempt is not None and attempt.sent and not attempt.has_returned:
            why, refused = f"nobody signed in within {self.timing.login:g} s", True
        elif sign_in is not None and sign_in.refusal is not None:
            why, refused = sign_in.refusal, True
        self.error = self._as_line(why)
        # An address that does not answer is tried again and again. Only the first failure is logged as a warning.
        _log.log(
            logging.DEBUG if self.error == self._logged_error else logging.WARNING,
            "the server %r: %s",
            self.name,
            self.error,
        )
        self._logged_error = self.error
        self.log.write("error", self.error)
        if sign_in is not None:
            await sign_in.fail(self.error)
        if attempt is not None and attempt.sent:
            attempt.say(MessageType.WARNING, f"Nobody is signed in to the MCP server {self.name!r}: {self.error}.")
        self._failure_is_temporary = ending.is_temporary and not refused
        self._can_retry_sign_in = refused and await self.credentials.prepare_retry(self.name, self.settings)
        if self.status is not ServerStatus.STOPPING:
            self._signal(Signal.REFUSED if refused and not self._can_retry_sign_in else Signal.FAILED)
        else:
            self._signal(Signal.ENDED)
            self._disable_if_configured()

    # -- calls

    async def use(self, work: Callable[[ServerConnection], Awaitable[Any]]) -> Any:
        """Run `work` on the connection. If the server has forgotten our session or our token, reconnect and try once
        more.

        Raises: ToolError.
        """
        try:
            return await self._use_retrying(work)
        except ToolError as error:
            raise ToolError(f"The server {self.name!r} failed: {self._as_line(str(error))}.") from None

    async def _use_retrying(self, work: Callable[[ServerConnection], Awaitable[Any]]) -> Any:
        """See `use`. Here the errors do not name the server yet."""
        connection = await self._wait_for_connection()
        from jupyter_eca.mcp_client.session_run import SessionForgottenError, call_server

        try:
            return await call_server(connection, work)
        except SessionForgottenError:
            connection.end("it had forgotten our session")
        try:
            return await call_server(await self._wait_for_connection(connection), work)
        except SessionForgottenError:
            raise ToolError("it forgets our session again and again") from None

    async def _wait_for_connection(self, stale: ServerConnection | None = None) -> ServerConnection:
        """Return the connection, but not `stale`. If the server is reconnecting, wait for it, and skip the pause before
        the next attempt.

        Raises: ToolError when the server does not run.
        """
        skipped_pause = False
        try:
            async with asyncio.timeout(self.timing.timeout):
                while self.is_wanted and not self._retired:
                    connection = self.connection
                    if connection is not None and connection is not stale and not connection.has_ended:
                        return connection
                    changed = self._changed
                    if self.status is ServerStatus.FAILED:
                        if skipped_pause:
                            break
                        skipped_pause = True
                        self._wake.set()
                    await changed.wait()
        except TimeoutError:
            pass
        raise ToolError(f"it is {self.status.value}{f': {self.error}' if self.error else ''}")

    # -- the state of the server

    @property
    def info(self) -> ToolServerUpdatedParams:
        """The server as clients see it, without secrets."""
        args, url = self._redact_settings()
        state = ToolServerUpdatedParams(
            type="mcp",
            name=self.name,
            status=self.status,
            command=self.settings.command,
            args=args,
            url=url,
            disabled=self.settings.disabled,
            has_auth=self.credentials.has_sign_in(self.name, self.settings),
            error=self.error,
        )
        if self.lists is None:
            return state
        described = state.model_copy(update=_describe_lists(self.lists))
        return described.model_copy(update={"error": self.error}) if self.error else described

    @property
    def lists(self) -> ServerLists | None:
        """What the server offers. While the server is reconnecting, these are the lists of the last connection, and a
        call waits. None for a server that never ran, or is not wanted."""
        if not self.is_wanted:  # the connection of a stopped server ends a moment later
            return None
        return self.connection.lists if self.connection is not None else self._last_lists

    @property
    def is_starting(self) -> bool:
        """Whether the server is starting, or is about to start."""
        return self.is_wanted and self.status in {ServerStatus.STOPPED, ServerStatus.STARTING}

    async def await_started(self, *, or_known: bool = False) -> None:
        """Wait until the server is no longer starting: it runs, has failed, or was stopped. With `or_known`, what it
        offered when it last ran is enough."""
        while self.is_starting and not (or_known and self.lists is not None):
            await self._changed.wait()

    # -- helpers

    def _redact_settings(self) -> tuple[tuple[str, ...] | None, str | None]:
        """Return the arguments of the command (None without a command) and the URL, without secrets. They are redacted
        again only when the settings or the known secrets have changed: fifty servers that start report many changes."""
        settings, known_secrets = self.settings, redaction.count_secrets()
        if self._redacted is None or self._redacted[0] is not settings or self._redacted[1] != known_secrets:
            args = redaction.redact_arguments(settings.args) if settings.command else None
            self._redacted = settings, known_secrets, (args, settings.url and redaction.redact_url(settings.url))
        return self._redacted[2]

    def _signal(self, signal: Signal) -> None:
        """Change the status according to the table."""
        status = next_status(self.status, signal)
        if status is not self.status:
            self.status = status
            self._report_change()

    def _report_change(self) -> None:
        """Wake the tasks that wait for a status, and call `on_change`."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        self.on_change(self)

    def _disable_if_configured(self) -> None:
        """Change the status from stopped to disabled, if the configuration disables the server."""
        if self.settings.disabled and self.status is ServerStatus.STOPPED:
            self._signal(Signal.DISABLE)

    async def _wait_until_woken(self, seconds: float | None) -> None:
        """Wait until `_wake` is set, or so many seconds; None for no limit."""
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    def _as_line(self, text: str) -> str:
        """Return the text in one line, without the secrets that we gave to the server."""
        return " ".join(self._redact(text).split()).rstrip(".")[:_MAX_ERROR]

    def _register_secrets(self) -> None:
        """Register the secrets in the configuration for redaction, including those in the arguments of the command."""
        register_secrets(self.settings)
        redaction.register_url_secrets(self.settings.url or "")
        redaction.register_secret(*redaction.find_secrets(self.settings.args))

    def _redact(self, text: str) -> str:
        """Remove all secrets that we gave to the server, also their parts: the server may repeat a token without
        `Bearer`."""
        hidden = (*self.settings.env.values(), *self.settings.headers.values(), self.settings.client_secret)
        values = [
            secret.get_secret_value() for secret in (*hidden, *self.credentials.list_secrets(self.name)) if secret
        ]
        values += redaction.find_secrets((*self.settings.args, self.settings.url or ""))
        for part in (part for value in values for part in value.split()):
            if len(part) >= 6:
                text = text.replace(part, "***")
        return redaction.redact(text)


def _describe_lists(lists: ServerLists) -> dict[str, Any]:
    """Return the lists as clients see them. Descriptions are redacted, because a server may repeat a secret in them."""
    from jupyter_eca.mcp_client import results

    return {
        "tools": tuple(
            ServerTool(
                name=tool.name, description=redaction.redact(tool.description or ""), parameters=tool.input_schema
            )
            for tool in lists.tools
        ),
        "prompts": tuple(map(results.describe_prompt, lists.prompts)),
        "resources": tuple(map(results.describe_resource, lists.resources)),
        "instructions": lists.instructions or None,
        **({"error": redaction.redact(lists.left_out)} if lists.left_out else {}),
    }


def _do_nothing() -> None:
    """Used where no slot is held."""
