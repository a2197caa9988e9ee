"""Clients that may not do everything, as a server lets them in."""

from __future__ import annotations

from typing import Final

from jupyter_eca.fronts.client_access import AccessLevel, ClientAccess

ASKER: Final = ClientAccess(AccessLevel.ASK, "You may ask, but not approve.")
READER: Final = ClientAccess(AccessLevel.READ, "You may read, but not ask.")
