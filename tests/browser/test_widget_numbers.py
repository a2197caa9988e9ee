"""What a panel in a cell costs a reader, measured in the page. By night: the machine must be at rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.lab import LabSettings
from tests.browser.notebook import Notebook
from tests.browser.widgets import CellPanel
from tests.desk import settings

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

LONG = "word " * 2000
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "act", "reply": [{"tool": "run_code", "arguments": {"code": "1"}}]},
    {"message": "long", "reply": [{"text": LONG, "chunk": 5}, {"text": "\n\nThe end."}]},
]

# Bytes that a frame has beside the text: of Jupyter's message and of ours.
_FRAME = 1000

# Milliseconds from an act until the page shows what comes of it, seen at the next frame.
_UNTIL = """([act, sign]) => new Promise(resolve => {
  const began = performance.now();
  const look = () => {
    const found = document.evaluate(sign, document, null, XPathResult.ANY_UNORDERED_NODE_TYPE).singleNodeValue;
    found ? resolve(performance.now() - began) : requestAnimationFrame(look);
  };
  new Function(act)();
  look();
})"""
_RUN = """window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1;
void window.jupyterapp.commands.execute('notebook:run-cell')"""
_APPROVE = """[...document.querySelectorAll('.eca-Widget button')].find(one => one.textContent === 'Approve').click()"""
_SEND = "document.querySelector('.eca-Widget .eca-Send:not(.eca-mod-stop)').click()"


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    return LabSettings(eca=settings(tmp_path_factory.mktemp("script"), RULES))


def took(page: Page, act: str, sign: str) -> float:
    return float(page.evaluate(_UNTIL, [act, sign]))


def test_a_panel_is_quick_to_show_to_act_and_to_stream(page: Page, lab: Lab, record_property: Any) -> None:
    received: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", "%eca panel"])
    notebook.run(0)
    notebook.wait_until_run(0)
    shown = took(page, _RUN, "//*[contains(@class, 'eca-Widget')]//textarea")
    panel = CellPanel(notebook, 1)
    panel.ask("act")
    panel.button("Approve").wait_for()
    approved = took(
        page, _APPROVE, "//*[contains(@class, 'eca-Tool') and not(@data-status='waiting') and @data-status]"
    )
    panel.sees("Done.")
    panel.wait_until_idle()
    panel.button("New chat").click()
    panel.box.fill("long")
    received.clear()
    streamed = took(page, _SEND, "//*[contains(@class, 'eca-Widget')]//p[text()='The end.']")
    panel.wait_until_idle()
    for name, figure in {"shown": shown, "approved": approved, "streamed": streamed}.items():
        record_property(name, figure)
    frames = f"{sum(received)} bytes in {len(received)} frames"
    print(f"shown {shown:.0f} ms, approved {approved:.0f} ms, 2,000 chunks {streamed:.0f} ms, {frames}")
    # How many chunks come in one frame depends on how busy the page is; nothing is sent again with each of them.
    assert sum(received) <= 4 * len(LONG) + _FRAME * len(received)
