"""The stories of `test_stories.py`, in the oldest JupyterLab that the assistant supports."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.e2e.browser.oldest_lab import OLDEST, ROOT, build
from tests.e2e.browser.test_stories import *  # noqa: F403  # all stories, and those that are added
from tests.e2e.browser.test_stories import make_settings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.browser.lab import LabSettings
    from tests.support.openai_server import LoopbackOpenAI

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("oldest") / "venv")


@pytest.fixture(scope="module")
def lab_settings(
    tmp_path_factory: pytest.TempPathFactory, vendor: LoopbackOpenAI, theme: str, python: Path
) -> LabSettings:
    return replace(make_settings(tmp_path_factory, vendor, theme), python=str(python))


def test_it_is_the_version_that_the_readme_names(python: Path) -> None:
    version = subprocess.run(
        [python, "-c", "import jupyterlab; print(jupyterlab.__version__)"], check=True, capture_output=True, text=True
    ).stdout
    assert version.startswith(f"{OLDEST}.")
    assert f"JupyterLab {OLDEST} or newer" in (ROOT / "README.md").read_text()
