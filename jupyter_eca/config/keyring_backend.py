"""Stores secrets in the keyring of the operating system, where they outlast the process.

It must not know whose secrets they are. `credentials` is its neighbour: it decides what is stored. Everything here
blocks, and a locked keyring may ask its owner to unlock it.

The keyring is the package `keyring`, if it is installed. Only the backends that its authors recommend are used.
Backends with a priority below 1 store nothing, or store secrets in a file in plain text (`keyrings.alt`).
"""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

_log = logging.getLogger(__name__)

# The name of our entries in a keyring. Users see it there.
SERVICE: Final = "jupyter-eca"

# The lowest priority of a recommended backend, the same as in `keyring.core.recommended`. The package itself does not
# apply this limit to the backend that `get_keyring` returns.
_RECOMMENDED: Final = 1


class Ring(Protocol):
    """A backend of the package `keyring`. The methods and their errors are those of the package."""

    @property
    def priority(self) -> object: ...  # a number, and an attribute of the class; the package's own types lack it
    def get_password(self, service: str, username: str, /) -> str | None: ...
    def set_password(self, service: str, username: str, password: str, /) -> None: ...
    def delete_password(self, service: str, username: str, /) -> None: ...


class Keyrings:
    """The usable keyrings. A secret is stored in the first one that accepts it, and looked up in all of them."""

    def __init__(self, ring: Ring | None = None) -> None:
        """`ring` is the keyring to use; None for the installed one, if there is any."""
        self._ring = ring
        self._cached: Sequence[Ring] | None = None
        """All keyrings; None until they are first needed, because importing them takes a while."""
        self._logged = False
        """Whether it was logged that the keyring does not work."""

    def is_available(self) -> bool:
        """Return whether there is a recommended keyring. It may still be locked or unreachable."""
        return bool(self._list_usable())

    def works(self) -> bool:
        """Store a test word and remove it again. Return whether that worked: only a test shows whether a keyring is
        locked or unreachable."""
        if not self.is_available():
            return False
        name, word = f"test-{secrets.token_hex(4)}", "works"
        stored = self.keep(name, word)
        if stored:
            self.drop(name)
        return stored

    def keep(self, name: str, secret: str) -> bool:
        """Store a secret and return whether it can be read back. Some keyrings accept a secret and forget it."""
        for ring in self._list_usable():
            try:
                ring.set_password(SERVICE, name, secret)
                if self._get(name) == secret:
                    return True
            except Exception as error:  # noqa: BLE001  # backends are written by others and raise any kind of exception
                self._log_once(type(error).__name__)
        return False

    def fetch(self, name: str) -> str | None:
        """Return a secret; None when no keyring has it or works."""
        if not self.is_available():
            _log.warning("the key for %s is in a keyring, and none can be used now; sign in again", name)
            return None
        try:
            return self._get(name)
        except Exception as error:  # noqa: BLE001  # as above
            _log.warning("the keyring does not give the key for %s (%s)", name, type(error).__name__)
            return None

    def drop(self, name: str) -> None:
        """Remove a secret from all keyrings, also from those that are not used any more."""
        for ring in self._list_all():
            try:
                if ring.get_password(SERVICE, name) is not None:
                    ring.delete_password(SERVICE, name)
            except Exception as error:  # noqa: BLE001  # as above; the caller removes its own entry, so it is not read again
                _log.warning("the keyring keeps the key for %s (%s)", name, type(error).__name__)

    def _get(self, name: str) -> str | None:
        """Return a secret from the first keyring that has it; None when none has. Raises what a backend raises."""
        return next(
            (password for ring in self._list_usable() if (password := ring.get_password(SERVICE, name)) is not None),
            None,
        )

    def _log_once(self, why: str) -> None:
        """Log the reason once. Some sign-ins renew themselves every hour, and each time they are stored again."""
        if not self._logged:
            self._logged = True
            _log.info("the keyring does not work (%s): keys are kept in memory", why)

    def _list_usable(self) -> tuple[Ring, ...]:
        """Return the keyrings that the authors of the package recommend."""
        return tuple(ring for ring in self._list_all() if _is_recommended(ring))

    def _list_all(self) -> Sequence[Ring]:
        """Return all keyrings. The first call imports them."""
        if self._cached is None:
            self._cached = (self._ring,) if self._ring is not None else _list_installed()
        return self._cached


def _is_recommended(ring: Ring) -> bool:
    """Return whether the authors of the package recommend a keyring. See `_RECOMMENDED`."""
    try:
        return cast("float", ring.priority) >= _RECOMMENDED
    except Exception:  # noqa: BLE001  # `priority` raises when the backend cannot be used here
        return False


def _list_installed() -> Sequence[Ring]:
    """Return the installed keyring. If it is a chain of keyrings, return its parts: a chain of two always counts as
    recommended, even if its parts do not."""
    try:
        import keyring
        from keyring.backends.chainer import ChainerBackend

        ring: Any = keyring.get_keyring()
        return cast("Sequence[Ring]", ring.backends if isinstance(ring, ChainerBackend) else (ring,))
    except ImportError:
        return ()
    except Exception as error:  # noqa: BLE001  # for example, the user has chosen a backend that does not exist
        _log.info("the keyring cannot be used (%s): keys are kept in memory", type(error).__name__)
        return ()
