"""What a cell says when the model's side fails: one error that says what to do, and nothing of the answer lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.plugins.providers.scripted import Script
from tests.apps.kernel.nbclient_notebook import PATIENCE, opened, surround
from tests.support.anthropic_server import Fault, LoopbackAnthropic

if TYPE_CHECKING:
    from pathlib import Path

ANSWER = Script.model_validate({"rules": [{"message": "", "reply": [{"text": "Half an answer. " * 9, "chunk": 5}]}]})


@pytest.mark.asyncio
async def test_a_wrong_key_a_broken_stream_a_silent_endpoint_and_a_missing_key_each_end_in_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = [Fault(status=401, said="invalid x-api-key"), Fault(cut=1500)]
    with LoopbackAnthropic(ANSWER, faults=faults) as server:
        models: dict[str, Any] = {"m": {}}
        providers = {
            "anthropic": {"url": server.url, "key": "sk-x", "models": models},
            "down": {"api": "anthropic", "url": "http://127.0.0.1:9", "key": "k", "models": models},
            "keyless": {"api": "anthropic", "models": models},
        }
        surround(monkeypatch, tmp_path, {"defaultModel": "anthropic/m", "providers": providers})
        async with asyncio.timeout(PATIENCE), opened(tmp_path) as book:
            wrong, broken, whole = [await book.run("%eca hi") for _ in range(3)]
            down = await book.run("%eca -m down/m hi")
            keyless = await book.run("%eca -m keyless/m hi")
    told = [line for ran in (wrong, broken, down, keyless) for line in ran.traceback]
    words = ["refused the key", "The answer broke off", "Nothing answers at", "There is no key"]
    assert len(told) == len(words)
    assert all(word in line for word, line in zip(words, told, strict=True))
    assert ["run `%eca /login`" in line for line in told] == [True, False, False, True]
    assert wrong.displays[0]["text/plain"].startswith(server.url)
    assert "Half an answer." in broken.displays[0]["text/plain"]
    assert (whole.failure, whole.displays[0]["text/plain"]) == ("", ("Half an answer. " * 9).strip())
