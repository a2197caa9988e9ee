"""What a client is refused that may only read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.eca.request_rules import READING
from jupyter_eca.protocol.methods import METHODS, Sender
from tests.fronts.eca.editor_client import book
from tests.support.access import READER
from tests.support.host_and_client import desk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_every_request_that_does_not_only_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    names = [row.name for row in METHODS.values() if row.sender is Sender.CLIENT]
    assert set(names) >= READING
    async with desk(tmp_path, []) as table, book(table, access=READER) as reader:
        for name in names:
            if name in READING or METHODS[name].result is None:
                continue
            with pytest.raises(RemoteError) as refused:
                await reader.peer.request(name, {})
            assert str(refused.value) == READER.reason, name
        assert "chats" in await reader.peer.request("chat/list", {})
