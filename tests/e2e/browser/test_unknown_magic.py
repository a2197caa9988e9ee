"""Somebody types `%%eca` into a fresh kernel, which does not know it yet: one click, and the cell has its answer."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.axe import complaints
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import keep

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

LOAD = "Load the assistant and run this cell"
RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "You said: {message}"}]}]

# A kernel whose environment lacks the package.
WITHOUT_PACKAGE = """
import sys
from ipykernel.kernelapp import IPKernelApp

class Lacking:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "jupyter_eca":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Lacking)
IPKernelApp.launch_instance()
"""
# A kernel of another language: its cells do not understand `%%eca`.
OTHER_LANGUAGE = """
import sys
from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

class Other(Kernel):
    implementation, implementation_version, banner = "other", "1", "Other"
    language_info = {"name": "other", "mimetype": "text/plain", "file_extension": ".txt"}

    async def do_execute(self, code, silent, *args, **kwargs):
        self.send_response(self.iopub_socket, "stream", {"name": "stderr", "text": "What is that?"})
        return {"status": "error", "ename": "Unknown", "evalue": "", "traceback": []}

IPKernelApp.launch_instance(kernel_class=Other)
"""


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    folder = tmp_path_factory.mktemp("kernels")
    for name, program, language in [
        ("bare", WITHOUT_PACKAGE, "python"),
        ("other", OTHER_LANGUAGE, "other"),
    ]:
        argv = [sys.executable, "-c", program, "-f", "{connection_file}"]
        file = folder / "kernels" / name / "kernel.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"argv": argv, "display_name": name, "language": language}))
    script = folder / "script.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"help": {"script": str(script)}}
    return LabSettings(
        env={"JUPYTER_PATH": str(folder)},
        eca={"defaultModel": "scripted/help", "providers": {"scripted": {"models": models}}},
    )


def help_of(notebook: Notebook, n: int) -> Locator:
    return notebook.cell(n).locator(".eca-Help")


def run_to_its_error(notebook: Notebook, n: int) -> None:
    notebook.run(n)
    expect(help_of(notebook, n)).to_be_visible(timeout=SECONDS * 1000)


def test_one_click_loads_the_assistant_and_answers_the_question_that_a_fresh_kernel_does_not_know(
    page: Page, lab: Lab
) -> None:
    sources = ["%%eca explain df", "%eca and this", "1 / 0"]
    notebook = Notebook.open(page, lab, sources, "fresh.ipynb")
    for n in (0, 1):
        run_to_its_error(notebook, n)
        expect(help_of(notebook, n).get_by_role("button")).to_have_text([LOAD])
    keep(page, "unknown-magic-offer")
    for n, question in ((0, "explain df"), (1, "and this")):
        help_of(notebook, n).get_by_role("button", name=LOAD).click()
        notebook.wait_for_output(n, f"You said: {question}")
        expect(help_of(notebook, n)).to_have_count(0)
    keep(page, "unknown-magic-answer")
    assert notebook.sources() == sources, "no cell was added or changed"
    run_to_its_error(notebook, 2)
    expect(help_of(notebook, 2).get_by_role("button")).to_have_text(["Fix", "Explain"])


def test_a_kernel_without_the_package_says_how_to_install_it_and_the_panel_answers_instead(
    page: Page, lab: Lab
) -> None:
    notebook = Notebook.open(page, lab, ["%%eca -n\nexplain df"], "bare.ipynb", "bare")
    run_to_its_error(notebook, 0)
    help_of(notebook, 0).get_by_role("button", name=LOAD).press("Enter")
    expect(help_of(notebook, 0).get_by_role("alert")).to_contain_text("%pip install jupyter-eca")
    expect(help_of(notebook, 0).get_by_role("button")).to_have_text([LOAD, "Ask in the panel"])
    expect(help_of(notebook, 0).get_by_role("button", name=LOAD)).to_be_focused()
    assert complaints(page, ".eca-Help") == []
    keep(page, "unknown-magic-install")
    help_of(notebook, 0).get_by_role("button", name="Ask in the panel").click()
    Panel(page).sees("You said: explain df")


@pytest.mark.nightly
def test_a_kernel_of_another_language_offers_the_panel(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["%%eca explain df"], "other.ipynb", "other")
    run_to_its_error(notebook, 0)
    expect(help_of(notebook, 0).get_by_role("button")).to_have_text(["Ask in the panel"])
    keep(page, "unknown-magic-other")
    help_of(notebook, 0).get_by_role("button").click()
    Panel(page).sees("You said: explain df")


@pytest.mark.nightly
def test_the_help_is_offered_in_a_notebook_that_was_saved_with_its_error(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["%%eca explain df"], "saved.ipynb")
    run_to_its_error(notebook, 0)
    notebook.save()
    page.goto(lab.address("saved.ipynb"))
    help_of(notebook, 0).get_by_role("button", name=LOAD).click(timeout=SECONDS * 1000)
    notebook.wait_for_output(0, "You said: explain df")
