"""What a visitor of Binder meets: built by `binder/try` as repo2docker would, started by `binder/start`, with no
network and no key. It takes minutes, most of them pip's and npm's."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.apps.kernel.test_locking_nbval import REFUSING
from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import _end, _wait_for  # pyright: ignore[reportPrivateUsage]  # the same Lab, started otherwise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

ROOT = Path(__file__).parents[3]
BUILD_SECONDS = 1800
# Of a cell: the embedded model is slow on a small machine.
CELL_SECONDS = 120
KEY = "-".join(("sk", "ant", "typed", "by-a-visitor", "0123456789"))  # in pieces: nothing here looks like a key

IDLE = """() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"""
DONE = """() => window.jupyterapp.shell.currentWidget.content.widgets.filter(cell => cell.model.type === 'code')
    .every(cell => cell.model.executionState === 'idle' && cell.model.executionCount)"""
OUTPUT = """() => JSON.stringify(window.jupyterapp.shell.currentWidget.content.widgets
    .filter(cell => cell.model.type === 'code').map(cell => cell.model.outputs.toJSON()))"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With $BINDER_BUILT, what `binder/try` has made before."""
    if ready := os.environ.get("BINDER_BUILT"):
        return Path(ready)
    folder = tmp_path_factory.mktemp("binder")
    environment = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(
        [ROOT / "binder" / "try", folder], env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return folder


@pytest.fixture
def url(built: Path, tmp_path: Path) -> Iterator[str]:
    """As Binder starts it: `start` before a plain `jupyter lab`, in the repository's folder."""
    home, env, guard = built / "home", built / "env", tmp_path / "guard"
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(f"LOG = {str(guard / 'log')!r}{REFUSING}")
    token, runtime = secrets.token_hex(16), home / "runtime"
    options = ("--no-browser", "--allow-root", "--ip=127.0.0.1", "--ServerApp.port=0")
    shown = (f"--IdentityProvider.token={token}", "--LabApp.expose_app_in_browser=True")
    with (tmp_path / "lab.log").open("wb") as log:
        process = subprocess.Popen(
            [home / "binder" / "start", "jupyter", "lab", *options, *shown],
            cwd=home,
            env={
                "HOME": str(home),
                "PATH": f"{env / 'bin'}:/usr/bin:/bin",
                "PYTHONPATH": str(guard),
                "JUPYTER_RUNTIME_DIR": str(runtime),
                "LANG": "C.UTF-8",
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield f"{_wait_for(process, runtime, token, tmp_path / 'lab.log')}?token={token}"
    finally:
        _end(process)
    tried = (guard / "log").read_text().splitlines() if (guard / "log").exists() else []
    # A key that is typed in is tried at its provider, by https; nothing else wants to leave the machine.
    assert [address for address in tried if ", 443" not in address] == []


def run_all(page: Page) -> str:
    page.wait_for_function(IDLE, timeout=CELL_SECONDS * 1000)
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    if page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path") == "01_hello.ipynb":
        page.get_by_role("button", name="Approve", exact=True).click(timeout=CELL_SECONDS * 1000)
    page.wait_for_function(DONE, timeout=CELL_SECONDS * 1000)
    return page.evaluate(OUTPUT)


def test_a_visitor_finds_the_tour_and_the_offline_model_and_leaves_no_key_behind(
    page: Page, url: str, built: Path
) -> None:
    elsewhere: list[str] = []
    page.on("request", lambda request: elsewhere.append(request.url) if "//127.0.0.1:" not in request.url else None)
    page.goto(url)
    expect(page.get_by_role("heading", name="Hello, assistant")).to_be_visible(timeout=CELL_SECONDS * 1000)
    said = run_all(page)
    assert "The answer is 'Porto', and it is in your kernel now" in said
    assert "The engine runs in the Jupyter server. Model: `scripted/tour`" in said

    page.evaluate("() => { window.jupyterapp.commands.execute('docmanager:open', {path: '02_offline_model.ipynb'}); }")
    expect(page.get_by_role("heading", name="A model without a key and without a network")).to_be_visible(
        timeout=CELL_SECONDS * 1000
    )
    said = run_all(page)
    assert '"ename"' not in said
    assert len(said) > 500

    panel = Panel.show(page)
    panel.ask("/login anthropic")
    box = panel.node.locator("input[type=password]")
    expect(panel.node.get_by_text("kept in memory only").first).to_be_visible(timeout=SECONDS * 1000)
    box.fill(KEY)
    box.press("Enter")
    panel.sees("The key was kept. It could not be tried yet", CELL_SECONDS)
    page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save-all'); }")
    files = [file for file in (built / "home").rglob("*") if file.is_file()]
    assert any(file.name == "chats.db" for file in files)
    assert [file.name for file in files if KEY.encode() in file.read_bytes()] == []
    assert [address for address in elsewhere if address.startswith("http")] == []
