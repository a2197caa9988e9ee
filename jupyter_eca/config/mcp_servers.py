"""Lists the MCP servers in the configuration files and in `.mcp.json`, and changes their entries.

An MCP server (Model Context Protocol) is a program, or an address, that offers tools to the assistant. This module must
not start a server: `mcp_client` does. `jsonc` is its neighbour: it changes the text of a file.
"""

from __future__ import annotations

import logging
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import ValidationError

from jupyter_eca.config import McpServerConfig, jsonc
from jupyter_eca.config.disk.regular_file import MAX_TEXT_BYTES, read_regular
from jupyter_eca.config.disk.whole_file import replace_file
from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.config import Config

_log = logging.getLogger(__name__)

# The key is the same in ECA's files and in the `.mcp.json` that other programs share.
_SERVERS: Final = "mcpServers"

# A variable: `${NAME}` or `${NAME:-default}` in the format of `.mcp.json`, `${env:NAME}` in that of ECA.
_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class ConfigSources:
    """The configuration files, in which MCP servers and other settings can be defined."""

    files_read: tuple[Path, ...]
    """The files that the configuration was read from."""
    folders: tuple[Path, ...]
    """The folders of the workspace."""
    home: Path | None = None
    """The folder that replaces `~/.config`; None for `~/.config` itself."""

    @classmethod
    def from_config(cls, config: Config, folders: tuple[Path, ...], home: Path | None = None) -> ConfigSources:
        """Return the files of a configuration. Markdown files are left out, because they contain only agents."""
        read = (Path(source) for source in config.sources)
        return cls(tuple(file for file in read if file.suffix != ".md"), folders, home)

    @property
    def mcp_json_files(self) -> tuple[Path, ...]:
        """The `.mcp.json` of each folder, which other programs use too."""
        return tuple(folder / ".mcp.json" for folder in self.folders)

    def get_workspace_file(self, folder: Path) -> Path:
        """Return the configuration file of a folder of the workspace."""
        return folder / ".eca" / "config.json"

    def get_user_file(self) -> Path:
        """Return the file for the servers of all workspaces: the user's file, or the file that replaces it."""
        ours = {self.get_workspace_file(folder) for folder in self.folders}
        home = self.home or Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        return next((file for file in self.files_read if file not in ours), home / "eca" / "config.json")

    def find_defining_files(self, server: str) -> list[Path]:
        """Return the files that define a server. The file whose entry counts comes first. Blocks: it reads files.

        Files that did not exist when the configuration was read are included.
        """
        ours = (*reversed(self.files_read), *map(self.get_workspace_file, self.folders), self.get_user_file())
        return [file for file in dict.fromkeys((*ours, *self.mcp_json_files)) if server in _read_servers(file)]


def list_servers(config: Config, sources: ConfigSources) -> dict[str, McpServerConfig]:
    """Return the servers of the configuration, and the servers in `.mcp.json` files. Blocks: it reads files.

    If both have a server of the same name, that of the configuration counts. To open a folder must not run the programs
    in its `.mcp.json`. So these servers are disabled until the user starts or enables them, even if the file says
    otherwise.
    """
    servers = dict(config.mcp_servers)
    for file in sources.mcp_json_files:
        for name, settings in _read_servers(file).items():
            if name not in servers and (server := _parse_settings(file, name, settings)) is not None:
                servers[name] = server.model_copy(update={"disabled": True})
    return servers


def find_server_to_copy(sources: ConfigSources, server: str) -> tuple[Path, dict[str, Any]] | None:
    """Return a server's entry in `.mcp.json`, and the file of the workspace to copy it to when the user enables it.

    None when a configuration file already defines the server, or no `.mcp.json` does. Blocks: it reads files.
    """
    if any(file not in sources.mcp_json_files for file in sources.find_defining_files(server)):
        return None
    for folder, file in zip(sources.folders, sources.mcp_json_files, strict=True):
        if isinstance(entry := _read_servers(file).get(server), dict):
            return sources.get_workspace_file(folder), _convert_variables(entry)
    return None


def _convert_variables(value: Any) -> Any:
    """Return a value with its variables in the spelling of ECA: `${NAME:-x}` -> `${env:NAME:x}`. At any depth."""
    match value:
        case str():
            return _VARIABLE.sub(lambda match: f"${{env:{match[1]}{':' + match[2] if match[2] else ''}}}", value)
        case dict():
            return {key: _convert_variables(item) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [_convert_variables(item) for item in cast("list[Any]", value)]
        case _:
            return value


def change_server(file: Path, server: str, fields: Mapping[str, Any]) -> None:
    """Set fields of a server's entry, and create the entry if it does not exist. In a field that is an object, for
    example the environment, the other members stay. Blocks: it writes the file.

    Raises: ConfigError, OSError.
    """
    text = read_text(file)
    if server in jsonc.parse(text or "{}").get(_SERVERS, {}):
        for field, value in fields.items():
            path = (_SERVERS, server, field)
            if isinstance(value, dict):
                for key, member in cast("dict[str, Any]", value).items():
                    text = jsonc.put(text, (*path, key), member)
            else:
                text = jsonc.put(text, path, value)
    else:
        text = jsonc.put(text, (_SERVERS, server), dict(fields))
    replace_text(file, text)


def remove_server(file: Path, server: str) -> None:
    """Remove a server's entry. Blocks: it writes the file. Raises: ConfigError, OSError."""
    replace_text(file, jsonc.drop(read_text(file), (_SERVERS, server)))


def _read_servers(file: Path) -> dict[str, Any]:
    """Return the servers that a file defines. A missing or broken file defines none; `layers` reports a broken one."""
    try:
        if not (text := read_text(file)).strip():
            return {}
        servers = jsonc.parse(text).get(_SERVERS)
    except (OSError, ConfigError) as error:
        _log.warning("no servers are read from %s: %s", file, error)
        return {}
    return cast("dict[str, Any]", servers) if isinstance(servers, dict) else {}


def _parse_settings(file: Path, name: str, settings: Any) -> McpServerConfig | None:
    """Return a server of a `.mcp.json`; None, with a warning in the log, when its entry is not valid."""
    try:
        return McpServerConfig.model_validate(_fill_variables(settings))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        _log.warning("%s: the server %r is left out: %s", file, name, first["msg"])
        return None


def _fill_variables(value: Any) -> Any:
    """Return a value with its variables replaced by those of the environment. At any depth."""
    match value:
        case str():
            return _VARIABLE.sub(lambda match: os.environ.get(match[1], match[2] or ""), value)
        case dict():
            return {key: _fill_variables(item) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [_fill_variables(item) for item in cast("list[Any]", value)]
        case _:
            return value


def read_text(file: Path) -> str:
    """Return the text of a file with its line ends unchanged. Raises: ConfigError, OSError."""
    if not file.exists():
        return ""
    try:
        return read_regular(file, MAX_TEXT_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8. Fix it first.") from error


def replace_text(file: Path, text: str) -> None:
    """Replace a file completely or not at all. Only its owner can read a new file, because it may contain keys."""
    replace_file(file.resolve(), text, keeps_mode=True)
