"""A tour through the states of the panel, the settings and the notebook, for tests that judge how each is shown.

The tour uses what an element is named in English or, where the page has another language, a part of that name.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab

PANEL: Final = ".eca-Panel"
SETTINGS: Final = ".eca-Settings"
# What is shown in cells and around them.
IN_NOTEBOOK: Final = ".eca-ReviewBar, .eca-CellBar, .eca-Hunk, .eca-Help, .eca-CellEdit"
SECTIONS: Final = ("defaults", "servers", "providers", "rules", "agents", "skills", "jobs", "costs", "report")

ANSWER: Final = """# A title

Some **words**, `code`, $x^2$ and [a site](https://example.org/).

```python
a_name_that_is_long = another_function(of_many_arguments, and_more_of_them, until_the_line_is_long)
```

| a | b | c |
|---|---|---|
| 1 | 2 | 3 |
"""
BEFORE: Final = "x = 1\ny = 2\nz = 3"


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


# A change of a file is decided after it is made, see `make_settings`. A command needs approval in any case.
WRITE: Final = call("shell_command", command="echo larks")
ASK: Final = call("ask_user", question="Which colour?", options=[{"label": "Red"}])
EDIT: Final = call("notebook_edit_cell", cell="c0", source=BEFORE.replace("x = 1", "x = 10"))
PLAN: Final = call("task", op="plan", tasks=["Look at it", "Write it"])
RULES: Final[list[dict[str, Any]]] = [
    {"message": "^improve", "tool": "notebook_read", "result": "", "reply": [EDIT]},
    {"result": "", "reply": [{"text": "It is so."}]},
    {"message": "^improve", "reply": [call("notebook_read")]},
    {"message": "^an ode", "reply": [{"reasoning": "Larks, then."}, {"text": "I write it. "}, WRITE]},
    {"message": "^a colour", "reply": [ASK]},
    {"message": "^some steps", "reply": [PLAN]},
    {"message": "^a secret", "reply": [{"error": "The key was refused.", "status": 401}]},
    {"message": "^endless", "reply": [{"text": "on and " * 2000, "chunk": 7, "delay": 0.1}]},
    {"message": "", "reply": [{"reasoning": "A greeting."}, {"text": ANSWER}]},
]


# As if the user had drawn the edge of the panel until it is 320 points wide, or as far as it goes.
NARROW: Final = """() => {
  const split = document.querySelector('#jp-right-stack').closest('.lm-SplitPanel');
  const handles = [...split.querySelectorAll(':scope > .lm-SplitPanel-handle:not(.lm-mod-hidden)')];
  const handle = handles.at(-1);
  const { left, top } = handle.getBoundingClientRect();
  const send = (type, x) => (type === 'pointerdown' ? handle : document).dispatchEvent(
    new PointerEvent(type, { bubbles: true, cancelable: true, button: 0, clientX: x, clientY: top + 50 }));
  send('pointerdown', left);
  const end = left + document.querySelector('.eca-Panel').getBoundingClientRect().width - 320;
  send('pointermove', end);
  send('pointerup', end);
}"""
# An outside agent that has options of its own.
AGENT: Final = Path(__file__).parents[2] / "support/fake_agent.py"


def make_settings(folder: Path) -> LabSettings:
    script = folder / "states.json"
    script.write_text(json.dumps({"rules": RULES, "window": 16_000}))
    models = {"states": {"script": str(script)}}
    return LabSettings(
        eca={
            "defaultModel": "scripted/states",
            "review": "after",
            "providers": {"scripted": {"models": models}},
            "acpAgents": {"chooser": {"command": sys.executable, "args": [str(AGENT), "--quirk", "options"]}},
        }
    )


class Tour:
    """Brings the page into each state and calls `judge` with its name and with the CSS selector of what is shown."""

    def __init__(self, page: Page, lab: Lab, judge: Callable[[str, str], None]) -> None:
        self.page = page
        self.lab = lab
        self.judge = judge
        self.panel = Panel(page)

    def go(self) -> None:
        lab = self.lab
        notebook = Notebook.open(self.page, lab, [BEFORE, "1 / 0"], "tour.ipynb")
        self.panel = Panel.show(self.page)
        self.judge("welcome", PANEL)
        self._answers()
        self._decisions()
        self._running()
        self._chats()
        self._notebook(notebook)
        self._outside_agent()
        self._settings()

    def button(self, name: str) -> Locator:
        """The first button in the panel with a name that contains this one."""
        return self.panel.node.get_by_role("button", name=re.compile(re.escape(name))).first

    def wait_until_idle(self) -> None:
        expect(self.panel.node.locator(".eca-mod-stop")).to_have_count(0, timeout=SECONDS * 1000)

    def ask(self, text: str) -> None:
        self.panel.ask(text)
        expect(self.panel.message(text)).not_to_have_count(0, timeout=SECONDS * 1000)

    def _answers(self) -> None:
        page, panel = self.page, self.panel
        self.ask("Hello")
        panel.sees("A title")
        self.wait_until_idle()
        panel.node.locator(".eca-Reason summary").click()
        self.judge("answer", PANEL)
        self.button("Go back to before this message").focus()
        page.keyboard.press("Enter")
        self.judge("roll back", PANEL)
        page.keyboard.press("Escape")
        self.button("Export this chat").click()
        self.judge("export", PANEL)
        page.keyboard.press("Escape")
        panel.node.locator(".eca-Meter").click()
        expect(panel.node.locator(".eca-Context")).to_be_visible()
        self.judge("context", PANEL)
        page.keyboard.press("Escape")
        self.button("Attach files or images").click()
        self.judge("attach", PANEL)
        page.keyboard.press("Escape")
        for typed in ("/", "@"):
            panel.box.fill(typed)
            expect(panel.node.get_by_role("option").first).to_be_visible(timeout=SECONDS * 1000)
            self.judge(f"list after {typed}", PANEL)
            panel.box.fill("")
        panel.node.locator(".eca-Instructions summary").click()
        self.judge("instructions", PANEL)
        panel.node.locator(".eca-Instructions summary").click()

    def _decisions(self) -> None:
        panel = self.panel
        self.ask("an ode")
        expect(panel.call("waiting")).to_have_count(1, timeout=SECONDS * 1000)
        self.judge("approval", PANEL)
        self.button("Always…").click()
        expect(self.button("Write the rule and run")).to_be_visible(timeout=SECONDS * 1000)
        self.judge("rule", PANEL)
        self.button("Back").click()
        self.button("Reject…").click()
        self.judge("reason", PANEL)
        self.page.keyboard.press("Enter")
        panel.sees("It is so.")
        self.wait_until_idle()
        panel.call("rejected").locator(".eca-Tool-head").click()
        self.judge("rejected call", PANEL)
        self.ask("a colour")
        expect(panel.node.get_by_text("Which colour?").first).to_be_visible(timeout=SECONDS * 1000)
        self.judge("question", PANEL)
        self.button("Red").click()
        self.wait_until_idle()
        self.ask("some steps")
        expect(panel.node.locator(".eca-PlanBar")).to_be_visible(timeout=SECONDS * 1000)
        self.wait_until_idle()
        self.judge("plan", PANEL)
        self.ask("a secret")
        expect(panel.node.locator(".eca-Failure")).to_be_visible(timeout=SECONDS * 1000)
        self.wait_until_idle()
        self.button("Show details").click()
        self.judge("failure", PANEL)

    def _running(self) -> None:
        panel = self.panel
        self.ask("endless")
        panel.sees("on and")
        panel.ask("a steer")
        panel.box.fill("later")
        panel.box.press("Alt+Enter")
        panel.box.fill("more")
        self.judge("running", PANEL)
        panel.box.fill("")
        panel.node.locator(".eca-mod-stop").click()
        self.wait_until_idle()
        panel.box.fill("")

    def _chats(self) -> None:
        self.button("All chats").click()
        expect(self.panel.node.locator(".eca-Chats-open").first).to_be_visible()
        self.judge("chats", PANEL)
        self.button("Rename").press("Enter")
        self.judge("rename", PANEL)
        self.page.keyboard.press("Escape")
        self.button("Delete").press("Enter")
        self.judge("delete", PANEL)
        self.button("Undo").click()
        self.button("Back to the chat").click()

    def _notebook(self, notebook: Notebook) -> None:
        notebook.run(1)
        expect(notebook.cell(1).locator(".eca-Help")).to_be_visible(timeout=SECONDS * 1000)
        self.judge("error in a cell", IN_NOTEBOOK)
        self.button("New chat").click()
        self.ask("improve it")
        self.panel.sees("It is so.")
        self.wait_until_idle()
        expect(notebook.cell(0).locator(".eca-Hunk")).to_be_visible(timeout=SECONDS * 1000)
        self.judge("changes", PANEL)
        self.judge("review", IN_NOTEBOOK)
        notebook.cell(1).locator(".cm-content").click()
        self.page.keyboard.press("Control+Alt+e")
        expect(notebook.cell(1).locator(".eca-CellEdit")).to_be_visible(timeout=SECONDS * 1000)
        self.judge("edit box", IN_NOTEBOOK)
        self.page.keyboard.press("Escape")

    def _outside_agent(self) -> None:
        panel = self.panel
        self.button("New chat").click()
        pickers = panel.node.locator(".eca-Pickers select")
        pickers.first.select_option("chooser")
        self.ask("DO: say Hello")
        panel.sees("Hello")
        self.wait_until_idle()
        panel.node.locator(".eca-Pickers select:has(option[value=large])").select_option("large")
        panel.node.locator(".eca-Pickers select:has(option[value=high])").select_option("high")
        self.judge("options of an outside agent", PANEL)
        self.button("New chat").click()
        # The next tour of this server begins in the newest chat.
        pickers.first.select_option("code")
        self.ask("Hello")
        panel.sees("A title")
        self.wait_until_idle()

    def _settings(self) -> None:
        body = self.page.locator(f"{SETTINGS}-body")
        for section in SECTIONS:
            self.page.evaluate(
                "section => window.jupyterapp.commands.execute('eca:open-settings', { section })", section
            )
            expect(self.page.locator(f"[role=tab][id$='-{section}'][aria-selected=true]")).to_have_count(1)
            expect(body.get_by_text(re.compile("Loading…"))).to_have_count(0, timeout=SECONDS * 1000)
            self.judge(f"settings: {section}", SETTINGS)
            if section in {"servers", "rules"}:
                body.get_by_role("button", name=re.compile(r"Add a (server|rule)…")).click()
                self.judge(f"settings: new entry of {section}", SETTINGS)
