"""A program that is killed at the moment in which its client hears the echo of an action: `python -m
tests.fronts.ahp.killed FOLDER ACTION`. `test_killed.py` runs it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.fronts.ahp.place import Client, place

S = "eca:/s1"


async def act(client: Client, what: str) -> int:
    match what:
        case "prompt":
            return await client.ask(S, "t2", "my words")
        case "rename":
            return await client.act("session/titleChanged", S, title="my words")
        case _:
            message = {"kind": "queued", "id": "q", "userMessage": {"text": "my words"}}
            return await client.act("session/pendingMessageSet", S, **message)


async def main(folder: Path, what: str) -> None:
    new, _, what = what.rpartition(" ")
    async with place(folder) as at:
        client = await at.connect()
        await client.create(S)
        if not new:
            await client.ask(S, "t1", "one")
            await client.settled(S, 1)
        if what == "queue":
            await client.ask(S, "t1" if new else "t2", "slow")
            await client.until(lambda: "activeTurn" in client.states[S])
        await client.echo(await act(client, what))
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
