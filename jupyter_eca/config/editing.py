"""Owns changes to the configuration files: one value is set or removed, and comments and everything else stay.

It must not know what a key means. `jsonc` is its neighbour: it changes the text of a file.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config import jsonc, mcp_servers
from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jupyter_eca.config.mcp_servers import ConfigSources

Place = tuple[str, ...]

# Files are changed in threads. A thread that has read a file must write it before another thread changes it.
WRITING: Final = Lock()


class ConfigFiles:
    """The configuration files as they are written. All methods block.

    `own` are the files that a client may change: the user's own file, and those of the workspace.
    """

    def __init__(self, sources: ConfigSources) -> None:
        self._where = sources
        self.workspace = sources.workspace_file(sources.folders[0])
        self.user_file = sources.user_file()
        self.own = frozenset((*map(sources.workspace_file, sources.folders), self.user_file))
        self._content = {file: _parse(file) for file in dict.fromkeys((*sources.read, *self.own))}

    def find_defining_files(self, place: Place) -> list[Path]:
        """Return the files that have a value at this key. The file that wins comes last."""
        return [file for file in self._content if self.at(file, place) is not None]

    def at(self, file: Path, place: Place) -> Any:
        """Return the value at a key of a file, or None."""
        value: Any = self._content[file]
        for name in place:
            value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
        return value

    def display_name(self, file: Path) -> str:
        """Return the path as the user knows it: relative to a folder of the workspace, or with `~`."""
        return next(self._possible_names(file), str(file))

    def put(self, file: Path, place: Place, value: Any) -> None:
        """Set the value at a key. Raises: ConfigError."""
        self._write(file, lambda text: jsonc.put(text, place, value))

    def drop(self, file: Path, place: Place) -> None:
        """Remove the value at a key. Raises: ConfigError."""
        self._write(file, lambda text: jsonc.drop(text, place))

    def _write(self, file: Path, change: Callable[[str], str]) -> None:
        try:
            mcp_servers.replace_text(file, change(mcp_servers.read_text(file)))
        except OSError as error:
            raise ConfigError(f"{self.display_name(file)} cannot be written: {error.strerror}.") from error

    def _possible_names(self, file: Path) -> Iterator[str]:
        for base, name in self._bases():
            if file.is_relative_to(base):
                yield str(Path(name) / file.relative_to(base))

    def _bases(self) -> Iterable[tuple[Path, str]]:
        yield from ((folder, "") for folder in self._where.folders)
        yield Path.home(), "~"


def _parse(file: Path) -> dict[str, Any]:
    """Return the content of a file. A broken file counts as empty: `layers` reports it."""
    try:
        return jsonc.parse(text) if (text := mcp_servers.read_text(file)).strip() else {}
    except (OSError, ConfigError):
        return {}
