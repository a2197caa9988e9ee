"""What authors of plugs import from `jupyter_eca.plugins`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jupyter_eca import plugins
from tests.support.docs_pages import ROOT


def test_each_name_of_the_facade_is_there() -> None:
    named = {name: getattr(plugins, name) for name in plugins.__all__}
    assert plugins.TextDelta in named.pop("Delta").__args__
    assert {name: found.__name__.rpartition(".")[2] for name, found in named.items()} == {name: name for name in named}


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'toll'"):
        _ = plugins.toll


def test_importing_the_facade_imports_nothing_of_ours_but_the_package() -> None:
    code = "import sys, jupyter_eca.plugins; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    ours = [name for name in done.stdout.split() if name.partition(".")[0] == "jupyter_eca"]
    assert ours == ["jupyter_eca", "jupyter_eca._version", "jupyter_eca.plugins"]
