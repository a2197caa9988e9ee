"""The page at the size of real work: a chat of 5,000 turns with 500 plots, an answer of 10 MB, and one block of code
with 5,000 lines. What it keeps in memory when one goes on to a new chat is measured, too."""

from __future__ import annotations

import base64
import random
import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

from tests.bench import pages
from tests.bench.figure import Figure, list_of, number
from tests.bench.panel import DRAWN, OPEN, SOCKET

if TYPE_CHECKING:
    from playwright.async_api import Browser, CDPSession, Page

    from tests.e2e.browser.lab import Lab

ROUNDS: Final = 2
TURNS: Final = 5000
PLOTS: Final = 500
# Of noise, so that a plot has about 40 kB, as those of matplotlib have.
PLOT_SIDE: Final = 200
ANSWER_BYTES: Final = 10_000_000
PIECE_BYTES: Final = 4000
LINES: Final = 5000
END: Final = "That is the end."
_PART: Final = f"{'word ' * 45}\n\n```python\nx = [n for n in range(10)]\n```\n\n"
_LONG: Final = _PART * (ANSWER_BYTES // len(_PART)) + END
_CODE: Final = "```python\n" + "".join(f"value_{n} = compute({n}, 'text')\n" for n in range(LINES)) + f"```\n\n{END}"
RULES: Final[list[dict[str, Any]]] = [
    {"message": "long", "reply": [{"text": _LONG, "chunk": PIECE_BYTES, "delay": 0.002}]},
    {"message": "code", "reply": [{"text": _CODE, "chunk": 32, "delay": 0.0005}]},
    {"message": "", "reply": [{"text": END}]},
]


async def figures() -> list[Figure]:
    async with pages.chromium() as browser:
        with pages.lab(RULES) as lab:
            return [
                *await _plots(browser, lab),
                *await _answer(browser, lab, "long", f"an answer of {ANSWER_BYTES // 10**6} MB"),
                *await _answer(browser, lab, "code", f"a block of code of {LINES:,} lines"),
            ]


def make_plot(seed: int) -> str:
    """Return a picture as base64. No library is needed for one of noise."""
    noise = random.Random(seed)
    rows = b"".join(b"\0" + noise.randbytes(PLOT_SIDE) for _ in range(PLOT_SIDE))

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", PLOT_SIDE, PLOT_SIDE, 8, 0, 0, 0, 0)
    parts = part(b"IHDR", head), part(b"IDAT", zlib.compress(rows)), part(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


async def _plots(browser: Browser, lab: Lab) -> list[Figure]:
    plots = [make_plot(seed) for seed in range(PLOTS)]
    taken: list[float] = []
    tasks: list[float] = []
    kept: list[float] = []
    for round in range(ROUNDS):
        name = f"past-{round}"
        await pages.remember(lab, name, TURNS * 2, plots)
        page, devtools, before = await _opened(browser, lab)
        await page.get_by_role("button", name="All chats").click()
        await page.locator(".eca-Chats-open").filter(has_text=name).wait_for(timeout=pages.PATIENCE)
        await page.evaluate(pages.WATCH)
        taken.append(await page.evaluate(OPEN, [name, f"Answer {TURNS - 1}"]))
        tasks.append(await _longest_task(page))
        kept.append(await _kept(page, devtools) - before)
        await page.close()
    title = f"panel: a chat of {TURNS:,} turns with {PLOTS} plots"
    return [
        Figure(f"{title} opens", taken, "ms", 150, list_of(taken, "ms")),
        Figure("panel: longest task of that", tasks, "ms", 50, list_of(tasks, "ms")),
        Figure("panel: memory that it keeps in a new chat", kept, "MB", 3, ""),
    ]


async def _answer(browser: Browser, lab: Lab, question: str, title: str) -> list[Figure]:
    drawn: list[float] = []
    tasks: list[float] = []
    kept: list[float] = []
    pieces = ""
    for _ in range(ROUNDS):
        page, devtools, before = await _opened(browser, lab)
        await page.evaluate("() => { window.heard = { at: 0, pieces: 0, letters: 0 }; }")
        await page.evaluate(pages.WATCH)
        await _ask(page, question)
        drawn.append(await page.evaluate(DRAWN, [1, END]))
        tasks.append(await _longest_task(page))
        pieces = await page.evaluate("() => `${window.heard.pieces} frames, ${window.heard.letters} letters`")
        await page.locator(".eca-mod-stop").wait_for(state="detached", timeout=pages.PATIENCE)
        kept.append(await _kept(page, devtools) - before)
        await page.close()
    return [
        Figure(f"panel: {title}, last byte to last word drawn", drawn, "ms", 150, pieces),
        Figure("panel: longest task while it streams", tasks, "ms", 50, list_of(tasks, "ms")),
        Figure("panel: memory that it keeps in a new chat", kept, "MB", 3, number(kept[-1])),
    ]


async def _opened(browser: Browser, lab: Lab) -> tuple[Page, CDPSession, float]:
    """Return a page that has drawn an answer, and its memory: parser, grammars and styles are there."""
    page = await browser.new_page()
    await page.add_init_script(SOCKET)
    await pages.opened(page, lab)
    devtools = await pages.metered(page)
    await _ask(page, "warm")
    await page.evaluate(DRAWN, [1, END])
    return page, devtools, await _kept(page, devtools)


async def _ask(page: Page, question: str) -> None:
    await page.get_by_role("combobox", name="Message to the assistant").fill(question)
    await page.keyboard.press("Enter")


async def _longest_task(page: Page) -> float:
    return max((ms for _, ms in await page.evaluate("() => window.tasks")), default=0)


async def _kept(page: Page, devtools: CDPSession) -> float:
    """Return the memory after a new chat was begun in place of the one that is shown."""
    await page.get_by_role("button", name="New chat", exact=True).click()
    await page.locator(".eca-Welcome .eca-Option").first.wait_for(timeout=pages.PATIENCE)
    return await pages.heap(devtools)
