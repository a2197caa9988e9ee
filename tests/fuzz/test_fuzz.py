"""Damaged inputs break no parser and hold none up, and no stream of a vendor ends otherwise than an answer can end.

10,000 inputs by default; with NIGHTLY=1 a million more. `python -m tests.fuzz` replays one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import pytest

from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers import anthropic, openai, openai_chat
from jupyter_eca.plugins.providers.scripted import Script
from tests.fuzz.__main__ import explain, find_failures
from tests.fuzz.mutation import Mutation
from tests.fuzz.targets import TARGETS
from tests.plugins.providers.ask import answer, asking, at
from tests.support.anthropic_server import Fault, LoopbackAnthropic, Recorded
from tests.support.openai_server import RECORDINGS, recording

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.plugins.providers.base import Provider

# So many inputs for each parser.
SAMPLE, NIGHTLY, BLOCK = 450, 45_000, 4_500


@pytest.mark.parametrize("name", TARGETS)
def test_a_damaged_input_breaks_no_parser(name: str) -> None:
    check(name, 0, SAMPLE)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(SAMPLE, SAMPLE + NIGHTLY, BLOCK))
@pytest.mark.parametrize("name", TARGETS)
def test_no_damaged_input_of_very_many_breaks_a_parser(name: str, first: int) -> None:
    check(name, first, BLOCK)


def check(name: str, first: int, count: int) -> None:
    if problem := TARGETS[name].problem:
        pytest.skip(problem)
    failures = asyncio.run(find_failures(name, first, count))
    assert not failures, explain(name, failures)


def test_the_same_seed_gives_the_same_input() -> None:
    samples = TARGETS["notebooks"].samples
    assert [Mutation(seed).damage(samples) for seed in range(50)] == [
        Mutation(seed).damage(samples) for seed in range(50)
    ]


# -- the streams of vendors

PROVIDERS: Final[dict[str, Provider]] = {
    "anthropic": anthropic.PROVIDER,
    "openai/chat": openai_chat.PROVIDER,
    "openai/responses": openai.PROVIDER,
}
STREAMS, NIGHTLY_STREAMS = 60, 3_000


class RawServer(LoopbackAnthropic):
    """A server of any API that answers with the bytes of `stream`."""

    def __init__(self) -> None:
        super().__init__(Script(rules=()))
        self.stream = b""

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:  # noqa: ARG002  # whatever it is
        middle = len(self.stream) // 2
        return Fault(), [(0.0, self.stream[:middle]), (0.0, self.stream[middle:])]


def list_streams(dialect: str) -> tuple[bytes, ...]:
    streams = [recording(dialect, path.stem)[0] for path in sorted((RECORDINGS / dialect).glob("*.json"))]
    return tuple(b"".join(piece for _, piece in stream.sent()) for stream in streams)


async def find_odd_ends(dialect: str, first: int, count: int) -> list[str]:
    """Return the seeds whose answer ends with another error than that of a provider."""
    found: list[str] = []
    samples, provider = list_streams(dialect), PROVIDERS[dialect]
    with RawServer() as server:
        settings = at(server, url=server.url)
        for seed in range(first, first + count):
            server.stream = Mutation(seed).damage(samples)
            try:
                await answer(asking("hi", model="house/m"), settings, provider)
            except ProviderError:
                pass
            except Exception as error:  # noqa: BLE001  # whatever breaks is what is looked for
                found.append(f"{seed}: {error!r}")
    return found


@pytest.mark.parametrize("dialect", PROVIDERS)
@pytest.mark.asyncio
async def test_a_damaged_stream_ends_as_an_answer_can_end(dialect: str) -> None:
    assert await find_odd_ends(dialect, 0, STREAMS) == []


@pytest.mark.nightly
@pytest.mark.parametrize("dialect", PROVIDERS)
@pytest.mark.asyncio
async def test_no_damaged_stream_of_very_many_ends_otherwise(dialect: str) -> None:
    assert await find_odd_ends(dialect, STREAMS, NIGHTLY_STREAMS) == []
