"""How the changes of an assistant to a notebook are taken back: all of them, some of them, in whatever order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.engine.changes.revert import (
    ChangeDecision,
    RecordedChange,
    RevertPlanner,
    find_standing,
    find_unmoved,
    restore_order,
)
from jupyter_eca.engine.changes.review import CHANGED, LATER, review_cell
from jupyter_eca.protocol.notebook import (
    CellChange,
    CellType,
    DeleteCell,
    EditCell,
    InsertCell,
    MoveCell,
    NewCell,
    NotebookCell,
    NotebookDocument,
    PutCell,
)
from jupyter_eca.workspace.notebooks.cell_changes import apply, find_cell, get_cell_id, get_sources, invert

OUTPUT = {"output_type": "stream", "name": "stdout", "text": "1"}
# Things that are done to a notebook: what, to which cell, and where to.
ACTS = st.lists(
    st.tuples(st.sampled_from(["insert", "edit", "delete", "move"]), st.integers(0, 9), st.integers(0, 9)), max_size=10
)


@dataclass
class Book:
    """A notebook whose changes are recorded. `names` are the ids of its cells at first."""

    names: str = "abcd"
    document: NotebookDocument = field(init=False)
    changes: list[RecordedChange] = field(default_factory=list[RecordedChange])
    turn: str = "t1"

    def __post_init__(self) -> None:
        cells = (
            NotebookCell(id=id, cell_type=CellType.CODE, source=id.upper(), outputs=(OUTPUT,)) for id in self.names
        )
        self.document = NotebookDocument(path="nb.ipynb", cells=tuple(cells))

    @property
    def order(self) -> str:
        return "".join(cell.id for cell in self.document.cells)

    def does(self, *changes: CellChange) -> Book:
        """The assistant makes these changes, each of which is recorded."""
        for change in changes:
            assert not isinstance(change, PutCell)
            before, id = self.document, get_cell_id(change)
            self.document = apply(before, change)
            undo, after = invert(before, change), get_sources(self.document, id)[id]
            order = tuple(cell.id for cell in before.cells)
            self.changes.append(RecordedChange(len(self.changes), self.turn, id, undo, after, order))
        return self

    def inserts(self, id: str, index: int, source: str = "new") -> Book:
        return self.does(InsertCell(index=index, cell=NewCell(id=id, source=source)))

    def edits(self, id: str, source: str) -> Book:
        return self.does(EditCell(cell_id=id, was=find_cell(self.document, id).source, source=source))

    def deletes(self, id: str) -> Book:
        return self.does(DeleteCell(cell_id=id, was=find_cell(self.document, id).source))

    def moves(self, id: str, index: int) -> Book:
        return self.does(MoveCell(cell_id=id, index=index))

    def types(self, id: str, source: str) -> Book:
        """A person changes a cell, which nobody records."""
        self.document = apply(
            self.document, EditCell(cell_id=id, was=find_cell(self.document, id).source, source=source)
        )
        return self

    def takes_back(self, *cells: str) -> list[CellChange]:
        """Take back the changes of these cells that stand, of all cells if none is named. Return the steps."""
        chosen: dict[str, tuple[RecordedChange, ...]] = {}
        for cell in dict.fromkeys(change.cell for change in self.changes):
            source = get_sources(self.document, cell)[cell]
            standing = find_standing([change for change in self.changes if change.cell == cell], source)
            if standing.changes and not standing.is_broken and (not cells or cell in cells):
                chosen[cell] = standing.changes
        steps = RevertPlanner(self.document, tuple(self.changes)).plan(chosen)
        for step in steps:
            self._take(step)
        taken = {change.id for changes in chosen.values() for change in changes}
        self.changes = [
            replace(change, decision=ChangeDecision.REVERTED) if change.id in taken else change
            for change in self.changes
        ]
        return steps

    def _take(self, step: CellChange) -> None:
        if not isinstance(step, PutCell):
            self.document = apply(self.document, step)
            return
        cells = list(self.document.cells)
        at = next((index for index, cell in enumerate(cells) if cell.id == step.cell.id), None)
        if at is None:
            cells.insert(step.index, step.cell)
        else:
            assert step.was == cells[at].source
            cells[at] = step.cell
        self.document = self.document.model_copy(update={"cells": tuple(cells)})


def act(book: Book, what: str, one: int, two: int) -> None:
    """Do one of `ACTS`. Without cells only an insertion is possible."""
    ids = [cell.id for cell in book.document.cells]
    number = len(book.changes)
    match what:
        case "insert":
            book.inserts(f"n{number}", min(one, len(ids)), f"new {number}")
        case "edit" if ids:
            book.edits(ids[one % len(ids)], f"edit {number}")
        case "delete" if ids:
            book.deletes(ids[one % len(ids)])
        case "move" if ids:
            book.moves(ids[one % len(ids)], two % len(ids))
        case _:
            pass


@given(ACTS)
def test_when_all_changes_are_taken_back_the_notebook_is_as_it_was(acts: list[tuple[str, int, int]]) -> None:
    book = Book()
    before = book.document
    for what, one, two in acts:
        act(book, what, one, two)
    book.takes_back()
    assert book.document == before
    assert book.takes_back() == []


@given(ACTS, st.randoms(use_true_random=False))
def test_cell_after_cell_in_any_order_all_cells_come_back(acts: list[tuple[str, int, int]], chance: object) -> None:
    book = Book()
    before = book.document
    for what, one, two in acts:
        act(book, what, one, two)
    cells = sorted({change.cell for change in book.changes})
    getattr(chance, "shuffle")(cells)  # noqa: B009  # the type of hypothesis names no methods
    for cell in cells:
        book.takes_back(cell)
    assert {cell.id: cell.source for cell in book.document.cells} == {cell.id: cell.source for cell in before.cells}
    assert book.takes_back() == []


def test_an_inserted_cell_is_deleted_with_the_source_that_it_has_now() -> None:
    book = Book("ab").inserts("n", 1).edits("n", "newer")
    assert book.takes_back() == [DeleteCell(cell_id="n", was="newer")]
    assert book.order == "ab"


def test_an_edited_cell_gets_its_source_and_its_outputs_back_in_one_step() -> None:
    book = Book("ab").edits("a", "1").edits("a", "2")
    (step,) = book.takes_back()
    assert isinstance(step, PutCell)
    assert (step.cell.source, step.cell.outputs, step.was) == ("A", (OUTPUT,), "2")


def test_a_deleted_cell_comes_back_with_the_source_before_its_edits_and_with_its_outputs() -> None:
    book = Book("abc").edits("b", "1").deletes("b")
    (step,) = book.takes_back()
    assert isinstance(step, PutCell)
    assert (step.index, step.cell.source, step.cell.outputs) == (1, "B", (OUTPUT,))
    assert book.order == "abc"


def test_a_deleted_cell_comes_back_at_the_top_or_at_the_end() -> None:
    book = Book("abc").deletes("a").deletes("c")
    book.takes_back()
    assert book.order == "abc"


def test_a_cell_that_moved_goes_back_by_one_step_and_one_that_is_at_its_place_by_none() -> None:
    book = Book("abcd").moves("a", 2)
    assert book.takes_back() == [MoveCell(cell_id="a", index=0)]
    book = Book("abcd").moves("a", 2).moves("a", 0)
    assert book.takes_back() == []


def test_a_cell_goes_back_beside_its_neighbour_wherever_that_is_now() -> None:
    book = Book("abcd").deletes("c")
    book.document = apply(book.document, MoveCell(cell_id="b", index=2))  # somebody else moves it: a d b
    book.takes_back()
    assert book.order == "abcd"[0] + "dbc"


def test_one_of_two_moves_is_taken_back_and_the_other_stays() -> None:
    book = Book("abcd").moves("a", 3).moves("b", 2)
    assert book.order == "cdba"
    book.takes_back("a")
    assert book.order.index("a") < book.order.index("c")
    assert book.order.index("d") < book.order.index("b")
    book.takes_back("b")
    assert book.order == "abcd"


def test_a_cell_that_somebody_else_has_moved_stays_where_it_is_when_its_edit_is_taken_back() -> None:
    book = Book("abc").edits("a", "1")
    book.document = apply(book.document, MoveCell(cell_id="a", index=2))
    (step,) = book.takes_back()
    assert isinstance(step, PutCell)
    assert book.order == "bca"


def test_a_cell_whose_neighbours_are_all_gone_goes_back_to_its_number() -> None:
    book = Book("ab").deletes("b")
    book.document = book.document.model_copy(update={"cells": ()})  # somebody else deletes the other cell
    (step,) = book.takes_back()
    assert isinstance(step, PutCell)
    assert (step.index, book.order) == (0, "b")


def test_a_cell_goes_back_above_the_cell_that_was_below_it() -> None:
    book = Book("abc").deletes("a")
    new = NewCell(id="x", source="somebody else's")
    book.document = apply(book.document, InsertCell(index=0, cell=new))
    book.takes_back()
    assert book.order == "xabc"


@pytest.mark.parametrize("act", ["move", "delete"])
def test_only_the_last_of_two_changes_of_the_place_of_a_cell_is_taken_back(act: str) -> None:
    book = Book("abcd").moves("a", 3)
    if act == "move":
        book.moves("a", 1)
    else:
        book.deletes("a")
    book.document = apply(book.document, InsertCell(index=0, cell=NewCell(id="x")))
    (step,) = RevertPlanner(book.document, tuple(book.changes)).plan({"a": (book.changes[1],)})
    assert isinstance(step, MoveCell | PutCell)
    assert step.index == 4  # below d, where the first change had put it


@pytest.mark.parametrize("source", ["a", ""])
def test_a_deleted_cell_comes_back_with_its_source_before_an_edit_of_which_only_the_source_is_known(
    source: str,
) -> None:
    cell = NotebookCell(id="a", cell_type=CellType.CODE, source="b", outputs=(OUTPUT,))
    deleted = RecordedChange(2, "t1", "a", PutCell(index=0, cell=cell), None, ("a",))
    changes = (edit(1, source, "b"), deleted)
    (step,) = RevertPlanner(NotebookDocument(path="nb.ipynb", cells=()), changes).plan({"a": changes})
    assert isinstance(step, PutCell)
    assert (step.cell.source, step.cell.outputs) == (source, (OUTPUT,))


# --- orders of cells --------------------------------------------------------------------------------------------------


@given(st.permutations("abcdef"), st.sets(st.sampled_from("abcdef"), max_size=2))
def test_the_largest_set_of_cells_that_have_not_moved_is_found(ids: list[str], unreliable: set[str]) -> None:
    found = find_unmoved(ids, "abcdef", unreliable)
    kept = [id for id in ids if id in found]
    assert kept == sorted(kept)
    assert not found & unreliable
    possible = [
        picked
        for size in range(7)
        for picked in combinations([id for id in ids if id not in unreliable], size)
        if list(picked) == sorted(picked)
    ]
    assert len(found) == max(map(len, possible))


@pytest.mark.parametrize(
    ("orders", "moved", "order"),
    [
        (["ab"], "", "ab"),
        (["ab", "nab"], "", "nab"),
        (["ab", "anb"], "", "anb"),
        (["ab", "abn"], "", "abn"),
        (["ab", "b", "bn"], "", "abn"),
        (["ab", "ban"], "a", "abn"),
        (["abc", "bac", "bnac"], "a", "abnc"),
        (["ab", "ab", "nmab"], "", "nmab"),
    ],
)
def test_a_new_cell_is_put_after_the_cell_before_it_that_has_not_moved(
    orders: list[str], moved: str, order: str
) -> None:
    changes = [
        RecordedChange(number, "t1", moved or "x", MoveCell(cell_id=moved or "x", index=0), "", tuple(ids))
        for number, ids in enumerate(orders)
    ]
    assert "".join(restore_order(changes)) == order


# --- which changes stand ----------------------------------------------------------------------------------------------


def edit(
    number: int, before: str, after: str, turn: str = "t1", decision: ChangeDecision | None = None
) -> RecordedChange:
    return RecordedChange(
        number, turn, "a", EditCell(cell_id="a", was=after, source=before), after, ("b", "a"), decision
    )


@pytest.mark.parametrize(
    ("now", "standing", "is_broken"),
    [("c", [1, 2], False), ("b", [1], False), ("a", [], False), ("x", [], True), (None, [], True)],
)
def test_a_change_stands_while_the_cell_has_the_source_that_it_left(
    now: str | None, standing: list[int], is_broken: bool
) -> None:
    found = find_standing([edit(1, "a", "b"), edit(2, "b", "c")], now)
    assert ([change.id for change in found.changes], found.is_broken) == (standing, is_broken)


@pytest.mark.parametrize(("now", "standing"), [("b", [1]), ("a", [])])
def test_a_change_that_was_taken_back_stands_again_once_the_user_has_undone_that(now: str, standing: list[int]) -> None:
    found = find_standing([edit(1, "a", "b", decision=ChangeDecision.REVERTED)], now)
    assert ([change.id for change in found.changes], found.is_broken) == (standing, False)


def test_the_user_may_undo_several_changes_by_hand_and_an_edit_between_them_is_somebody_elses() -> None:
    undone = find_standing([edit(1, "a", "b"), edit(2, "b", "c"), edit(3, "c", "d")], "b")
    assert ([change.id for change in undone.changes], undone.is_broken) == ([1], False)
    before_an_edit = find_standing([edit(1, "a", "b"), edit(2, "x", "y")], "b")
    assert ([change.id for change in before_an_edit.changes], before_an_edit.is_broken) == ([1], False)
    after_an_edit = find_standing([edit(1, "a", "b"), edit(2, "x", "y")], "y")
    assert ([change.id for change in after_an_edit.changes], after_an_edit.is_broken) == ([2], True)


def test_an_edit_of_somebody_else_between_two_changes_is_not_forgotten() -> None:
    found = find_standing([edit(1, "w", "x"), edit(2, "p", "q"), edit(3, "x", "y")], "y")
    assert found.is_broken


def test_a_change_that_was_taken_back_does_not_explain_a_source_that_somebody_wrote() -> None:
    assert not find_standing([edit(1, "a", "b", decision=ChangeDecision.REVERTED)], "x").is_broken
    assert find_standing([edit(1, "a", "b", decision=ChangeDecision.KEPT)], "x").is_broken


def test_a_run_that_changed_only_outputs_is_no_visible_change() -> None:
    moved = RecordedChange(1, "t1", "a", MoveCell(cell_id="a", index=0), "a")
    assert [change.is_visible for change in (edit(1, "a", "a"), edit(1, "a", "b"), moved)] == [False, True, True]


# --- what remains of the changes of a cell ----------------------------------------------------------------------------


def test_a_cell_is_reviewed_from_before_the_first_change_of_the_turns_to_what_it_is_now() -> None:
    changes = [edit(1, "a", "b"), edit(2, "b", "c", "t2")]
    found = review_cell(changes, {"t1", "t2"}, "c")
    assert found is not None
    assert (found.kind, found.turn, found.before, found.after, found.refused) == ("edited", "t2", "a", "c", "")
    assert (found.changes, found.place_before, found.source_left_by_changes) == (tuple(changes), 2, None)
    assert found.cell_type is CellType.CODE


def test_a_change_that_a_later_turn_has_covered_cannot_be_taken_back_alone() -> None:
    first, second = edit(1, "a", "b"), edit(2, "b", "c", "t2")
    found = review_cell([first, second], {"t1"}, "c")
    assert found is not None
    assert (found.before, found.after, found.refused, found.changes) == ("a", "b", LATER, (first,))
    assert found.source_left_by_changes is None


def test_a_change_that_the_user_has_undone_by_hand_is_no_part_of_the_review() -> None:
    found = review_cell([edit(1, "a", "b"), edit(2, "b", "c", "t2")], {"t1", "t2"}, "b")
    assert found is not None
    assert (found.turn, found.before, found.after) == ("t1", "a", "b")


def test_where_the_order_of_the_cells_is_not_known_neither_is_the_place() -> None:
    found = review_cell([replace(edit(1, "a", "b"), order=())], {"t1"}, "b")
    assert found is not None
    assert found.place_before is None


def test_a_later_run_that_changed_only_outputs_is_taken_back_with_the_change() -> None:
    changes = [edit(1, "a", "b"), edit(2, "b", "b", "t2")]
    found = review_cell(changes, {"t1"}, "b")
    assert found is not None
    assert (found.after, found.refused, found.changes) == ("b", "", tuple(changes))


def test_a_change_before_the_turns_does_not_count() -> None:
    found = review_cell([edit(1, "x", "a", "t0"), edit(2, "a", "b")], {"t1"}, "b")
    assert found is not None
    assert (found.before, [change.id for change in found.changes]) == ("a", [2])


def test_where_somebody_else_has_changed_the_cell_all_undecided_changes_are_shown_and_none_can_be_taken_back() -> None:
    changes = [edit(1, "a", "b"), edit(2, "b", "c", decision=ChangeDecision.REVERTED)]
    found = review_cell(changes, {"t1"}, "x")
    assert found is not None
    assert (found.before, found.after, found.refused) == ("a", "x", CHANGED)
    assert ([change.id for change in found.changes], found.source_left_by_changes) == ([1], "b")
    assert review_cell(changes, {"t1"}, None) is None


@pytest.mark.parametrize(
    ("changes", "turns", "now"),
    [
        ([], {"t1"}, "a"),
        ([edit(1, "a", "b")], {"t2"}, "b"),
        ([edit(1, "a", "b", decision=ChangeDecision.KEPT)], {"t1"}, "b"),
        ([edit(1, "a", "b", decision=ChangeDecision.REVERTED)], {"t1"}, "a"),
        ([edit(1, "a", "b"), edit(2, "b", "a")], {"t1"}, "a"),
        ([edit(1, "a", "a")], {"t1"}, "a"),
    ],
)
def test_nothing_remains_to_review_of_changes_that_were_decided_or_have_no_effect(
    changes: list[RecordedChange], turns: set[str], now: str
) -> None:
    assert review_cell(changes, turns, now) is None


def test_what_the_user_has_kept_is_not_reviewed_with_what_came_after_it() -> None:
    kept, after = edit(1, "a", "b", decision=ChangeDecision.KEPT), edit(2, "b", "c")
    found = review_cell([kept, after], {"t1"}, "c")
    assert found is not None
    assert (found.before, found.changes) == ("b", (after,))


def test_a_cell_is_inserted_deleted_or_moved_all_changes_together() -> None:
    book = Book("ab").inserts("n", 0).edits("n", "newer").edits("a", "1").deletes("a").moves("b", 0)
    inserted, deleted, moved = (
        review_cell(
            [change for change in book.changes if change.cell == cell], {"t1"}, get_sources(book.document, cell)[cell]
        )
        for cell in "nab"
    )
    assert inserted is not None
    assert deleted is not None
    assert moved is not None
    assert (inserted.kind, inserted.before, inserted.after, inserted.place_before) == ("inserted", None, "newer", None)
    assert (deleted.kind, deleted.before, deleted.after, deleted.place_before) == ("deleted", "A", None, 2)
    assert (moved.kind, moved.before, moved.after, moved.place_before) == ("moved", "B", "B", 2)
    assert book.order == "bn"


def test_a_cell_that_was_inserted_and_deleted_again_is_no_change() -> None:
    book = Book("ab").inserts("n", 0).deletes("n")
    assert review_cell(book.changes, {"t1"}, None) is None


def test_a_deleted_cell_keeps_its_type() -> None:
    cell = NotebookCell(id="a", cell_type=CellType.MARKDOWN, source="a")
    gone = RecordedChange(1, "t1", "a", PutCell(index=0, cell=cell), None, ("a",))
    found = review_cell([gone], {"t1"}, None)
    assert found is not None
    assert (found.cell_type, found.kind, found.place_before) == (CellType.MARKDOWN, "deleted", 1)


@pytest.mark.parametrize(("settled", "is_settled"), [((True, True), True), ((True, False), False)])
def test_a_review_is_settled_when_each_of_its_changes_is(settled: tuple[bool, bool], is_settled: bool) -> None:
    first, second = (replace(edit(n, "ab"[n - 1], "bc"[n - 1]), is_settled=settled[n - 1]) for n in (1, 2))
    found = review_cell([first, second], {"t1"}, "c")
    assert found is not None
    assert found.is_settled is is_settled
