"""What a chat costs before its first word, and what is sent of the place of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.bench.context import goals
from tests.bench.context.sizes import measure_prompt, measure_sizes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def surround(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("XDG_CONFIG_HOME", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))


async def test_a_chat_costs_at_most_5_000_tokens_before_its_first_word(tmp_path: Path) -> None:
    tokens = await measure_prompt(tmp_path)
    assert len(tokens) > 20
    table = "\n".join(f"{name}: {count:.0f}" for name, count in sorted(tokens.items(), key=lambda pair: -pair[1]))
    assert sum(tokens.values()) <= goals.MOST_PROMPT_TOKENS, table


@pytest.mark.nightly
async def test_the_place_of_the_user_costs_few_tokens_in_a_long_cell_and_hardly_any_when_it_is_unchanged() -> None:
    reached = goals.compare_sizes(await measure_sizes())
    assert all(one.now > 0 for one in reached)
    assert not [one for one in reached if one.is_over], goals.draw(reached)
