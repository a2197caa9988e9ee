"""Keys that users have typed in, kept from one start to the next. The only place that writes a secret to disk.

They go to the operating system's keyring where the package `keyring` is installed and works, else into a file that only
its owner may read. The file also says which of them are in the keyring, so that one is asked only for what it has: a
locked keyring may ask its owner, and importing one takes a while. Knows no provider. Everything here blocks.

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
from typing import TYPE_CHECKING, Any, Protocol, cast

from jupyter_eca import secrecy

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_log = logging.getLogger(__name__)

# What the entries are called in a keyring, where users see them.
SERVICE = "jupyter-eca"

MEMORY_ONLY = "JUPYTER_ECA_KEYS"


@dataclass(frozen=True, slots=True)
class Login:
    """`url` is the address the key was typed in for, None for the provider's own. It goes to no other."""

    key: str = field(repr=False)
    url: str | None = None


class Ring(Protocol):
    """The package `keyring`, or one of its backends."""

    def get_password(self, service: str, username: str, /) -> str | None: ...
    def set_password(self, service: str, username: str, password: str, /) -> None: ...
    def delete_password(self, service: str, username: str, /) -> None: ...


class Credentials:
    lasting: bool = True
    """Whether they are there after the next start."""

    def __init__(self, file: Path, ring: Ring | None = None) -> None:
        """`ring` by default the installed one, if any."""
        self._file = file
        self._ring = ring
        self._looked = ring is not None
        self._seen: tuple[int, int, int] | None = None
        self._known: dict[str, Login] = {}

    def known(self, provider: str) -> Login | None:
        """As of the last `load`; this one does not block."""
        return self._known.get(provider)

    def load(self) -> None:
        """Also what another process has stored since. Costs a `stat` when nothing has."""
        seen = self._print()
        if seen != self._seen:
            entries = self._entries()
            self._known = {name: login for name, entry in entries.items() if (login := self._login(name, entry))}
            self._seen = seen

    def store(self, provider: str, login: Login) -> None:
        """Raises: OSError when there is nowhere to store it."""
        with self._locked() as entries:
            kept = self._keep(provider, login.key)
            entries[provider] = {"url": login.url, **({"keyring": True} if kept else {"key": login.key})}
        self.load()

    def forget(self, provider: str) -> None:
        """Raises: OSError."""
        with self._locked() as entries:
            if entries.pop(provider, {}).get("keyring"):
                self._drop(provider)
        self.load()

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
        key = self._fetch(provider) if entry.get("keyring") else entry.get("key")
        if isinstance(key, str):
            secrecy.know(key)
        url = entry.get("url")
        return Login(key, url if isinstance(url, str) else None) if isinstance(key, str) and key else None

    @contextmanager
    def _locked(self) -> Generator[dict[str, dict[str, Any]]]:
        """The entries, written back at the end; no other process changes them meanwhile."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.with_suffix(".lock").open("ab") as lock:
            _lock(lock.fileno())
            entries = self._entries()
            yield entries
            self._write(json.dumps(entries, indent=1))

    def _write(self, text: str) -> None:
        """In one piece or not at all, and never readable by others, not for a moment."""
        fresh = self._file.with_suffix(f".{os.getpid()}")
        with suppress(FileNotFoundError):
            fresh.unlink()
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(self._file)

    # -- the keyring

    def _keyring(self) -> Ring | None:
        if not self._looked:
            self._looked = True
            try:
                import keyring
            except ImportError:
                return None
            self._ring = cast("Ring", keyring)
        return self._ring

    def _keep(self, provider: str, key: str) -> bool:
        """Whether it is in the keyring now; some take a key and forget it."""
        if (ring := self._keyring()) is None:
            return False
        try:
            ring.set_password(SERVICE, provider, key)
            return ring.get_password(SERVICE, provider) == key
        except Exception as error:  # noqa: BLE001  # somebody else's plug: backends raise what they like
            _log.info("the keyring does not work (%s): the key goes into a file", type(error).__name__)
            return False

    def _fetch(self, provider: str) -> str | None:
        if (ring := self._keyring()) is None:
            _log.warning("the key for %s is in the keyring, and `keyring` is not installed any more", provider)
            return None
        try:
            return ring.get_password(SERVICE, provider)
        except Exception as error:  # noqa: BLE001  # as above
            _log.warning("the keyring does not give the key for %s (%s)", provider, type(error).__name__)
            return None

    def _drop(self, provider: str) -> None:
        if (ring := self._keyring()) is not None:
            try:
                ring.delete_password(SERVICE, provider)
            except Exception as error:  # noqa: BLE001  # as above; without our entry nobody asks for it again
                _log.warning("the keyring keeps the key for %s (%s)", provider, type(error).__name__)


class InMemory(Credentials):
    """Of this process, as long as it runs. No file and no keyring is touched, not even read: what an earlier user left
    there is not this one's."""

    lasting = False

    def load(self) -> None:
        pass

    def store(self, provider: str, login: Login) -> None:
        secrecy.know(login.key)
        self._known[provider] = login

    def forget(self, provider: str) -> None:
        self._known.pop(provider, None)


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
