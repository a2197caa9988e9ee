"""`%eca panel` in a real kernel, with a server that has the assistant and with one that has not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.apps.server.cells import kernel
from tests.apps.server.panels import Panels

if TYPE_CHECKING:
    from pathlib import Path

LOAD = "%load_ext jupyter_eca"


@pytest.fixture(params=["server", "embedded"])
def jp_server_config(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"ServerApp": {"jpserver_extensions": {"jupyter_eca": request.param == "server"}}}


async def test_panels_and_cells_of_a_kernel_are_in_one_chat_and_approved_code_runs_in_it(
    jp_serverapp: Any, jp_root_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(jp_root_dir)
    async with kernel(jp_serverapp) as at:
        await at.page(LOAD)
        panels = Panels(at)
        one = await panels.show("%eca panel")
        await one.greet()
        chat = one.chat
        assert (await one.request("chat/prompt", {"chatId": chat, "message": "make"}))["chatId"] == chat
        call = await one.hears("chat/contentReceived", chat, type="toolCallRun")
        one.notify("chat/toolCallApprove", {"chatId": chat, "toolCallId": call["content"]["id"]})
        await one.says(chat, "The tool said:")
        await one.hears("chat/contentReceived", chat, type="progress", state="finished")
        assert (await at.page("print(answer)")).stdout == "42\n"

        two = await panels.show("import jupyter_eca\njupyter_eca.Panel()")
        await two.greet()
        assert two.chat == chat
        assert [row["id"] for row in (await two.request("chat/list", {}))["chats"]] == [chat]
        assert (await two.request("chat/open", {"chatId": chat}))["found"]
        await two.says(chat, "I make it.")
        # Not run to its end here: what the panels hear meanwhile would be passed over.
        at.client.execute("%%eca\ncell", allow_stdin=True)
        await two.says(chat, "Hello, cell")
        await one.says(chat, "Hello, cell")
        record = await panels.recorded("**You:** cell")
        assert record.count("**You:**") == 2
        assert f"eca panel {chat}" in record
