"""All servers, with one owning task each. They can be added, changed and removed at run time. It speaks to no server
itself: `server` does.

The port is `workspace.base.McpServers`. Imports no SDK: with no server configured, none is ever imported.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.config import McpServerConfig, mcp_servers
from jupyter_eca.errors import McpRefusal, ToolError
from jupyter_eca.mcp_client.caller import McpCaller
from jupyter_eca.mcp_client.connection_settings import ConnectionTiming
from jupyter_eca.mcp_client.server import McpServer
from jupyter_eca.mcp_client.sign_ins import SignIns
from jupyter_eca.mcp_client.watched_resources import AttachedResources
from jupyter_eca.protocol.mcp import ServerStatus
from jupyter_eca.redaction import HIDDEN
from jupyter_eca.workspace.environment import inherit_environment
from jupyter_eca.workspace.uri_templates import ResourceTemplate

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
    from pathlib import Path

    import mcp_types

    from jupyter_eca.config import Config
    from jupyter_eca.config.credentials import KeyStore as Store
    from jupyter_eca.engine.model.request import ImagePart
    from jupyter_eca.mcp_client.caller import ClientFeatures
    from jupyter_eca.mcp_client.connection import ServerConnection, ServerLists
    from jupyter_eca.mcp_client.sign_in import Browser, Say
    from jupyter_eca.protocol.mcp import (
        McpAddServerParams,
        McpUpdateServerParams,
        ServerLogLine,
        ServerPrompt,
        ServerResource,
        ToolServerUpdatedParams,
    )
    from jupyter_eca.workspace.uri_templates import PartialUri

    KeepTrust = Callable[[Callable[[], None]], Awaitable[None]]

_log = logging.getLogger(__name__)

# Seconds that a prompt waits for a resource that may have changed, and whoever types for what it may become.
_CHANGED: Final = 5.0
_COMPLETING: Final = 0.3

# Seconds after which whoever waits for servers that start is told so. Most start within a second.
_QUIET: Final = 2.0

_FIELDS = ("command", "args", "env", "url", "headers", "client_id", "client_secret", "oauth_port", "auth_scope")


class McpManager:
    """All configured servers. `changed` and `removed` are called on the loop after each change. `store` keeps sign-ins.
    `people` answers what servers ask of a client. `inherited` returns the environment of programs. `known` is set when
    the configured servers are known."""

    def __init__(
        self,
        config: Config,
        folders: tuple[Path, ...],
        changed: Callable[[ToolServerUpdatedParams], None],
        removed: Callable[[str], None],
        store: Store,
        people: ClientFeatures,
        *,
        keep_trust: KeepTrust = asyncio.to_thread,
        pace: ConnectionTiming | None = None,
        home: Path | None = None,
        inherited: Callable[[], dict[str, str]] = inherit_environment,
    ) -> None:
        """`keep_trust` runs a function that changes a file, and lets the folder stay trusted."""
        self._config = config
        self._inherited = inherited
        self._folders = folders
        self._changed = changed
        self._removed = removed
        self._pace = pace or ConnectionTiming(config.mcp_timeout_seconds, config.mcp_keep_alive_seconds)
        self._home = home
        self._keep_trust = keep_trust
        self._people = people
        self._attached = AttachedResources()
        self._credentials = SignIns(store)
        self._servers: dict[str, McpServer] = {}
        self._owners: set[asyncio.Task[None]] = set()
        self._tasks: asyncio.TaskGroup | None = None
        # Held while the set of servers changes; nothing is changed before the configured ones are known, or else an
        # added server would be taken for one that is no longer configured.
        self._changing = asyncio.Lock()
        self.known = asyncio.Event()

    async def run(self) -> None:
        """Run until cancelled. Then every server is ended properly first, which takes seconds for a server that does
        not react."""
        async with asyncio.TaskGroup() as self._tasks:
            try:
                await self.apply(self._config)
                await asyncio.Event().wait()
            finally:
                await self.end()
                self._credentials.close()

    async def end(self, within: float | None = None) -> None:
        """End every server for good. Return when all have ended, or after that many seconds."""
        for server in self._servers.values():
            server.retire()
        if self._owners:
            await asyncio.wait(self._owners, timeout=within)

    def move(self, folders: tuple[Path, ...]) -> None:
        """Use other folders, and tell the running servers."""
        self._folders = folders
        for server in self._servers.values():
            server.move(folders)

    async def apply(self, config: Config) -> None:
        """Apply a configuration: start new servers, remove those that are gone, restart those that changed."""
        async with self._changing:
            self._config = config
            wanted = await asyncio.to_thread(mcp_servers.list_servers, config, self._sources)
            if any(settings.url for settings in wanted.values()):
                await self._credentials.load()
            for name in self._servers.keys() - wanted.keys():
                self._drop(name)
            for name, settings in wanted.items():
                if name not in self._servers:
                    self._add(name, settings)
                elif self._servers[name].settings != settings:
                    self._servers[name].configure(settings)
        self.known.set()

    # -- what a client may do to one

    def start(self, name: str) -> None:
        """Start a server. Raises: McpRefusal for an unknown name, as all of these methods do."""
        self._server(name).start()

    def stop(self, name: str) -> None:
        self._server(name).stop()

    async def enable(self, name: str, *, enabled: bool = True) -> None:
        """Enable or disable a server in the file that defines it. A server of a `.mcp.json` is enabled in the
        workspace's own configuration. Raises: McpRefusal, ConfigError."""
        async with self._change():
            server = self._server(name)
            adopted = await asyncio.to_thread(mcp_servers.find_adoptable, self._sources, name) if enabled else None
            file, entry = adopted or (None, {})
            await self._write(name, {**entry, "disabled": not enabled}, file)
            server.configure(server.settings.model_copy(update={"disabled": not enabled}))

    async def add(self, params: McpAddServerParams) -> ToolServerUpdatedParams:
        """Add a server to the file of its scope. Raises: McpRefusal, ConfigError."""
        name = params.name.strip()
        fields = _fields_of(params)
        settings = McpServerConfig.model_validate({**fields, "disabled": params.disabled})
        if params.disabled:
            fields["disabled"] = True
        async with self._change():
            self._check_new(name, settings)
            await self._write(name, fields, self._file(params))
            return self._add(name, settings).info

    async def update(self, params: McpUpdateServerParams) -> None:
        """Write the changed fields to the server's file, and restart it. Raises: McpRefusal, ConfigError."""
        fields = _fields_of(params)
        async with self._change():
            server = self._server(params.name)
            if (server.settings.command and params.url) or (server.settings.url and params.command):
                raise McpRefusal("invalid-server", "A server cannot change from a command to a url; add another one.")
            fields = _keep_secrets(fields, server.info)
            await self._write(params.name, fields)
            new = McpServerConfig.model_validate(fields)
            server.configure(
                server.settings.model_copy(update={name: getattr(new, name) for name in new.model_fields_set})
            )

    async def remove(self, name: str) -> None:
        """Remove a server from all files that name it. Raises: McpRefusal, ConfigError."""
        async with self._change():
            self._server(name)
            for file in await asyncio.to_thread(self._sources.find_defining_files, name):
                await self._write_file(file, partial(mcp_servers.remove_server, file, name))
            self._drop(name)

    async def connect(self, name: str, browser: Browser, say: Say) -> None:
        """Sign in again, if the server asks for it. Raises: McpRefusal."""
        await self.known.wait()
        server = self._server(name)
        if not server.settings.url:
            raise McpRefusal("invalid-server", f"{name!r} is a program: there is nothing to sign in to.")
        await self._credentials.ask(name, server.settings, browser, say)
        if self._servers.get(name) is server:
            server.restart()
        else:
            self._credentials.drop(name, "the server was removed")

    async def logout(self, name: str) -> None:
        """Forget the credentials of a server and restart it without them. Raises: McpRefusal."""
        server = self._server(name)
        try:
            await self._credentials.forget(name, server.settings)
        finally:
            server.restart()

    async def await_started(self, within: float, *, warns: bool = False) -> None:
        """Wait until all starting servers run or have failed, but no longer than that many seconds. With `warns` a
        longer wait is logged: for a program whose user sees the log and nothing else until the answer begins."""
        loop = asyncio.get_running_loop()
        warning = loop.call_later(_QUIET, self._warn_of_wait, within) if warns else None
        try:
            async with asyncio.timeout(within):
                await self.known.wait()
                await asyncio.gather(*(server.await_started() for server in self._servers.values()))
        except TimeoutError:
            pass
        finally:
            if warning is not None:
                warning.cancel()

    def _warn_of_wait(self, within: float) -> None:
        names = ", ".join(server.name for server in self._servers.values() if server.is_starting)
        _log.warning("waiting for the MCP server %s, for %g s at most (mcpTimeoutSeconds)", names, within)

    async def find_prompts(self, name: str, within: float) -> tuple[ServerPrompt, ...] | None:
        """Return the prompts of a server; None if there is no such server. Wait for a server that is starting, and for
        its prompts, but no longer than that many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self.known.wait()
                if name in self._servers:
                    await self._servers[name].await_started()
                    if (connection := self._servers[name].connection) is not None:
                        await connection.await_list("prompts")
        return (self._servers[name].info.prompts or ()) if name in self._servers else None

    # -- what they offer

    def list_servers(self) -> tuple[ToolServerUpdatedParams, ...]:
        return tuple(server.info for server in self._servers.values())

    def list_tools(self) -> list[tuple[McpServer, mcp_types.Tool]]:
        """Return the tools of all servers that run, or are being connected again, each with its server."""
        return [(server, tool) for server, lists in self._list_offers() for tool in lists.tools]

    def prompts(self) -> Mapping[str, tuple[ServerPrompt, ...]]:
        return {server.name: server.info.prompts or () for server, _ in self._list_offers()}

    def list_resources(self) -> Mapping[str, tuple[ServerResource, ...]]:
        return {server.name: server.info.resources or () for server, _ in self._list_offers()}

    def instructions(self) -> Mapping[str, str]:
        """Return what the servers want a model to know."""
        return {server.name: lists.instructions for server, lists in self._list_offers() if lists.instructions}

    async def read_resource(self, server: str, uri: str, chat: str = "") -> tuple[str, tuple[ImagePart, ...]]:
        async def read(connection: ServerConnection) -> tuple[str, tuple[ImagePart, ...]]:
            from jupyter_eca.mcp_client import results

            client = connection.client
            if chat:
                with suppress(Exception):  # that no change will be told is no reason not to read it
                    await connection.call_bounded(lambda _: connection.follow(uri))
            found = connection.call_bounded(lambda _: client.read_resource(uri, cache_mode="refresh"), McpCaller(chat))
            return results.resource(await found)

        text, images = await self._find_for_tool(server).use(read)
        if chat:
            self._attached.remember(chat, server, uri, text, images)
        return text, images

    async def read_changed_resources(self, chat: str) -> list[tuple[str, str, str, tuple[ImagePart, ...]]]:
        """Return server, address, text and images of the resources that changed since the chat was given them. A
        resource that cannot be read soon is tried again next time."""

        async def again(server: str, uri: str) -> tuple[str, str, str, tuple[ImagePart, ...]] | None:
            self._attached.doubt(chat, server, uri, suspected=False)
            before = self._attached.digest(chat, server, uri)
            try:
                async with asyncio.timeout(_CHANGED):
                    text, images = await self.read_resource(server, uri, chat)
            except (ToolError, TimeoutError):
                self._attached.doubt(chat, server, uri, suspected=True)
                return None
            return (server, uri, text, images) if self._attached.digest(chat, server, uri) != before else None

        found = await asyncio.gather(*(again(*one) for one in self._attached.list_suspected(chat)))
        return [one for one in found if one is not None]

    def list_templates(self) -> list[ResourceTemplate]:
        """Return the resource templates of the servers."""
        return [
            ResourceTemplate(server.name, one.uri_template, one.name, one.description or "", one.mime_type or "")
            for server, lists in self._list_offers()
            for one in lists.templates
        ]

    async def complete(self, template: ResourceTemplate, typed: PartialUri) -> tuple[str, ...]:
        """Return completions of what is being typed: within a third of a second, or none."""
        for server, connection in self._list_running():
            if server.name == template.server:
                with suppress(Exception):  # a server that fails at this offers nothing
                    async with asyncio.timeout(_COMPLETING):
                        return await connection.complete(template.uri, typed.variable, typed.value, typed.known_values)
        return ()

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str], chat: str = "") -> str:
        async def get(connection: ServerConnection) -> str:
            from jupyter_eca.mcp_client import results

            client = connection.client
            got = connection.call_bounded(lambda _: client.get_prompt(name, dict(arguments)), McpCaller(chat))
            return results.prompt_text(await got)

        return await self._find_for_tool(server).use(get)

    def log(self, name: str) -> tuple[ServerLogLine, ...]:
        """Return the log of a server, the oldest line first. Raises: McpRefusal."""
        return self._server(name).log.lines

    # -- inside

    @property
    def _sources(self) -> mcp_servers.ConfigSources:
        return mcp_servers.ConfigSources.of(self._config, self._folders, self._home)

    @asynccontextmanager
    async def _change(self) -> AsyncGenerator[None]:
        await self.known.wait()
        async with self._changing:
            yield

    def _check_new(self, name: str, settings: McpServerConfig) -> None:
        if not name:
            raise McpRefusal("invalid-name", "A server needs a name.")
        if name in self._servers:
            raise McpRefusal("already-exists", f"There is a server {name!r} already. Update or remove it.")
        if bool(settings.command) == bool(settings.url):
            raise McpRefusal("invalid-server", "A server needs either a command or a url.")

    def _add(self, name: str, settings: McpServerConfig) -> McpServer:
        assert self._tasks is not None, "run() first"  # noqa: S101
        server = McpServer(
            name,
            settings,
            self._folders,
            self._pace,
            self._tell,
            self._credentials,
            self._people,
            self._attached,
            self._inherited,
        )
        self._servers[name] = server
        owner = self._tasks.create_task(server.run(), name=f"mcp {name}")
        self._owners.add(owner)
        owner.add_done_callback(self._owners.discard)
        self._tell(server)
        return server

    def _drop(self, name: str) -> None:
        """Remove a server without waiting for its end. Its name is free at once."""
        server = self._servers.pop(name)
        server.retire()
        self._credentials.drop(name, "the server was removed")
        self._removed(name)

    def _tell(self, server: McpServer) -> None:
        if self._servers.get(server.name) is server:
            self._changed(server.info)

    def _list_offers(self) -> list[tuple[McpServer, ServerLists]]:
        return [(server, lists) for server in self._servers.values() if (lists := server.lists) is not None]

    def _list_running(self) -> list[tuple[McpServer, ServerConnection]]:
        return [
            (server, server.connection)
            for server in self._servers.values()
            if server.status is ServerStatus.RUNNING and server.connection is not None
        ]

    def _server(self, name: str) -> McpServer:
        if name not in self._servers:
            raise McpRefusal("not-found", f"There is no server {name!r}.")
        return self._servers[name]

    def _find_for_tool(self, name: str) -> McpServer:
        if name not in self._servers:
            raise ToolError(f"There is no server {name!r}.", f"There are {', '.join(self._servers) or 'none'}.")
        return self._servers[name]

    def _file(self, params: McpAddServerParams) -> Path:
        if params.scope == "global":
            return self._sources.user_file()
        wanted = (params.workspace_uri or "").rstrip("/")
        for folder in self._folders:
            if wanted in {"", folder.as_uri(), str(folder)}:
                return self._sources.workspace_file(folder)
        raise McpRefusal("unknown-workspace", f"{params.workspace_uri} is not a folder of this workspace.")

    async def _write(self, name: str, fields: Mapping[str, Any], file: Path | None = None) -> None:
        if file is None:
            files = await asyncio.to_thread(self._sources.find_defining_files, name)
            file = files[0] if files else self._sources.user_file()
        await self._write_file(file, partial(mcp_servers.change_server, file, name, fields))

    async def _write_file(self, file: Path, write: Callable[[], None]) -> None:
        try:
            await self._keep_trust(write)
        except OSError as error:
            raise McpRefusal("not-written", f"{file} cannot be written: {error.strerror}.") from error


def _fields_of(params: McpUpdateServerParams) -> dict[str, Any]:
    """Return what a client wrote, by ECA's names."""
    return {
        name: value
        for name, value in params.model_dump(mode="json", by_alias=True, exclude_none=True).items()
        if name in _ALIASES
    }


def _keep_secrets(given: dict[str, Any], shown: ToolServerUpdatedParams) -> dict[str, Any]:
    """Leave out what came back exactly as it was shown: a hidden secret stays as it is stored. Raises: McpRefusal for a
    hidden secret that was changed."""
    hiding = {name: told for name, told in shown.wire().items() if name in given and HIDDEN in str(told)}
    for name, told in hiding.items():
        if HIDDEN in str(given[name]) and given[name] != told:
            raise McpRefusal("invalid-server", f"{HIDDEN} stands for a secret. Write it as ${{env:NAME}} instead.")
    return {name: value for name, value in given.items() if hiding.get(name) != value}


_ALIASES = frozenset(McpServerConfig.model_fields[name].alias or name for name in _FIELDS)
