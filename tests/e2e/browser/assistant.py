"""The assistant's panel in the browser: what a user does with it and sees of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, WebSocketRoute

    from tests.e2e.browser.lab import Lab

# The panel is loaded and connects within it on a busy machine. Each wait ends as soon as what it waits for is there.
SECONDS = 20

_OPEN = "() => window.jupyterapp.commands.execute('eca:open-panel')"


def links(page: Page) -> list[WebSocketRoute]:
    """Of the page to the server, as they are opened; a test can close them."""
    routes: list[WebSocketRoute] = []

    def through(route: WebSocketRoute) -> None:
        routes.append(route)
        route.connect_to_server()

    page.route_web_socket("**/eca/ws*", through)
    return routes


class Panel:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.node = page.locator(".eca-Panel")
        self.box = page.get_by_role("combobox", name="Message to the assistant")
        self.transcript = page.get_by_role("log", name="Chat")

    @classmethod
    def open(cls, page: Page, lab: Lab, path: str = "") -> Self:
        """In a Lab that shows `path`, a notebook say, or nothing yet."""
        page.goto(lab.address(path))
        if not path:
            # Lab opens it last, and gives it the keyboard, whoever has it by then.
            expect(page.locator(".jp-Launcher:focus-within, .jp-Launcher:focus")).to_have_count(
                1, timeout=SECONDS * 1000
            )
        return cls.show(page)

    @classmethod
    def show(cls, page: Page) -> Self:
        page.wait_for_function(
            "() => window.jupyterapp?.commands?.hasCommand('eca:open-panel')", timeout=SECONDS * 1000
        )
        page.evaluate("() => window.jupyterapp.restored")
        page.evaluate(_OPEN)
        panel = cls(page)
        panel.wait_until_connected()
        return panel

    def wait_until_connected(self) -> None:
        expect(self.node.locator(".eca-Connection.eca-mod-open")).to_have_count(1, timeout=SECONDS * 1000)

    def ask(self, text: str) -> None:
        self.box.fill(text)
        self.box.press("Enter")

    def sees(self, text: str, seconds: float = SECONDS) -> None:
        """Raises: AssertionError."""
        expect(self.transcript).to_contain_text(text, timeout=seconds * 1000)

    def wait_until_idle(self) -> None:
        expect(self.button("Stop")).to_have_count(0, timeout=SECONDS * 1000)

    @property
    def mentions(self) -> Locator:
        """The chips in the text of the box."""
        return self.node.locator(".eca-Prompt .eca-Mention")

    def button(self, name: str) -> Locator:
        return self.node.get_by_role("button", name=name, exact=True)

    def message(self, text: str) -> Locator:
        """What the user said."""
        return self.node.locator(".eca-User").filter(has_text=text)

    def call(self, status: str) -> Locator:
        """The tool calls in this status."""
        return self.node.locator(f".eca-Tool[data-status='{status}']")
