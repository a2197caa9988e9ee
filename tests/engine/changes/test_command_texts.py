"""The words of `/diff` and `/undo`: which changes are meant, and how they are shown."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.changes.command_texts import (
    NOTHING,
    describe_revert,
    format_changes,
    format_changes_as_text,
    parse_selection,
)
from jupyter_eca.protocol.changes import (
    ChangedCell,
    ChangedFile,
    ChangedText,
    ChangeExtent,
    ChangeLeft,
    ChangeReverted,
    ChatRevertResult,
)
from jupyter_eca.protocol.notebook import CellType

TEXT = ChangedText(diff="--- a\n+++ b\n@@ -1 +1,2 @@\n-x\n+y\n+z\n", lines_added=2, lines_removed=1)


def file(number: int = 1, **fields: object) -> ChangedFile:
    values = {"id": "f", "number": number, "turn": "t", "path": "a.py", "text": TEXT, "kind": "edited", **fields}
    return ChangedFile.model_validate(values)


def cell(**fields: object) -> ChangedCell:
    common = {"id": "c", "number": 2, "turn": "t", "path": "nb.ipynb", "text": TEXT, "kind": "edited"}
    return ChangedCell.model_validate({**common, "cellId": "x1", "cellType": CellType.CODE, **fields})


@pytest.mark.parametrize(
    ("words", "extent", "numbers"),
    [
        ("", ChangeExtent.LAST, ()),
        (" 2 ", ChangeExtent.LAST, (2,)),
        ("1, 12", ChangeExtent.LAST, (1, 12)),
        ("all", ChangeExtent.CHAT, ()),
        ("all 3 1", ChangeExtent.CHAT, (3, 1)),
    ],
)
def test_changes_are_selected_by_number_of_the_last_turn_or_of_the_whole_chat(
    words: str, extent: ChangeExtent, numbers: tuple[int, ...]
) -> None:
    found = parse_selection(words)
    assert found is not None
    assert (found.extent, found.numbers) == (extent, numbers)


@pytest.mark.parametrize("words", ["a.py", "all1", "1 all", "-1", "1-3", "ALL"])
def test_other_words_select_nothing(words: str) -> None:
    assert parse_selection(words) is None


def test_without_numbers_all_changes_are_selected_and_a_number_that_none_has_is_named() -> None:
    changes = [file(1), file(2), file(4)]
    everything, some = parse_selection(""), parse_selection("4 3 1")
    assert everything is not None
    assert some is not None
    assert (everything.select(changes), everything.list_missing(changes)) == (changes, [])
    assert (some.select(changes), some.list_missing(changes)) == ([changes[0], changes[2]], [3])


def test_a_change_is_shown_with_its_place_its_size_and_its_lines_without_the_names_of_the_files() -> None:
    shown = format_changes([file(), cell(place=3)])
    assert shown == (
        "1. `a.py`, edited (+2 -1)\n\n```diff\n@@ -1 +1,2 @@\n-x\n+y\n+z\n```\n\n"
        "2. `nb.ipynb` cell 3, edited (+2 -1)\n\n```diff\n@@ -1 +1,2 @@\n-x\n+y\n+z\n```"
    )
    assert format_changes_as_text([file(), cell(place=3)]) == (
        "1. a.py, edited (+2 -1)\n@@ -1 +1,2 @@\n-x\n+y\n+z\n\n2. nb.ipynb cell 3, edited (+2 -1)\n"
        "@@ -1 +1,2 @@\n-x\n+y\n+z"
    )
    assert format_changes([]) == format_changes_as_text([]) == NOTHING


def test_the_name_of_a_file_cannot_end_the_code_that_it_is_shown_as() -> None:
    assert "1. `ab`," in format_changes([file(path="a`b")])
    assert "1. a`b," in format_changes_as_text([file(path="a`b")])


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"kind": "moved", "place": 2, "placeBefore": 5}, "cell 2 (was 5)"),
        ({"kind": "inserted", "place": 4}, "cell 4"),
        ({"kind": "edited", "place": 4, "placeBefore": 3}, "cell 4"),
        ({"kind": "deleted", "placeBefore": 3}, "cell 3 (gone)"),
        ({"kind": "edited"}, "cell [x1]"),
    ],
)
def test_a_cell_is_named_by_its_number_now_or_the_one_that_it_had(fields: dict[str, object], place: str) -> None:
    assert format_changes_as_text([cell(**fields)]).startswith(f"2. nb.ipynb {place}, {fields['kind']} (")


def test_a_change_says_why_it_cannot_be_taken_back_and_that_it_was_made_although_it_was_refused() -> None:
    shown = format_changes_as_text([file(text=None, refused="it was changed since", madeAlthoughRefused=True)])
    (head, body) = shown.split("\n")
    assert body == ""
    assert head.index("not shown") < head.index("although it was refused") < head.index("it was changed since")
    assert "refused" not in format_changes_as_text([file()])


def test_what_was_taken_back_and_what_was_not_is_told_with_the_reason() -> None:
    result = ChatRevertResult(
        reverted=(ChangeReverted(id="1", shown="a.py"),),
        left=(ChangeLeft(id="2", shown="b.py", why="it was changed since"), ChangeLeft(id="3", shown="", why="gone")),
    )
    lines = describe_revert(result, [7]).splitlines()
    assert [line[:2] for line in lines] == ["- "] * 4
    expected = (("a.py",), ("b.py", "it was changed since"), ("gone",), ("7",))
    assert all(all(word in line for word in words) for line, words in zip(lines, expected, strict=True))
    assert describe_revert(ChatRevertResult()) == NOTHING
