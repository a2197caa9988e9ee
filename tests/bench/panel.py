"""The panel in the browser: a long answer, a long chat, its size, and what it costs Lab to have it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from tests.bench import pages
from tests.bench.figure import Figure, differences, list_of

if TYPE_CHECKING:
    from playwright.async_api import Browser, Route

    from tests.e2e.browser.lab import Lab

CHUNKS: Final = 2000
ANSWERS: Final = 7
MESSAGES: Final = 5000
OPENINGS: Final = 3
STARTS: Final = 4
FIRSTS: Final = 3
# A task that is longer is one that a user may notice.
LONG_MS: Final = 50
END: Final = "That is the end."
# Prose with code in it, as answers are.
_PART: Final = f"{'word ' * 45}\n\n```python\nx = [n for n in range(10)]\n```\n\n"
ANSWER: Final = _PART * (CHUNKS * 5 // len(_PART) + 1) + END
RULES: Final[list[dict[str, Any]]] = [{"message": "", "reply": [{"text": ANSWER, "chunk": 5, "delay": 0.001}]}]

# Notes when the last byte of an answer came, and in how many pieces it did.
SOCKET: Final = """
window.heard = { at: 0, pieces: 0, letters: 0 };
window.WebSocket = class extends WebSocket {
  constructor(...args) {
    super(...args);
    if (String(args[0]).includes('/eca/ws'))
      this.addEventListener('message', ({ data }) => {
        if (!data.includes('"role":"assistant"')) return;
        window.heard.at = performance.now();
        window.heard.pieces += 1;
        window.heard.letters += data.length;
      });
  }
};
"""
# Notes how long each script of ours kept the page busy, in frames that took longer than 50 ms.
OURS: Final = """
window.ours = [];
new PerformanceObserver(list => {
  for (const { scripts } of list.getEntries())
    for (const { sourceURL, duration } of scripts)
      if (sourceURL.includes('/extensions/jupyter-eca/')) window.ours.push(duration);
}).observe({ type: 'long-animation-frame', buffered: true });
"""
# The milliseconds from the last byte until the last word is drawn: two frames, as the first may be the one before.
DRAWN: Final = """async ([number, text]) => {
  const answers = document.getElementsByClassName('eca-Answer');
  while (answers.length < number || !answers[number - 1].textContent.includes(text))
    await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - window.heard.at;
}"""
# Opens the panel; gives the milliseconds until its prompt box is drawn and has the focus.
READY: Final = """async () => {
  const began = performance.now();
  void window.jupyterapp.commands.execute('eca:open-panel');
  while (document.activeElement?.closest('.eca-Prompt') == null)
    await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""
# Opens the chat of that name from the list; gives the milliseconds until its last message is drawn.
OPEN: Final = """async ([name, text]) => {
  const row = [...document.querySelectorAll('.eca-Chats-open')].find(one => one.textContent.includes(name));
  const began = performance.now();
  row.click();
  while (!document.querySelector('.eca-Transcript')?.textContent.includes(text))
    await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""

# Opens the panel; gives the milliseconds until it says what to do where there is no model.
FIRST: Final = """async () => {
  const began = performance.now();
  void window.jupyterapp.commands.execute('eca:open-panel');
  while (document.querySelector('.eca-FirstRun') === null) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""


async def figures() -> list[Figure]:
    async with pages.chromium() as browser:
        first = await _first(browser)
        with pages.lab(RULES) as lab:
            return [
                first,
                *await _opening(browser, lab),
                *await _answers(browser, lab),
                *await _long(browser, lab),
                *await _start(browser, lab),
            ]


async def _first(browser: Browser) -> Figure:
    """The first panel of a server that was just started, with nothing configured."""
    taken: list[float] = []
    for _ in range(FIRSTS):
        with pages.lab() as lab:
            page = await browser.new_page()
            await pages.started(page, lab)
            # As a user would have it: Lab is at rest when it is clicked.
            await page.wait_for_load_state("networkidle", timeout=pages.PATIENCE)
            taken.append(await page.evaluate(FIRST))
            await page.close()
    return Figure("panel: a new server's first one says what it found", taken, "ms", 1000, list_of(taken, "ms"))


async def _opening(browser: Browser, lab: Lab) -> list[Figure]:
    """The panel of a page that is at rest, whose server runs for a while."""
    taken: list[float] = []
    tasks: list[float] = []
    for _ in range(OPENINGS):
        page = await browser.new_page()
        await pages.started(page, lab)
        await page.wait_for_load_state("networkidle", timeout=pages.PATIENCE)
        await page.evaluate(pages.WATCH)
        taken.append(await page.evaluate(READY))
        tasks.append(max((ms for _, ms in await page.evaluate("() => window.tasks")), default=0))
        await page.close()
    return [
        Figure("panel: opened until one can type", taken, "ms", 120, list_of(taken, "ms")),
        Figure("panel: longest task of its opening", tasks, "ms", None, list_of(tasks, "ms")),
    ]


async def _answers(browser: Browser, lab: Lab) -> list[Figure]:
    """Several of them in one chat."""
    page = await browser.new_page()
    await page.add_init_script(SOCKET)
    await pages.opened(page, lab)
    await page.evaluate(pages.WATCH)
    devtools = await pages.metered(page)
    drawn: list[float] = []
    longest: list[float] = []
    used: list[float] = []
    for number in range(1, ANSWERS + 1):
        await page.evaluate("() => { window.tasks = []; window.heard.pieces = 0; window.heard.letters = 0; }")
        await page.get_by_role("combobox", name="Message to the assistant").fill(f"Question {number}")
        await page.keyboard.press("Enter")
        drawn.append(await page.evaluate(DRAWN, [number, END]))
        await page.locator(".eca-mod-stop").wait_for(state="detached", timeout=pages.PATIENCE)
        longest.append(max((ms for _, ms in await page.evaluate("() => window.tasks")), default=0))
        used.append(await pages.heap(devtools))
    pieces = await page.evaluate("() => `${window.heard.pieces} frames, ${window.heard.letters} letters`")
    await page.close()
    # The first answers bring the parser, its grammars and the styles.
    grown = (used[-1] - used[2]) / (ANSWERS - 3)
    return [
        Figure("panel: last byte to last word drawn", drawn, "ms", 500, f"{CHUNKS} chunks in {pieces}"),
        Figure("panel: longest task of such an answer", longest, "ms", 100, list_of(longest, "ms")),
        Figure("panel: memory that each such answer keeps", [grown], "MB", 0.5, f"{used[0]:.1f} to {used[-1]:.1f} MB"),
    ]


async def _long(browser: Browser, lab: Lab) -> list[Figure]:
    """Each opening is of another chat in another page."""
    taken: list[float] = []
    tasks: list[float] = []
    for number in range(OPENINGS):
        await pages.remember(lab, f"past-{number}", MESSAGES)
        page = await browser.new_page()
        await pages.opened(page, lab)
        await page.get_by_role("button", name="All chats").click()
        await page.locator(".eca-Chats-open").filter(has_text=f"past-{number}").wait_for(timeout=pages.PATIENCE)
        await page.evaluate(pages.WATCH)
        taken.append(await page.evaluate(OPEN, [f"past-{number}", f"Answer {MESSAGES // 2 - 1}"]))
        tasks.append(max((ms for _, ms in await page.evaluate("() => window.tasks")), default=0))
        await page.close()
    beside = f"longest task {list_of(tasks, 'ms')}"
    return [Figure(f"panel: a chat of {MESSAGES} messages opens", taken, "ms", 300, beside)]


async def _start(browser: Browser, lab: Lab) -> list[Figure]:
    """With the extension and without it, in turn: the same server, whose page names the extension or does not."""
    with_it: list[float] = []
    without: list[float] = []
    ours: list[float] = []
    for _ in range(STARTS):
        for found, keeps in ((with_it, True), (without, False)):
            page = await browser.new_page()
            await page.add_init_script(OURS)
            await page.route("**/lab?*", _page_that_keeps(keeps))
            found.append(await pages.started(page, lab))
            if keeps:
                ours.append(sum(ms > LONG_MS for ms in await page.evaluate("() => window.ours")))
            await page.close()
    before, after = await _sizes(browser, lab)
    more = differences(with_it, without)
    noise = max(without) - min(without)
    beside = f"{list_of(with_it, 'ms')} with it, {list_of(without, 'ms')} without"
    return [
        Figure("panel: JavaScript before it is opened", [before], "KiB", 30, ""),
        Figure("panel: JavaScript in all", [after], "KiB", 400, ""),
        Figure("panel: long tasks of ours at the start of Lab", ours, "tasks", 0, f"longer than {LONG_MS} ms"),
        Figure("panel: Lab starts later with it", more, "ms", 50, beside, noise),
    ]


def _page_that_keeps(ours: bool) -> Any:
    async def answer(route: Route) -> None:
        response = await route.fetch()
        text = await response.text()
        place = re.compile(r'(<script id="jupyter-config-data"[^>]*>)(.*?)(</script>)', re.DOTALL)
        found = place.search(text)
        assert found is not None
        config = json.loads(found[2])
        kept = [one for one in config["federated_extensions"] if ours or one["name"] != "jupyter-eca"]
        assert len(config["federated_extensions"]) - len(kept) == (0 if ours else 1)
        config["federated_extensions"] = kept
        await route.fulfill(response=response, body=place.sub(lambda _: found[1] + json.dumps(config) + found[3], text))

    return answer


async def _sizes(browser: Browser, lab: Lab) -> tuple[float, float]:
    sizes: list[int] = []

    page = await browser.new_page()
    # The modules that are loaded when Lab is idle are no part of its start.
    await page.add_init_script("window.requestIdleCallback = () => 0")
    page.on("response", lambda response: responses.append(response))
    responses: list[Any] = []
    await pages.started(page, lab)
    sizes.append(await _of(responses))
    await page.evaluate("() => window.jupyterapp.commands.execute('eca:open-panel')")
    await page.locator(".eca-Welcome .eca-Option").first.wait_for(timeout=pages.PATIENCE)
    sizes.append(await _of(responses))
    await page.close()
    return sizes[0] / 1024, sizes[1] / 1024


async def _of(responses: list[Any]) -> int:
    ours = [one for one in responses if "/extensions/jupyter-eca/static/" in one.url]
    return sum([len(await one.body()) for one in ours])
