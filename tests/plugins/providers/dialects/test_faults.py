"""Whatever happens to a request, in every language and over real sockets: the whole answer, or one clear message; never
a text twice, never a tool run twice."""

from __future__ import annotations

import asyncio
import socket
import sys
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.plugins.providers.scripted import Script
from jupyter_eca.protocol.content import ToolCallRunningContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.plugins.providers.dialects.speaking import DIALECTS, Speaking
from tests.support.anthropic_server import Fault
from tests.support.host_and_client import answer, desk, outcomes, said

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk")]

LOOK = {"tool": "directory_tree", "arguments": {"path": "data"}}
STORY = Script.model_validate(
    {
        "rules": [
            {"result": "", "reply": [{"text": "It is empty. ", "chunk": 5}, {"text": "That is all.", "chunk": 5}]},
            {"message": "", "reply": [{"reasoning": "Hm."}, {"text": "I look.", "chunk": 3}, LOOK]},
        ]
    }
)
WHOLE = "I look.It is empty. That is all."
PAST = formatdate(0, usegmt=True)

# Each says "now" in another way.
RESETS = (
    {"Retry-After": "0"},
    {"Retry-After": PAST},
    {"Retry-After-Ms": "1"},
    {"Anthropic-Ratelimit-Tokens-Reset": "2020-01-01T00:00:00Z", "Anthropic-Ratelimit-Tokens-Remaining": "0"},
    {"X-Ratelimit-Reset-Requests": "1ms", "X-Ratelimit-Remaining-Requests": "0"},
    {"X-Ratelimit-Reset": "1000000001"},
)
PASSING = (
    *(Fault(429, "slow down", headers=one) for one in RESETS),
    *(Fault(n, headers=RESETS[0]) for n in (500, 529)),
)
# How far apart the places are at which a connection ends, or is reset, and the first one. All of them take an hour.
STRIDE = 8
BREAKS = (
    *((397, 0, reset) for reset in (False, True)),
    *(pytest.param(STRIDE, n, reset, marks=pytest.mark.nightly) for reset in (False, True) for n in range(STRIDE)),
)

each = pytest.mark.parametrize("dialect", DIALECTS)


def yes(_call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


def runs(received: list[Any]) -> int:
    return sum(isinstance(item.content, ToolCallRunningContent) for item in received)


def ends_well(received: list[Any]) -> bool:
    """In the answer, or in a beginning of it and one line that says why. Tells which."""
    text, why = said(received), [item for item in received if said([item], "system")]
    if outcomes(received) == ["completed"]:
        assert (text, why, runs(received)) == (WHOLE, [], 1)
        return True
    assert outcomes(received) == ["failed"]
    assert WHOLE.startswith(text)
    assert len(why) == 1
    assert said(received, "system").endswith(".")
    assert runs(received) <= 1
    return False


async def turn(folder: Path, server: Speaking, message: str = "look", **more: Any) -> list[Any]:
    (folder / "data").mkdir(exist_ok=True)
    async with desk(folder, [], providers={"it": server.provider(**more)}, defaultModel="it/m") as table:
        return await answer(await table.client(), message, yes)


@each
async def test_what_passes_is_waited_for_and_the_answer_is_whole(tmp_path: Path, dialect: str) -> None:
    with Speaking(dialect, STORY, PASSING) as server:
        (tmp_path / "data").mkdir()
        async with desk(tmp_path, [], providers={"it": server.provider()}, defaultModel="it/m") as table:
            assert ends_well(await answer(await table.client(), "look", yes))
    assert len(server.bodies) == len(PASSING) + 2
    assert server.refused == []


@each
async def test_an_answer_that_is_compressed_is_read_all_the_same(tmp_path: Path, dialect: str) -> None:
    with Speaking(dialect, STORY, [Fault(zipped=True), Fault(zipped=True)]) as server:
        assert ends_well(await turn(tmp_path, server))
    assert len(server.bodies) == 2


@each
@pytest.mark.parametrize("stall", [0, 400])
async def test_a_silence_ends_in_one_message(tmp_path: Path, dialect: str, stall: int) -> None:
    with Speaking(dialect, STORY, [Fault(stall=stall)]) as server:
        received = await turn(tmp_path, server, streamIdleTimeoutSeconds=0.2, retry=False)
    assert not ends_well(received)
    assert "said nothing for 0.2 s" in said(received, "system")


@each
@pytest.mark.parametrize(("stride", "first", "reset"), BREAKS)
async def test_wherever_a_connection_breaks_nothing_is_said_or_done_twice(
    tmp_path: Path, dialect: str, stride: int, first: int, reset: bool
) -> None:
    """In the request for the call, and in the one with its result; then the chat goes on."""
    (tmp_path / "data").mkdir()
    with Speaking(dialect, STORY) as server:
        provider = server.provider(retry=False)
        ended = [False, False]
        for second in (False, True):
            for cut in range((first + 7 * second) % stride, 100_000, stride):
                # A desk of its own: what it has in memory grows with every chat.
                async with desk(tmp_path, [], providers={"it": provider}, defaultModel="it/m") as table:
                    client = await table.client()
                    server.faults.extend([None, Fault(cut=cut, reset=reset)][not second :])
                    chat = f"{second} {cut}"
                    whole = ends_well(await answer(client, "look", yes, chat=chat))
                    server.faults.clear()
                    if cut // stride % 5 == 0:
                        assert ends_well(await answer(client, "look", yes, chat=chat))
                if whole:
                    ended[second] = True
                    break
    assert ended == [True, True]
    assert server.refused == []


@each
async def test_a_connection_that_breaks_before_the_first_word_costs_nothing(tmp_path: Path, dialect: str) -> None:
    with Speaking(dialect, STORY, [Fault(cut=10, reset=True), None, Fault(cut=0)]) as server:
        assert ends_well(await turn(tmp_path, server))
    assert len(server.bodies) == 4


async def _failure(folder: Path, api: str, url: str) -> str:
    own = {"api": api, "url": url, "key": "sk-x", "retry": False, "connectTimeoutSeconds": 0.3}
    async with desk(folder, [], providers={"it": own}, defaultModel="it/m") as table:
        received = await answer(await table.client(), "look", yes)
    assert not ends_well(received)
    return said(received, "system")


apis = pytest.mark.parametrize("api", ["anthropic", "ollama", "openai-chat", "openai-responses"])


@apis
async def test_a_name_that_nobody_knows_ends_in_one_message(tmp_path: Path, api: str) -> None:
    assert "http://nowhere.invalid cannot be found" in await _failure(tmp_path, api, "http://nowhere.invalid")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse where Linux drops")
@apis
async def test_a_server_that_never_accepts_ends_in_one_message(tmp_path: Path, api: str) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.create_connection(full.getsockname()):
        words = await _failure(tmp_path, api, f"http://127.0.0.1:{full.getsockname()[1]}")
    assert "could not be reached in 0.3 s" in words


@apis
async def test_a_server_that_speaks_no_tls_ends_in_one_message(tmp_path: Path, api: str) -> None:
    async def answer_plainly(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer_plainly, "127.0.0.1", 0) as server:
        words = await _failure(tmp_path, api, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert "does not speak TLS" in words
