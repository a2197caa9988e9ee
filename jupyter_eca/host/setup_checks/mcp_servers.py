"""Finds MCP servers that cannot start as they are configured, before their start fails with an error of the system.

It must not start a server. `host.doctor` names the servers that have failed for another reason.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_eca.config import Config, McpServerConfig

# The beginning of a path of Windows, such as `C:\` or `.\`, and a script as the first argument of a program.
_WINDOWS_PATH: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\|\.{1,2}\\")
_SCRIPT: Final = re.compile(r"[^\s$]+\.(?:py|js|mjs|cjs|ts|sh|jar)")


def find_mcp_problems(config: Config, folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yield the names of servers that cannot start, each with the reason. Blocks: it looks for programs and scripts.

    `folders` are the folders of the workspace: a program starts in the first one.
    """
    for name, server in config.mcp_servers.items():
        if not server.disabled and (problem := _find_problem(server, folders[0] if folders else Path())):
            yield name, f"The MCP server {name!r} {problem}"


def _find_problem(server: McpServerConfig, folder: Path) -> str:
    """Return what is wrong and what to do, as a sentence without its subject; "" for nothing."""
    command = (server.command or "").strip()
    if server.command is not None and server.url is not None:
        return "has both a `command` and a `url`. Several files may define it: keep one of the two keys."
    if not command:
        return "" if server.url else "has neither a `command` nor a `url`. Write one of them, or remove the server."
    if sys.platform != "win32" and _WINDOWS_PATH.match(command):
        return "has the path of a Windows program as its `command`. Write a program of this machine."
    program = Path(command).expanduser()
    is_path = "/" in command or program.is_absolute()
    found = (folder / program).exists() if is_path else shutil.which(command, path=_read_path(server)) is not None
    if not found and not server.args and len(command.split()) > 1:
        return "has its arguments in `command`. Write only the program there, and the arguments in the list `args`."
    if not found:
        kind = "does not exist" if is_path else "is not on the PATH"
        return f"cannot start: its program {command!r} {kind}. Install it, or write its whole path."
    script = next(iter(server.args), "")
    if _SCRIPT.fullmatch(script) and not (folder / Path(script).expanduser()).exists():
        return f"cannot start: its script {script!r} does not exist in {folder}. Write its whole path."
    return ""


def _read_path(server: McpServerConfig) -> str | None:
    """Return the PATH that is configured for the server; None if it has the one of this process."""
    own = server.env.get("PATH")
    return own.get_secret_value() if own is not None else None
