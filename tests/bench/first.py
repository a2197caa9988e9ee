"""How soon the first words are with a reader. The model's server writes into them when it sent them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from anthropic import AsyncAnthropic

from tests.bench import sdk
from tests.bench.figure import Figure, differences, list_of
from tests.bench.page import page
from tests.bench.processes import configure, jupyter_server, loopback

ROUNDS = 20

# More follows as fast as models speak: the first words must not wait for it.
_RULES: list[dict[str, Any]] = [
    {"message": "", "reply": [{"text": "{clock}"}, {"text": " word" * 10, "chunk": 5, "delay": 0.01}]}
]


async def figures() -> list[Figure]:
    ours: list[float] = []
    theirs: list[float] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        with loopback(folder, _RULES) as url:
            configure(folder, url)
            with jupyter_server(folder) as server:
                async with page(server.port) as client, AsyncAnthropic(api_key="loopback", base_url=url) as bare:
                    for _ in range(ROUNDS + 1):
                        answer = await client.ask("now")
                        ours.append((answer.first_at - float(answer.first)) * 1000)
                        streamed = await sdk.ask(bare, "now")
                        theirs.append((streamed.first_at - float(streamed.first)) * 1000)
    del ours[0], theirs[0]  # they warmed up both
    beside = f"bare SDK {list_of(theirs, 'ms')}"
    return [
        Figure("first words, sent to received", ours, "ms", 5, beside),
        Figure("the same, over the SDK", differences(ours, theirs), "ms", None, f"{ROUNDS} short answers in turns"),
    ]
