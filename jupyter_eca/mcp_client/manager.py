"""Owns all MCP servers (Model Context Protocol), each with its own task. Servers can be added, changed and removed
while the program runs. `McpManager` implements the interface `McpServers` of `workspace/ports.py`.

It must not speak to a server itself: `server.py` does. It must not import the SDK (the package `mcp`) either, so that
the SDK is never imported when no server is configured.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.config import McpServerConfig, mcp_servers
from jupyter_eca.errors import McpRefusal, ToolError
from jupyter_eca.mcp_client.client_features import McpCaller
from jupyter_eca.mcp_client.connection_settings import ConnectionTiming
from jupyter_eca.mcp_client.known_lists import KnownLists
from jupyter_eca.mcp_client.server import McpServer
from jupyter_eca.mcp_client.sign_ins import SignIns
from jupyter_eca.mcp_client.start_queue import StartQueue
from jupyter_eca.mcp_client.tool_names import RESERVED
from jupyter_eca.mcp_client.watched_resources import AttachedResources
from jupyter_eca.protocol.mcp import ServerStatus
from jupyter_eca.redaction import HIDDEN
from jupyter_eca.workspace.environment import inherit_environment
from jupyter_eca.workspace.uri_templates import ResourceTemplate

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
    from pathlib import Path

    import mcp_types

    from jupyter_eca.config import Config
    from jupyter_eca.config.credentials import KeyStore as Store
    from jupyter_eca.engine.model.request import ImagePart
    from jupyter_eca.mcp_client.client_features import ClientFeatures
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
    from jupyter_eca.workspace.ports import ChangedResource
    from jupyter_eca.workspace.uri_templates import PartialUri

    KeepTrust = Callable[[Callable[[], None]], Awaitable[None]]
    """Runs a function that changes a file of a folder, and keeps the folder trusted. Without it, the user would have to
    trust the folder again, because its configuration has changed."""

_log = logging.getLogger(__name__)

# Seconds that a prompt waits for a resource that may have changed.
_CHANGED_SECONDS: Final = 5.0
# Seconds that a user who types waits for completions.
_COMPLETION_SECONDS: Final = 0.3

# Seconds of waiting for servers that start, after which a warning says so. Most servers start within a second.
_QUIET_SECONDS: Final = 2.0

# The fields of a server's configuration that a client may write.
_FIELDS = ("command", "args", "env", "url", "headers", "client_id", "client_secret", "oauth_port", "auth_scope")


class McpManager:
    """Starts, stops and changes the configured servers, and passes calls to them.

    `folders` are the folders of the workspace. `on_change` is called with each server that changed, and `on_remove`
    with the name of each server that was removed. `store` keeps the sign-ins, and `lists_folder` what each server
    offered when it last ran. `client_features` answers what servers request from us. `keep_trust` runs a function that
    changes a file of a folder, and keeps the folder trusted. `timing` has other time limits than those of the
    configuration, for tests. `home` is the home folder of the user; None for the real one. `get_environment` returns
    the environment variables that programs inherit.
    """

    def __init__(
        self,
        config: Config,
        folders: tuple[Path, ...],
        on_change: Callable[[ToolServerUpdatedParams], None],
        on_remove: Callable[[str], None],
        store: Store,
        client_features: ClientFeatures,
        lists_folder: Path,
        *,
        keep_trust: KeepTrust = asyncio.to_thread,
        timing: ConnectionTiming | None = None,
        home: Path | None = None,
        get_environment: Callable[[], dict[str, str]] = inherit_environment,
    ) -> None:
        self._config = config
        self._get_environment = get_environment
        self._folders = folders
        self._on_change = on_change
        self._on_remove = on_remove
        self._timing = timing or ConnectionTiming(config.mcp_timeout_seconds, config.mcp_keep_alive_seconds)
        self._home = home
        self._keep_trust = keep_trust
        self._client_features = client_features
        self._resources = AttachedResources()
        self._credentials = SignIns(store, self._find_url_refusal)
        self._known_lists = KnownLists(lists_folder)
        self._start_queue = StartQueue()
        self._reserved = RESERVED
        self._servers: dict[str, McpServer] = {}
        # The tasks that run the servers, also of servers that were removed and are still ending, and the tasks that
        # write what the servers offer.
        self._unfinished: set[asyncio.Task[None]] = set()
        self._tasks: asyncio.TaskGroup | None = None
        # Held while servers are added, changed or removed.
        self._change_lock = asyncio.Lock()
        # Set when the servers of the configuration are known. Before that, nothing may be changed: the configuration
        # would remove a server that was added, because it does not contain that server.
        self.servers_known = asyncio.Event()

    def reserve_names(self, names: Iterable[str]) -> None:
        """Keep servers from having the names of our own tools. Called before `run`."""
        self._reserved |= frozenset(names)

    async def run(self) -> None:
        """Run the servers until it is cancelled. Then it ends all servers first, which takes seconds if a server does
        not react."""
        async with asyncio.TaskGroup() as self._tasks:
            try:
                await self.apply(self._config)
                await asyncio.to_thread(self._known_lists.delete_unused)
                await asyncio.Event().wait()
            finally:
                await self.end()
                self._credentials.close()

    async def end(self, within: float | None = None) -> None:
        """End all servers. They cannot be started again. Return when all have ended, or after `within` seconds."""
        for server in self._servers.values():
            server.retire()
        if self._unfinished:
            await asyncio.wait(self._unfinished, timeout=within)

    def change_folders(self, folders: tuple[Path, ...]) -> None:
        """Use other folders of the workspace, and notify the servers that run."""
        self._folders = folders
        for server in self._servers.values():
            server.change_folders(folders)

    async def apply(self, config: Config) -> None:
        """Apply a configuration: start new servers, restart those that changed, and remove the others."""
        async with self._change_lock:
            self._config = config
            wanted = await asyncio.to_thread(mcp_servers.list_servers, config, self._sources)
            if any(settings.url for settings in wanted.values()):
                await self._credentials.load()
            for name in self._servers.keys() - wanted.keys():
                self._drop(name)
            for name, settings in wanted.items():
                if name not in self._servers:
                    self._add(name, settings)
                    continue
                server, refusal = self._servers[name], self._find_refusal(name, settings)
                if (server.settings, server.refusal) != (settings, refusal):
                    server.refusal = refusal
                    server.configure(settings)
        self.servers_known.set()

    # -- requests of a client about one server

    def start(self, name: str) -> None:
        """Start a server. Raises: McpRefusal for an unknown name."""
        self._get_server(name).start()

    def stop(self, name: str) -> None:
        """Stop a server. Raises: McpRefusal for an unknown name."""
        self._get_server(name).stop()

    async def enable(self, name: str, *, enabled: bool = True) -> None:
        """Enable a server in the file that defines it; disable it if `enabled` is False.

        The file `.mcp.json`, which a project shares with other programs, is not changed when a server is enabled.
        Instead, the entry of the server is copied to the configuration of the workspace, which then defines the server.

        Raises: McpRefusal, ConfigError.
        """
        async with self._change():
            server = self._get_server(name)
            copied = await asyncio.to_thread(mcp_servers.find_server_to_copy, self._sources, name) if enabled else None
            file, entry = copied or (None, {})
            await self._write(name, {**entry, "disabled": not enabled}, file)
            server.configure(server.settings.model_copy(update={"disabled": not enabled}))

    async def add(self, params: McpAddServerParams) -> ToolServerUpdatedParams:
        """Add a server to the configuration of the user or of the workspace, as `params.scope` says. Return its state.

        Raises: McpRefusal, ConfigError.
        """
        name = params.name.strip()
        fields = _list_fields(params)
        settings = McpServerConfig.model_validate({**fields, "disabled": params.disabled})
        if params.disabled:
            fields["disabled"] = True
        async with self._change():
            self._check_new(name, settings)
            await self._write(name, fields, self._choose_file(params))
            return self._add(name, settings).info

    async def update(self, params: McpUpdateServerParams) -> None:
        """Write the changed fields to the file that defines the server, and restart the server. Variables and headers
        that are not named stay.

        Raises: McpRefusal, ConfigError.
        """
        fields = _list_fields(params)
        async with self._change():
            server = self._get_server(params.name)
            if (server.settings.command and params.url) or (server.settings.url and params.command):
                raise McpRefusal("invalid-server", "A server cannot change from a command to a url; add another one.")
            fields = _drop_unchanged(fields, server.info)
            self._check_policy(params.name, server.settings.model_copy(update=_read_fields(fields)))
            await self._write(params.name, fields)
            new = McpServerConfig.model_validate(fields)
            changed = _read_fields(fields)
            merged = {"env": {**server.settings.env, **new.env}, "headers": {**server.settings.headers, **new.headers}}
            server.configure(server.settings.model_copy(update={**changed, **merged}))

    async def remove(self, name: str) -> None:
        """Remove a server from all files that define it.

        Raises: McpRefusal, ConfigError.
        """
        async with self._change():
            self._get_server(name)
            for file in await asyncio.to_thread(self._sources.find_defining_files, name):
                await self._write_file(file, partial(mcp_servers.remove_server, file, name))
            self._drop(name)

    async def connect(self, name: str, browser: Browser, say: Say) -> None:
        """Restart a server, and let the user sign in again if the server wants it. `say` shows messages to the user.

        Raises: McpRefusal for an unknown name, for a program, and when the sign-in cannot begin.
        """
        await self.servers_known.wait()
        server = self._get_server(name)
        if not server.settings.url:
            raise McpRefusal("invalid-server", f"{name!r} is a program: there is nothing to sign in to.")
        await self._credentials.prepare(name, server.settings, browser, say)
        if self._servers.get(name) is server:
            server.restart()
        else:
            self._credentials.drop(name, "the server was removed")

    async def logout(self, name: str) -> None:
        """Forget the sign-in to a server, and restart the server without it.

        Raises: McpRefusal for an unknown name, and when the stored sign-in cannot be removed.
        """
        server = self._get_server(name)
        try:
            await self._credentials.forget(name, server.settings)
        finally:
            server.restart()

    async def await_started(self, within: float, *, or_known: bool = False, warns: bool = False) -> None:
        """Wait until all servers that are starting run or have failed, but not longer than `within` seconds.

        With `or_known`, a server whose tools are known from its last run is not waited for. A call of such a tool waits
        for its server. With `warns`, a long wait is logged. This is for a program whose user sees only the log until
        the answer begins.
        """
        loop = asyncio.get_running_loop()
        warning = loop.call_later(_QUIET_SECONDS, self._warn_of_wait, within) if warns else None
        try:
            async with asyncio.timeout(within):
                await self.servers_known.wait()
                await asyncio.gather(*(server.await_started(or_known=or_known) for server in self._servers.values()))
        except TimeoutError:
            pass
        finally:
            if warning is not None:
                warning.cancel()

    def _warn_of_wait(self, within: float) -> None:
        """Log which servers are still starting. `within` is how many seconds the caller waits for them."""
        names = ", ".join(server.name for server in self._servers.values() if server.is_starting)
        _log.warning("waiting for the MCP server %s, for %g s at most (mcpTimeoutSeconds)", names, within)

    async def find_prompts(self, name: str, within: float) -> tuple[ServerPrompt, ...] | None:
        """Return the prompts of a server; None if there is no such server. If the server is starting, wait for it and
        for its prompts, but not longer than `within` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self.servers_known.wait()
                if name in self._servers:
                    await self._servers[name].await_started()
                    if (connection := self._servers[name].connection) is not None:
                        await connection.await_list("prompts")
        return (self._servers[name].info.prompts or ()) if name in self._servers else None

    # -- what the servers offer

    def list_servers(self) -> tuple[ToolServerUpdatedParams, ...]:
        """Return the state of each server."""
        return tuple(server.info for server in self._servers.values())

    def list_tools(self) -> list[tuple[McpServer, mcp_types.Tool]]:
        """Return the tools of all servers that run or are reconnecting, each with its server."""
        return [(server, tool) for server, lists in self._list_offers() for tool in lists.tools]

    def list_prompts(self) -> Mapping[str, tuple[ServerPrompt, ...]]:
        """Return the prompts of the servers, by server name."""
        from jupyter_eca.mcp_client.results import describe_prompt

        return {server.name: tuple(map(describe_prompt, lists.prompts)) for server, lists in self._list_offers()}

    def list_resources(self) -> Mapping[str, tuple[ServerResource, ...]]:
        """Return the resources of the servers, by server name."""
        from jupyter_eca.mcp_client.results import describe_resource

        return {server.name: tuple(map(describe_resource, lists.resources)) for server, lists in self._list_offers()}

    def list_instructions(self) -> Mapping[str, str]:
        """Return the instructions of the servers for a model, by server name."""
        return {server.name: lists.instructions for server, lists in self._list_offers() if lists.instructions}

    async def read_resource(self, server: str, uri: str, chat: str = "") -> tuple[str, tuple[ImagePart, ...]]:
        """Return the text and the images of a resource. For a chat, subscribe to its changes too. See `McpServers`.

        Raises: ToolError.
        """

        async def read(connection: ServerConnection) -> tuple[str, tuple[ImagePart, ...]]:
            """Subscribe to the resource, and read it."""
            from jupyter_eca.mcp_client import results

            client = connection.client
            if chat:
                with suppress(Exception):  # without a subscription the resource can still be read
                    await connection.call_with_timeout(lambda _: connection.subscribe(uri))
            result = await connection.call_with_timeout(
                lambda _: client.read_resource(uri, cache_mode="refresh"), McpCaller(chat)
            )
            return results.convert_resource(result)

        text, images = await self._require_server(server).use(read)
        if chat:
            self._resources.remember(chat, server, uri, text, images)
        return text, images

    async def read_changed_resources(self, chat: str) -> list[ChangedResource]:
        """Return the resources that changed since the chat last received them. If a resource cannot be read soon, it is
        tried again next time."""
        if not self._resources.suspected:
            return []

        async def read_again(server: str, uri: str) -> ChangedResource | None:
            """Return a resource if its content has changed; None if it has not, or cannot be read now."""
            self._resources.set_suspected(chat, server, uri, suspected=False)
            before = self._resources.get_digest(chat, server, uri)
            try:
                async with asyncio.timeout(_CHANGED_SECONDS):
                    text, images = await self.read_resource(server, uri, chat)
            except (ToolError, TimeoutError):
                self._resources.set_suspected(chat, server, uri, suspected=True)
                return None
            return (server, uri, text, images) if self._resources.get_digest(chat, server, uri) != before else None

        found = await asyncio.gather(*(read_again(server, uri) for server, uri in self._resources.list_suspected(chat)))
        return [resource for resource in found if resource is not None]

    def list_templates(self) -> list[ResourceTemplate]:
        """Return the resource templates of the servers."""
        return [
            ResourceTemplate(
                server.name, template.uri_template, template.name, template.description or "", template.mime_type or ""
            )
            for server, lists in self._list_offers()
            for template in lists.templates
        ]

    async def complete(self, template: ResourceTemplate, typed: PartialUri) -> tuple[str, ...]:
        """Return completions for the value that the user is typing; nothing if the server is slow or fails."""
        for server, connection in self._list_running():
            if server.name == template.server:
                with suppress(Exception):  # `McpServers` promises that this never raises
                    async with asyncio.timeout(_COMPLETION_SECONDS):
                        return await connection.complete(template.uri, typed.variable, typed.value, typed.known_values)
        return ()

    async def get_prompt(self, server: str, name: str, arguments: Mapping[str, str], chat: str = "") -> str:
        """Return the text of a prompt.

        Raises: ToolError.
        """

        async def get(connection: ServerConnection) -> str:
            """Request the prompt, and return its text."""
            from jupyter_eca.mcp_client import results

            client = connection.client
            result = await connection.call_with_timeout(
                lambda _: client.get_prompt(name, dict(arguments)), McpCaller(chat)
            )
            return results.render_prompt(result)

        return await self._require_server(server).use(get)

    def read_log(self, name: str) -> tuple[ServerLogLine, ...]:
        """Return the log of a server, the oldest line first. Raises: McpRefusal for an unknown name."""
        return self._get_server(name).log.lines

    # -- helpers

    @property
    def _sources(self) -> mcp_servers.ConfigSources:
        """The files that define servers."""
        return mcp_servers.ConfigSources.from_config(self._config, self._folders, self._home)

    @asynccontextmanager
    async def _change(self) -> AsyncGenerator[None]:
        """Wait until the servers may be changed, and hold the lock while the block runs."""
        await self.servers_known.wait()
        async with self._change_lock:
            yield

    def _check_new(self, name: str, settings: McpServerConfig) -> None:
        """Check that a server can be added under this name and with these settings. Raises: McpRefusal."""
        if not name:
            raise McpRefusal("invalid-name", "A server needs a name.")
        if self._is_reserved(name):
            raise McpRefusal("invalid-name", f"The name {name!r} stands for other tools in rules. Choose another name.")
        if name in self._servers:
            raise McpRefusal("already-exists", f"There is a server {name!r} already. Update or remove it.")
        if bool(settings.command) == bool(settings.url):
            raise McpRefusal("invalid-server", "A server needs either a command or a url.")
        self._check_policy(name, settings)

    def _find_refusal(self, name: str, settings: McpServerConfig) -> str:
        """Return why the administrator's policy does not allow a server; "" if it does."""
        command_line = (settings.command or "", *settings.args)
        return self._config.policy.find_mcp_server_refusal(command_line, settings.url, name, settings.env)

    def _find_url_refusal(self, url: str) -> str:
        """Return why the administrator's policy does not allow a request to an address; "" if it does."""
        return self._config.policy.find_url_refusal(url)

    def _check_policy(self, name: str, settings: McpServerConfig) -> None:
        """Check that the administrator's policy allows a server. Raises: McpRefusal."""
        if refusal := self._find_refusal(name, settings):
            raise McpRefusal("invalid-server", refusal)

    def _is_reserved(self, name: str) -> bool:
        """Return whether a rule with this name would be a rule for other tools, such as our own. For example, the rule
        `eca` selects all our own tools, so no server may be called `eca` or `eca__x`. See `tool_names`."""
        return name.partition("__")[0] in self._reserved

    def _add(self, name: str, settings: McpServerConfig) -> McpServer:
        """Add a server and start its task."""
        assert self._tasks is not None, "run() first"  # noqa: S101
        server = McpServer(
            name,
            settings,
            self._folders,
            self._timing,
            self._report_change,
            self._credentials,
            self._client_features,
            self._resources,
            self._get_environment,
            self._known_lists,
            self._start_queue,
            self._is_reserved(name),
            self._find_refusal(name, settings),
            self._find_url_refusal,
        )
        self._servers[name] = server
        self._track(self._tasks.create_task(server.run(), name=f"mcp {name}"))
        self._report_change(server)
        return server

    def _track(self, task: asyncio.Task[None]) -> None:
        """Note a task, so that `end` waits for it."""
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)

    def _drop(self, name: str) -> None:
        """Remove a server. This does not wait until it has ended, and its name can be used again at once."""
        server = self._servers.pop(name)
        server.retire()
        self._credentials.drop(name, "the server was removed")
        self._on_remove(name)

    def _report_change(self, server: McpServer) -> None:
        """Report a change of a server, unless the server was removed. If the server runs, what it offers is stored for
        the next start."""
        if self._servers.get(server.name) is server:
            if server.status is ServerStatus.RUNNING and self._tasks is not None:
                self._track(self._tasks.create_task(server.keep_lists(), name=f"mcp lists of {server.name}"))
            self._on_change(server.info)

    def _list_offers(self) -> list[tuple[McpServer, ServerLists]]:
        """Return the servers that offer something, with their lists."""
        return [(server, lists) for server in self._servers.values() if (lists := server.lists) is not None]

    def _list_running(self) -> list[tuple[McpServer, ServerConnection]]:
        """Return the servers that run now, with their connections."""
        return [
            (server, server.connection)
            for server in self._servers.values()
            if server.status is ServerStatus.RUNNING and server.connection is not None
        ]

    def _get_server(self, name: str) -> McpServer:
        """Return a server for a request of a client. Raises: McpRefusal for an unknown name."""
        if name not in self._servers:
            raise McpRefusal("not-found", f"There is no server {name!r}.")
        return self._servers[name]

    def _require_server(self, name: str) -> McpServer:
        """Return a server for a call of a model. Raises: ToolError for an unknown name."""
        if name not in self._servers:
            raise ToolError(f"There is no server {name!r}.", f"There are {', '.join(self._servers) or 'none'}.")
        return self._servers[name]

    def _choose_file(self, params: McpAddServerParams) -> Path:
        """Return the file that a new server is written to. Raises: McpRefusal for an unknown folder."""
        if params.scope == "global":
            return self._sources.get_user_file()
        uri = (params.workspace_uri or "").rstrip("/")
        for folder in self._folders:
            if uri in {"", folder.as_uri(), str(folder)}:
                return self._sources.get_workspace_file(folder)
        raise McpRefusal("unknown-workspace", f"{params.workspace_uri} is not a folder of this workspace.")

    async def _write(self, name: str, fields: Mapping[str, Any], file: Path | None = None) -> None:
        """Write fields of a server to a file; by default to the file that defines the server."""
        if file is None:
            files = await asyncio.to_thread(self._sources.find_defining_files, name)
            file = files[0] if files else self._sources.get_user_file()
        await self._write_file(file, partial(mcp_servers.change_server, file, name, fields))

    async def _write_file(self, file: Path, write: Callable[[], None]) -> None:
        """Call `write`, which changes the file. Raises: McpRefusal when the file cannot be written."""
        try:
            await self._keep_trust(write)
        except OSError as error:
            raise McpRefusal("not-written", f"{file} cannot be written: {error.strerror}.") from error


def _list_fields(params: McpUpdateServerParams) -> dict[str, Any]:
    """Return the fields of a server that a client's request contains, by their names in ECA's configuration."""
    return {
        name: value
        for name, value in params.model_dump(mode="json", by_alias=True, exclude_none=True).items()
        if name in _ALIASES
    }


def _read_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a server that a client has sent, as values of `McpServerConfig` by the names of its fields
    in Python."""
    new = McpServerConfig.model_validate(fields)
    return {name: getattr(new, name) for name in new.model_fields_set}


def _drop_unchanged(fields: dict[str, Any], info: ToolServerUpdatedParams) -> dict[str, Any]:
    """Return the fields to write. A client sees `HIDDEN` instead of a secret, and the values of variables instead of
    their names. A field that it sends back unchanged is left out, and so the file keeps what is written there.

    Raises: McpRefusal when a field with a hidden secret was changed, because the secret would be lost.
    """
    shown = info.as_json_object()
    changed = {name: value for name, value in fields.items() if name not in shown or shown[name] != value}
    if any(HIDDEN in str(shown.get(name)) and HIDDEN in str(value) for name, value in changed.items()):
        raise McpRefusal("invalid-server", f"{HIDDEN} stands for a secret. Write it as ${{env:NAME}} instead.")
    return changed


# The names of `_FIELDS` in ECA's configuration.
_ALIASES = frozenset(McpServerConfig.model_fields[name].alias or name for name in _FIELDS)
