"""The system's keyring: where secrets last from one start to the next. Does not know whose they are. Everything here
blocks, and a locked keyring may ask its owner.

It is the package `keyring`, where that is installed, and of its backends those that its authors recommend, however one
was chosen: below a priority of 1 are the ones that keep nothing, or keep it in a file in plain (`keyrings.alt`).
"""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

_log = logging.getLogger(__name__)

# What the entries are called in a keyring, where users see them.
SERVICE: Final = "jupyter-eca"

# As `keyring.core.recommended` has it, which the package asks only when a backend is looked for with that limit.
_RECOMMENDED: Final = 1


class Ring(Protocol):
    """One of keyring's backends."""

    @property
    def priority(self) -> object: ...  # a number; of the class, which the package's own types do not say
    def get_password(self, service: str, username: str, /) -> str | None: ...
    def set_password(self, service: str, username: str, password: str, /) -> None: ...
    def delete_password(self, service: str, username: str, /) -> None: ...


class Keyrings:
    """What is in any of them is found; the first that takes a secret has it."""

    def __init__(self, ring: Ring | None = None) -> None:
        """`ring` by default the installed one, if any."""
        self._ring = ring
        self._known: Sequence[Ring] | None = None
        self._told = False

    def found(self) -> bool:
        """Whether there is one that is recommended; it may still be locked, or out of reach."""
        return bool(self._usable())

    def works(self) -> bool:
        """Tries it with a word: one that is locked, or not reached from here, shows in nothing else."""
        if not self.found():
            return False
        name, word = f"test-{secrets.token_hex(4)}", "works"
        kept = self.keep(name, word)
        if kept:
            self.drop(name)
        return kept

    def keep(self, name: str, secret: str) -> bool:
        """Whether it is there now; some take a secret and forget it."""
        for ring in self._usable():
            try:
                ring.set_password(SERVICE, name, secret)
                if self._get(name) == secret:
                    return True
            except Exception as error:  # noqa: BLE001  # somebody else's plug: backends raise what they like
                self._tell(type(error).__name__)
        return False

    def fetch(self, name: str) -> str | None:
        if not self.found():
            _log.warning("the key for %s is in a keyring, and none can be used now; sign in again", name)
            return None
        try:
            return self._get(name)
        except Exception as error:  # noqa: BLE001  # as above
            _log.warning("the keyring does not give the key for %s (%s)", name, type(error).__name__)
            return None

    def drop(self, name: str) -> None:
        """Also from one that is not used any more."""
        for ring in self._all():
            try:
                if ring.get_password(SERVICE, name) is not None:
                    ring.delete_password(SERVICE, name)
            except Exception as error:  # noqa: BLE001  # as above; without our entry nobody asks for it again
                _log.warning("the keyring keeps the key for %s (%s)", name, type(error).__name__)

    def _get(self, name: str) -> str | None:
        return next((found for ring in self._usable() if (found := ring.get_password(SERVICE, name)) is not None), None)

    def _tell(self, why: str) -> None:
        """Once: a sign-in that is renewed is written every hour."""
        if not self._told:
            self._told = True
            _log.info("the keyring does not work (%s): keys are kept in memory", why)

    def _usable(self) -> tuple[Ring, ...]:
        return tuple(ring for ring in self._all() if _recommended(ring))

    def _all(self) -> Sequence[Ring]:
        if self._known is None:
            self._known = (self._ring,) if self._ring is not None else _installed()
        return self._known


def _recommended(ring: Ring) -> bool:
    try:
        return cast("float", ring.priority) >= _RECOMMENDED
    except Exception:  # noqa: BLE001  # so they say that they cannot be used here
        return False


def _installed() -> Sequence[Ring]:
    """Of a chain its links, the best first: it is recommended as a whole when there are two, whatever they are."""
    try:
        import keyring
        from keyring.backends.chainer import ChainerBackend

        ring: Any = keyring.get_keyring()
        return cast("Sequence[Ring]", ring.backends if isinstance(ring, ChainerBackend) else (ring,))
    except ImportError:
        return ()
    except Exception as error:  # noqa: BLE001  # one that was chosen and is not there, among others
        _log.info("the keyring cannot be used (%s): keys are kept in memory", type(error).__name__)
        return ()
