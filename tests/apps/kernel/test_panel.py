"""A panel where nobody looks on, and the text that a panel leaves in the notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.apps.kernel.panel.record import Record
from jupyter_eca.apps.kernel.panel.recorder import Recorder
from tests.apps.kernel.nbclient_notebook import opened, surround
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from pathlib import Path

CHAT = "3f5e8d1c"


@pytest.mark.asyncio
@pytest.mark.parametrize("code", ["%eca panel", "import jupyter_eca\njupyter_eca.Panel()"])
async def test_where_nobody_looks_on_a_panel_is_words_and_no_empty_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    surround(monkeypatch, tmp_path, settings(tmp_path, []))
    async with opened(tmp_path) as book:
        ran = await book.run(code)
        assert (ran.failure, ran.traceback) == ("", [])
        (display,) = ran.displays
        assert set(display) == {"text/markdown", "text/plain"}
        assert "panel" in display["text/plain"]
        ran = await book.run("%eca panel discussion")
        assert "with the id of a chat" not in ran.failure
        assert "with the id of a chat" in (await book.run("%eca panel ../x")).failure


def said(record: Record | Recorder, role: str, seq: int, **content: Any) -> None:
    params: dict[str, Any] = {"chatId": CHAT, "role": role, "seq": seq, "turn": "t", "content": content}
    if content.get("state") == "finished":
        params["outcome"] = "completed"
    record.add_engine_message("chat/contentReceived", params)


def asked(record: Record | Recorder, words: str, answer: str, seq: int) -> None:
    record.add_page_message("chat/prompt", {"chatId": CHAT})
    said(record, "user", seq, type="text", text=words)
    said(record, "assistant", seq + 1, type="text", text=answer)
    said(record, "system", seq + 2, type="progress", state="finished")


def test_a_record_holds_both_sides_once_and_names_its_chat() -> None:
    record = Record()
    asked(record, "What is <b>it</b>?", "It is **42**.", 1)
    asked(record, "What is <b>it</b>?", "It is **42**.", 1)
    asked(record, "Thanks", "Yes.", 4)
    text = record.as_markdown(folded=False)
    assert text.count("It is **42**.") == 1
    assert text.count("**You:**") == 2
    assert "<b>" not in text
    lines = f"%load_ext jupyter_eca\n%eca panel {CHAT}"
    assert lines in text
    assert record.as_text().endswith(lines)
    assert record.as_text().startswith("You: What is <b>it</b>?\n\nIt is **42**.\n\nYou: Thanks\n\nYes.")
    assert record.as_markdown(folded=True).startswith("<details>")
    record.add_engine_message("chat/cleared", {"chatId": CHAT, "messages": True})
    assert (record.as_markdown(folded=False), record.as_text()) == ("", "")


@pytest.mark.asyncio
async def test_what_is_written_of_an_answer_stays_in_proportion_to_it() -> None:
    import asyncio

    written: list[int] = []
    recorder = Recorder(lambda record: written.append(len(record.as_markdown(folded=True))), asyncio.get_running_loop())
    recorder.add_page_message("chat/prompt", {"chatId": CHAT})
    said(recorder, "user", 1, type="text", text="go on")
    for seq in range(2, 2002):
        said(recorder, "assistant", seq, type="text", text="a chunk of text ")
    recorder.end()
    assert written[-1] >= 2000 * len("a chunk of text ")
    assert sum(written) <= 3 * written[-1]
