"""The peers' chats in a real browser: how each is opened, and where one types.

What is seen is measured the same way for all: in every frame of the page, the text of the document is searched for
words that the model said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.bench.pages import PATIENCE, STARTED, WATCH
from tests.bench.peers.home import TOKEN
from tests.bench.peers.model_server import CLOCK, END, STREAM

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import Locator, Page

    from tests.bench.peers.home import Server

# Gives the milliseconds since the model sent its first words, or since the question was sent, and the longest task.
SEEN: Final = """async ([wanted, count]) => {
  const found = () => (document.body.textContent.match(new RegExp(wanted, 'g')) ?? []);
  while (found().length < count) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  const words = found().at(-1).match(/\\d+/);
  return [Date.now() - (words === null ? window.sent : Number(words[0])),
          Math.max(0, ...window.tasks.map(([, duration]) => duration))];
}"""
COUNT: Final = "wanted => (document.body.textContent.match(new RegExp(wanted, 'g')) ?? []).length"
# Before the key is pressed; the question itself has none of the words.
SENT: Final = "() => { window.tasks = []; window.sent = Date.now(); }"


@dataclass(frozen=True)
class ChatPage:
    """`open` gives the box that one types into."""

    open: Callable[[Page], Awaitable[Locator]]
    send: str = "Enter"


@dataclass(frozen=True)
class Seen:
    """In milliseconds: `first` from the model's first words to a frame that shows them, `whole` from the question to
    the last word of the long answer, `task` the page's longest task while that came."""

    first: float
    whole: float
    task: float


# Of the chats that both Jupyter AI and JupyterLite AI use. A chat in the side panel has one, too, which is hidden.
_INPUT: Final = "textarea[placeholder*='Type a chat message']:visible"


async def _command(page: Page, name: str, **arguments: Any) -> None:
    await page.evaluate("([name, args]) => void window.jupyterapp.commands.execute(name, args)", [name, arguments])


async def _open_eca(page: Page) -> Locator:
    await _command(page, "eca:open-panel")
    await page.locator(".eca-Connection.eca-mod-open").wait_for(state="attached", timeout=PATIENCE)
    await page.locator(".eca-Welcome .eca-Option").first.wait_for(timeout=PATIENCE)
    return page.get_by_role("combobox", name="Message to the assistant")


async def _open_notebook_intelligence(page: Page) -> Locator:
    await _command(page, "notebook-intelligence:focus-chat-input")
    return page.locator(".sidebar-user-input textarea").first


async def _open_jupyter_ai(page: Page) -> Locator:
    await _command(page, "jupyterlab-chat:open", filepath="bench.chat", inSidePanel=False)
    return page.locator(_INPUT).first


async def _open_jupyterlite_ai(page: Page) -> Locator:
    await _command(page, "@jupyterlite/ai:open-chat", area="main", focus=True)
    return page.locator(_INPUT).first


async def _open_marimo(page: Page) -> Locator:
    await page.locator("svg.lucide-bot").first.click()
    # The icon can be dragged. A click of a program counts as the beginning of that, and all else waits for its end.
    await page.keyboard.press("Escape")
    return page.locator(".cm-content[data-language=markdown]").last


CHAT_PAGES: Final = {
    "eca": ChatPage(_open_eca),
    "notebook_intelligence": ChatPage(_open_notebook_intelligence),
    "jupyter_ai": ChatPage(_open_jupyter_ai),
    "jupyterlite_ai": ChatPage(_open_jupyterlite_ai),
    "marimo": ChatPage(_open_marimo),
}


def address(server: Server) -> str:
    return f"{server.url}lab?reset&token={TOKEN}" if server.home.peer.lab else server.url


async def started(page: Page, server: Server) -> float:
    """Return the milliseconds until JupyterLab was there, or until the page of another was loaded."""
    await page.goto(address(server), timeout=PATIENCE)
    if server.home.peer.lab:
        return float(await page.evaluate(STARTED))
    return float(await page.evaluate("() => performance.now()"))


async def converse(page: Page, chat: ChatPage) -> list[Seen]:
    """Ask both questions twice: the first time, pages load what they need."""
    box = await chat.open(page)
    await box.wait_for(timeout=PATIENCE)
    await page.evaluate(WATCH)
    seen: list[Seen] = []
    for _ in range(2):
        first, _ = await _ask(page, chat, box, CLOCK, r"clock\d+clock")
        whole, task = await _ask(page, chat, box, STREAM, re.escape(END))
        seen.append(Seen(first, whole, task))
    return seen


async def _ask(page: Page, chat: ChatPage, box: Locator, question: str, wanted: str) -> list[float]:
    ends = await page.evaluate(COUNT, re.escape(END))
    before = await page.evaluate(COUNT, wanted)
    await box.fill(question)
    await page.evaluate(SENT)
    await page.keyboard.press(chat.send)
    found: list[float] = await page.evaluate(SEEN, [wanted, before + 1])
    await page.evaluate(SEEN, [re.escape(END), ends + 1])
    # Until it may be asked again, which pages show in their own ways.
    await page.wait_for_timeout(1000)
    return found
