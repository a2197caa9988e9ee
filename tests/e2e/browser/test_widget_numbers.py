"""What a panel in a cell costs a reader, measured in the page. By night: the machine must be at rest."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.widgets import CellPanel
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

LONG = "word " * 2000
# Notes when it began.
_CODE = "import pathlib, time\npathlib.Path('acted').write_text(str(time.time()))"
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "act", "reply": [{"tool": "run_code", "arguments": {"code": _CODE}}]},
    {"message": "long", "reply": [{"text": LONG, "chunk": 5}, {"text": "\n\nThe end."}]},
]

_NOTEBOOKS = 4
_ROUNDS = 6

# Bytes that a frame has beside the text: of Jupyter's message and of ours.
_FRAME = 1000

# Milliseconds from an act until the page shows what comes of it, seen at the next frame.
_UNTIL = """([act, sign]) => new Promise(resolve => {
  const began = performance.now();
  window.began = performance.timeOrigin + began;
  const look = () => {
    const found = document.evaluate(sign, document, null, XPathResult.ANY_UNORDERED_NODE_TYPE).singleNodeValue;
    found ? resolve(performance.now() - began) : requestAnimationFrame(look);
  };
  new Function(act)();
  look();
})"""
_RUN = """window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1;
void window.jupyterapp.commands.execute('notebook:run-cell')"""
# Its key may stand on the button, too.
_APPROVE = """[...document.querySelectorAll('.eca-Widget button')]
    .find(one => one.textContent.startsWith('Approve')).click()"""
_ACTS = "//*[contains(@class, 'eca-Tool') and not(@data-status='waiting') and @data-status]"
_SEND = "document.querySelector('.eca-Widget .eca-Send:not(.eca-mod-stop)').click()"


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    return LabSettings(eca=settings(tmp_path_factory.mktemp("script"), RULES))


def took(page: Page, act: str, sign: str) -> float:
    return float(page.evaluate(_UNTIL, [act, sign]))


def shown(page: Page, lab: Lab, name: str) -> tuple[Notebook, float]:
    """In a new kernel."""
    notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", "%eca panel"], name)
    notebook.run(0)
    notebook.wait_until_run(0)
    return notebook, took(page, _RUN, "//*[contains(@class, 'eca-Widget')]//textarea")


def test_a_panel_is_quick_to_show_to_act_and_to_stream(page: Page, lab: Lab, record_property: Any) -> None:
    received: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    figures: dict[str, list[float]] = {"shown": [], "acted": [], "seen to act": [], "streamed": []}
    for number in range(_NOTEBOOKS):
        figures["shown"].append(shown(page, lab, f"another{number}.ipynb")[1])
    notebook, once_more = shown(page, lab, "notebook.ipynb")
    figures["shown"].append(once_more)
    panel = CellPanel(notebook, 1)
    for _ in range(_ROUNDS):
        panel.button("New chat").click()
        panel.ask("act")
        panel.button("Approve").wait_for()
        # Somebody reads what is to be approved: the page has drawn it and the kernel is at rest.
        notebook.wait_until_idle()
        figures["seen to act"].append(took(page, _APPROVE, _ACTS))
        panel.sees("Done.")
        acted = float((lab.root / "acted").read_text())
        figures["acted"].append(acted * 1000 - page.evaluate("window.began"))
        panel.wait_until_idle()
    for _ in range(_ROUNDS):
        panel.button("New chat").click()
        panel.box.fill("long")
        received.clear()
        figures["streamed"].append(took(page, _SEND, "//*[contains(@class, 'eca-Widget')]//p[text()='The end.']"))
        panel.wait_until_idle()
        # How many chunks come in one frame depends on how busy the page is; nothing is sent again with each of them.
        assert sum(received) <= 4 * len(LONG) + _FRAME * len(received)
    for name, took_ms in figures.items():
        record_property(name, median(took_ms))
        print(f"{name}: median {median(took_ms):.0f} of {', '.join(f'{one:.0f}' for one in took_ms)} ms")
    print(f"the last answer: {sum(received)} bytes in {len(received)} frames")
