"""A store as large as that of a user of several years: opening, adding, searching and starting, and the memory of a
server after many turns.

The store holds 1,000 chats of 20 events, and one of 100,000 events.
"""

from __future__ import annotations

import gc
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import psutil

from jupyter_eca.host.store import Store
from jupyter_eca.protocol.chats import ChatListParams, ChatListResult, ChatOpenParams, ChatOpenResult
from jupyter_eca.protocol.content import MetadataContent, ProgressContent, Role, TextContent
from jupyter_eca.protocol.event import Event, Outcome
from tests.bench.figure import Figure, differences, list_of
from tests.bench.processes import MIB
from tests.support.host_and_client import answer, desk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.transport.eca_client import EcaClient

CHATS = 1_000
TURNS_EACH = 5
LONG_TURNS = 25_000
EVENTS_OF_A_TURN = 4
ROUNDS = 15
STARTS = 5
# Events of one commit while the store is filled.
BATCH = 4_000

WARM_TURNS = 1_000
ALL_TURNS = 10_000
TURNS_OF_A_CHAT = 10
# On a busy machine.
MEMORY_SECONDS = 1_200.0

_RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "That is the mean of the second column."}]}]


async def figures() -> list[Figure]:
    # First, while the process has allocated nothing that it could use again.
    with TemporaryDirectory() as name:
        memory = await _memory(Path(name))
    with TemporaryDirectory() as full_name, TemporaryDirectory() as empty_name:
        full, empty = Path(full_name), Path(empty_name)
        await fill(full, CHATS, LONG_TURNS)
        return [*await _uses(full), await _starts(full, empty), memory]


async def fill(folder: Path, chats: int, long_turns: int) -> None:
    """Store `chats` chats, and one with the id "long" of `long_turns` turns."""
    store = Store(folder / "chats.db", str(folder), lambda _: None)
    await store.open()
    waiting: list[Event] = []
    wanted = [(f"chat-{number}", TURNS_EACH) for number in range(chats)] + [("long", long_turns)] * (long_turns > 0)
    for chat, turns in wanted:
        for event in make_events(chat, turns):
            waiting.append(event)
            if len(waiting) == BATCH:
                store.append(waiting)
                await store.settle()
                waiting = []
    store.append(waiting)
    await store.settle()
    await store.close()


def make_events(chat: str, turns: int) -> Iterator[Event]:
    """Yield turns of four events: a question, a title, an answer and its end."""
    for number in range(turns):
        turn = f"{chat}-{number}"
        question = TextContent(text=f"What is the mean of column {number}?", content_id=f"{chat}-m{number}")
        text = f"It is **{number * 7}**.\n\n```python\ndf['column_{number}'].mean()\n```\n"
        done = ProgressContent(state="finished")
        yield Event(chat=chat, turn=turn, role=Role.USER, content=question, at=number + 1)
        yield Event(chat=chat, turn=turn, role=Role.SYSTEM, content=MetadataContent(title=chat), at=number + 1)
        yield Event(chat=chat, turn=turn, role=Role.ASSISTANT, content=TextContent(text=text), at=number + 1)
        yield Event(chat=chat, turn=turn, role=Role.SYSTEM, content=done, at=number + 1, outcome=Outcome.COMPLETED)


async def _uses(folder: Path) -> list[Figure]:
    async with desk(folder, _RULES) as table:
        client = await table.client()
        opened = [await open_chat(client, "long") for _ in range(ROUNDS)]
        listed = [await list_chats(client, "") for _ in range(ROUNDS)]
        # A word of many chats, one of a single message, and one that is nowhere.
        searched = [
            await list_chats(client, query)
            for _ in range(ROUNDS)
            for query in ("mean", f"column_{LONG_TURNS - 1}", "xyzzy")
        ]
        added = [await _append(table.host.store, number) for number in range(ROUNDS)]
        alone = await _append_alone()
    events = f"{LONG_TURNS * EVENTS_OF_A_TURN:,} events"
    return [
        Figure(f"a chat of {events} opens", opened, "ms", 100, f"its newest page, as the panel asks for it; {ROUNDS}"),
        Figure(f"an event is stored in a chat of {events}", added, "ms", 1, f"in a new chat {list_of(alone, 'ms')}"),
        Figure(f"{CHATS:,} chats are listed", listed, "ms", None, ""),
        Figure(f"contents of {CHATS:,} chats are searched", searched, "ms", 50, f"slowest {max(searched):.3g} ms"),
    ]


async def open_chat(client: EcaClient, chat: str) -> float:
    began = perf_counter()
    await client.request("chat/open", ChatOpenParams(chat_id=chat, limit=50), ChatOpenResult)
    return (perf_counter() - began) * 1000


async def list_chats(client: EcaClient, query: str) -> float:
    began = perf_counter()
    await client.request("chat/list", ChatListParams(query=query or None), ChatListResult)
    return (perf_counter() - began) * 1000


async def _append(store: Store, number: int) -> float:
    content = TextContent(text=f"one more piece, number {number}")
    began = perf_counter()
    store.append([Event(chat="long", turn="long-more", role=Role.ASSISTANT, content=content, at=1)])
    await store.settle()
    return (perf_counter() - began) * 1000


async def _append_alone() -> list[float]:
    with TemporaryDirectory() as name:
        store = Store(Path(name) / "chats.db", name, lambda _: None)
        await store.open()
        taken = [await _append(store, number) for number in range(ROUNDS)]
        await store.close()
        return taken


async def _starts(full: Path, empty: Path) -> Figure:
    """A host with the large store beside one with an empty store, in turns, until a client is connected."""
    with_store: list[float] = []
    without: list[float] = []
    for _ in range(STARTS):
        for found, folder in ((with_store, full), (without, empty)):
            began = process_time()
            async with desk(folder, _RULES) as table:
                await table.client()
                found.append((process_time() - began) * 1000)
    beside = f"CPU; {list_of(with_store, 'ms')}, with an empty store {list_of(without, 'ms')}"
    return Figure("start with that store", differences(with_store, without), "ms", 20, beside)


async def _memory(folder: Path) -> Figure:
    """Turns in new chats, which stay open in no page."""
    chats = count()
    process = psutil.Process()
    async with desk(folder, _RULES, seconds=MEMORY_SECONDS) as table:
        client = await table.client()

        async def run(turns: int) -> float:
            for _ in range(turns // TURNS_OF_A_CHAT):
                chat = f"turns-{next(chats)}"
                for number in range(TURNS_OF_A_CHAT):
                    await answer(client, f"question {number}", chat=chat)
            gc.collect()
            return process.memory_info().rss / MIB

        warm = await run(WARM_TURNS)
        end = await run(ALL_TURNS - WARM_TURNS)
    beside = f"{warm:.1f} MiB after {WARM_TURNS:,}, {end:.1f} MiB after {ALL_TURNS:,}; client and model in the process"
    return Figure(f"memory added by turns {WARM_TURNS:,} to {ALL_TURNS:,}", [(end / warm - 1) * 100], "%", 2, beside)
