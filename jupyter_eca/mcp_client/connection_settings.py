"""What a connection to a server is made with. Imports no SDK and no `server`, which makes it; `connection` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_eca.config import McpServerConfig
    from jupyter_eca.mcp_client.caller import People
    from jupyter_eca.mcp_client.server_log import ServerLog
    from jupyter_eca.mcp_client.watched_resources import Attached


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds. `timeout` bounds a start and a call, `login` a start during which its user signs in somewhere;
    `backoff` are the pauses before each attempt to reconnect."""

    timeout: float = 60.0
    keep_alive: float = 30.0
    backoff: tuple[float, ...] = (0.5, 1, 2, 4, 8, 15, 30, 60)
    login: float = 300.0


@dataclass(frozen=True, slots=True)
class Around:
    """What a connection is made with. `folders` are those of the workspace, whenever they are asked for."""

    name: str
    settings: McpServerConfig
    folders: Callable[[], tuple[Path, ...]]
    pace: Pace
    changed: Callable[[], None]
    people: People
    log: ServerLog
    attached: Attached
