"""What a connection to a server is made with. Imports no SDK and no `server`, which makes it; `connection` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_eca.config import McpServerConfig
    from jupyter_eca.mcp_client.caller import ClientFeatures
    from jupyter_eca.mcp_client.server_log import ServerLog
    from jupyter_eca.mcp_client.watched_resources import AttachedResources


@dataclass(frozen=True, slots=True)
class ConnectionTiming:
    """How long things may take. All values are seconds."""

    timeout: float = 60.0
    """The limit of a start and of a call."""
    keep_alive: float = 30.0
    """The pause between two pings of an idle connection."""
    backoff: tuple[float, ...] = (0.5, 1, 2, 4, 8, 15, 30, 60)
    """The pauses before each attempt to reconnect. After the last one the server is given up."""
    login: float = 300.0
    """The limit of a start during which the user signs in somewhere."""


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """What one connection is made with."""

    name: str
    """The name of the server."""
    settings: McpServerConfig
    folders: Callable[[], tuple[Path, ...]]
    """Returns the folders of the workspace as they are when it is called."""
    pace: ConnectionTiming
    changed: Callable[[], None]
    """Called after the lists of the server changed."""
    people: ClientFeatures
    log: ServerLog
    attached: AttachedResources
    inherited: Callable[[], dict[str, str]]
    """Returns the environment that a program inherits."""
