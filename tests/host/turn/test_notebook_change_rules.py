"""A rule about a tool that `notebook_change` replaces also holds for what `notebook_change` does: it is no way past."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.transport.eca_client import CallDecision
from tests.host.turn.test_approval_attacks import rejections
from tests.host.turn.test_protected_paths import asked, call
from tests.host.turn.test_review_setting import LOADS, LOOSE, causes, names, no, shows_review
from tests.support.host_and_client import answer
from tests.support.notebook_page import PATH, called, code, result, room, script, yes

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent

pytestmark = pytest.mark.asyncio

CELLS = (code("a", "x = 1"), code("b", "y = 2"))
EDIT: dict[str, Any] = {"do": "edit", "cell": "a", "source": "x = 10"}
INSERT: dict[str, Any] = {"do": "insert", "source": "n = 0"}
DELETE: dict[str, Any] = {"do": "delete", "cell": "b"}
MOVE: dict[str, Any] = {"do": "move", "cell": "b", "index": 1}
ALLOW_ALL: dict[str, Any] = {"byDefault": "allow"}


def change(*changes: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return call("notebook_change", changes=list(changes), **arguments)


def rules(**approval: Any) -> dict[str, Any]:
    return {"approval": approval}


@pytest.mark.parametrize("kind", ["ask", "deny"])
@pytest.mark.parametrize(
    ("rule", "attack"),
    [
        ({"notebook_edit_cell": {}}, change(EDIT)),
        ({"eca__notebook_edit_cell": {}}, change(INSERT, EDIT)),
        ({"notebook_delete_cell": {}}, change(EDIT, DELETE)),
        ({"notebook_insert_cell": {}}, change(INSERT)),
        ({"notebook_move_cell": {}}, change(MOVE, EDIT)),
        ({"notebook_run_cells": {}}, change(EDIT, run=True)),
        ({"notebook_run_cells": {}}, change(EDIT, run="true")),
        ({"notebook_run_cells": {}}, change(EDIT, run=1)),
        ({"notebook_edit_cell": {"argsMatchers": {"source": [".*10.*"]}}}, change(INSERT, EDIT)),
        ({"notebook_edit_cell": {"argsMatchers": {"cell": ["a"]}}}, change(EDIT)),
        ({"notebook_edit_cell": {"argsMatchers": {"path": ["work/.*"]}}}, change(EDIT)),
        ({"notebook_change": {"argsMatchers": {"path": ["work/.*"]}}}, change(EDIT)),
        ({"notebook_change": {}}, call("notebook_edit_cell", cell="a", source="x = 10")),
    ],
    ids=str,
)
async def test_the_strictest_rule_among_the_parts_decides(
    tmp_path: Path, kind: str, rule: dict[str, Any], attack: dict[str, Any]
) -> None:
    approval = rules(**ALLOW_ALL, allow={"notebook_change": {}}, **{kind: rule})
    async with room(tmp_path, *CELLS, toolCall=approval) as there:
        received = await there.ask([attack], no)
        assert len(asked(received)) == (1 if kind == "ask" else 0)
        assert there.page.edits == 0
        assert all(cell.execution_count is None for cell in there.page.books[PATH])


@pytest.mark.parametrize(
    ("allowed", "attack", "asks"),
    [
        ({"notebook_edit_cell": {}}, change(EDIT), False),
        ({"notebook_edit_cell": {}}, change(EDIT, INSERT), True),
        ({"notebook_edit_cell": {}}, change(EDIT, run=True), True),
        ({"notebook_edit_cell": {}, "notebook_run_cells": {}}, change(EDIT, run=True), False),
        ({"notebook_change": {}}, change(EDIT, INSERT, DELETE), False),
        ({"notebook_change": {}}, change(EDIT, run=True), True),
        ({"notebook_change": {}}, call("notebook_edit_cell", cell="a", source="x = 10"), True),
        ({"notebook_edit_cell": {"argsMatchers": {"cell": ["b"]}}}, change(EDIT), True),
        ({"notebook_edit_cell": {"argsMatchers": {"path": ["other/.*"]}}}, change(EDIT), True),
    ],
    ids=str,
)
async def test_a_rule_allows_only_what_it_names(
    tmp_path: Path, allowed: dict[str, Any], attack: dict[str, Any], asks: bool
) -> None:
    async with room(tmp_path, *CELLS, toolCall=rules(allow={"notebook_read": {}, **allowed})) as there:
        received = await there.ask([attack], no)
        assert bool(asked(received)) is asks
        assert there.page.edits == (0 if asks else 1)


async def test_an_approval_for_the_session_covers_only_what_was_seen(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        session = CallDecision(approved=True, session=True)
        (question,) = asked(await there.ask([change(EDIT)], lambda _: session))
        assert question.remembers == (f"notebook_edit_cell in {PATH}",)
        again = change({**EDIT, "source": "x = 11"})
        assert asked(await there.ask([again], no)) == []
        assert names(await there.ask([change({**EDIT, "source": "x = 12"}, run=True)], no)) == ["notebook_change"]
        assert names(await there.ask([change(DELETE)], no)) == ["notebook_change"]
        assert asked(await there.ask([call("notebook_edit_cell", cell="a", source="x = 13")], no)) == []


async def test_a_part_that_is_switched_off_is_denied(tmp_path: Path) -> None:
    config: dict[str, Any] = {"disabledTools": ["notebook_delete_cell"], "toolCall": rules(**ALLOW_ALL)}
    async with room(tmp_path, *CELLS, **config) as there:
        received = await there.ask([change(EDIT, DELETE)], no)
        assert len(rejections(received)) == 1
        assert there.page.edits == 0
        await there.ask([change(EDIT)], no)
        assert there.page.edits == 1


async def test_what_was_previewed_is_no_way_past_a_rule(tmp_path: Path) -> None:
    denied = rules(**ALLOW_ALL, deny={"notebook_delete_cell": {}})
    async with room(tmp_path, *CELLS, toolCall=denied) as there:
        script(there.table.folder, [call("preview_notebook_change", changes=[EDIT, DELETE])])
        (planned,) = called(await answer(there.client, "Plan", yes, agent="plan"))
        id = result(planned).split('preview "', 1)[1].split('"', 1)[0]
        script(there.table.folder, [call("notebook_change", preview=id)])
        assert len(rejections(await answer(there.client, "go", no, agent="code"))) == 1
        assert there.page.edits == 0


@pytest.mark.parametrize("matcher", ["eca__notebook_edit_cell", {"notebook_edit_cell": {}}], ids=str)
async def test_a_hook_for_a_tool_also_runs_for_a_part_that_does_the_same(tmp_path: Path, matcher: Any) -> None:
    hooks = {"no": {"type": "preToolCall", "matcher": matcher, "actions": [{"type": "shell", "shell": "exit 2"}]}}
    async with room(tmp_path, *CELLS, hooks=hooks, toolCall=rules(**ALLOW_ALL)) as there:
        assert len(rejections(await there.ask([change(INSERT, EDIT)], no))) == 1
        assert there.page.edits == 0
        await there.ask([change(INSERT)], no)
        assert there.page.edits == 1


# -- the setting `review`


@pytest.mark.parametrize("setting", LOOSE)
@pytest.mark.parametrize(
    "attack",
    [
        change(EDIT, DELETE),
        change(EDIT, run=True),
        change({"do": "insert", "source": "!cp x .mcp.json"}),
        change({"do": "insert", "cell_type": "markdown", "source": LOADS}),
    ],
    ids=str,
)
async def test_what_deletes_runs_or_loads_is_asked_before(tmp_path: Path, setting: str, attack: dict[str, Any]) -> None:
    async with room(tmp_path, *CELLS, review=setting) as room_:
        there = await shows_review(room_)
        assert names(await there.ask([attack], no)) == ["notebook_change"]
        assert there.page.edits == 0


@pytest.mark.parametrize("setting", LOOSE)
async def test_edits_alone_are_reviewed_afterwards(tmp_path: Path, setting: str) -> None:
    async with room(tmp_path, *CELLS, review=setting) as room_:
        there = await shows_review(room_)
        received = await there.ask([change(EDIT, INSERT, MOVE)], no)
        assert (asked(received), causes(received)) == ([], ["review"])
        assert there.page.edits == 1


async def test_what_nobody_has_seen_does_not_run_behind_a_change_that_is_allowed(tmp_path: Path) -> None:
    allowed = rules(allow={"notebook_run_cells": {}, "notebook_read": {}})
    async with room(tmp_path, *CELLS, review="after", toolCall=allowed) as room_:
        there = await shows_review(room_)
        await there.ask([change(EDIT)], no)
        (question,) = asked(await there.ask([call("notebook_run_cells", cells=["a"])], no))
        assert question.cause is not None
        assert question.cause.kind == "unseen"
        assert asked(await there.ask([change(INSERT, run=True)], no)) != []


@pytest.mark.parametrize(
    "source", ["open('.eca/config.json', 'w')", "!cp x .mcp.json", "%%bash\necho x > .eca/config.json"]
)
async def test_code_that_changes_what_may_run_is_asked_each_time(tmp_path: Path, source: str) -> None:
    async with room(tmp_path, *CELLS, toolCall=rules(**ALLOW_ALL)) as there:
        (question,) = asked(await there.ask([change(EDIT, {"do": "insert", "source": source}, run=True)], no))
        assert question.cause is not None
        assert question.cause.kind == "protected"
        assert not question.remembers


async def test_the_question_shows_what_will_run(tmp_path: Path) -> None:
    seen: list[ToolCallRunContent] = []

    def look(question: ToolCallRunContent) -> CallDecision:
        seen.append(question)
        return yes(question)

    async with room(tmp_path, *CELLS) as there:
        (done,) = called(await there.ask([change(EDIT, run=True)], look))
        assert seen[0].summary == f"Change 1 cell of {PATH} and run it"
        assert "ran x = 10" in result(done)


def guard(folder: Path, word: str) -> dict[str, Any]:
    """A hook for edits of cells. It blocks a call if the source that it gets contains the word."""
    script = folder / "guard.py"
    script.write_text(
        "import json, sys\n"
        "call = json.load(sys.stdin)\n"
        f"sys.exit(2 if {word!r} in call['tool_input']['source'] else 0)\n"
    )
    shell = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"
    matcher = {"notebook_edit_cell": {"argsMatchers": {"source": [".*"]}}}
    return {"guard": {"type": "preToolCall", "matcher": matcher, "actions": [{"type": "shell", "shell": shell}]}}


async def test_a_hook_for_a_tool_reads_a_part_as_a_call_of_that_tool(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS, hooks=guard(tmp_path, "evil"), toolCall=rules(**ALLOW_ALL)) as there:
        evil = {**EDIT, "source": "evil()"}
        assert len(rejections(await there.ask([change(INSERT, EDIT, evil)], no))) == 1
        assert there.page.edits == 0
        await there.ask([change(INSERT, EDIT)], no)
        assert there.page.edits == 1


async def test_a_hook_reads_what_a_preview_contains(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS, hooks=guard(tmp_path, "evil"), toolCall=rules(**ALLOW_ALL)) as there:
        script(there.table.folder, [call("preview_notebook_change", changes=[{**EDIT, "source": "evil()"}])])
        (planned,) = called(await answer(there.client, "Plan", yes, agent="plan"))
        id = result(planned).split('preview "', 1)[1].split('"', 1)[0]
        script(there.table.folder, [call("notebook_change", preview=id)])
        assert len(rejections(await answer(there.client, "go", no, agent="code"))) == 1
        assert there.page.edits == 0


async def test_the_text_of_a_new_cell_has_one_name_so_that_a_rule_about_it_holds(tmp_path: Path) -> None:
    denied = rules(**ALLOW_ALL, deny={"notebook_insert_cell": {"argsMatchers": {"source": [".*evil.*"]}}})
    async with room(tmp_path, *CELLS, toolCall=denied) as there:
        assert len(rejections(await there.ask([change({"do": "insert", "source": "evil()"})], no))) == 1
        (done,) = called(await there.ask([change({"do": "insert", "new_content": "evil()"})], yes))
        assert "An insertion takes its text from source; nothing was changed" in result(done)
        assert there.page.edits == 0


async def test_a_rule_about_the_cells_of_a_run_holds_for_the_run_of_a_change(tmp_path: Path) -> None:
    denied = rules(**ALLOW_ALL, deny={"notebook_run_cells": {"argsMatchers": {"cells": [".*'a'.*"]}}})
    async with room(tmp_path, *CELLS, toolCall=denied) as there:
        assert len(rejections(await there.ask([change(EDIT, run=True)], no))) == 1
        assert there.page.edits == 0
        await there.ask([change({**EDIT, "cell": "b"}, run=True)], no)
        assert there.page.edits == 1
