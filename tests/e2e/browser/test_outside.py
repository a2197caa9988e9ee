"""The page as the assistant's editor: where the cursor is goes along, and files that were changed outside are fresh."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Page, WebSocket

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def _writes(path: str, content: str) -> list[dict[str, Any]]:
    return [{"tool": "write_file", "arguments": {"path": path, "content": content}}]


RULES: list[dict[str, Any]] = [
    {"result": "", "tool": "write_file", "reply": [{"text": "Written."}]},
    {"message": "write the plan", "result": "", "reply": _writes("plan.py", "first = 1\nsecond = 22\n")},
    {"message": "write it again", "result": "", "reply": _writes("plan.py", "first = 1\nsecond = 333\n")},
    {"message": "^write", "reply": [{"tool": "read_file", "arguments": {"path": "plan.py"}}]},
    {"message": "(?s)(?P<all>.*)", "reply": [{"text": "Heard."}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "outside.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"outside": {"script": str(script)}}
    approval = {"byDefault": "allow"}
    eca = {
        "defaultModel": "scripted/outside",
        "providers": {"scripted": {"models": models}},
        "toolCall": {"approval": approval},
    }
    return LabSettings(eca=eca)


def prompts(page: Page) -> list[list[dict[str, Any]]]:
    """What goes along with each prompt of this page, from now on."""
    sent: list[list[dict[str, Any]]] = []

    def follow(socket: WebSocket) -> None:
        if "/eca/ws" in socket.url:
            socket.on("framesent", heard)

    def heard(text: str | bytes) -> None:
        message = json.loads(text)
        if message.get("method") == "chat/prompt":
            sent.append(message["params"].get("contexts", []))

    page.on("websocket", follow)
    return sent


@pytest.mark.nightly
def test_a_file_that_a_tool_changes_is_fresh_in_its_editor_and_unsaved_words_are_kept(page: Page, lab: Lab) -> None:
    sent = prompts(page)
    (lab.root / "plan.py").write_text("first = 1\nsecond = 2\n")
    page.goto(lab.address("plan.py"))
    text = page.locator(".jp-FileEditor .cm-content")
    text.get_by_text("second").click()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")
    panel = Panel.show(page)
    expect(panel.node.locator(".eca-Chip")).to_have_text("plan.py · selected in line 2")
    panel.ask("write the plan")
    expect(text).to_contain_text("second = 22", timeout=SECONDS * 1000)
    panel.sees("Written.")
    panel.wait_until_idle()
    assert sent[0] == [{"type": "text", "label": "selected in plan.py, line 2", "content": "second = 2"}]

    text.get_by_text("first").click()
    page.keyboard.press("End")
    page.keyboard.type("0  # mine")
    panel.ask("write it again")
    toast = page.locator(".Toastify__toast", has_text="was changed on disk")
    expect(toast).to_be_visible(timeout=SECONDS * 1000)
    expect(text).to_contain_text("first = 10  # mine")
    expect(text).to_contain_text("second = 22")
    assert (lab.root / "plan.py").read_text() == "first = 1\nsecond = 333\n"
    toast.get_by_role("button", name="Discard Mine and Reload").click()
    expect(text).to_contain_text("second = 333", timeout=SECONDS * 1000)
    expect(text).not_to_contain_text("mine")
    label, content = sent[1][0]["label"], sent[1][0]["content"]
    assert (label, content) == ("plan.py, lines 1 to 3, cursor in line 1", "first = 10  # mine\nsecond = 22\n")


@pytest.mark.nightly
def test_what_is_selected_pasted_dropped_and_completed_goes_along_as_its_chip_says(page: Page, lab: Lab) -> None:
    sent = prompts(page)
    (lab.root / "notes.md").write_text("Notes.\n")
    notebook = Notebook.open(page, lab, ["a = 1\nb = 2\nc = 3", "1 / 0", "z = 26"], "along.ipynb")
    notebook.run(0)
    notebook.run(1)
    notebook.wait_until_run(1)
    panel = Panel.show(page)
    notebook.cell(0).get_by_text("b").first.click()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+End")
    chips = panel.node.locator(".eca-Chip")
    expect(chips).to_have_text("along.ipynb · cell 1, selected in lines 2 to 3")
    panel.ask("look")
    panel.sees("Heard.")
    panel.wait_until_idle()
    ((selected,),) = sent
    assert (selected["type"], selected["path"], selected["cell"]) == ("cursor", "along.ipynb", "c0")
    assert selected["position"] == {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 5}}

    panel.box.focus()
    chosen = panel.node.locator("[role=option][aria-selected=true]")
    for typed in ("@notes", "@cell:2", "@var:b", "@error"):
        panel.box.press_sequentially(typed)
        expect(chosen).to_contain_text(typed[1:], timeout=SECONDS * 1000)
        page.keyboard.press("Enter")
        expect(chosen).to_have_count(0)
    panel.box.press_sequentially("#notes")
    expect(chosen).to_contain_text("notes.md", timeout=SECONDS * 1000)
    page.keyboard.press("Tab")
    expect(panel.box).to_have_value(re.compile(r"/notes\.md $"))

    paste(page, image=_PNG)
    copied = page.evaluate("() => [window.jupyterapp.shell.currentWidget.content.widgets[0].model.toJSON()]")
    paste(page, text=json.dumps(copied))
    paste(page, text=json.dumps([{"cell_type": "code", "id": "elsewhere", "source": "far = 1", "metadata": {}}]))
    drag_cell(notebook, 2, panel)
    expect(chips).to_have_count(5)
    expect(panel.mentions).to_have_text(["@notes.md", "@cell:2", "@var:b", "@error"])
    panel.box.press("Enter")
    expect(chips).to_have_text(["along.ipynb · cell 3, line 1"])

    around, note, second, variable, error, image, first, far, dropped = sent[1]
    # The mouse that drags a cell makes it the active one.
    assert (around["type"], around["path"], around["cell"]) == ("cursor", "along.ipynb", "c2")
    assert around["position"]["start"]["line"] == 0
    assert note["path"].endswith("notes.md")
    assert [one["type"] for one in (second, variable, error, image)] == ["cell", "variable", "error", "image"]
    assert image["base64"] == _PNG
    assert (first["type"], first["path"], first["cell"]) == ("cell", "along.ipynb", "c0")
    assert (dropped["type"], dropped["cell"], dropped["label"]) == ("cell", "c2", "cell:3")
    assert far == {"type": "text", "label": "code cell: far = 1", "content": "far = 1"}


def paste(page: Page, *, text: str = "", image: str = "") -> None:
    """As a browser tells the box that has the focus."""
    page.evaluate(
        """([text, image]) => {
          const clipboardData = new DataTransfer();
          if (text) { clipboardData.setData('text/plain', text); }
          if (image) {
            const bytes = Uint8Array.from(atob(image), c => c.charCodeAt(0));
            clipboardData.items.add(new File([bytes], 'image.png', { type: 'image/png' }));
          }
          const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
          document.activeElement.dispatchEvent(event);
        }""",
        [text, image],
    )


def drag_cell(notebook: Notebook, n: int, panel: Panel) -> None:
    page = notebook.page
    start = notebook.cell(n).locator(".jp-InputPrompt").bounding_box()
    end = panel.box.bounding_box()
    assert start is not None
    assert end is not None
    page.mouse.move(start["x"] + 20, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(start["x"] + 60, start["y"] + 40, steps=4)
    page.mouse.move(end["x"] + 60, end["y"] + 8, steps=8)
    page.mouse.up()
