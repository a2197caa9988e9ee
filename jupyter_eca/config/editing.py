"""What the configuration's files say themselves, and how one of them is changed: its comments and all else stay."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config import jsonc, mcp_servers
from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jupyter_eca.config.mcp_servers import Sources

Place = tuple[str, ...]

# Files are changed in threads: what one has read must still stand there when it writes.
WRITING: Final = Lock()


class Written:
    """All of it blocks. `own` are the files that a client may have changed: the user's, and those of the workspace."""

    def __init__(self, where: Sources) -> None:
        self._where = where
        self.workspace = where.workspace(where.folders[0])
        self.anywhere = where.anywhere()
        self.own = frozenset((*map(where.workspace, where.folders), self.anywhere))
        self._said = {file: _said(file) for file in dict.fromkeys((*where.read, *self.own))}

    def defining(self, place: Place) -> list[Path]:
        """The files that say something there, the one that wins last."""
        return [file for file in self._said if self.at(file, place) is not None]

    def at(self, file: Path, place: Place) -> Any:
        value: Any = self._said[file]
        for name in place:
            value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
        return value

    def shown(self, file: Path) -> str:
        """As a reader knows it."""
        return next(self._names(file), str(file))

    def put(self, file: Path, place: Place, value: Any) -> None:
        """Raises: ConfigError."""
        self._write(file, lambda text: jsonc.put(text, place, value))

    def drop(self, file: Path, place: Place) -> None:
        """Raises: ConfigError."""
        self._write(file, lambda text: jsonc.drop(text, place))

    def _write(self, file: Path, change: Callable[[str], str]) -> None:
        try:
            mcp_servers.replace_text(file, change(mcp_servers.read_text(file)))
        except OSError as error:
            raise ConfigError(f"{self.shown(file)} cannot be written: {error.strerror}.") from error

    def _names(self, file: Path) -> Iterator[str]:
        for base, name in self._bases():
            if file.is_relative_to(base):
                yield str(Path(name) / file.relative_to(base))

    def _bases(self) -> Iterable[tuple[Path, str]]:
        yield from ((folder, "") for folder in self._where.folders)
        yield Path.home(), "~"


def _said(file: Path) -> dict[str, Any]:
    """The configuration's reader complains of a file that is broken; here it says nothing."""
    try:
        return jsonc.parse(text) if (text := mcp_servers.read_text(file)).strip() else {}
    except (OSError, ConfigError):
        return {}
