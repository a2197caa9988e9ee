"""What is set up: where the keys are from, and why a model is the default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host.doctor import report
from tests.support.host_and_client import desk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

ALL = ("ANTHROPIC", "OPENAI", "OPENROUTER", "GOOGLE", "GEMINI", "DEEPSEEK", "MISTRAL", "AZURE", "LITELLM")


async def test_it_tells_where_each_providers_key_is_from_and_never_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ALL:
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-of-the-environment")
    given: dict[str, Any] = {"openai": {"key": "sk-of-the-file"}}
    async with desk(tmp_path, [], providers=given) as table:
        told = await report(table.host.services, "here")
    [keys] = (line for line in told.splitlines() if line.startswith("| keys |"))
    for words in (
        "`openai` has one in the configuration",
        "`MISTRAL_API_KEY` is set",
        "`ANTHROPIC_API_KEY` is not set",
    ):
        assert words in keys
    assert "sk-of" not in told


@pytest.mark.parametrize(
    ("default", "why"), [("openai/m", "`defaultModel` names it"), (None, "it is the first one in the list")]
)
async def test_it_tells_why_a_model_is_the_default(
    default: str | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-environment")
    async with desk(tmp_path, [], defaultModel=default) as table:
        assert f"| reason | {why} |" in await report(table.host.services, "here")
