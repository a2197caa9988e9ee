"""Signing in to an MCP server from a real JupyterLab: two clicks, and the browser comes back by itself."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.mcp_client.web import Web, web

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site() -> Iterator[Web]:
    """A server behind OAuth, in a thread: where playwright is, no other loop runs."""
    up, found = threading.Event(), list[Web]()
    loop, over = asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        async with web(gated=True) as opened:
            found.append(opened)
            up.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert up.wait(SECONDS)
    yield found[0]
    loop.call_soon_threadsafe(over.set)
    thread.join()
    loop.close()


@pytest.fixture(scope="module")
def lab_settings(site: Web) -> LabSettings:
    eca = {"mcpServers": {"far": {"url": site.url}}}
    return LabSettings(eca=eca)


def test_a_user_of_lab_signs_in_with_two_clicks(page: Page, lab: Lab, site: Web) -> None:
    Panel.open(page, lab)
    wanted = page.get_by_text("The MCP server “far” wants you to sign in.")
    expect(wanted.first).to_be_visible(timeout=SECONDS * 1000)
    page.get_by_role("button", name="Sign In", exact=True).click()
    link = page.get_by_text("Sign in to the MCP server 'far':")
    expect(link.first).to_be_visible(timeout=SECONDS * 1000)
    assert site.gate.granted == []
    with page.context.expect_page(timeout=SECONDS * 1000) as opened:
        page.get_by_role("button", name=f"Open {urlsplit(site.url).netloc}", exact=True).click()
    expect(opened.value.get_by_role("heading")).to_have_text("Signed in", timeout=SECONDS * 1000)
    expect(opened.value.get_by_text("There is no system keyring to store it in")).to_be_visible()
    assert opened.value.url.startswith(f"{lab.url}eca/oauth/callback?")
    assert opened.value.evaluate("window.opener") is None
    assert site.gate.granted == ["authorization_code"]
