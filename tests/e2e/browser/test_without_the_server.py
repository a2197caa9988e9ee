"""The labextension where the server extension is not enabled, as after an installation that went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab_settings() -> LabSettings:
    return LabSettings(options=("--ServerApp.jpserver_extensions=jupyter_eca=False",))


@pytest.mark.nightly
def test_stopping_says_that_there_is_no_assistant(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["x = 1"])
    notebook.execute("eca:stop")
    notebook.wait_for_notification("No assistant on this server.")
