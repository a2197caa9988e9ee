"""The version has one place. npm wants a copy: this keeps it true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jupyter_eca


@pytest.mark.parametrize("name", ["package.json", "package-lock.json"])
def test_the_labextension_has_the_version_of_the_package(name: str) -> None:
    file = Path(__file__).parents[1] / "labextension" / name
    assert json.loads(file.read_text())["version"] == jupyter_eca.__version__
