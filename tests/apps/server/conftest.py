"""A Jupyter server with our extension, in this process (pytest-jupyter), its user's folders under tmp_path."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.host_and_client import settings
from tests.support.trust import trust_folder

if TYPE_CHECKING:
    from pathlib import Path

pytest_plugins = ["pytest_jupyter.jupyter_server"]

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "The tool said: {result}"}]},
    {"message": "make", "reply": [{"text": "I make it. "},
                                  {"tool": "run_code", "arguments": {"code": "answer = 6 * 7"}}]},
    {"message": "forecast", "reply": [{"tool": "forecast", "arguments": {"city": "Ulm"}}]},
    {"message": "^write$", "reply": [{"tool": "write_file", "arguments": {"path": "new.txt", "content": "one"}}]},
    {"message": "die", "reply": [{"tool": "run_code", "arguments": {"code": "import os; os._exit(1)"}}]},
    {"message": "wait", "reply": [{"tool": "run_code", "arguments": {"code": "import time; time.sleep(60)"}}]},
    {"message": "slow", "reply": [{"text": "word " * 4000, "chunk": 5, "delay": 0.005}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]  # fmt: skip


@pytest.fixture
def approve_with_token() -> bool:
    """Whether a client that shows only the token of the server may approve; a test module overrides it."""
    return False


@pytest.fixture
def jp_server_config(approve_with_token: bool) -> dict[str, Any]:  # a fixture
    extension = {"approve_with_token": approve_with_token}
    return {"ServerApp": {"jpserver_extensions": {"jupyter_eca": True}}, "EcaApp": extension}


@pytest.fixture
def rules() -> dict[str, Any]:
    """Approval rules; a test module overrides it."""
    return {}


@pytest.fixture(autouse=True)
def eca_config(jp_root_dir: Path, tmp_path: Path, rules: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    (jp_root_dir / ".eca").mkdir()
    config = settings(tmp_path, RULES, toolCall={"approval": rules})
    (jp_root_dir / ".eca" / "config.json").write_text(json.dumps(config))
    trust_folder(monkeypatch, jp_root_dir)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
