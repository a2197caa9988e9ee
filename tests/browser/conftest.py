"""A real JupyterLab and a real browser for the tests of this folder.

A module that needs another server overrides `lab_settings`; modules with the same settings share one.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.lab import Lab, LabSettings, running_lab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

# Containers have no sandbox and no graphics card; the rest keeps Chromium from calling home.
CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[LabSettings], Lab]]:
    """Starts what is asked for, once each, and ends all of it."""
    started: list[Lab] = []
    with ExitStack() as stack:

        def lab_with(settings: LabSettings) -> Lab:
            for lab in started:
                if lab.settings == settings:
                    return lab
            started.append(stack.enter_context(running_lab(settings, tmp_path_factory.mktemp("lab"))))
            return started[-1]

        yield lab_with


@pytest.fixture(scope="module")
def lab_settings() -> LabSettings:
    return LabSettings()


@pytest.fixture(scope="module")
def lab(labs: Callable[[LabSettings], Lab], lab_settings: LabSettings) -> Lab:
    return labs(lab_settings)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of the module: an event loop runs in this thread while playwright does, so async tests must not meet it."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail("The browser tests need Chromium on the PATH, for example `apt-get install chromium`.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A fresh page; how it looked at the end is in `$CI_ARTIFACTS` or the test's folder."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    yield page
    name = re.sub(r"\W+", "-", str(request.node.name))
    file = Path(os.environ.get("CI_ARTIFACTS") or tmp_path) / f"{name}.png"
    page.screenshot(path=file, animations="disabled")
    context.close()
