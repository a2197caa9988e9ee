"""What all tests share."""

from __future__ import annotations

import functools
import gc
import importlib
import os
import sys
import typing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from pytest_rerunfailures import StatusDB  # pyright: ignore[reportMissingTypeStubs]

from tests.support import warm_starts

if TYPE_CHECKING:
    from collections.abc import Generator

# Nobody's own keyring is asked or written to, here and in the processes of tests.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

# Examples are small; a slow one tells of a busy machine, not of the code.
settings.register_profile("here", deadline=None)
settings.load_profile("here")

# `isinstance` looks for the members of a protocol each time, which took a tenth of a test with a host. Python 3.12
# keeps them.
if sys.version_info < (3, 12):
    _find_members = "_get_protocol_attrs"
    setattr(typing, _find_members, functools.cache(getattr(typing, _find_members)))

_WARM_STARTS = warm_starts.install()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Where several processes share the tests, each asks the first one before every test how often that test has
    failed already. The first reads this byte by byte, 34 of them for a test, beside its own work. Only a test during
    which a process has crashed needs it: without it, that test fails at once."""
    if hasattr(config, "workerinput") and (asked := getattr(config, "failures_db", None)) is not None:
        asked.sock.close()
        vars(config)["failures_db"] = StatusDB()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if _WARM_STARTS is not None:
        _WARM_STARTS.is_on = item.get_closest_marker("cold_start") is None


def pytest_unconfigure() -> None:
    if _WARM_STARTS is not None:
        _WARM_STARTS.close()


# Collecting makes millions of objects that all stay until the end. Looking through them for garbage took two fifths of
# the time of collecting, and would go on while the tests run. A tenth of what tests of the engine took was looking for
# garbage 30 times as often as now.
gc.disable()
gc.set_threshold(20_000, 50, 50)


def pytest_collection_finish(session: pytest.Session) -> None:
    # In a short run, each of these is started when a test first needs it.
    if _WARM_STARTS is not None and "PYTEST_XDIST_WORKER" in os.environ and len(session.items) > 1_000:
        _WARM_STARTS.prepare()
    gc.freeze()
    gc.enable()


# What helpers assert is told as well as what tests do.
pytest.register_assert_rewrite("tests.e2e.conversation", "tests.workspace.notebooks.contract")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print why a test failed that was tried once more: its second failure, or its success, would hide the cause."""
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.write_sep("-", f"first failure of {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)


@pytest.fixture(scope="session")
def sdk() -> None:
    """The SDKs take seconds to import: not while a test waits for an answer, and not where there are tests without."""
    importlib.import_module("anthropic")
    importlib.import_module("openai")
    importlib.import_module("genai_prices")


@pytest.fixture
def system_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One that works, of this process and of those that it starts; `filering.read` tells what is in it."""
    from keyring import core

    from tests.support import file_keyring

    file, paths = tmp_path / "system-keyring", (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", file_keyring.NAME)
    monkeypatch.setenv(file_keyring.VARIABLE, str(file))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.setattr(core, "_keyring_backend", None)  # the package asks the environment once
    return file


@pytest.fixture
def plug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A folder on the path, for the module of somebody else's plug. `tests.plugins.test_loader.install` installs it."""
    from jupyter_eca.host.commands import dispatch
    from jupyter_eca.plugins.contexts import resolve

    monkeypatch.syspath_prepend(str(tmp_path))  # pyright: ignore[reportUnknownMemberType]  # untyped in pytest
    for found in (dispatch.find_native, resolve.find_plugs):
        found.cache_clear()
    yield tmp_path
    for found in (dispatch.find_native, resolve.find_plugs):
        found.cache_clear()
