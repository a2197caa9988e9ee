"""Pictures of pages, for whoever wants to look at what the tests see."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def are_kept() -> bool:
    """Whether `$CI_ARTIFACTS` names a folder for pictures. A picture takes 0.25 s of CPU."""
    return "CI_ARTIFACTS" in os.environ


def keep(page: Page, name: str) -> None:
    """Keep a picture of the page, where pictures are kept."""
    if are_kept():
        page.screenshot(path=Path(os.environ["CI_ARTIFACTS"]) / f"{name}.png", animations="disabled")
