"""Defines the settings of a connection to an MCP server.

It must not import the SDK or `server.py`, which makes the settings. `connection.py` reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_eca.config import McpServerConfig
    from jupyter_eca.mcp_client.client_features import ClientFeatures
    from jupyter_eca.mcp_client.server_log import ServerLog
    from jupyter_eca.mcp_client.watched_resources import AttachedResources


@dataclass(frozen=True, slots=True)
class ConnectionTiming:
    """The time limits and pauses of a connection, in seconds."""

    timeout: float = 60.0
    """The time that a start or a call may take."""
    keep_alive: float = 30.0
    """The pause between two pings of an idle server."""
    backoff: tuple[float, ...] = (0.5, 1, 2, 4, 8, 15, 30, 60)
    """The pauses before the attempts to reconnect. After the last attempt no other follows."""
    login: float = 300.0
    """The time that a start may take if the user must sign in with a browser."""


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """The settings of one connection."""

    name: str
    """The name of the server."""
    config: McpServerConfig
    """The entry of the server in the configuration."""
    get_folders: Callable[[], tuple[Path, ...]]
    """Returns the present folders of the workspace."""
    timing: ConnectionTiming
    """The time limits and pauses."""
    on_change: Callable[[], None]
    """Called after the lists of the server changed."""
    client_features: ClientFeatures
    """Answers what the server requests from us."""
    log: ServerLog
    """The log of the server."""
    resources: AttachedResources
    """The resources that chats have received. They are marked when they change."""
    get_environment: Callable[[], dict[str, str]]
    """Returns the environment variables that the program of a server inherits."""
    find_url_refusal: Callable[[str], str] = lambda _: ""
    """Returns why the administrator's policy does not allow a request to an address; "" if it does."""
