"""A kernel of a server that nobody asks costs no import of ours, unless a variable or a file may restrict it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.apps.server.kernel_provisioner import may_have_rules

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = {"PATH": "/bin", "LANG": "C", "JPY_API_TOKEN": "t", "JUPYTERHUB_API_TOKEN": "t"}


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "MY_SECRET", "ECA_CONFIG", "JUPYTER_ECA_POLICY"])
def test_a_variable_with_a_key_or_settings_makes_rules_needed(tmp_path: Path, name: str) -> None:
    variables = {**PLAIN, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert not may_have_rules(tmp_path, variables)
    assert may_have_rules(tmp_path, {**variables, name: "some value"})


@pytest.mark.parametrize("place", ["config/eca", ".eca"])
def test_a_file_of_the_configuration_makes_rules_needed(tmp_path: Path, place: str) -> None:
    variables = {**PLAIN, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    (tmp_path / place).mkdir(parents=True)
    assert not may_have_rules(tmp_path, variables)
    (tmp_path / place / "config.json").write_text("{}")
    assert may_have_rules(tmp_path, variables)


def test_the_question_imports_nothing_heavy(tmp_path: Path) -> None:
    program = f"""
import json, pathlib, sys
from jupyter_eca.apps.server.kernel_provisioner import may_have_rules
may_have_rules(pathlib.Path({str(tmp_path)!r}), {{}})
print(json.dumps(sorted({{"pydantic", "jupyter_eca.config"}} & set(sys.modules))))
"""
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == []
