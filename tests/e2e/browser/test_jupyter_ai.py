"""Our agent in the chat of Jupyter AI, which starts `jupyter-eca acp` for the persona of our documentation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.lab import LabSettings
from tests.support.docs_pages import blocks
from tests.support.docs_pages import page as page_text
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

# It starts a server, a page and an agent of others, each of which takes seconds.
SECONDS = 120

# Jupyter AI adds sentences of its own to a message.
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "It is written."}]},
    {
        "message": "store the number",
        "reply": [{"tool": "write_file", "arguments": {"path": "new.txt", "content": "one\n"}}],
    },
    {"message": "", "reply": [{"text": "Good day."}]},
]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of an environment with Jupyter AI, and without us."""
    folder = tmp_path_factory.mktemp("jupyter-ai") / "venv"
    uv, python = str(Path(sys.executable).with_name("uv")), folder / "bin" / "python"
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(folder)], check=True)
    packages = ["jupyterlab>=4.5,<5", "jupyter-ai>=3.2,<4"]
    subprocess.run([uv, "pip", "install", "-q", "--python", str(python), *packages], check=True)
    return python


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory, python: Path) -> LabSettings:
    return LabSettings(eca=settings(tmp_path_factory.mktemp("script"), RULES), python=str(python))


def test_a_persona_of_jupyter_ai_answers_and_its_change_is_approved_there(page: Page, lab: Lab) -> None:
    folder = lab.root / ".jupyter" / "personas"
    folder.mkdir(parents=True)
    ((_, example),) = blocks(page_text("use-this-agent-elsewhere.md"), "python")
    command = repr([sys.executable, "-m", "jupyter_eca", "acp"])
    (folder / "eca_persona.py").write_text(example.replace('["jupyter-eca", "acp"]', command))
    (lab.root / "talk.chat").write_text("{}")
    page.goto(lab.address(""))
    page.wait_for_function("window.jupyterapp?.commands.hasCommand('jupyterlab-chat:open')", timeout=SECONDS * 1000)
    page.evaluate("window.jupyterapp.commands.execute('jupyterlab-chat:open', {filepath: 'talk.chat'})")

    # Whom messages are for is chosen beside the box.
    page.locator("[class*='personaControls-persona-btn']").first.click(timeout=SECONDS * 1000)
    page.get_by_role("menuitem", name="Jupyter ECA").click()
    box, messages = page.locator(".jp-chat-input-container"), page.locator(".jp-chat-rendered-message")
    send = box.locator(".jp-chat-send-button")
    box.get_by_role("combobox").press_sequentially("hello")
    send.click()
    expect(messages.filter(has_text="Good day.")).to_be_visible(timeout=SECONDS * 1000)

    box.get_by_role("combobox").press_sequentially("store the number")
    send.click()
    allow = page.get_by_role("button", name="Allow", exact=True)
    expect(allow).to_be_enabled(timeout=SECONDS * 1000)
    assert not (lab.root / "new.txt").exists()
    allow.click()
    expect(messages.filter(has_text="It is written.")).to_be_visible(timeout=SECONDS * 1000)
    assert (lab.root / "new.txt").read_text() == "one\n"
