"""Voila: a page made of a notebook, with a panel for its visitors. Its server has no assistant, so the kernel has."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

import jupyter_eca
from tests.apps.kernel.environments import environment
from tests.apps.kernel.nbclient_notebook import LOAD, document
from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.lab import START_SECONDS, _end, _environment  # pyright: ignore[reportPrivateUsage]  # started otherwise
from tests.e2e.browser.widgets import SECONDS
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page, WebSocketRoute

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "I read: {result}"}]},
    {"message": "sum", "reply": [{"tool": "run_code", "arguments": {"code": "total = sum(range(10))\ntotal"}}]},
    {"message": "", "reply": [{"text": "You said: {message}", "chunk": 4}]},
]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("voila") / "env", "voila")


@pytest.fixture
def url(tmp_path: Path, python: Path) -> Iterator[str]:
    root, config = tmp_path / "root", tmp_path / "home" / ".config" / "eca"
    root.mkdir()
    config.mkdir(parents=True)
    (config / "config.json").write_text(json.dumps(settings(tmp_path, RULES)))
    cells = (LOAD, "%eca hello", "%eca what is the sum?", "%eca panel")
    (root / "story.ipynb").write_text(json.dumps(document(*cells)))
    token, log, port = secrets.token_hex(16), tmp_path / "voila.log", free_port()
    options = ("--no-browser", f"--port={port}", f"--token={token}", "--Voila.ip=127.0.0.1")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [python, "-m", "voila", "story.ipynb", *options],
            cwd=root,
            env={**_environment(tmp_path), "PYTHONPATH": str(Path(jupyter_eca.__file__).parents[1])},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        wait(process, port, log)
        yield f"http://127.0.0.1:{port}/?token={token}"
    finally:
        _end(process)


def free_port() -> int:
    """Voila does not tell which one it took."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = monotonic() + START_SECONDS
    while process.poll() is None and monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
    pytest.fail(f"Voila did not start:\n{log.read_text(errors='replace')}")


def test_a_visitor_reads_the_answers_and_asks_and_approves_in_the_panel(page: Page, url: str) -> None:
    page.goto(url)
    panel = Panel(page)
    expect(panel.node.locator(".eca-Connection.eca-mod-open")).to_have_count(1, timeout=SECONDS * 1000)
    expect(page.locator("body")).to_contain_text("You said: hello")
    expect(page.locator("body")).to_contain_text("not run: it needs approval, and nobody is there to give it")
    panel.ask("what is the sum?")
    panel.button("Approve").click(timeout=SECONDS * 1000)
    panel.sees("I read: 45", SECONDS)
    panel.wait_until_idle()


def test_what_a_visitor_types_before_the_connection_is_there_stays_and_can_be_sent(page: Page, url: str) -> None:
    held: list[tuple[WebSocketRoute, str | bytes]] = []
    released = False

    def hold_back(route: WebSocketRoute) -> None:
        server = route.connect_to_server()

        def send(message: str | bytes) -> None:
            text = message if isinstance(message, str) else message.decode("utf-8", "replace")
            if not released and '"open":true' in text.replace(" ", ""):
                held.append((server, message))
            else:
                server.send(message)

        route.on_message(send)

    page.route_web_socket("**/channels*", hold_back)
    page.goto(url)
    panel = Panel(page)
    expect(panel.box).to_be_visible(timeout=SECONDS * 1000)
    panel.box.fill("too early")
    assert held
    released = True
    for server, message in held:
        server.send(message)
    expect(panel.node.locator(".eca-Connection.eca-mod-open")).to_have_count(1, timeout=SECONDS * 1000)
    expect(panel.box).to_have_value("too early")
    panel.box.press("Enter")
    panel.sees("You said: too early", SECONDS)


def test_what_a_visitor_types_survives_a_reload_though_the_kernel_and_its_chat_are_new(page: Page, url: str) -> None:
    page.goto(url)
    panel = Panel(page)
    expect(panel.node.locator(".eca-Connection.eca-mod-open")).to_have_count(1, timeout=SECONDS * 1000)
    panel.box.fill("half a thought")
    page.reload()
    expect(panel.node.locator(".eca-Connection.eca-mod-open")).to_have_count(1, timeout=SECONDS * 1000)
    expect(panel.box).to_have_value("half a thought")
    panel.box.press("Enter")
    panel.sees("You said: half a thought", SECONDS)
    panel.wait_until_idle()
    page.reload()
    expect(panel.node.locator(".eca-Connection.eca-mod-open")).to_have_count(1, timeout=SECONDS * 1000)
    expect(panel.box).to_have_value("")


def test_formulas_are_drawn(page: Page, url: str) -> None:
    page.goto(url)
    panel = Panel(page)
    expect(panel.node.locator(".eca-Connection.eca-mod-open")).to_have_count(1, timeout=SECONDS * 1000)
    panel.ask("$a_1$")
    expect(panel.node.locator(".eca-Answer mjx-container")).to_have_count(1, timeout=SECONDS * 1000)
