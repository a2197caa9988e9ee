"""The README's moving picture can be made again from the page as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.docs.make_readme_picture import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.browser
@pytest.mark.nightly
def test_the_picture_can_be_made_from_the_page_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "tour.webp"
    main(file)
    assert file.stat().st_size > 10_000
