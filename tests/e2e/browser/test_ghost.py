"""Completion while typing, in a real JupyterLab: what could come next stands at the cursor as ghost text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import SECONDS, Notebook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Page, WebSocket

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

RULES: list[dict[str, Any]] = [
    {"message": r"(?s)# All of it.*prices = \[1\].*total = </before>", "reply": [{"text": "sum(prices)"}]},
    {"message": "slow = </before>", "reply": [{"text": "never shown", "delay": 600}]},
    {"message": "broken = </before>", "reply": [{"error": "no such model", "status": 404}]},
    {"message": "area = </before>", "reply": [{"text": "width * height"}]},
    {"message": "", "reply": [{"text": ""}]},
]
_CANCELLED = -32800


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "ghost.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"ghost": {"script": str(script)}}
    eca = {"completion": {"model": "scripted/ghost"}, "providers": {"scripted": {"models": models}}}
    return LabSettings(eca=eca)


@dataclass
class Frames:
    """What a page and the assistant's server say to each other."""

    page: Page
    sent: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    received: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def __post_init__(self) -> None:
        self.page.on("websocket", self._follow)

    def _follow(self, socket: WebSocket) -> None:
        if "/eca/ws" in socket.url:
            socket.on("framesent", lambda text: self.sent.append(json.loads(text)))
            socket.on("framereceived", lambda text: self.received.append(json.loads(text)))

    def wait_for_question(self, after: str) -> object:
        """The id of the completion that was asked for behind this text."""

        def ids() -> list[object]:
            asked = [one for one in self.sent if one.get("method") == "completion/inline"]
            return [one["id"] for one in asked if one["params"]["docText"].endswith(after)]

        self._wait_until(lambda: bool(ids()))
        return ids()[0]

    def wait_for_error(self, id: object) -> dict[str, Any]:
        self._wait_until(lambda: any(message.get("id") == id for message in self.received))
        return next(message["error"] for message in self.received if message.get("id") == id)

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        deadline = monotonic() + SECONDS
        while not condition():
            assert monotonic() < deadline, f"sent {self.sent}, received {self.received}"
            # Playwright hears of frames while it waits for the page.
            self.page.evaluate("() => new Promise(requestAnimationFrame)")


ON = json.dumps({"inlineCompletion": True})


@pytest.fixture
def settings(lab: Lab) -> Iterator[Path]:
    """The file of Lab's settings of us, as each test begins and leaves it: none."""
    file = lab.root.parent / "config" / "lab" / "user-settings" / "jupyter-eca" / "plugin.jupyterlab-settings"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    yield file
    file.unlink(missing_ok=True)


def switch_on(page: Page) -> None:
    """As Lab's settings editor saves it. Holds once the page is loaded anew."""
    page.evaluate("raw => window.jupyterapp.serviceManager.settings.save('jupyter-eca:plugin', raw)", ON)


def type_in(notebook: Notebook, n: int, text: str) -> None:
    notebook.cell(n).locator(".cm-content").click()
    notebook.page.keyboard.press("Control+End")
    notebook.page.keyboard.type(text)


@pytest.mark.usefixtures("settings")
def test_what_could_come_next_is_shown_and_taken_with_tab_and_is_off_until_switched_on(page: Page, lab: Lab) -> None:
    frames = Frames(page)
    ghost = page.locator(".jp-GhostText")
    # One kernel for both.
    sources = ["# All of it", "prices = [1]", ""]
    off = Notebook.show(page, lab, sources, "ghost.ipynb")
    type_in(off, 2, "total = ")
    # At once, without the pause in typing.
    off.execute("inline-completer:invoke")
    switch_on(page)
    assert frames.sent == []

    notebook = Notebook.show(page, lab, sources, "ghost.ipynb")
    type_in(notebook, 2, "total =")
    page.keyboard.press("Space")
    expect(ghost).to_have_text("sum(prices)", timeout=SECONDS * 1000)
    page.keyboard.press("Tab")
    notebook.wait_for_sources([*sources[:2], "total = sum(prices)"])

    page.keyboard.press("Enter")
    (lab.root / "area.py").write_text("")
    page.evaluate("() => void window.jupyterapp.commands.execute('docmanager:open', { path: 'area.py' })")
    page.locator(".jp-FileEditor .cm-content").click()
    page.keyboard.type("area = ")
    expect(ghost).to_have_text("width * height", timeout=SECONDS * 1000)


@pytest.mark.nightly
def test_a_key_takes_the_question_back_and_a_failure_is_told_once_and_quietly(
    page: Page, lab: Lab, settings: Path
) -> None:
    settings.write_text(ON)
    frames = Frames(page)
    notebook = Notebook.show(page, lab, [""], "keys.ipynb")
    type_in(notebook, 0, "slow = ")
    asked = frames.wait_for_question("slow = ")
    page.keyboard.press("x")
    assert frames.wait_for_error(asked)["code"] == _CANCELLED
    expect(page.locator(".jp-GhostText")).to_have_count(0)

    for line in ("slow = x\nbroken = ", "broken = \nbroken = "):
        page.keyboard.press("Enter")
        page.keyboard.type("broken = ")
        assert "no such model" in frames.wait_for_error(frames.wait_for_question(line))["message"]
    expect(page.locator(".Toastify__toast")).to_have_count(0)
    page.locator(".jp-Notification-Status").click()
    expect(page.locator(".jp-Notification-List-Item")).to_have_count(1)
    expect(page.locator(".jp-Notification-List-Item")).to_contain_text("no such model")
