"""What the first request to a model would wait for, done while its user still types: the import of an SDK, which takes
seconds, and a connection. Never needed, so whatever fails here says nothing: the request itself will."""

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

# Typing asks again and again. An SDK closes a connection that nobody uses for five seconds.
AGAIN_SECONDS = 60.0


class Warmup:
    def __init__(self, chats: Chats, catalog: Catalog) -> None:
        self._chats = chats
        self._catalog = catalog
        self._warmed: dict[str, float] = {}

    async def warm(self, chat: str, model: str) -> None:
        """`model` is what was chosen for the chat, "" when nothing was."""
        now = asyncio.get_running_loop().time()
        live = self._chats.live(chat)
        try:
            name = model or (live.choice.model if live else "") or await self._catalog.default()
            if not name or now - self._warmed.get(name, -AGAIN_SECONDS) < AGAIN_SECONDS:
                return
            self._warmed[name] = now
            chosen = self._catalog.choose(name)
            if isinstance(chosen.provider, Warms):
                await chosen.provider.warm(name.partition("/")[0], chosen.settings)
        except (LocalError, ProviderError) as error:
            _log.debug("the model is not warmed: %s", error)
        except Exception:  # noqa: BLE001  # the boundary to plugs: what was not asked for must not disturb
            _log.debug("the model is not warmed", exc_info=True)
