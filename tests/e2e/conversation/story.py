"""One conversation, the whole of ECA's chat, told the same way over every way in."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.e2e.conversation import past, stops, turns
from tests.e2e.conversation.caller import Caller

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.e2e.conversation.wire import House


async def tell(house: House) -> None:
    """Every part with a server of its own: the chats are those of the one before."""
    folder = house.folder
    (folder / "notes.txt").write_text("the secret is plum\n")
    async with greeted(house) as at:
        await turns.set_up(at)
        await turns.text_and_reasoning(at)
        await turns.approved(at, folder)
        await turns.rejected(at, folder)
        await turns.two_at_once(at, folder)
        await turns.question(at)
        await turns.steered(at)
        await turns.busy(at)
        await turns.costs(at)
        await turns.contexts(at, folder)
    async with greeted(house) as at:
        await stops.gathering(at)
        await stops.idle(at)
        await stops.commanded(at)
        await stops.streaming(at)
        await stops.reasoning(at)
        await stops.preparing(at, folder)
        await stops.waiting(at, folder)
        await stops.running(at)
        await stops.stopping(at)
        await stops.some_of_each(at)
        await stops.asking(at)
    async with greeted(house) as at:
        await past.flagged(at)
        await past.rolled_back(at, folder)
        await past.forked(at)
        await past.renamed(at)
        await past.cleared(at)
        shown = await past.cut_off(at)
    async with greeted(house) as at:
        await past.opened(at, shown)
        await past.paged(at)
        await past.deleted(at)


@asynccontextmanager
async def greeted(house: House) -> AsyncGenerator[Caller]:
    async with house.open() as wire:
        at = Caller(wire, house.patience)
        await turns.greet(at, house.folder)
        yield at
