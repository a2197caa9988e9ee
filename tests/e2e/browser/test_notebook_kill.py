"""The server, the kernel or the page ends at once in the middle of an edit of a notebook that is open: what is there
then is the notebook from before the edit or from after it."""

from __future__ import annotations

import itertools
import json
import os
import signal
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.lab import LabSettings, running_lab
from tests.e2e.browser.notebook import SECONDS, Notebook

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from playwright.sync_api import Page, WebSocketRoute

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

# The cell that is moved is deleted and inserted anew in the page's model: half of that would be a loss.
BEFORE = ["import os\nos.getpid()", "two = 2", "three = 3"]
AFTER = [*BEFORE[1:], BEFORE[0]]
MOVED, NOT_MOVED = "It is moved.", "It is not moved."

# On the way of an edit: a message, and whether it still arrives.
POINTS = tuple(itertools.product(("approval", "request", "answer"), ("lost", "arrived")))

# Each of these stands for its neighbours too; the others are for the night.
SHORT = {
    ("server", "request", "arrived"),
    ("page", "answer", "lost"),
}


def points(victim: str) -> list[Any]:
    """Those of one victim, as parameters."""
    return [
        pytest.param(*point, id="-".join(point), marks=() if (victim, *point) in SHORT else pytest.mark.nightly)
        for point in POINTS
    ]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "move.json"
    move = {"tool": "notebook_move_cell", "arguments": {"cell": "c0", "index": 3}}
    rules: list[dict[str, Any]] = [
        {"result": "Moved cell", "reply": [{"text": MOVED}]},
        {"result": "Nothing was changed", "reply": [{"text": NOT_MOVED}]},
        {"message": "", "reply": [move]},
    ]
    script.write_text(json.dumps({"rules": rules}))
    models = {"move": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/move", "providers": {"scripted": {"models": models}}})


@dataclass
class Tap:
    """On the connection of the page with its server; to be made before the panel is opened. When the message of a point
    comes by, `act` is called, before the message is sent on."""

    page: Page
    message: str
    arrives: bool
    act: Callable[[], None] = lambda: None
    over: bool = False
    asked: list[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        self.page.route_web_socket("**/eca/ws*", self._through)

    def _through(self, route: WebSocketRoute) -> None:
        server = route.connect_to_server()
        route.on_message(lambda text: self._said("page", text, server.send))
        server.on_message(lambda text: self._said("server", text, route.send))

    def _said(self, by: str, text: str | bytes, send: Callable[[str | bytes], None]) -> None:
        message = json.loads(text)
        method, id = message.get("method"), message.get("id")
        if by == "server" and method == "notebook/edit":
            self.asked.append(id)
        name = {
            ("page", "chat/toolCallApprove"): "approval",
            ("server", "notebook/edit"): "request",
            ("page", None): "answer" if id in self.asked else "",
        }.get((by, method))
        if name != self.message or self.over:
            send(text)
            return
        if self.arrives:
            send(text)
        self.act()
        self.over = True

    def wait(self) -> None:
        deadline = monotonic() + SECONDS
        while not self.over:
            assert monotonic() < deadline, f"no {self.message} came by"
            # Playwright hears of messages while it waits for the page.
            self.page.evaluate("() => new Promise(requestAnimationFrame)")


def asked(tap: Tap, lab: Lab, name: str) -> tuple[Notebook, Panel]:
    """A notebook that ran, and an edit of it that waits for approval."""
    notebook = Notebook.open(tap.page, lab, BEFORE, name)
    notebook.run(0)
    notebook.wait_until_run(0)
    panel = Panel.show(tap.page)
    panel.ask(f"Move it in {name}")
    return notebook, panel


def approve(tap: Tap, panel: Panel) -> None:
    panel.call("waiting").get_by_role("button", name="Approve", exact=True).click(timeout=SECONDS * 1000)
    tap.wait()


def on_disk(notebook: Notebook) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook.read()["cells"]]


@contextmanager
def killable(settings: LabSettings, folder: Path) -> Generator[tuple[Lab, Callable[[], None]]]:
    """A Lab, and what kills its server; the kernels that are left are ended too."""
    left: list[psutil.Process] = []
    with running_lab(settings, folder) as lab:
        (note,) = (folder / "runtime").glob("jpserver-*.json")
        server = psutil.Process(json.loads(note.read_text())["pid"])

        def kill() -> None:
            left.extend(server.children(recursive=True))
            server.kill()

        try:
            yield lab, kill
        finally:
            for process in left:
                with suppress(psutil.NoSuchProcess):
                    process.kill()


@pytest.mark.nightly
@pytest.mark.parametrize(("message", "fate"), points("server"))
def test_a_server_that_is_killed_in_mid_edit_leaves_before_or_after(
    page: Page, tmp_path: Path, lab_settings: LabSettings, message: str, fate: str
) -> None:
    with killable(lab_settings, tmp_path) as (lab, kill):
        tap = Tap(page, message, fate == "arrived", kill)
        notebook, panel = asked(tap, lab, "server.ipynb")
        approve(tap, panel)
        expect(panel.node.locator(".eca-Connection.eca-mod-open")).to_have_count(0, timeout=SECONDS * 1000)
        assert notebook.sources() in (BEFORE, AFTER)
        if message == "answer":
            assert notebook.sources() == AFTER
        assert on_disk(notebook) == BEFORE


@pytest.mark.nightly
@pytest.mark.parametrize(
    "message", ["request", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("approval", "answer"))]
)
def test_a_kernel_that_is_killed_in_mid_edit_takes_nothing_of_it(page: Page, lab: Lab, message: str) -> None:
    tap = Tap(page, message, arrives=True)
    notebook, panel = asked(tap, lab, f"kernel-{message}.ipynb")
    kernel = int(notebook.output(0).split()[-1])
    tap.act = lambda: os.kill(kernel, signal.SIGKILL)
    approve(tap, panel)
    panel.sees(MOVED, SECONDS)
    assert notebook.sources() == AFTER
    assert str(kernel) in notebook.output(2)
    notebook.save()
    assert on_disk(notebook) == AFTER


@pytest.mark.nightly
@pytest.mark.parametrize(("message", "fate"), points("page"))
def test_a_page_that_is_loaded_anew_in_mid_edit_shows_before_or_after(
    page: Page, lab: Lab, message: str, fate: str
) -> None:
    tap = Tap(page, message, fate == "arrived")
    name = f"page-{message}-{fate}.ipynb"
    notebook, panel = asked(tap, lab, name)
    approve(tap, panel)
    page.goto(lab.address(name))
    notebook.wait_until("window.jupyterapp?.shell.currentWidget?.context?.isReady")
    assert notebook.sources() in (BEFORE, AFTER)
    assert notebook.sources() == on_disk(notebook)
    if fate == "lost" and message != "approval":
        panel = Panel.show(page)
        panel.button("All chats").click()
        page.get_by_role("searchbox", name="Find a chat").fill(name)
        panel.node.locator(".eca-Chats-open").first.click()
        panel.sees(NOT_MOVED, SECONDS)
