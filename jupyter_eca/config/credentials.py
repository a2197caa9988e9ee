"""Owns the keys that users have typed in, and their sign-ins. No other module stores a secret. Everything here blocks.

It must not know any provider. `keyring_backend` is its neighbour: it talks to the keyring of the operating system.

Secrets are stored in the keyring of the operating system. If no keyring works, they stay in the memory of this process
until it ends; a secret is never written in plain text. A file (`auth.json`) lists the secrets that are in the keyring,
without their values. So the keyring is used only if there is something in it: a locked keyring may ask its owner, and
importing a keyring takes a while.

If two processes store a key for the same provider, the newer key counts. When a key is stored in memory, an older entry
is removed from the file. So an entry that appears in the file later is newer, and it replaces the key in memory.

An earlier version wrote keys into the file when there was no keyring. Such keys are still read. They are moved into a
keyring as soon as there is one; without a keyring, a key stays in the file until the user signs in again or out.

On a machine that is not the user's own (Binder, a shared demonstration), `JUPYTER_ECA_KEYS=memory` in the environment
keeps all secrets in memory. This is a variable and not a key of the configuration, because the operator of the machine
sets it before any user comes, and no file of a project can change it.
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
from jupyter_eca.config.disk.whole_file import replace_file
from jupyter_eca.config.keyring_backend import Keyrings

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from jupyter_eca.config.keyring_backend import Ring

_log = logging.getLogger(__name__)

# The variable that keeps all secrets in memory, see above.
MEMORY_ONLY = "JUPYTER_ECA_KEYS"

# A warning in the log, with the path of the file and the names of the providers.
_IN_PLAIN = (
    "%s contains keys in plain text, which an earlier version stored there: %s. They are moved as soon as there is a "
    'system keyring (`pip install "jupyter-eca[keyring]"`), and removed when you sign in again or out.'
)


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A stored key."""

    key: str = field(repr=False)
    """The key itself."""
    url: str | None = None
    """The address that the key is for; None for the provider's own. The key is never sent to another address."""


class KeyStore:
    """The stored keys, by the name of their provider."""

    can_be_persistent: bool = True
    """Whether keys could outlast this process if a keyring were installed. If so, messages tell users how to install
    one."""

    def __init__(self, file: Path, ring: Ring | None = None) -> None:
        """`file` lists the stored keys. `ring` is the keyring to use; None for the installed one, if there is any."""
        self.revision = object()
        """A mark of the present keys. Each change of the keys that `get` returns replaces it by a new object, so a
        caller can compare it."""
        self._file = file
        self._keyrings = Keyrings(ring)
        self._seen: tuple[int, int, int] | None = None
        """The state of the file when it was last read; None when there was no file."""
        self._known: dict[str, StoredKey] = {}
        """The keys that the file lists, with their values from the keyring."""
        self._memory: dict[str, StoredKey] = {}
        """The keys that are only in memory, because no keyring works."""
        self._warned = False
        """Whether the user was warned about keys in plain text."""
        # A thread that has read the file must not replace a key that another thread has stored in the meantime.
        self._update_lock = Lock()

    def get(self, provider: str) -> StoredKey | None:
        """Return the key of a provider, as it was at the last `load`; None when there is none. Does not block."""
        return self._known.get(provider) or self._memory.get(provider)

    def is_persistent(self) -> bool:
        """Return whether a key that is stored now would outlast this process.

        This imports a keyring, which may ask its owner. Call it only when a user signs in.
        """
        return self._keyrings.works()

    def load(self) -> None:
        """Read the keys that other processes have stored since the last call. Without a change it costs one `stat`."""
        while self._read_file_state() != self._seen:
            self._move_plain_keys()
            seen, entries = self._read_file_state(), self._read_entries()
            keys = {name: key for name, entry in entries.items() if (key := self._make_stored_key(name, entry))}
            with self._update_lock:
                if seen == self._read_file_state():
                    self._known, self._seen = keys, seen
                    for name in keys:
                        self._memory.pop(name, None)
                    self.revision = object()

    def list_stored(self) -> list[str]:
        """Return the names of the providers and the MCP servers whose secrets are stored on this machine."""
        return sorted(self._read_entries())

    def store(self, provider: str, stored_key: StoredKey) -> bool:
        """Store a key and return whether it outlasts this process. Raises: OSError when the file cannot be changed."""
        redaction.register_secret(stored_key.key)
        in_keyring = False
        if self._keyrings.is_available() or provider in self._read_entries():
            with self._lock_entries() as entries:
                in_keyring = self._keyrings.keep(provider, stored_key.key)
                before = entries.pop(provider, {})
                if in_keyring:
                    entries[provider] = {"url": stored_key.url, "keyring": True}
                elif before.get("keyring"):
                    self._keyrings.drop(provider)
                with self._update_lock:
                    if in_keyring or before:
                        self._write(entries)
                    self._remember(provider, None if in_keyring else stored_key)
        else:
            self._remember(provider, stored_key)
        self.load()
        return in_keyring

    def forget(self, provider: str) -> None:
        """Remove the key of a provider. Raises: OSError."""
        if provider in self._read_entries():
            with self._lock_entries() as entries:
                if entries.pop(provider, {}).get("keyring"):
                    self._keyrings.drop(provider)
                with self._update_lock:
                    self._write(entries)
        self._remember(provider, None)
        self.load()

    def _remember(self, provider: str, stored_key: StoredKey | None) -> None:
        """Put a key into the memory of this process; None removes it."""
        if stored_key is None:
            self._memory.pop(provider, None)
        else:
            self._memory[provider] = stored_key
        self.revision = object()

    # -- the file

    def _read_file_state(self) -> tuple[int, int, int] | None:
        """Return the time of the file's last change, its size and its inode; None when there is no file."""
        try:
            stat = self._file.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _read_entries(self) -> dict[str, dict[str, Any]]:
        """Return the entries of the file by provider. A missing or broken file has none."""
        try:
            data: Any = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            # Log only the type of the error: the message of `json` quotes the file.
            _log.warning("the stored keys in %s cannot be read (%s); sign in again", self._file, type(error).__name__)
            return {}
        pairs = cast("dict[str, Any]", data).items() if isinstance(data, dict) else ()
        return {name: cast("dict[str, Any]", entry) for name, entry in pairs if isinstance(entry, dict)}

    def _make_stored_key(self, provider: str, entry: dict[str, Any]) -> StoredKey | None:
        """Return the key that an entry of the file stands for; None when the entry has none, or the keyring does not
        give it."""
        key = self._keyrings.fetch(provider) if entry.get("keyring") else _get_plain_key(entry)
        if not key:
            return None
        redaction.register_secret(key)
        url = entry.get("url")
        return StoredKey(key, url if isinstance(url, str) else None)

    def _move_plain_keys(self) -> None:
        """Move keys that are in plain text into the keyring."""
        plain = {name: key for name, entry in self._read_entries().items() if (key := _get_plain_key(entry))}
        if plain and self._keyrings.is_available():
            with suppress(OSError), self._lock_entries() as entries:
                plain = {name: key for name, entry in entries.items() if (key := _get_plain_key(entry))}
                moved = [name for name, key in plain.items() if self._keyrings.keep(name, key)]
                if moved:
                    entries |= {name: {"url": entries[name].get("url"), "keyring": True} for name in moved}
                    self._write(entries)
                    plain = {name: key for name, key in plain.items() if name not in moved}
        if plain and not self._warned:
            self._warned = True
            _log.warning(_IN_PLAIN, self._file, ", ".join(plain))

    @contextmanager
    def _lock_entries(self) -> Generator[dict[str, dict[str, Any]]]:
        """Yield the entries of the file. No other process can change them until the context ends."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.with_suffix(".lock").open("ab") as lock:
            _lock_file(lock.fileno())
            yield self._read_entries()

    def _write(self, entries: dict[str, dict[str, Any]]) -> None:
        """Write the file. Raises: OSError."""
        replace_file(self._file, json.dumps(entries, indent=1))


class MemoryKeyStore(KeyStore):
    """Stores keys only in the memory of this process. No file or keyring is used, not even for reading, because a key
    that an earlier user has left there does not belong to this user."""

    can_be_persistent = False

    def is_persistent(self) -> bool:
        """Return False: all keys are gone when the process ends."""
        return False

    def load(self) -> None:
        """Do nothing: there is nothing to read."""

    def store(self, provider: str, stored_key: StoredKey) -> bool:
        """Keep a key in memory. Return False, because it is stored nowhere else."""
        redaction.register_secret(stored_key.key)
        self._remember(provider, stored_key)
        return False

    def forget(self, provider: str) -> None:
        """Forget the key of a provider."""
        self._remember(provider, None)

    def list_stored(self) -> list[str]:
        """Return no providers, because nothing is stored."""
        return []


def open_key_store(database: Path) -> KeyStore:
    """Return the key store that belongs to a database of chats; with `JUPYTER_ECA_KEYS=memory`, one in memory."""
    kind = MemoryKeyStore if os.environ.get(MEMORY_ONLY) == "memory" else KeyStore
    return kind(database.with_name("auth.json"))


def _lock_file(descriptor: int) -> None:
    """Lock the file until it is closed."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _get_plain_key(entry: dict[str, Any]) -> str | None:
    """Return the key that an earlier version wrote into the entry; None when it wrote none."""
    key = entry.get("key")
    return key if isinstance(key, str) and not entry.get("keyring") else None
