"""Several people in one chat, and somebody who may only read, in a JupyterLab whose server tells its users apart."""

from __future__ import annotations

import json
import re
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.pictures import keep

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from playwright.sync_api import Browser, BrowserContext, Locator

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

PAGE: Final = Path(__file__).parents[3] / "notebooks" / "docs" / "administrators.md"
# Each user has a token, which is the user's name. By the example of the page for administrators, Ada may approve, Ben
# may ask, and Cy may read. The token of the server is for the test alone, which waits until the server answers.
LOGINS: Final = """
from jupyter_server.auth.identity import IdentityProvider, User

NAMES = {"ada": "Ada Lovelace", "ben": "Ben", "cy": "Cy"}


class Logins(IdentityProvider):
    async def get_user_token(self, handler):
        name = self.get_token(handler) or ""
        if name in NAMES:
            return User(username=name, name=NAMES[name], display_name=NAMES[name])
        is_first = name == self.token and handler.request.path.endswith("/api/status")
        return User(username="test") if is_first else None


c.ServerApp.identity_provider_class = Logins
"""
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "It is written."}]},
    {"message": "slow", "reply": [{"text": "word " * 400, "chunk": 5, "delay": 0.05}]},
    {"message": "alone", "reply": [{"tool": "write_file", "arguments": {"path": "alone.txt", "content": "one\n"}}]},
    {"message": "shared", "reply": [{"tool": "write_file", "arguments": {"path": "shared.txt", "content": "one\n"}}]},
    {"message": "write", "reply": [{"tool": "write_file", "arguments": {"path": "new.txt", "content": "one\n"}}]},
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    (example,) = re.findall(r"```python\n(from jupyter_server\.auth.*?)```", PAGE.read_text(), re.DOTALL)
    config = tmp_path_factory.mktemp("config")
    (config / "jupyter_server_config.py").write_text(example + LOGINS)
    script = tmp_path_factory.mktemp("script") / "names.json"
    script.write_text(json.dumps({"rules": RULES}))
    return LabSettings(
        env={"JUPYTER_CONFIG_PATH": str(config)},
        eca={
            "defaultModel": "scripted/names",
            "providers": {"scripted": {"models": {"names": {"script": str(script)}}}},
        },
    )


@pytest.fixture(scope="module")
def browsers() -> Iterator[dict[str, BrowserContext]]:
    """One for each user, by name: their caches make a page twice as quick."""
    browsers: dict[str, BrowserContext] = {}
    yield browsers
    for browser in browsers.values():
        browser.close()


@pytest.fixture
def person(
    browser: Browser, browsers: dict[str, BrowserContext], lab: Lab
) -> Callable[..., AbstractContextManager[Panel]]:
    @contextmanager
    def person(name: str, path: str = "") -> Generator[Panel]:
        """The panel of a user, in a browser of their own, which shows the file `path` and forgets it at the end."""
        if name not in browsers:
            browsers[name] = browser.new_context(viewport={"width": 1280, "height": 800})
        page = browsers[name].new_page()
        try:
            yield Panel.open(page, replace(lab, token=name), path)
        finally:
            keep(page, f"names-at-the-end-of-{name}")
            page.evaluate("() => localStorage.clear()")
            page.close()
            browsers[name].clear_cookies()

    return person


def senders(panel: Panel) -> Locator:
    return panel.node.locator(".eca-User-name")


def deciders(panel: Panel) -> Locator:
    return panel.node.locator(".eca-Tool-by")


def open_chat(panel: Panel, title: str) -> None:
    panel.button("All chats").click()
    panel.node.locator(".eca-Chats-open").filter(has_text=title).click()


def test_people_see_who_asked_and_who_decided_and_a_reader_has_nothing_to_press(
    person: Callable[..., AbstractContextManager[Panel]],
) -> None:
    with person("ben") as ben, person("ada") as ada:
        ben.ask("write a file")
        ben.sees("may ask, but not approve")
        expect(senders(ben)).to_have_count(0)
        keep(ben.page, "names-who-may-not-approve")
        open_chat(ada, "write a file")
        expect(senders(ada)).to_have_text(["Ben"])
        ada.button("Approve").click()
        ada.sees("It is written.")
        expect(deciders(ada)).to_have_text(["Approved by you"])
        expect(senders(ben)).to_have_text(["You"])
        expect(deciders(ben)).to_have_text(["Approved by Ada Lovelace"])
        ada.ask("write it once more")
        ben.sees("write it once more")
        expect(senders(ben)).to_have_text(["You", "Ada Lovelace"])
        ben.button("Reject…").click()
        ben.button("Reject").click()
        expect(deciders(ada)).to_have_text(["Approved by you", "Rejected by Ben"])
        expect(deciders(ben)).to_have_text(["Approved by Ada Lovelace", "Rejected by you"])
        ada.wait_until_idle()
        with person("cy") as cy:
            expect(cy.node.get_by_text("To read a chat, open it")).to_be_visible()
            expect(cy.box).to_have_count(0)
            keep(cy.page, "names-reader-before")
            open_chat(cy, "write a file")
            expect(senders(cy)).to_have_text(["Ben", "Ada Lovelace"])
            expect(deciders(cy)).to_have_text(["Approved by Ada Lovelace", "Rejected by Ben"])
            expect(cy.node.get_by_text("you may read the chats, but not ask or approve")).to_be_visible()
            for name in (
                "New chat",
                "Export this chat",
                "Undo all",
                "Ask this again",
                "Go back to before this message",
            ):
                expect(cy.button(name)).to_have_count(0)
            keep(cy.page, "names-reader")
            cy.button("All chats").click()
            expect(cy.node.locator(".eca-Chats-open")).to_have_count(1)
            # Whoever may only read still has pins of their own.
            tools = cy.node.locator(".eca-Chats-tools").get_by_role("button")
            expect(tools).to_have_count(1)
            expect(tools).to_have_attribute("aria-label", re.compile("^Pin "))
            keep(cy.page, "names-reader-list")


def test_nobody_is_named_where_one_person_is(person: Callable[..., AbstractContextManager[Panel]]) -> None:
    with person("ada") as ada:
        ada.ask("write alone")
        ada.button("Approve").click()
        ada.sees("It is written.")
        ada.wait_until_idle()
        expect(senders(ada)).to_have_count(0)
        expect(deciders(ada)).to_have_count(0)


def test_what_is_asked_about_a_notebook_shows_in_the_panels_of_all_who_have_it_open(
    person: Callable[..., AbstractContextManager[Panel]], lab: Lab
) -> None:
    lab.write_notebook("shared.ipynb", ["x = 1"])
    with (
        person("ben", "shared.ipynb") as ben,
        person("ada", "shared.ipynb") as ada,
        person("cy") as cy,
    ):
        ben.ask("write what is shared")
        expect(senders(ada)).to_have_text(["Ben"])
        ada.button("Approve").click()
        ben.sees("It is written.")
        keep(ada.page, "names-shown-to-all")
        # Who has begun something keeps it, and gets a line.
        ada.button("New chat").click()
        ada.box.fill("I think")
        ben.ask("slow words")
        lines = ada.node.locator(".eca-WaitingChats")
        expect(lines).to_contain_text("Ben asks in shared.ipynb.")
        keep(ada.page, "names-line-of-another")
        ada.button("Show it").click()
        ada.sees("slow words")
        expect(lines).to_be_empty()
        expect(cy.node.get_by_text("To read a chat, open it")).to_be_visible()
