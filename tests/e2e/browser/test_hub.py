"""A server of a JupyterHub: what the assistant does in it keeps it running, a page says when it was ended, and goes on
when the proxy or the hub was."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from tests.apps.hub.gateway_parts import install_proxy
from tests.apps.server.test_websocket import START, reply, until_method
from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.hub import PASSWORD, START_SECONDS, USER, running_hub, wait_until
from tests.e2e.browser.lab import Lab, LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.oldest_lab import build_environment
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.e2e.browser.hub import Hub

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

# Longer than the idle time after which the hub ends a server.
WORK = "sleep 60; touch done"
CULLS_AFTER = "25"
JOB = {"command": WORK, "timeout": 300, "background": True}

# An answer of half a minute: longer than a proxy is away.
WORDS = [f"n{number}" for number in range(600)]

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "It has worked."}]},
    {"message": "hello", "reply": [{"text": "Good day."}]},
    {"message": "work", "reply": [{"tool": "shell_command", "arguments": {"command": WORK, "timeout": 300}}]},
    {"message": "job", "reply": [{"tool": "shell_command", "arguments": JOB}]},
    {"message": "count", "reply": [{"text": " ".join(WORDS), "chunk": 5, "delay": 0.05}]},
    {"message": "wait", "reply": [{"tool": "write_file", "arguments": {"path": "a", "content": ""}}]},
    {"message": "", "reply": [{"text": "Good day."}]},
]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    packages = ("jupyterhub>=5,<6", "jupyterhub-idle-culler", "jupyterlab>=4.6,<5")
    return build_environment(tmp_path_factory.mktemp("hub-environment") / "venv", *packages)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_proxy(tmp_path_factory.mktemp("proxy"))


@pytest.fixture
def culls_after() -> str:
    return ""


@pytest.fixture
def outlives() -> bool:
    return False


@pytest.fixture
def hub(python: Path, proxy: Path, tmp_path: Path, culls_after: str, outlives: bool) -> Iterator[Hub]:
    folder = tmp_path / "hub"
    folder.mkdir()
    eca = settings(folder, RULES, toolCall={"approval": {"allow": {"shell_command": {}}}})
    with running_hub(python, proxy, folder, eca, culls_after, outlives=outlives) as hub:
        yield hub


@dataclass(frozen=True)
class HubLab(Lab):
    """The JupyterLab of the user, who has logged in."""

    def address(self, path: str) -> str:
        return f"{self.url}lab/tree/{path}?reset"


def log_in(page: Page, hub: Hub, user: str = USER) -> None:
    page.goto(f"{hub.url}hub/login?next=/base/user/{USER}/lab%3Freset")
    page.locator("#username_input").fill(user)
    page.locator("#password_input").fill(PASSWORD)
    page.locator("#login_submit").click()


def open_panel(page: Page, hub: Hub) -> Panel:
    hub.start_server()
    log_in(page, hub)
    panel = Panel.show(page)
    # Lab's question about news lies over the panel.
    page.get_by_role("button", name="No", exact=True).click()
    return panel


def open_notebook(page: Page, hub: Hub, *sources: str) -> Notebook:
    lab = HubLab(LabSettings(), f"{hub.url}user/{USER}/", "", hub.home, hub.home / "lab.log", lambda: None)
    return Notebook.open(page, lab, sources)


def test_somebody_who_is_not_known_is_told_so_by_the_page_where_one_logs_in(page: Page, hub: Hub) -> None:
    log_in(page, hub, "eve")
    expect(page.get_by_text("Invalid username or password")).to_be_visible()


@pytest.mark.parametrize("culls_after", [CULLS_AFTER])
@pytest.mark.parametrize(("message", "status"), [("work", "running"), ("job", "done"), ("wait", "waiting")])
def test_a_turn_or_job_that_works_keeps_the_server_and_a_turn_that_waits_does_not(
    page: Page, hub: Hub, message: str, status: str
) -> None:
    panel = open_panel(page, hub)
    panel.ask(message)
    expect(panel.call(status)).to_have_count(1)
    page.goto("about:blank")
    wait_until(lambda: not hub.is_running(), START_SECONDS * 2)
    assert (hub.home / "done").exists() is (message != "wait")


def kill_own_proxy(hub: Hub) -> None:
    """The hub notices, and starts it again."""
    hub.kill_proxy()


def kill_other_proxy(hub: Hub) -> None:
    """It knows no server until the hub tells it."""
    hub.kill_proxy()
    hub.start_proxy()


def restart_hub(hub: Hub) -> None:
    hub.stop()
    hub.start()


@pytest.mark.parametrize(
    ("outlives", "trouble"), [(False, kill_own_proxy), (True, kill_other_proxy), (True, restart_hub)]
)
def test_answers_in_the_panel_and_in_a_cell_go_on_when_the_proxy_or_the_hub_ends(
    page: Page, hub: Hub, trouble: Callable[[Hub], None]
) -> None:
    open_panel(page, hub)
    notebook = open_notebook(page, hub, "%load_ext jupyter_eca", "%%eca\ncount in the cell")
    panel = Panel.show(page)
    notebook.run(0)
    notebook.wait_until_run(0)
    panel.ask("count in the panel")
    notebook.run(1)
    panel.sees(WORDS[20])
    notebook.wait_for_output(1, WORDS[20])
    trouble(hub)
    panel.sees(WORDS[-1], START_SECONDS)
    notebook.wait_for_output(1, WORDS[-1], START_SECONDS)
    assert panel.node.locator(".eca-Answer").inner_text().split() == WORDS
    assert [word for word in notebook.output(1).split() if word in WORDS] == WORDS
    # The server and the login of the user are there as before. JupyterLab itself may ask whether to start the server.
    page.add_locator_handler(
        page.get_by_role("dialog"), lambda dialog: dialog.get_by_role("button", name="Dismiss").click()
    )
    panel.box.click()
    panel.ask("hello")
    panel.sees("Good day.", START_SECONDS)
    page.reload()
    Panel.show(page).sees("Good day.")


async def approve_what_waits(address: str, token: str) -> list[str]:
    """Approve the calls that wait in all chats, as a program with this token. Return the ids of the calls."""
    request = HTTPRequest(address, headers={"Authorization": f"token {token}"})
    socket = await websocket_connect(request)
    assert "result" in await reply(socket, START)
    ask: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "chat/list", "params": {}}
    (chat,) = (await reply(socket, ask))["result"]["chats"]
    opening = {"jsonrpc": "2.0", "id": 3, "method": "chat/open", "params": {"chatId": chat["id"]}}
    await socket.write_message(json.dumps(opening))
    async with asyncio.timeout(START_SECONDS):
        while (content := (await until_method(socket, "chat/contentReceived"))["content"])["type"] != "toolCallRun":
            pass
    told = {"chatId": chat["id"], "toolCallId": content["id"]}
    await socket.write_message(json.dumps({"jsonrpc": "2.0", "method": "chat/toolCallApprove", "params": told}))
    assert "result" in await reply(socket, {**ask, "id": 4})  # everything before it has been handled
    socket.close()
    return [content["id"]]


def read_own_token(hub: Hub) -> str:
    """The token of the user's server, which each of its kernels can read."""
    return hub.find_server().environ()["JUPYTERHUB_API_TOKEN"]


def test_code_with_the_token_of_the_server_approves_nothing_and_the_user_does(page: Page, hub: Hub) -> None:
    panel = open_panel(page, hub)
    panel.ask("wait")
    expect(panel.call("waiting")).to_have_count(1)
    address = f"{hub.url.replace('http', 'ws', 1)}user/{USER}/eca/ws"
    with ThreadPoolExecutor() as pool:  # a loop runs in this thread already
        assert pool.submit(asyncio.run, approve_what_waits(address, read_own_token(hub))).result()
    expect(panel.call("waiting")).to_have_count(1)
    assert not (hub.home / "a").exists()
    panel.button("Approve").click()
    panel.sees("It has worked.")
    assert (hub.home / "a").exists()


def test_a_page_whose_server_was_ended_says_so_and_leads_back(page: Page, hub: Hub) -> None:
    panel = open_panel(page, hub)
    panel.ask("hello")
    panel.sees("Good day.")
    hub.stop_server()
    status = panel.node.locator(".eca-Status")
    expect(status).to_contain_text("The server is not running.", timeout=START_SECONDS * 1000)
    hub.start_server()
    # The hub has forgotten what the page could sign in with.
    expect(status).to_contain_text("You are signed out.", timeout=START_SECONDS * 1000)
    # Lab itself offers to start the server anew, if it has asked for something while there was none.
    dismiss = page.get_by_role("dialog").get_by_role("button", name="Dismiss")
    page.add_locator_handler(dismiss, lambda: dismiss.click())
    panel.button("Reload the page").click()
    panel = Panel.show(page)
    panel.sees("Good day.")
