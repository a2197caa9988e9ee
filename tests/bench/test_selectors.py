"""The benches find in the page what they wait for: they look for classes that the panel draws."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_SOURCES = [path.read_text() for path in (_ROOT / "labextension" / "src").rglob("*.ts*")]
_CLASS = re.compile(r"\beca-[A-Za-z][\w-]*")
# Names of files and folders of the benches.
_OTHERS = {"eca-bench"}
_NAMES = sorted(
    {name for path in Path(__file__).parent.rglob("*.py") for name in _CLASS.findall(path.read_text())} - _OTHERS
)


@pytest.mark.parametrize("name", _NAMES)
def test_a_class_that_a_bench_looks_for_is_drawn(name: str) -> None:
    # The name may be made of parts: `eca-mod-${kind}`.
    assert any(name in source for source in _SOURCES)
