"""Which licences may be in the wheel and in what its installation brings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.packaging.bill import find_refused, is_permissive
from tests.e2e.packaging.check import find_faults

PACKAGE = Path(__file__).parents[3] / "jupyter_eca"


@pytest.mark.parametrize(
    "text",
    [
        *("MIT", "BSD-3-Clause", "Apache-2.0 OR BSD-2-Clause", "(MPL-2.0 OR Apache-2.0)", "MIT AND PSF-2.0"),
        *("Apache License, Version 2.0", "Apache 2.0", "License :: OSI Approved :: MIT License", "BSD License"),
    ],
)
def test_a_permissive_licence_is_known_by_its_expression_and_by_its_usual_names(text: str) -> None:
    assert is_permissive(text)


@pytest.mark.parametrize(
    "text", ["", "GPL-3.0-only", "MIT AND LGPL-2.1-only", "AGPL-3.0-or-later OR GPL-2.0-only", "Proprietary", "MPL-2.0"]
)
def test_any_other_licence_is_refused(text: str) -> None:
    assert not is_permissive(text)


def test_a_package_is_named_with_the_licence_that_is_refused() -> None:
    free = {"name": "free", "version": "1", "licenses": [{"license": {"id": "MIT"}}]}
    bound = {"name": "bound", "version": "2", "licenses": [{"license": {"id": "GPL-3.0-only"}}]}
    silent = {"name": "silent", "version": "3"}
    known = {"name": "certifi", "version": "4", "licenses": [{"license": {"id": "MPL-2.0"}}]}
    assert [*find_refused([free, bound, silent, known])] == ["bound 2: GPL-3.0-only", "silent 3: no licence"]


@pytest.mark.parametrize("place", ["labextension/static", "apps/kernel/static"])
def test_the_code_that_is_bundled_into_the_wheel_may_be_used_by_anybody_for_anything(place: str) -> None:
    file = PACKAGE / place / "third-party-licenses.json"
    packages = json.loads(file.read_text())["packages"]
    assert packages
    assert [package["name"] for package in packages if not is_permissive(package["licenseId"])] == []


def test_a_wheel_without_the_panel_or_with_a_source_map_is_no_good_one() -> None:
    faults = find_faults({"jupyter_eca/__init__.py", "jupyter_eca/apps/kernel/static/panel.js.map"})
    assert any("remoteEntry" in fault for fault in faults)
    assert "has jupyter_eca/apps/kernel/static/panel.js.map" in faults
