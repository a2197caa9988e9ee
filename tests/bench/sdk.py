"""What answers are compared to: the vendor's SDK alone, as its documentation shows it."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic, process_time
from typing import TYPE_CHECKING

from tests.bench.processes import MODEL

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


@dataclass
class Streamed:
    seconds: float = 0.0
    cpu: float = 0.0
    first: str = ""
    first_at: float = 0.0


async def ask(client: AsyncAnthropic, message: str) -> Streamed:
    heard = Streamed()
    began, computed = monotonic(), process_time()
    question = {"role": "user", "content": message}
    async with client.messages.stream(model=MODEL, max_tokens=1000, messages=[question]) as stream:  # pyright: ignore[reportArgumentType]  # the SDK's own TypedDict
        async for text in stream.text_stream:
            if not heard.first_at:
                heard.first_at, heard.first = monotonic(), text
    heard.seconds, heard.cpu = monotonic() - began, process_time() - computed
    return heard
