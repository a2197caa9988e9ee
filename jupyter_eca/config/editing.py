"""Owns changes to the configuration files: it sets or removes values, and keeps comments and everything else.

It must not know what a key means. `jsonc` is its neighbour: it changes the text of a file.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config import jsonc, mcp_servers
from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jupyter_eca.config.mcp_servers import ConfigSources

Place = tuple[str, ...]
"""The path of a value in a file: the keys from the top to the value."""

# Files are changed in threads. A thread that has read a file must write it before another thread changes it.
WRITING: Final = Lock()


class ConfigFiles:
    """The configuration files as they are written. All methods block."""

    def __init__(self, sources: ConfigSources) -> None:
        self._sources = sources
        self.workspace = sources.get_workspace_file(sources.folders[0])
        """The file of the first folder of the workspace."""
        self.user_file = sources.get_user_file()
        """The user's own file."""
        self.own = frozenset((*map(sources.get_workspace_file, sources.folders), self.user_file))
        """The files that a client may change: the user's own file, and those of the workspace."""
        self._content = {file: _parse(file) for file in dict.fromkeys((*sources.files_read, *self.own))}
        """The parsed content of each file."""

    def find_defining_files(self, place: Place) -> list[Path]:
        """Return the files that have a value at this place. The file whose value counts comes last."""
        return [file for file in self._content if self.get(file, place) is not None]

    def get(self, file: Path, place: Place) -> Any:
        """Return the value at a place of a file; None when there is none."""
        value: Any = self._content[file]
        for name in place:
            value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
        return value

    def get_display_name(self, file: Path) -> str:
        """Return the path as the user knows it: relative to a folder of the workspace, or with `~`."""
        return next(self._list_possible_names(file), str(file))

    def put(self, file: Path, place: Place, value: Any) -> None:
        """Set the value at a place. Raises: ConfigError when the file cannot be changed."""
        self._write(file, lambda text: jsonc.put(text, place, value))

    def drop(self, file: Path, place: Place) -> None:
        """Remove the value at a place. Raises: ConfigError when the file cannot be changed."""
        self._write(file, lambda text: jsonc.drop(text, place))

    def change(self, file: Path, values: Mapping[Place, Any]) -> None:
        """Set the values at several places in one write. None removes the value at a place.

        Raises: ConfigError when the file cannot be changed.
        """

        def change_text(text: str) -> str:
            """Make all changes in the text of the file."""
            for place, value in values.items():
                text = jsonc.drop(text, place) if value is None else jsonc.put(text, place, value)
            return text

        self._write(file, change_text)

    def _write(self, file: Path, change: Callable[[str], str]) -> None:
        """Replace the text of a file by what `change` makes of it. Raises: ConfigError."""
        try:
            mcp_servers.replace_text(file, change(mcp_servers.read_text(file)))
        except OSError as error:
            raise ConfigError(f"{self.get_display_name(file)} cannot be written: {error.strerror}.") from error

    def _list_possible_names(self, file: Path) -> Iterator[str]:
        """Yield the relative forms of a path, the best one first."""
        for base, name in self._list_bases():
            if file.is_relative_to(base):
                yield str(Path(name) / file.relative_to(base))

    def _list_bases(self) -> Iterable[tuple[Path, str]]:
        """Yield the folders that a shown path can be relative to, each with the text that stands for it."""
        yield from ((folder, "") for folder in self._sources.folders)
        yield Path.home(), "~"


def _parse(file: Path) -> dict[str, Any]:
    """Return the content of a file. A broken file counts as empty: `layers` reports it."""
    try:
        return jsonc.parse(text) if (text := mcp_servers.read_text(file)).strip() else {}
    except (OSError, ConfigError):
        return {}
