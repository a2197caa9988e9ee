"""Longer stories of the panel in a real JupyterLab: chats kept and found, two tabs, a server that goes away, and what
no server should send."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel, links
from tests.e2e.browser.lab import LabSettings

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page, WebSocketRoute

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

WRITE: dict[str, Any] = {"tool": "write_file", "arguments": {"path": "hymn.txt", "content": "bells\n"}}
NUMBERS = "".join(f"n{n} " for n in range(400))
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "The hymn is written."}]},
    {"message": "hymn", "reply": [{"text": "I write it. "}, WRITE]},
    {"message": "numbers", "reply": [{"text": NUMBERS, "chunk": 9, "delay": 0.02}]},
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "stories.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"stories": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/stories", "providers": {"scripted": {"models": models}}})


def said(panel: Panel, words: str) -> None:
    panel.ask(words)
    panel.sees(f"You said: {words}")
    panel.wait_until_idle()


def test_a_chat_is_changed_asked_again_exported_renamed_found_and_deleted(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    said(panel, "tulips")
    panel.box.press("ArrowUp")
    expect(panel.box).to_have_value("tulips")
    said(panel, "roses")
    expect(panel.transcript).not_to_contain_text("tulips")
    panel.message("roses").hover()
    panel.message("roses").get_by_role("button", name="Ask this again").click()
    panel.wait_until_idle()
    expect(panel.node.locator(".eca-Answer")).to_have_count(1)
    panel.sees("You said: roses")
    for kind in ("Notebook", "Markdown"):
        panel.button("Export this chat").click()
        panel.button(kind).click()
        suffix = {"Notebook": ".ipynb", "Markdown": ".md"}[kind]
        expect(panel.node.get_by_role("link", name=suffix)).to_have_count(1, timeout=SECONDS * 1000)
        panel.wait_until_idle()
        file = next(lab.root.glob(f"*{suffix}"))
        assert "You said: roses" in file.read_text()
        file.unlink()

    panel.button("All chats").click()
    row = panel.node.locator(".eca-Chats-open").first
    name = row.locator(".eca-Chats-title").inner_text()
    row.hover()
    panel.button(f"Rename {name}").click()
    page.get_by_role("textbox", name="New name").fill("Peonies")
    page.keyboard.press("Enter")
    page.get_by_role("searchbox", name="Find a chat").fill("peon")
    expect(panel.node.locator(".eca-Chats-open")).to_have_text([re.compile("Peonies")])
    panel.node.locator(".eca-Chats-open").hover()
    panel.button("Delete Peonies").click()
    expect(panel.node.locator(".eca-Chats-open")).to_have_count(0)


@pytest.mark.nightly
def test_two_tabs_agree_and_a_question_waits_for_the_end_of_the_answer(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("numbers for two tabs")
    panel.sees("n9 ")
    panel.box.fill("afterwards")
    panel.box.press("Alt+Enter")
    expect(panel.node.get_by_text("Waits for the end of the answer")).to_be_visible()
    other = Panel.open(page.context.new_page(), lab)
    other.button("All chats").click()
    other.node.locator(".eca-Chats-open", has_text="two tabs").first.click()
    for tab in (panel, other):
        tab.sees("You said: afterwards")
        tab.wait_until_idle()
    for tab in (panel, other):
        # Not what is in sight: a page that is behind another one does not draw what has come since.
        texts = tab.node.locator(".eca-Answer").all_text_contents()
        assert [text.strip() for text in texts] == [NUMBERS.strip(), "You said: afterwards"]
    said(other, "from here")
    panel.sees("You said: from here")


@pytest.mark.nightly
def test_a_server_that_is_started_anew_is_found_again_and_its_turn_has_an_end(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    said(panel, "before")
    panel.ask("numbers and a restart")
    panel.sees("n30 ")
    lab.restart()
    panel.wait_until_connected()
    panel.wait_until_idle()
    text = panel.transcript.inner_text()
    assert (text.count("n1 n2 n3 "), text.count("You said: before")) == (1, 1)
    if (dialog := page.locator(".jp-Dialog")).count():
        dialog.get_by_role("button").last.click()
    said(panel, "after")


@pytest.mark.nightly
def test_a_page_that_sleeps_misses_nothing_and_finds_the_approval_that_waits(page: Page, lab: Lab) -> None:
    """The machine sleeps in mid-answer, and once more while a call waits."""
    routes = links(page)
    panel = Panel.open(page, lab)
    panel.ask("numbers while asleep")
    panel.sees("n9 ")
    page.context.set_offline(True)
    routes[-1].close()
    expect(panel.node.locator(".eca-Connection.eca-mod-lost")).to_have_count(1)
    page.context.set_offline(False)
    panel.wait_until_connected()
    panel.wait_until_idle()
    assert panel.node.locator(".eca-Answer").all_inner_texts() == [NUMBERS.strip()]

    panel.ask("a hymn")
    expect(panel.call("waiting")).to_have_count(1, timeout=SECONDS * 1000)
    routes[-1].close()
    expect(panel.node.locator(".eca-Connection.eca-mod-lost")).to_have_count(1)
    panel.wait_until_connected()
    expect(panel.call("waiting")).to_have_count(1)
    panel.button("Approve").click()
    panel.sees("The hymn is written.")
    panel.wait_until_idle()
    assert panel.node.locator(".eca-Answer").all_inner_texts()[1:] == ["I write it.", "The hymn is written."]


# Each is wrong in another way: of no shape, of a wrong type, out of order, of a kind that nobody knows, of a call, a
# reasoning or a chat that nobody has heard of.
WRONG: list[Any] = [
    "no JSON {",
    [],
    {"jsonrpc": "2.0"},
    {"method": "chat/contentReceived"},
    {
        "method": "chat/contentReceived",
        "params": {"chatId": "CHAT", "role": "assistant", "content": {"type": "text", "text": {}}},
    },
    {"method": "chat/contentReceived", "params": {"chatId": "CHAT", "role": "assistant", "content": {"type": "usage"}}},
    {"method": "chat/contentReceived", "params": {"chatId": "CHAT", "role": "assistant", "content": None}},
    {
        "method": "chat/contentReceived",
        "params": {"chatId": "CHAT", "role": "assistant", "content": {"type": "hologram"}},
    },
    {
        "method": "chat/contentReceived",
        "params": {
            "chatId": "CHAT",
            "role": "assistant",
            "content": {"type": "reasonFinished", "id": "r", "totalTimeMs": 5},
        },
    },
    {
        "method": "chat/contentReceived",
        "params": {"chatId": "CHAT", "role": "system", "content": {"type": "metadata", "title": {"a": 1}}},
    },
    {
        "method": "chat/contentReceived",
        "params": {"chatId": "CHAT", "role": "system", "content": {"type": "toolCalled", "id": "x"}},
    },
    {"method": "chat/opened", "params": {"chatId": "CHAT", "title": ["no"]}},
    {"method": "chat/statusChanged", "params": {"chatId": "CHAT", "status": 7}},
    {"method": "chat/toolCallProgress", "params": {"chatId": "CHAT", "id": "unheard of", "text": "?"}},
    {"method": "config/updated", "params": {"chat": {"models": "all", "agents": 3}}},
    {"method": "$/showMessage", "params": {"type": "error", "message": {"not": "text"}}},
    {"method": "$/showMessage"},
    {"method": "tool/serverUpdated", "params": None},
    {"method": "jobs/updated", "params": {"jobs": [{"id": 1}]}},
    {"method": "no/such", "params": {}},
    {"id": "never asked", "result": {}},
]


def test_what_no_server_should_send_is_ignored_and_logged_and_the_panel_stays(page: Page, lab: Lab) -> None:
    routes: list[WebSocketRoute] = []
    chats: list[str] = []
    logged: list[str] = []
    failed: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.text.startswith("ECA: a malformed message was ignored"):
            logged.append(message.text)

    def through(route: WebSocketRoute) -> None:
        server = route.connect_to_server()
        routes.append(route)

        def on_message(text: str | bytes) -> None:
            message = json.loads(text)
            if message.get("method") == "chat/prompt":
                chats.append(message["params"]["chatId"])
            if "method" in message or "error" not in message:
                server.send(text)

        route.on_message(on_message)

    page.on("console", note)
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.route_web_socket("**/eca/ws*", through)
    panel = Panel.open(page, lab)
    said(panel, "before")
    failed.clear()
    for one in WRONG:
        text = one if isinstance(one, str) else json.dumps({"jsonrpc": "2.0", **one} if isinstance(one, dict) else one)
        routes[-1].send(text.replace("CHAT", chats[-1]))
    said(panel, "after")
    assert panel.node.locator(".eca-Answer").all_inner_texts() == ["You said: before", "You said: after"]
    expect(panel.node.get_by_role("heading", name="before")).to_be_visible()
    expect(panel.node.get_by_text("could not be shown")).to_have_count(0)
    assert len(logged) == 13, logged
    assert failed == []
