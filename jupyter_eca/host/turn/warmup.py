"""Prepares a model while the user still types, so that the first request need not wait: it imports the vendor's SDK,
which takes seconds, and opens a connection.

It must not report errors: a request works without this, and reports its own errors. `plugins.providers` does the work.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from jupyter_eca.errors import LocalError, ProviderError
from jupyter_eca.plugins.providers.base import Warms

if TYPE_CHECKING:
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.plugins.providers.catalog import Catalog

_log = logging.getLogger(__name__)

# `warm` is called for each key that is typed, but prepares a model again only after this many seconds. By then the
# connection is closed, because an SDK closes a connection that is not used for five seconds. The SDK stays imported.
REPEAT_SECONDS = 60.0


class Warmup:
    """Prepares the models of all chats of one host."""

    def __init__(self, chats: Chats, catalog: Catalog) -> None:
        self._chats = chats
        self._catalog = catalog
        # When each model was last prepared, by its full name, in seconds of the event loop's clock.
        self._warmed: dict[str, float] = {}

    async def warm(self, chat: str, model: str) -> None:
        """Prepare the model that will answer in a chat, unless that was done a moment ago. `model` is the full
        name of the model that the user has chosen for the next prompt, "" for none."""
        now = asyncio.get_running_loop().time()
        live = self._chats.get_live(chat)
        try:
            name = model or (live.choice.model if live else "") or await self._catalog.default()
            if not name or now - self._warmed.get(name, -REPEAT_SECONDS) < REPEAT_SECONDS:
                return
            self._warmed[name] = now
            chosen = self._catalog.choose(name)
            if isinstance(chosen.provider, Warms):
                await chosen.provider.warm(name.partition("/")[0], chosen.settings)
        except (LocalError, ProviderError) as error:
            _log.debug("the model is not warmed: %s", error)
        except Exception:  # noqa: BLE001  # the boundary to plugs: nobody has asked for this, so its errors must not disturb
            _log.debug("the model is not warmed", exc_info=True)
