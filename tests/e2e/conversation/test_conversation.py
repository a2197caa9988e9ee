"""The conversation over memory and over stdio. Over the WebSocket of a Jupyter server: `tests/apps/server`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.conversation.script import MORE, RULES
from tests.e2e.conversation.story import tell
from tests.e2e.conversation.wire import MemoryHouse, ProcessHouse, Setting
from tests.support.samples import sample

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("house", sample([ProcessHouse, MemoryHouse], every=2))
async def test_the_whole_conversation(tmp_path: Path, house: type[MemoryHouse] | type[ProcessHouse]) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    await tell(house(Setting(folder, RULES, MORE)))
