"""The title of a chat in the answer of a model."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.model.chat_title import read_title


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("Merge loses rows", "Merge loses rows"),
        ('\n## "Merge loses rows."\nAnd more', "Merge loses rows"),
        ("**合并丢失行**", "合并丢失行"),
        ("نمی\u200cشود", "نمی\u200cشود"),
        ("safe\u202egpj.exe", "safegpj.exe"),
        ("red\x1b[31m \x07 bell", "red [31m bell"),
        ("…", ""),
        ("word " * 30, ""),
    ],
)
def test_a_title_is_one_line_of_plain_text(written: str, title: str) -> None:
    assert read_title(written) == title
