"""The copy of the notebooks that `make lab` opens."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tests.support.tour import NOTEBOOKS, copy_tour

if TYPE_CHECKING:
    from pathlib import Path


def test_the_copies_have_no_outputs_and_name_this_python(tmp_path: Path) -> None:
    assert copy_tour(tmp_path) == []
    copies = sorted(tmp_path.glob("*.ipynb"))
    assert [copy.name for copy in copies] == sorted(file.name for file in NOTEBOOKS.glob("*.ipynb"))
    for copy in copies:
        notebook = json.loads(copy.read_text())
        assert notebook["metadata"]["language_info"]["version"] == sys.version.split()[0]
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook["cells"])
    assert (tmp_path / ".eca" / "tour.json").exists()
    assert (tmp_path / "data" / "orders.csv").exists()
    assert not (tmp_path / "images").exists()


def test_what_the_reader_has_changed_stays_and_the_rest_is_copied_anew(tmp_path: Path) -> None:
    copy_tour(tmp_path)
    mine, other = tmp_path / "01_hello.ipynb", tmp_path / "data" / "orders.csv"
    mine.write_text("mine")
    other.unlink()
    assert copy_tour(tmp_path) == ["01_hello.ipynb"]
    assert mine.read_text() == "mine"
    assert other.exists()
