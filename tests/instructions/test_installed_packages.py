"""How the packages of a kernel's interpreter are found out."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.instructions.installed_packages import Interpreters

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.asyncio
async def test_no_module_of_the_folder_in_which_the_server_was_started_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first question in a chat asks the interpreter, so such a module would run unasked."""
    ran = tmp_path / "ran"
    for name in ("json", "csv", "email", "zipfile"):
        (tmp_path / f"{name}.py").write_text(f"open({str(ran)!r}, 'w').close()")
    monkeypatch.chdir(tmp_path)
    version, _ = await Interpreters().ask_facts(sys.executable)
    assert version == platform.python_version()
    assert not ran.exists()
