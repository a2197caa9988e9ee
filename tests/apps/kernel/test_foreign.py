"""Front ends that can less than JupyterLab, as VS Code may: `input()` is not answered, or what is said of widgets."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from tests.apps.kernel.frontend import Manners, sitting
from tests.apps.kernel.nbclient_notebook import LOAD, PATIENCE, surround
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

RUN = {"tool": "run_code", "arguments": {"code": "loaded = 42\nprint('rows', loaded)"}}
ASK = {"tool": "ask_user", "arguments": {"question": "Sure?", "options": ["yes", "no"]}}
RULES: list[dict[str, Any]] = [
    {"message": "^load", "reply": [RUN]},
    {"message": "^sure", "reply": [ASK]},
    {"result": "", "reply": [{"text": "I read: {result}"}]},
    {"message": "", "reply": [{"text": "I heard: {message}"}]},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    surround(monkeypatch, tmp_path, settings(tmp_path, RULES))
    return tmp_path


async def test_where_nobody_can_be_asked_every_turn_ends_by_the_rules_and_says_so(folder: Path) -> None:
    async with asyncio.timeout(PATIENCE), sitting(folder) as front:
        assert (await front.run(LOAD)).outputs == []
        for cells, widgets in product((True, False), (True, False, None)):
            front.manners = Manners(cells, says=None, widgets=widgets)
            assert (await front.run("%eca hello")).text == "I heard: hello"
            shown = await front.run("%eca load")
            assert shown.status == "ok"
            assert "not run: it needs approval, and nobody is there to give it" in shown.text
            assert "I read: This call needs approval and nobody is there to give it" in shown.text
            assert "I read: There is no tool 'ask_user'" in (await front.run("%eca sure")).text
            assert "obody watches now" in (await front.run("%eca panel")).text
            assert (await front.run("'loaded' in globals()")).text == "False"


async def test_a_page_that_closes_what_is_opened_for_widgets_is_asked_by_input_and_one_that_is_silent_can_interrupt(
    folder: Path,
) -> None:
    async with asyncio.timeout(PATIENCE), sitting(folder, manners=Manners(says="yes", widgets=False)) as front:
        assert (await front.run(LOAD)).outputs == []
        shown = await front.run("%eca load")
        assert "I read: rows 42" in shown.text
        assert [words.count("Run it?") for words in shown.asked] == [1]
        shown = await front.run("%eca sure")
        assert "I read: The user answered: yes" in shown.text
        assert [words.count("Sure?") for words in shown.asked] == [1]
        front.manners = Manners(says="yes", widgets=None)
        shown = await front.run("%eca sure", until="waits for")
        assert (shown.status, shown.outputs[-1]["evalue"]) == ("error", "Stopped.")
        assert (await front.run("%eca hello")).text == "I heard: hello"
