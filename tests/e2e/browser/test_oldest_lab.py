"""The main stories, in the oldest JupyterLab that the assistant supports."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.e2e.browser.oldest_lab import OLDEST, ROOT, build
from tests.e2e.browser.test_stories import (
    make_settings,
    tell,
    test_i_ask_about_my_data_in_a_cell_and_approve_the_code,
    test_i_fix_an_error_with_two_clicks,
    test_i_point_at_a_table_and_ask_what_is_missing,
    test_i_undo_what_the_assistant_has_changed,
    vendor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.browser.lab import LabSettings
    from tests.support.openai_server import LoopbackOpenAI

__all__ = [
    "tell",
    "test_i_ask_about_my_data_in_a_cell_and_approve_the_code",
    "test_i_fix_an_error_with_two_clicks",
    "test_i_point_at_a_table_and_ask_what_is_missing",
    "test_i_undo_what_the_assistant_has_changed",
    "vendor",
]

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("oldest") / "venv")


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory, vendor: LoopbackOpenAI, python: Path) -> LabSettings:
    return replace(make_settings(tmp_path_factory, vendor), python=str(python))


def test_it_is_the_version_that_the_readme_names(python: Path) -> None:
    version = subprocess.run(
        [python, "-c", "import jupyterlab; print(jupyterlab.__version__)"], check=True, capture_output=True, text=True
    ).stdout
    assert version.startswith(f"{OLDEST}.")
    assert f"JupyterLab {OLDEST} or newer" in (ROOT / "README.md").read_text()
