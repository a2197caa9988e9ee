"""A JupyterLab whose kernels are behind a real kernel gateway, which has an environment of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from jupyter_eca.plugins.providers.scripted import Script
from tests.apps.server.gateway.gateways import EQUIPPED, PLAIN, TOKEN, build_environment, start_gateway
from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.support.anthropic_server import LoopbackAnthropic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "The sum is in `total`: {result}"}]},
    {"message": "sum", "reply": [{"tool": "run_code", "arguments": {"code": "total = sum(range(10))\ntotal"}}]},
    {"message": "names", "reply": [{"tool": "variables", "arguments": {}}]},
    {"message": "stream", "reply": [{"text": "tick " * 3000, "chunk": 5, "delay": 0.02}]},
    {"message": "", "reply": [{"text": "Hello from the loopback."}]},
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Its kernel `plain` is of its own environment, which does not have the assistant."""
    folder = tmp_path_factory.mktemp("gateway")
    python = build_environment(folder / "venv")
    with start_gateway(folder / "gateway", [python, "-m", "ipykernel_launcher"], python, lists=True) as (port, _):
        yield port


@pytest.fixture(scope="module")
def model() -> Iterator[LoopbackAnthropic]:
    with LoopbackAnthropic(Script.model_validate({"rules": RULES})) as server:
        yield server


@pytest.fixture(scope="module")
def lab_settings(model: LoopbackAnthropic, gateway: int) -> LabSettings:
    provider: dict[str, Any] = {"url": model.url, "key": "sk-loopback", "models": {"m": {}}, "retry": 1}
    options = (f"--gateway-url=http://127.0.0.1:{gateway}", f"--GatewayClient.auth_token={TOKEN}")
    return LabSettings(eca={"providers": {"anthropic": provider}, "defaultModel": "anthropic/m"}, options=options)


def test_cells_ask_a_click_approves_and_so_it_is_after_an_interrupt_and_a_restart(page: Page, lab: Lab) -> None:
    sources = ["%load_ext jupyter_eca", "%%eca -> answer\nWhat is the sum?", "print(total)", "%%eca\nstream"]
    notebook = Notebook.open(page, lab, sources, "cells.ipynb", EQUIPPED)
    for _ in range(2):
        notebook.run(0)
        notebook.wait_until_run(0)
        notebook.run(1)
        notebook.wait_for_output(1, "waits for your approval")
        page.get_by_role("button", name="Approve", exact=True).click()
        notebook.wait_for_output(1, "The sum is in total: 45")
        notebook.wait_until_run(1)
        notebook.run(2)
        notebook.wait_for_output(2, "45")
        notebook.run(3)
        notebook.wait_for_output(3, "tick tick")
        notebook.execute("notebook:interrupt-kernel")
        notebook.wait_for_output(3, "Stopped.")
        notebook.wait_until_run(3)
        page.evaluate("() => void window.jupyterapp.commands.execute('notebook:restart-clear-output')")
        with page.expect_response(re.compile("/restart")):
            page.get_by_role("button", name="Confirm Kernel Restart").click()
        expect(notebook.cell(1).locator(".jp-OutputArea-child")).to_have_count(0)
        notebook.save()
        # A page behind a gateway may miss the first status of a restarted kernel, with and without the assistant. Then
        # it shows that the kernel starts, until it is reloaded.
        page.goto(lab.address("cells.ipynb"))
        notebook.wait_until_idle()


def test_the_panel_runs_code_in_a_kernel_without_the_package(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["print(total)", "import jupyter_eca"], "panel.ipynb", PLAIN)
    panel = Panel.show(page)
    panel.ask("sum")
    panel.node.get_by_role("button", name="Approve", exact=True).click()
    panel.sees("In the kernel of panel.ipynb:\n45")
    notebook.run(0)
    notebook.wait_for_output(0, "45")
    notebook.run(1)
    notebook.wait_for_output(1, "ModuleNotFoundError")
    panel.ask("names")
    panel.sees("total")
