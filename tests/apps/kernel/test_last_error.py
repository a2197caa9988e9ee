"""`@error` where no page has the notebook open: the kernel that asks knows what went wrong in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.apps.kernel.nbclient_notebook import opened, surround
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [
    {"message": "^fail", "reply": [{"tool": "run_code", "arguments": {"code": "1 / 0"}}]},
    {"message": "", "result": "", "reply": [{"text": "It failed."}]},
    {"message": "", "reply": [{"text": "````\n{message}\n````"}]},
]
ALLOWED: dict[str, Any] = {"toolCall": {"approval": {"allow": {"run_code": {}}}}}


async def test_the_last_error_of_a_kernel_comes_with_the_cells_that_it_passed_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surround(monkeypatch, tmp_path, settings(tmp_path, RULES, **ALLOWED))
    async with opened(tmp_path) as book:
        assert "Nothing that ran in this kernel ended with an error." in (await book.run("%eca why? @error")).markdown
        await book.run("def half(text):\n    return float(text) / 2")
        assert "ValueError" in (await book.run("half('4,50')")).failure
        await book.run("other = 1")
        for question in ("%eca why? @error", "%eca fail", "%eca and why? @error"):
            shown = (await book.run(question)).markdown
            if "@error" not in question:
                assert "It failed." in shown
                continue
            assert "ValueError: could not convert string to float: '4,50'" in shown
            assert "The cells it passed through, as they were run:" in shown
            assert "def half(text):\n    return float(text) / 2" in shown
            assert "half('4,50')" in shown
            assert "other = 1" not in shown
            assert "\x1b" not in shown
