"""A real JupyterLab and a real browser for the tests of this folder.

A module that needs another server overrides `lab_settings`; all that do not share one.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.e2e.browser.assistant import SECONDS
from tests.e2e.browser.lab import LabSettings, find_port, running_lab
from tests.e2e.browser.listener import Listener, running_listener
from tests.support import warm_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from concurrent.futures import Executor, Future

    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.e2e.browser.lab import Lab

# Unless a test says otherwise.
expect.set_options(timeout=SECONDS * 1000)

# Containers have no sandbox and no graphics card; the rest keeps Chromium from calling home.
CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # The scripts that one page has compiled are there for the next one: a test takes 4.4 s of CPU in place of 4.8.
    "--process-per-site",
]

# Parts of JupyterLab that no test has to do with, and that take a fifth of what a page takes: an animation while it is
# loaded, viewers, the debugger, consoles.
WITHOUT = (
    *(f"@jupyterlab/{name}-extension" for name in (
        "audio", "celltags", "console", "csvviewer", "debugger", "extensionmanager", "help", "htmlviewer", "hub",
        "imageviewer", "logconsole", "lsp", "metadataform", "pluginmanager", "terminal", "video",
    )),
    "@jupyter-notebook/lab-extension",
    "@jupyterlab/apputils-extension:splash",
)  # fmt: skip
# It runs npm to find language servers.
WITHOUT_SERVERS = ("--LanguageServerManager.autodetect=False",)


class Labs:
    """Starts what is asked for. What one module alone has is ended with it: nobody waits for that but the last.

    A server gets the port of one that has ended, so that the browser's cache knows its scripts: it keeps them by their
    addresses. So a port is used by one environment only, because some of the addresses do not name a version.

    Where they are quick, they are without what no test has to do with."""

    def __init__(self, new_folder: Callable[[], Path], ending: Executor, *, are_quick: bool) -> None:
        self._new_folder = new_folder
        self._are_quick = are_quick
        self._ending = ending
        self._shared = ExitStack()
        self._ended: list[Future[None]] = []
        self._plain: Lab | None = None
        # By the Python of their environment.
        self._free_ports: defaultdict[str, list[int]] = defaultdict(list)

    @contextmanager
    def with_settings(self, settings: LabSettings) -> Generator[Lab]:
        if settings == LabSettings():
            self._plain = self._plain or self._shared.enter_context(self._start(settings))
            yield self._plain
            return
        own = ExitStack()
        lab = own.enter_context(self._start(settings))
        try:
            yield lab
        finally:
            self._ended.append(self._ending.submit(own.close))

    @contextmanager
    def _start(self, settings: LabSettings) -> Generator[Lab]:
        free = self._free_ports[settings.python]
        port = free.pop() if free else find_port()
        if self._are_quick:
            settings = replace(settings, without=WITHOUT, options=(*WITHOUT_SERVERS, *settings.options))
        with running_lab(settings, self._new_folder(), port) as lab:
            yield lab
        free.append(port)

    def close(self) -> None:
        self._shared.close()
        for ended in self._ended:
            ended.result()


@pytest.fixture(scope="session")
def labs(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Labs]:
    """As quick as can be where the tests of the night are left out, and else as a user has them."""
    is_quick = "not nightly" in str(pytestconfig.getoption("markexpr")) and "STORIES" not in os.environ
    if is_quick:
        warm_starts.wait_for("jupyterlab")
    with (
        ThreadPoolExecutor() as ending,
        closing(Labs(lambda: tmp_path_factory.mktemp("lab"), ending, are_quick=is_quick)) as labs,
    ):
        yield labs


@pytest.fixture(scope="module")
def lab_settings() -> LabSettings:
    return LabSettings()


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with running_listener() as listener:
        yield listener


@pytest.fixture(scope="module")
def lab(labs: Labs, lab_settings: LabSettings) -> Iterator[Lab]:
    with labs.with_settings(lab_settings) as lab:
        yield lab


class Chromium:
    """One browser with one profile for all tests of this process. Its cache keeps Lab's scripts, and what was compiled
    of them, so that a page is there in two thirds of the time."""

    def __init__(self) -> None:
        self._running = ExitStack()
        self._context: BrowserContext | None = None

    def context(self) -> BrowserContext:
        """Starts it where it does not run."""
        if self._context is None:
            chromium = shutil.which("chromium")
            if chromium is None:
                pytest.fail("The browser tests need Chromium on the PATH, for example `apt-get install chromium`.")
            profile = self._running.enter_context(TemporaryDirectory(ignore_cleanup_errors=True))
            playwright = self._running.enter_context(sync_playwright())
            self._context = self._running.enter_context(
                playwright.chromium.launch_persistent_context(
                    profile, executable_path=chromium, args=CHROMIUM_OPTIONS, viewport={"width": 1280, "height": 800}
                )
            )
            # Its process, which pages of all servers share, does not end between two tests.
            first = self._context.pages[0]
            first.route(IDLE, lambda route: route.fulfill(body=""))
            first.goto(IDLE)
        return self._context

    def clear(self) -> None:
        """Close all pages, and forget what they left behind, but for the cache."""
        context = self.context()
        idle, *pages = context.pages
        devtools: Any = context.new_cdp_session(idle)  # what it sends is only partly typed
        for page in pages:
            origin = "{0.scheme}://{0.netloc}".format(urlsplit(page.url))
            page.close()
            devtools.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": STORED})
        devtools.detach()
        context.clear_cookies()
        context.set_offline(offline=False)

    def close(self) -> None:
        self._context = None
        self._running.close()


# An empty page of the site that all servers belong to: the port makes no difference.
IDLE = "http://127.0.0.1/"
# What pages may leave behind.
STORED = "cookies,local_storage,indexeddb,service_workers,cache_storage"

_chromium = Chromium()


@pytest.fixture(scope="session", autouse=True)
def _ended_chromium() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]  # pytest uses it
    yield
    _chromium.close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """An event loop runs in this thread while playwright does, and async tests must not meet it."""
    if item.get_closest_marker("asyncio"):
        _chromium.close()


@pytest.fixture
def browser() -> Browser:
    """For pages of several people, each in a context of its own."""
    browser = _chromium.context().browser
    assert browser is not None
    return browser


_HAS_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[_HAS_FAILED] = True
    return report


@pytest.fixture
def page(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A fresh page. How it looked at the end is in `$CI_ARTIFACTS`, or in the test's folder if it failed."""
    page = _chromium.context().new_page()
    yield page
    folder = os.environ.get("CI_ARTIFACTS")
    if folder or request.node.stash.get(_HAS_FAILED, False):
        name = re.sub(r"\W+", "-", str(request.node.name))
        page.screenshot(path=Path(folder or tmp_path) / f"{name}.png", animations="disabled")
    _chromium.clear()
