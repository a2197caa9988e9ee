"""The tour as somebody meets it who has read the README and typed `make lab`."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS
from tests.e2e.browser.lab import (  # the same Lab, started otherwise
    STOP_SECONDS,
    _environment,  # pyright: ignore[reportPrivateUsage]
    _wait_for,  # pyright: ignore[reportPrivateUsage]
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[3]


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    token, log = secrets.token_hex(16), tmp_path / "lab.log"
    options = ("--no-browser", "--allow-root", "--ip=127.0.0.1", "--ServerApp.port=0")
    shown = (f"--IdentityProvider.token={token}", "--LabApp.expose_app_in_browser=True")
    with log.open("wb") as output:
        process = subprocess.Popen(
            # `-o`: what is installed here is tested, whatever is newer.
            [shutil.which("make") or "make", "-o", ".venv/.installed", "lab", f"ROOT={' '.join((*options, *shown))}"],
            cwd=ROOT,
            env=_environment(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        _wait_for(process, tmp_path / "runtime", token, log)
        (printed, *_) = re.findall(r"http://127\.0\.0\.1:\S+", log.read_text())
        # Jupyter prints the token as "..." in the log of a server whose token was configured.
        yield f"{printed.partition('?')[0]}?token={token}"
    finally:
        # make does not wait for a server that it ends. A server that is ended takes its kernels and make along. It does
        # not end if a page asks for a file in that moment: the thread that reads files for Jupyter goes on waiting.
        servers = [int(file.stem.partition("-")[2]) for file in (tmp_path / "runtime").glob("jpserver-*.json")]
        for server in servers:
            os.kill(server, signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            for server in servers:
                os.kill(server, signal.SIGKILL)
            process.wait(STOP_SECONDS)


def test_the_printed_address_opens_the_tour(page: Page, url: str, tmp_path: Path) -> None:
    assert urlsplit(url).path == "/lab/tree/01_hello.ipynb"
    (server,) = (tmp_path / "runtime").glob("jpserver-*.json")
    assert json.loads(server.read_text())["root_dir"] == str(ROOT / "tour")
    page.goto(url)
    expect(page.get_by_role("heading", name="Hello, assistant")).to_be_visible(timeout=SECONDS * 1000)
    # JupyterLab writes the kernel into the notebook as soon as it answers. Nothing of that is new.
    page.wait_for_function(
        """async () => {
          const { context } = window.jupyterapp.shell.currentWidget;
          const kernel = context.sessionContext.session?.kernel;
          return kernel?.status === 'idle' && (await kernel.info).language_info.name === 'python';
        }""",
        timeout=SECONDS * 1000,
    )
    panel = "window.jupyterapp.shell.currentWidget"
    assert page.evaluate(f"() => {panel}.context.model.dirty") is False
    assert page.evaluate(f"() => {panel}.content.widgets.some(cell => cell.model.outputs?.length)") is False


@pytest.mark.nightly
def test_the_tour_has_its_answers(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.get_by_role("heading", name="Hello, assistant")).to_be_visible(timeout=SECONDS * 1000)
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'",
        timeout=SECONDS * 1000,
    )
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    page.get_by_role("button", name="Approve", exact=True).click(timeout=SECONDS * 1000)
    outputs = page.locator(".jp-Notebook .jp-OutputArea-output")
    expect(outputs.filter(has_text="The answer is 'Porto', and it is in your kernel now")).to_be_visible(
        timeout=SECONDS * 1000
    )
    expect(outputs.filter(has_text="Model: scripted/tour")).to_be_visible(timeout=SECONDS * 1000)


def test_it_says_what_it_builds() -> None:
    """Of a folder in which nothing was made yet, without making it."""
    plan = subprocess.run(
        [shutil.which("make") or "make", "-n", "-B", "lab"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert plan.index('echo "Making a Python environment') < plan.index("-m venv")
    assert plan.index('echo "Building the panel') < plan.index("pip install -q -e")
