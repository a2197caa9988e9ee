"""Owns the files that a user writes for the assistant, as an editor shows and saves them: the configuration files, and
the Markdown files of agents and skills. Only files that a settings page names can be opened.

It must not know what is in a file: `config` does. Its neighbours `agent_files` and `skill_files` change parts of such a
file. All functions block: they read and write files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.config import folders
from jupyter_eca.config.editing import ConfigFiles
from jupyter_eca.errors import LocalError
from jupyter_eca.host.operations import markdown_files, skill_files
from jupyter_eca.protocol.settings import own_files as wire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_eca.config import Config
    from jupyter_eca.config.mcp_servers import ConfigSources

_UNKNOWN: Final = "{file} is none of the files in which settings of the assistant are written."
_NOT_READ: Final = "{file} cannot be read: {reason}."


def read_own_file(config: Config, sources: ConfigSources, file: str) -> wire.OwnFile:
    """Return the content of a file. Raises: LocalError."""
    path = _find_file(config, sources, file)
    try:
        text, digest = markdown_files.read_file(path, sources.folders)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise LocalError(_NOT_READ.format(file=file, reason=reason)) from error
    return wire.OwnFile(text=text, digest=digest)


def write_own_file(config: Config, sources: ConfigSources, params: wire.OwnFilesWriteParams) -> wire.OwnFile:
    """Replace the text of a file, and return what it contains then.

    Raises: LocalError for another file; ConfigError when the file has changed since the user has seen it.
    """
    path = _find_file(config, sources, params.file)
    markdown_files.replace_file(path, params.digest, params.text, sources.folders)
    return read_own_file(config, sources, params.file)


def _find_file(config: Config, sources: ConfigSources, name: str) -> Path:
    """Return the path of the file with the name that a client has sent. Raises: LocalError when this file cannot be
    opened from a settings page."""
    files = ConfigFiles(sources)
    for path in _list_files(config, sources, files):
        if files.get_display_name(path) == name and path.is_file():
            return path
    raise LocalError(_UNKNOWN.format(file=name))


def _list_files(config: Config, sources: ConfigSources, files: ConfigFiles) -> Iterator[Path]:
    """Yield the files that can be opened."""
    yield from files.own
    yield from sources.files_read
    yield from sources.mcp_json_files
    yield from folders.find_markdown_files(sources.folders, "agents")
    yield from skill_files.list_files(config, sources)
