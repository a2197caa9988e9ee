"""Keys that users have typed in, and sign-ins: kept from one start to the next where that is safe, else until this
process ends. The only place that keeps a secret. Knows no provider. Everything here blocks.

They go to the operating system's keyring (`keyrings`). Where there is none that works, they are in the memory of this
process alone: a secret is never written in plain. The file says which of them are in the keyring, so that one is asked
only for what it has: a locked keyring may ask its owner, and importing one takes a while.

Of two processes, the newer key wins: typing one in takes the entry of before out of the file, so one that is found
there later, and in the keyring, was stored later, and replaces what this process has in its memory.

An earlier version wrote keys into the file where there was no keyring. Those are still read, and moved into a keyring
once there is one; without, one stays until somebody signs in again or out.

On a machine that is not the user's (Binder, a shared demonstration), `JUPYTER_ECA_KEYS=memory` in the environment keeps
them in the memory of this process alone. Of the environment and not of the configuration: whoever runs the machine
says so, before there is anybody who types, and no file of a project can take it back.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca import redaction
from jupyter_eca.config.keyring_backend import Keyrings

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from jupyter_eca.config.keyring_backend import Ring

_log = logging.getLogger(__name__)

MEMORY_ONLY = "JUPYTER_ECA_KEYS"

_IN_PLAIN = (
    "%s has in plain what an earlier version kept there: %s. It is moved once there is a system keyring "
    '(`pip install "jupyter-eca[keyring]"`), and removed when you sign in again or out.'
)


@dataclass(frozen=True, slots=True)
class Login:
    """`url` is the address the key was typed in for, None for the provider's own. It goes to no other."""

    key: str = field(repr=False)
    url: str | None = None


class Credentials:
    may_last: bool = True
    """Whether it is worth while to tell what would make them last."""

    def __init__(self, file: Path, ring: Ring | None = None) -> None:
        """`ring` by default the installed one, if any."""
        self._file = file
        self._keyrings = Keyrings(ring)
        self._seen: tuple[int, int, int] | None = None
        self._known: dict[str, Login] = {}
        self._memory: dict[str, Login] = {}
        self._warned = False
        # What a thread reads from the file must not replace what another has stored meanwhile.
        self._turn = Lock()

    def known(self, provider: str) -> Login | None:
        """As of the last `load`; this one does not block."""
        return self._known.get(provider) or self._memory.get(provider)

    def lasts(self) -> bool:
        """Whether what is stored now is there after the next start. Imports a keyring, which may ask its owner: for
        when somebody signs in, not before."""
        return self._keyrings.works()

    def load(self) -> None:
        """Also what another process has stored since. Costs a `stat` when nothing has."""
        while self._print() != self._seen:
            self._move()
            seen, entries = self._print(), self._entries()
            found = {name: login for name, entry in entries.items() if (login := self._login(name, entry))}
            with self._turn:
                if seen == self._print():
                    self._known, self._seen = found, seen
                    for name in found:
                        self._memory.pop(name, None)

    def store(self, provider: str, login: Login) -> bool:
        """Whether it is there after the next start. Raises: OSError when what is kept cannot be changed."""
        redaction.know(login.key)
        kept = False
        if self._keyrings.found() or provider in self._entries():
            with self._locked() as entries:
                kept = self._keyrings.keep(provider, login.key)
                before = entries.pop(provider, {})
                if kept:
                    entries[provider] = {"url": login.url, "keyring": True}
                elif before.get("keyring"):
                    self._keyrings.drop(provider)
                with self._turn:
                    if kept or before:
                        self._write(entries)
                    self._remember(provider, None if kept else login)
        else:
            self._remember(provider, login)
        self.load()
        return kept

    def forget(self, provider: str) -> None:
        """Raises: OSError."""
        if provider in self._entries():
            with self._locked() as entries:
                if entries.pop(provider, {}).get("keyring"):
                    self._keyrings.drop(provider)
                with self._turn:
                    self._write(entries)
        self._remember(provider, None)
        self.load()

    def _remember(self, provider: str, login: Login | None) -> None:
        if login is None:
            self._memory.pop(provider, None)
        else:
            self._memory[provider] = login

    # -- the file

    def _print(self) -> tuple[int, int, int] | None:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _entries(self) -> dict[str, dict[str, Any]]:
        try:
            data: Any = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            # The type only: what json says quotes the file.
            _log.warning("the stored keys in %s cannot be read (%s); sign in again", self._file, type(error).__name__)
            return {}
        pairs = cast("dict[str, Any]", data).items() if isinstance(data, dict) else ()
        return {name: cast("dict[str, Any]", entry) for name, entry in pairs if isinstance(entry, dict)}

    def _login(self, provider: str, entry: dict[str, Any]) -> Login | None:
        key = self._keyrings.fetch(provider) if entry.get("keyring") else _plain(entry)
        if not key:
            return None
        redaction.know(key)
        url = entry.get("url")
        return Login(key, url if isinstance(url, str) else None)

    def _move(self) -> None:
        """Into the keyring, what is in plain."""
        plain = {name: key for name, entry in self._entries().items() if (key := _plain(entry))}
        if plain and self._keyrings.found():
            with suppress(OSError), self._locked() as entries:
                plain = {name: key for name, entry in entries.items() if (key := _plain(entry))}
                moved = [name for name, key in plain.items() if self._keyrings.keep(name, key)]
                if moved:
                    entries |= {name: {"url": entries[name].get("url"), "keyring": True} for name in moved}
                    self._write(entries)
                    plain = {name: key for name, key in plain.items() if name not in moved}
        if plain and not self._warned:
            self._warned = True
            _log.warning(_IN_PLAIN, self._file, ", ".join(plain))

    @contextmanager
    def _locked(self) -> Generator[dict[str, dict[str, Any]]]:
        """The entries; no other process changes them meanwhile."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.with_suffix(".lock").open("ab") as lock:
            _lock(lock.fileno())
            yield self._entries()

    def _write(self, entries: dict[str, dict[str, Any]]) -> None:
        """In one piece or not at all, and never readable by others, not for a moment."""
        fresh = self._file.with_suffix(f".{os.getpid()}")
        with suppress(FileNotFoundError):
            fresh.unlink()
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(entries, indent=1))
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(self._file)


class InMemory(Credentials):
    """Of this process, as long as it runs. No file and no keyring is touched, not even read: what an earlier user left
    there is not this one's."""

    may_last = False

    def lasts(self) -> bool:
        return False

    def load(self) -> None:
        pass

    def store(self, provider: str, login: Login) -> bool:
        redaction.know(login.key)
        self._remember(provider, login)
        return False

    def forget(self, provider: str) -> None:
        self._remember(provider, None)


def beside(database: Path) -> Credentials:
    """Those of whoever's chats these are, or of nobody but this process."""
    kind = InMemory if os.environ.get(MEMORY_ONLY) == "memory" else Credentials
    return kind(database.with_name("auth.json"))


def _lock(descriptor: int) -> None:
    """Until the file is closed."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _plain(entry: dict[str, Any]) -> str | None:
    """Of an earlier version."""
    key = entry.get("key")
    return key if isinstance(key, str) and not entry.get("keyring") else None
