"""What a model reads of a change that plan mode has only shown."""

from __future__ import annotations

from jupyter_eca.engine.model.proposals import NOTEBOOK_CHANGE_TOOL, describe_proposal, make_preview_id
from jupyter_eca.protocol.content import FileChangeDetails

CHANGE = FileChangeDetails(path="a.py", diff="-x\n+y", lines_added=1, lines_removed=1)


def test_a_change_of_cells_can_be_made_later_by_the_id_of_its_preview() -> None:
    cells, file = (describe_proposal("1", name, CHANGE) for name in (NOTEBOOK_CHANGE_TOOL, "edit_file"))
    assert make_preview_id("1") in cells
    assert make_preview_id("1") not in file
    assert "None" not in file
    assert all(text.endswith("-x\n+y") for text in (cells, file))
    assert describe_proposal("1", "look", None) == ""


def test_the_id_of_a_preview_has_eight_characters_whatever_the_id_of_the_call_is() -> None:
    ids = [make_preview_id(call) for call in ("1", "2", "\ud83d")]
    assert [len(id) for id in ids] == [8, 8, 8]
    assert len(set(ids)) == 3
