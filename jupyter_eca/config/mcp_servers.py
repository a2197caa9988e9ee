"""Which servers there are by the files, and how a change is written back to the file that it belongs to."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import ValidationError

from jupyter_eca.config import McpServerConfig, jsonc
from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.config import Config

_log = logging.getLogger(__name__)

# The key is the same in ECA's files and in the `.mcp.json` that other programs share.
_SERVERS: Final = "mcpServers"

# `${NAME}`, `${NAME:-default}` of the shared format, and ECA's `${env:NAME}`.
_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Sources:
    """`read` are the files the configuration came from, `folders` those of the workspace, first one first."""

    read: tuple[Path, ...]
    folders: tuple[Path, ...]
    home: Path | None = None

    @classmethod
    def of(cls, config: Config, folders: tuple[Path, ...], home: Path | None = None) -> Sources:
        """Without the agents that are written as Markdown: nothing else is in those files."""
        read = (Path(source) for source in config.sources)
        return cls(tuple(file for file in read if file.suffix != ".md"), folders, home)

    @property
    def shared(self) -> tuple[Path, ...]:
        return tuple(folder / ".mcp.json" for folder in self.folders)

    def workspace(self, folder: Path) -> Path:
        return folder / ".eca" / "config.json"

    def anywhere(self) -> Path:
        """Where a server for all workspaces is written: the user's file, or the one that stands in for it."""
        ours = {self.workspace(folder) for folder in self.folders}
        home = self.home or Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        return next((file for file in self.read if file not in ours), home / "eca" / "config.json")

    def defining(self, server: str) -> list[Path]:
        """The files that name it, the one that wins first; also those that were made since. Blocks."""
        ours = (*reversed(self.read), *map(self.workspace, self.folders), self.anywhere())
        return [file for file in dict.fromkeys((*ours, *self.shared)) if server in _servers(file)]


def definitions(config: Config, sources: Sources) -> dict[str, McpServerConfig]:
    """What the configuration says, and what it does not name of the projects' `.mcp.json`. Blocks.

    A program of a `.mcp.json` is not run because somebody opened the folder that it came with: its servers are disabled
    until a user starts or enables them, whatever the file says.
    """
    found = dict(config.mcp_servers)
    for file in sources.shared:
        for name, settings in _servers(file).items():
            if name not in found and (server := _settings(file, name, settings)) is not None:
                found[name] = server.model_copy(update={"disabled": True})
    return found


def adopted(sources: Sources, server: str) -> tuple[Path, dict[str, Any]] | None:
    """The workspace's own file, and the entry that a server of its `.mcp.json` gets there when a user enables it; None
    for a server that is the user's or ECA's already. Blocks."""
    if any(file not in sources.shared for file in sources.defining(server)):
        return None
    for folder, file in zip(sources.folders, sources.shared, strict=True):
        if isinstance(entry := _servers(file).get(server), dict):
            return sources.workspace(folder), _in_eca(entry)
    return None


def _in_eca(value: Any) -> Any:
    """The variables of the shared format as ECA writes them."""
    match value:
        case str():
            return _VARIABLE.sub(lambda found: f"${{env:{found[1]}{':' + found[2] if found[2] else ''}}}", value)
        case dict():
            return {key: _in_eca(item) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [_in_eca(item) for item in cast("list[Any]", value)]
        case _:
            return value


def change(file: Path, server: str, fields: Mapping[str, Any]) -> None:
    """Set fields of a server's entry, which is made when there is none. Blocks. Raises: ConfigError, OSError."""
    text = read_text(file)
    if server in jsonc.parse(text or "{}").get(_SERVERS, {}):
        for field, value in fields.items():
            text = jsonc.put(text, (_SERVERS, server, field), value)
    else:
        text = jsonc.put(text, (_SERVERS, server), dict(fields))
    replace_text(file, text)


def remove(file: Path, server: str) -> None:
    """Blocks. Raises: ConfigError, OSError."""
    replace_text(file, jsonc.drop(read_text(file), (_SERVERS, server)))


def _servers(file: Path) -> dict[str, Any]:
    """A file that is not there or that is broken defines nothing; the configuration's reader complains of its own."""
    try:
        if not (text := read_text(file)).strip():
            return {}
        servers = jsonc.parse(text).get(_SERVERS)
    except (OSError, ConfigError) as error:
        _log.warning("no servers are read from %s: %s", file, error)
        return {}
    return cast("dict[str, Any]", servers) if isinstance(servers, dict) else {}


def _settings(file: Path, name: str, settings: Any) -> McpServerConfig | None:
    try:
        return McpServerConfig.model_validate(_filled(settings))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        _log.warning("%s: the server %r is left out: %s", file, name, first["msg"])
        return None


def _filled(value: Any) -> Any:
    match value:
        case str():
            return _VARIABLE.sub(lambda found: os.environ.get(found[1], found[2] or ""), value)
        case dict():
            return {key: _filled(item) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [_filled(item) for item in cast("list[Any]", value)]
        case _:
            return value


def read_text(file: Path) -> str:
    """With its line ends as they are. Raises: ConfigError, OSError."""
    if not file.exists():
        return ""
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            return opened.read()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8. Mend it first.") from error


def replace_text(file: Path, text: str) -> None:
    """At once or not at all, readable by its owner only when it is new: it may hold keys."""
    target = file.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as opened:
            opened.write(text)
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
