"""A system keyring that several processes share, as an operating system's is: for `PYTHON_KEYRING_BACKEND`. What it
keeps is no plain text, so a search for a secret finds it in no file."""

from __future__ import annotations

import fcntl
import json
from base64 import b64decode, b64encode
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from keyring.backend import KeyringBackend

if TYPE_CHECKING:
    from collections.abc import Generator

NAME = f"{__name__}.FileRing"
# What the package takes a backend's property `file` from.
VARIABLE = "KEYRING_PROPERTY_FILE"


class FileRing(KeyringBackend):
    priority = 5.0  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]  # backends do so
    file = ""

    def get_password(self, service: str, username: str) -> str | None:
        with self._open() as kept:
            return kept.get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        with self._open() as kept:
            kept[f"{service} {username}"] = password

    def delete_password(self, service: str, username: str) -> None:
        with self._open() as kept:
            del kept[f"{service} {username}"]

    @contextmanager
    def _open(self) -> Generator[dict[str, str]]:
        with Path(f"{self.file}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            entries = read(Path(self.file))
            before = dict(entries)
            yield entries
            if entries != before:
                Path(self.file).write_bytes(b64encode(json.dumps(entries).encode()))


def read(file: Path) -> dict[str, str]:
    """By service and name."""
    return json.loads(b64decode(file.read_bytes())) if file.exists() else {}
