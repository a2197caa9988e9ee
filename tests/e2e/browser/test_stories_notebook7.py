"""The stories of `test_stories.py`, in Jupyter Notebook 7."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.e2e.browser.test_stories import *  # noqa: F403  # all stories, and those that are added
from tests.e2e.browser.test_stories import make_settings

if TYPE_CHECKING:
    from tests.e2e.browser.lab import LabSettings
    from tests.support.openai_server import LoopbackOpenAI

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory, vendor: LoopbackOpenAI, theme: str) -> LabSettings:
    return replace(make_settings(tmp_path_factory, vendor, theme), app="notebook")
