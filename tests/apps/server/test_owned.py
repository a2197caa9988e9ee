"""A notebook and its chats, from one day to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_eca.apps.server.eca_server import EcaServer
from jupyter_eca.apps.server.kernel_comms import KernelWatch
from tests.apps.server.cells import kernel
from tests.apps.server.panels import Panels

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LOAD = "%load_ext jupyter_eca"


async def begun_anew(serverapp: Any) -> None:
    """As if the server had ended and begun: nothing of ours is in memory."""
    (app,) = serverapp.extension_manager.extension_apps["jupyter_eca"]
    await app.stop_extension()
    app.eca_server = EcaServer(serverapp)
    app.watch = KernelWatch(serverapp, app.eca_server)
    app.watch.start()


async def test_a_panel_goes_on_with_a_chat_of_its_notebook_after_the_server_was_restarted_and_others_do_not(
    jp_serverapp: Any, jp_root_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(jp_root_dir)
    async with kernel(jp_serverapp, "a.ipynb") as at:
        page = await Panels(at).show(f"{LOAD}\n%eca panel")
        await page.greet()
        chat = page.chat
        await page.request("chat/prompt", {"chatId": chat, "message": "hello"})
        await page.says(chat, "Hello, hello")
    await begun_anew(jp_serverapp)
    async with kernel(jp_serverapp, "a.ipynb") as same, kernel(jp_serverapp, "b.ipynb") as other:
        again = await Panels(same).show(f"{LOAD}\n%eca panel {chat}")
        await again.greet()
        assert (await again.request("chat/open", {"chatId": chat}))["found"]
        await again.says(chat, "Hello, hello")
        await again.request("chat/prompt", {"chatId": chat, "message": "once more"})
        await again.says(chat, "Hello, once more")
        page = await Panels(other).show(f"{LOAD}\n%eca panel {chat}")
        await page.greet()
        assert "did not ask in that chat" in (await page.request("chat/open", {"chatId": chat}))["message"]
