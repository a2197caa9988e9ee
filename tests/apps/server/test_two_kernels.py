"""Two kernels of one server at one chat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.apps.server.cells import kernel
from tests.apps.server.panels import Panels

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LOAD = "%load_ext jupyter_eca"


async def test_a_panel_does_not_show_a_chat_of_another_notebook_and_tells_which_it_was_asked_for(
    jp_serverapp: Any, jp_root_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(jp_root_dir)
    async with kernel(jp_serverapp) as here, kernel(jp_serverapp) as there:
        one = await Panels(here).show(f"{LOAD}\n%eca panel")
        await one.greet()
        chat = one.chat
        await one.request("chat/prompt", {"chatId": chat, "message": "hello"})
        await one.says(chat, "Hello, hello")
        assert [row["id"] for row in (await one.request("chat/list", {}))["chats"]] == [chat]

        two = await Panels(there).show(f"{LOAD}\n%eca panel {chat}")
        assert [told.get("resumed") for told in two.told if "opened" in told] == [True]
        await two.greet()
        assert (await two.request("chat/list", {}))["chats"] == []
        for method, more in (("chat/open", {}), ("chat/prompt", {"message": "make"})):
            refused = await two.request(method, {"chatId": chat, **more})
            assert "did not ask in that chat" in refused["message"]
