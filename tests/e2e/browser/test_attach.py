"""Attaching files to a message in a real JupyterLab: from the server, from the computer, and by drag and drop."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

RULES: list[dict[str, Any]] = [
    {"message": "(?s)read.*name,age", "reply": [{"text": "A table of people."}]},
    {"message": "(?s)read.*roses", "reply": [{"text": "A poem."}]},
    {"message": "", "reply": [{"text": "Nothing is attached."}]},
]
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63f8cfc0f01f0005000"
    "1ff89993d1d0000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "attach.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"attach": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/attach", "providers": {"scripted": {"models": models}}})


def chips(panel: Panel) -> Locator:
    return panel.node.get_by_role("list", name="Sent with the message").get_by_role("listitem")


@pytest.mark.nightly
def test_a_file_of_the_server_is_attached_with_the_keyboard(page: Page, lab: Lab) -> None:
    (lab.root / "people.csv").write_text("name,age\nAda,36\n")
    panel = Panel.open(page, lab)
    panel.button("Attach files or images").press("Enter")
    expect(page.get_by_role("menuitem", name="Files in Jupyter…")).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_text("people.csv").click(timeout=SECONDS * 1000)
    dialog.get_by_role("button", name="Select").click()
    expect(chips(panel)).to_have_text(["people.csv"], timeout=SECONDS * 1000)
    expect(panel.box).to_be_focused()
    panel.ask("read")
    panel.sees("A table of people.")


@pytest.mark.nightly
def test_files_and_images_of_the_computer_are_attached(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.button("Attach files or images").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("menuitem", name="Upload from this computer…").click()
    files: list[Any] = [
        {"name": "poem.txt", "mimeType": "text/plain", "buffer": b"roses"},
        {"name": "dot.png", "mimeType": "image/png", "buffer": PIXEL},
    ]
    chooser.value.set_files(files)
    expect(chips(panel)).to_have_count(2, timeout=SECONDS * 1000)
    assert (lab.root / "poem.txt").read_text() == "roses"
    panel.node.get_by_role("button", name="Remove image").click()
    panel.ask("read")
    panel.sees("A poem.")


@pytest.mark.nightly
def test_a_file_is_dropped_onto_the_box(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.box.evaluate(
        """box => {
          const data = new DataTransfer();
          data.items.add(new File(['roses are red'], 'dropped.txt', { type: 'text/plain' }));
          box.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
        }"""
    )
    expect(chips(panel)).to_have_text(["dropped.txt"], timeout=SECONDS * 1000)
    panel.ask("read")
    panel.sees("A poem.")


@pytest.mark.nightly
def test_a_file_is_dragged_from_labs_list_of_files_onto_the_box(page: Page, lab: Lab) -> None:
    (lab.root / "people.csv").write_text("name,age\nAda,36\n")
    panel = Panel.open(page, lab)
    row = page.locator(".jp-DirListing-item").filter(has_text="people.csv")
    row.wait_for(timeout=SECONDS * 1000)
    row.hover()
    page.mouse.down()
    box = panel.box.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 20, box["y"] + 5, steps=8)
    page.mouse.move(box["x"] + 25, box["y"] + 8, steps=3)
    page.mouse.up()
    expect(chips(panel)).to_have_text(["people.csv"], timeout=SECONDS * 1000)
