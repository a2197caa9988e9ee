"""Owns the parser of the messages that a page sends on the comm of a card. The class `Card` needs the bundle of the
page, so this module is imported when it is first used."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.apps.kernel.answer.card import Card
from jupyter_eca.protocol.question import ChatAskQuestionParams
from tests.fuzz.widgets import CHANNEL, LAST, as_json
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Coroutine

QUESTION: Final = ChatAskQuestionParams(chat_id="c", question="Red?", options=None)


class _Publisher:
    def publish(self, *_: Any, **__: Any) -> None:
        """Show nothing."""


class _Handler:
    def handle_decision(self, method: str, params: Any) -> None:
        """Decide nothing."""


class FuzzedCard(Card):
    """A card of which a test sees what it sends, and what fails in its tasks."""

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        self.is_answered = asyncio.Event()
        super().__init__(cast("Any", _Publisher()), "c", _Handler(), [])

    def start_task(self, work: Coroutine[Any, Any, None]) -> None:
        super().start_task(self._watch(work))

    async def _watch(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001  # whatever breaks is what is looked for
            self.failures.append(error)

    def _send_to_page(self, channel: str, content: dict[str, Any]) -> None:
        if channel == CHANNEL and any(message.get("id") == "last" for message in content.get("messages", ())):
            self.is_answered.set()

    def receive(self, content: Any) -> None:
        self._handle(content)

    @property
    def is_open(self) -> bool:
        return CHANNEL in self._links


async def read_card_messages(data: bytes) -> None:
    """A page sends something on the comm of a card, and on the channel of a page."""
    value = as_json(data)
    card = FuzzedCard()
    card.receive({"channel": CHANNEL, "open": True})
    asking = asyncio.ensure_future(card.ask(QUESTION))
    await asyncio.sleep(0)
    card.receive({"channel": CHANNEL, "messages": [{"jsonrpc": "2.0", "method": "initialized"}]})
    card.receive(value)
    card.receive({"channel": CHANNEL, "messages": value if isinstance(value, list) else [value]})
    card.receive({"channel": CHANNEL, "messages": [LAST]})
    async with asyncio.timeout(PATIENCE):
        while card.is_open and not card.is_answered.is_set():  # noqa: ASYNC110  # a damaged message may close the channel
            await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])
    card.close()
    if card.failures:
        raise card.failures[0]
