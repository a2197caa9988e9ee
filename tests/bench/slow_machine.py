"""A whole story where the server and its kernels have a quarter of a core and 512 MiB, and what the small model needs
on machines of the size of Binder. `python -m tests.bench.slow_machine` writes the tables of the documentation.

Only the server is in the small group. The browser is another machine's.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from tests.bench import pages
from tests.bench.figure import Figure, number
from tests.bench.machine import describe_run
from tests.bench.marked_pages import PERFORMANCE, write_marked
from tests.bench.small_group import NoGroup, SmallGroup, small_group
from tests.e2e.browser.lab import LabSettings, running_lab

if TYPE_CHECKING:
    from collections.abc import Generator

    from playwright.async_api import Browser, Page

    from tests.e2e.browser.lab import Lab

CORES: Final = 0.25
MIB: Final = 512
BINDER_MIB: Final = (1024, 2048)
MINUTES_MS: Final = 300_000
CODE: Final = "print(6 * 7)"
END: Final = "That is the end."
RULES: Final[list[dict[str, Any]]] = [
    {"tool": "run_code", "result": "", "reply": [{"text": END}]},
    {"message": "", "reply": [{"text": "I compute it. "}, {"tool": "run_code", "arguments": {"code": CODE}}]},
]
_KERNEL_IDLE: Final = """async () => {
  const kernel = () => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel;
  while (kernel()?.status !== 'idle') await new Promise(requestAnimationFrame);
}"""
_MODEL_ANSWERED: Final = """async () => {
  while (document.querySelector('.eca-mod-stop') === null) await new Promise(requestAnimationFrame);
  while (document.querySelector('.eca-mod-stop') !== null) await new Promise(requestAnimationFrame);
  return document.querySelector('.eca-Answer')?.textContent ?? '';
}"""


@dataclass(frozen=True)
class Story:
    """The seconds of each step; what the server and its kernels had at most; and how many of them were killed."""

    steps: dict[str, float]
    peak: float
    kills: int


class Steps:
    """Notes what each step takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Generator[None]:
        began = monotonic()
        yield
        self.seconds[name] = monotonic() - began


@contextmanager
def _lab(group: SmallGroup, eca: dict[str, Any]) -> Generator[Lab]:
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "lab").mkdir()
        script = folder / "script.json"
        script.write_text(json.dumps({"rules": RULES}))
        scripted = {"scripted": {"models": {"bench": {"script": str(script)}}}}
        python = group.write_python(sys.executable, folder)
        settings = LabSettings(eca={"providers": scripted} | eca, python=python)
        with running_lab(settings, folder / "lab") as lab:
            lab.write_notebook("notebook.ipynb", ["1 + 1"])
            yield lab


async def tell(browser: Browser, cores: float, mib: int) -> Story:
    """Open Lab, ask, approve, run. Raises: NoGroup."""
    steps = Steps()
    with small_group(mib, cores) as group:
        began = monotonic()
        with _lab(group, {"defaultModel": "scripted/bench"}) as lab:
            steps.seconds["the server starts"] = monotonic() - began
            page = await browser.new_page()
            page.set_default_timeout(MINUTES_MS)
            with steps.step("JupyterLab opens in the browser, with a notebook"):
                await page.goto(lab.address("notebook.ipynb"))
                await page.evaluate(pages.STARTED)
            with steps.step("the kernel is there"):
                await page.evaluate(_KERNEL_IDLE)
            with steps.step("the panel opens"):
                await page.evaluate("() => void window.jupyterapp.commands.execute('eca:open-panel')")
                await page.locator(".eca-Connection.eca-mod-open").wait_for(state="attached")
                await page.locator(".eca-Welcome .eca-Option").first.wait_for()
            with steps.step("a question, until the code waits for approval"):
                await _ask(page, "What is six times seven?")
                approve = page.locator(".eca-Panel").get_by_role("button", name="Approve", exact=True)
                await approve.wait_for()
            with steps.step("approved, until the code has run and the answer is complete"):
                await approve.click()
                await page.locator(".eca-Answer").filter(has_text=END).wait_for()
            await page.close()
            return Story(steps.seconds, group.peak(), group.kills())


async def answer_with_small_model(browser: Browser, mib: int) -> Story:
    """Open Lab, and ask the small model that comes as a package, twice: at first its weights are read."""
    steps = Steps()
    with small_group(mib) as group, _lab(group, {"defaultModel": "local/smollm2-135m"}) as lab:
        page = await browser.new_page()
        page.set_default_timeout(MINUTES_MS)
        await page.goto(lab.address("notebook.ipynb"))
        await page.evaluate(pages.STARTED)
        await page.evaluate(_KERNEL_IDLE)
        await page.evaluate("() => void window.jupyterapp.commands.execute('eca:open-panel')")
        await page.locator(".eca-Connection.eca-mod-open").wait_for(state="attached")
        for name in ("the first answer", "the second answer"):
            with steps.step(name):
                await _ask(page, "Say hello.")
                if not await page.evaluate(_MODEL_ANSWERED):
                    raise RuntimeError("the small model gave no answer")
        await page.close()
        return Story(steps.seconds, group.peak(), group.kills())


async def _ask(page: Page, question: str) -> None:
    await page.get_by_role("combobox", name="Message to the assistant").fill(question)
    await page.keyboard.press("Enter")


async def figures() -> list[Figure]:
    async with pages.chromium() as browser:
        try:
            story = await tell(browser, CORES, MIB)
        except NoGroup as error:
            return [Figure("slow machine: not measured", [0], "", None, str(error))]
    name = f"slow machine ({CORES:g} cores, {MIB} MiB)"
    steps = [Figure(f"{name}: {step}", [seconds], "s", None, "") for step, seconds in story.steps.items()]
    beside = f"{story.kills} processes killed for want of memory"
    return [*steps, Figure(f"{name}: most memory at once", [story.peak], "MiB", MIB, beside)]


async def _write() -> None:
    async with pages.chromium() as browser:
        full = await tell(browser, 0, 8 * 1024)
        slow = await tell(browser, CORES, MIB)
        small = {mib: await answer_with_small_model(browser, mib) for mib in BINDER_MIB}
    lines = [f"| step | {CORES:g} cores, {MIB} MiB | all cores |", "|---|--:|--:|"]
    lines += [f"| {name} | {number(slow.steps[name])} s | {number(full.steps[name])} s |" for name in slow.steps]
    lines += [
        f"| most memory at once, with cached files | {number(slow.peak)} MiB | {number(full.peak)} MiB |",
        f"| processes killed for want of memory | {slow.kills} | {full.kills} |",
    ]
    binder = ["| memory of the machine | first answer | second answer | most memory at once | killed |"]
    binder += ["|--:|--:|--:|--:|--:|"]
    for mib, story in small.items():
        first, second = story.steps.values()
        binder.append(
            f"| {mib} MiB | {number(first)} s | {number(second)} s | {number(story.peak)} MiB | {story.kills} |"
        )
    run = describe_run("python -m tests.bench.slow_machine")
    write_marked(PERFORMANCE, "slow machine", "\n\n".join([run, "\n".join(lines), "\n".join(binder)]))


if __name__ == "__main__":
    asyncio.run(_write())
