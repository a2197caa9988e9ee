"""Notes what this process starts and connects to, by Python's own audit events: no way around them is open to our code.

A hook cannot be removed, so there is one for the whole process, which notes only while somebody watches.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator

# Programs of ours that read: the search, the list of files, and the packages of an interpreter.
_READERS = ("rg", "git", "ruff", "ty")


@dataclass
class Watch:
    programs: list[str] = field(default_factory=list[str])
    """The command lines that were started, without those of programs that only read for us."""
    peers: list[str] = field(default_factory=list[str])
    """The hosts and ports that were connected to."""
    names: list[str] = field(default_factory=list[str])
    """The names of hosts that were looked up."""


_watches: list[Watch] = []
_is_hooked: list[bool] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watches:
        return
    if event == "subprocess.Popen":
        words = [str(word) for word in arguments[1]]
        if words[0].rpartition("/")[2] not in _READERS:
            _watches[-1].programs.append(" ".join(words))
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        _watches[-1].peers.append(":".join(str(part) for part in arguments[1][:2]))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    elif event == "socket.getaddrinfo":
        _watches[-1].names.append(str(arguments[0]))


@contextmanager
def watching() -> Generator[Watch]:
    if not _is_hooked:
        sys.addaudithook(_note)
        _is_hooked.append(True)
    watch = Watch()
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.remove(watch)
