"""What servers of the three APIs send, through the real SDKs: each recording in `fixtures/sse` is a quirk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.delta import (
    Activity,
    Delta,
    ImageDelta,
    Paused,
    ReasoningDelta,
    ReasoningEnd,
    Remark,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers import anthropic, openai, openai_chat
from tests.plugins.providers.ask import answer, asking, at
from tests.support.openai_server import RECORDINGS, LoopbackOpenAI, recording

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]

PROVIDERS = {
    "anthropic": anthropic.PROVIDER,
    "openai/chat": openai_chat.PROVIDER,
    "openai/responses": openai.PROVIDER,
}
QUIRKS = [(dialect, file.stem) for dialect in PROVIDERS for file in sorted((RECORDINGS / dialect).glob("*.json"))]

# Those that every API has in its own way.
EVERYWHERE = {
    "a_stop_reason_is_mislabelled",
    "an_error_comes_in_the_stream",
    "arguments_are_longer_than_the_answer_may_be",
    "calls_have_no_ids",
    "calls_have_the_same_id",
    "the_model_refuses",
    "the_stream_closes_early",
    "unicode_is_cut_between_packets",
    "usage_is_missing",
}


def told(deltas: Iterable[Delta]) -> list[Json]:
    """As the recordings write it: pieces of one thing are one."""
    made: list[Json] = []
    for delta in deltas:
        match delta:
            case TextDelta(text=text):
                _grow(made, "text", text)
            case ReasoningDelta(text=text):
                _grow(made, "reasoning", text)
            case ReasoningEnd(signature=signature):
                made.append({"end": signature})
            case ToolCallDelta(index=index, id=id, name=name, arguments_text=text, signature=signature):
                call = next((one for one in made if one.get("call") == index), None)
                if call is None:
                    signed = {"signature": signature} if signature else {}
                    made.append({"call": index, "id": id, "name": name, "arguments": text, **signed})
                else:
                    call["arguments"] += text
            case UsageDelta():
                made.append({"usage": [delta.input_tokens, delta.output_tokens, delta.cache_read_tokens]})
            case Paused():
                made.append({"paused": True})
            case Remark(text=text):
                made.append({"remark": text})
            case Activity(text=text):
                made.append({"activity": text})
            case ImageDelta(media_type=media_type):
                made.append({"image": media_type})
    return [one for one in made if one != {"text": ""}]


def _grow(made: list[Json], kind: str, text: str) -> None:
    if made and kind in made[-1]:
        made[-1][kind] += text
    else:
        made.append({kind: text})


def fits(said: list[Json], expected: list[Json]) -> bool:
    """A remark is a sentence of ours, of which the recording has the words that matter."""
    return len(said) == len(expected) and all(
        want["remark"] in got.get("remark", "") if "remark" in want else got == want
        for got, want in zip(said, expected, strict=True)
    )


@pytest.mark.parametrize("dialect", PROVIDERS)
def test_every_api_has_been_heard_with_every_quirk(dialect: str) -> None:
    assert {quirk for heard, quirk in QUIRKS if heard == dialect} >= EVERYWHERE


@pytest.mark.parametrize(("dialect", "quirk"), QUIRKS)
@pytest.mark.asyncio
async def test_a_quirk_is_understood(dialect: str, quirk: str) -> None:
    stream, expected = recording(dialect, quirk)
    provider, deltas = PROVIDERS[dialect], list[Delta]()
    error: ProviderError | None = None
    with LoopbackOpenAI([stream]) as server:
        try:
            await answer(asking("hi", model=f"{provider.name}/m"), at(server), provider, deltas)
        except ProviderError as raised:
            error = raised
    assert fits(told(deltas), expected["says"]), told(deltas)
    wanted = expected.get("error")
    assert (error is None) == (wanted is None), error
    if error is not None and wanted is not None:
        assert wanted["words"] in str(error)
        assert (error.kind, error.status, error.retryable) == (
            wanted["kind"],
            wanted.get("status"),
            wanted["retryable"],
        )


@pytest.mark.parametrize("size", [1, 2, 5, 64, 1000])
@pytest.mark.parametrize("dialect", ["openai/chat", "openai/responses"])
@pytest.mark.asyncio
async def test_where_packets_are_cut_makes_no_difference(dialect: str, size: int) -> None:
    stream, expected = recording(dialect, "parallel_calls_come_in_turns")
    provider = PROVIDERS[dialect]
    with LoopbackOpenAI([type(stream)(stream.events, stream.ends, size)]) as server:
        deltas = await answer(asking("hi", model=f"{provider.name}/m"), at(server), provider)
    assert told(deltas) == expected["says"]
