"""What a chat costs before its first word: the system prompt and the tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.config import ProviderConfig
from jupyter_eca.plugins.providers.anthropic import PROVIDER
from tests.bench.context.played_model import MODEL, PlayedModel
from tests.bench.context.prefix_cache import count_tokens
from tests.bench.context.session import make_normaliser, open_session
from tests.bench.context.task import Task, make_project

if TYPE_CHECKING:
    from pathlib import Path

# A session with a notebook, for which nothing is configured. The other half of the model's first impression is what
# the user says.
MOST_TOKENS = 5_000


@pytest.mark.asyncio
async def test_a_chat_costs_at_most_5_000_tokens_before_its_first_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("XDG_CONFIG_HOME", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    task = Task()
    folder = make_project(tmp_path, task)
    with PlayedModel(task, make_normaliser(folder)) as model:
        async with open_session(folder, model, task.window) as session:
            request = await session.host.turns.draft("chat", "")
    sent = PROVIDER.request_body(MODEL, request, ProviderConfig())
    body = json.loads(make_normaliser(folder)(json.dumps(sent)))
    tokens = {tool["name"]: count_tokens(tool) for tool in body["tools"]}
    tokens["system prompt"] = sum(map(count_tokens, body["system"]))
    assert len(tokens) > 20
    table = "\n".join(f"{name}: {count:.0f}" for name, count in sorted(tokens.items(), key=lambda pair: -pair[1]))
    assert sum(tokens.values()) <= MOST_TOKENS, table
