"""`PathResolver`: what a path means on the disk, and whether it is protected.

It is pure: whoever makes one passes a function that resolves a path on the disk. Without one, a path is resolved by its
text alone. `protected_paths` is the neighbour: it has the names that are protected everywhere.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

from jupyter_eca.engine.approval.protected_paths import is_matched_by_pattern, is_protected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# The longest text that is taken for a path where any text may be one.
_MAX_PATH: Final = 4096

# `file://PATH`, which some programs also take as `FILE:PATH`.
_FILE: Final = re.compile(r"file:(?://)?", re.IGNORECASE)


def resolve_by_text(path: str, folder: str) -> tuple[str, ...]:
    """Resolve a path without looking at the disk. It belongs to the workspace, as far as its text says."""
    return (posixpath.normpath(posixpath.join(folder, path)),)


@dataclass(frozen=True, slots=True)
class PathResolver:
    """Resolves the paths of a call."""

    resolve: Callable[[str, str], tuple[str, ...]] = resolve_by_text
    """Takes a path and the folder that it starts at. Returns the path with every link followed, in each way in which it
    can be written. The first form is for people: relative to the workspace's first folder if it lies there."""
    own: tuple[str, ...] = ()
    """Files and folders that are protected here besides those of `protected_paths`: absolute, with links followed."""
    above: tuple[str, ...] = ()
    """Folders that hold one of these, below those of the workspace or the home folder. Whoever moves such a folder
    moves it too."""
    included: tuple[str, ...] = ()
    """Files of the project that the settings run, or that `AGENTS.md` includes. They are protected as well."""
    above_included: tuple[str, ...] = ()
    """Folders that hold one of these. They are often the folders that the user works in, so only what moves or replaces
    one of them counts, and not each program that is called with it."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """The variables of the environment that a command line finds."""

    def is_protected(self, form: str) -> bool:
        """Return whether a resolved path is protected. Case does not count, because some file systems ignore it."""
        text = form.casefold()
        own = (path.casefold() for path in (*self.own, *self.included))
        return is_protected(form) or any(text == path or text.startswith(f"{path}/") for path in own)

    def holds_protected(self, form: str, *, moves: bool = True) -> bool:
        """Return whether a resolved path is protected, or is a folder with something that is. `moves`: whether the call
        may move or replace a whole folder."""
        folders = (*self.above, *self.above_included) if moves else self.above
        return self.is_protected(form) or any(form.casefold() == path.casefold() for path in folders)

    def is_above_protected(self, form: str) -> bool:
        """Return whether a resolved folder may hold something protected in a folder below it. The folder of the
        workspace holds our configuration; of other folders it is known from the paths that are protected here."""
        below = f"{form.casefold().rstrip('/')}/"
        return (
            form == "."
            or self.is_protected(form)
            or any(path.casefold().startswith(below) for path in (*self.own, *self.included))
        )

    def may_become_protected(self, form: str) -> bool:
        """Return whether a resolved path with a pattern in it (`~/.conf*/eca`) may become one that is protected, when
        the shell replaces it. Patterns are not compared with `included`: `src/*.py` is what people work on."""
        return any(is_matched_by_pattern(form, path) for path in self.own)


BY_TEXT: Final = PathResolver()


def guess_paths(value: Any) -> Iterator[str]:
    """Yield the texts in a value that may be paths. It is not known whether a tool takes a URI, so it is both."""
    for text in list_texts(value):
        if text.strip() and len(text) <= _MAX_PATH and not re.search(r"[\x00\r\n]", text):
            yield text
            if uri := _FILE.match(text):
                yield unquote(text[uri.end() :])


def list_texts(value: Any) -> Iterator[str]:
    """Yield all texts in a value, also the names in objects: `{"files": {"PATH": "TEXT"}}`."""
    match value:
        case str():
            yield value
        case list() | tuple():
            for item in cast("list[Any]", value):
                yield from list_texts(item)
        case dict():
            for name, item in cast("dict[str, Any]", value).items():
                yield name
                yield from list_texts(item)
        case _:
            pass
