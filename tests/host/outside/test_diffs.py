"""The card of a change shows what would really happen to the file, however the agent describes the change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.content import FileChangeDetails
from tests.host.outside.talking import talking
from tests.host.outside.test_calls import no, runs

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

OLD = "one\ntwo\nthree\n"
WHOLE = ["@@ -1,3 +1,3 @@", " one", "-two", "+TWO", " three"]


@pytest.mark.parametrize(
    ("diff", "before", "shown"),
    [
        ({"path": "a.txt", "oldText": OLD, "newText": OLD.replace("two", "TWO")}, OLD, WHOLE),
        ({"path": "a.txt", "oldText": "two", "newText": "TWO"}, OLD, WHOLE),
        ({"path": "a.txt", "oldText": "two\r\n", "newText": "TWO\r\n"}, OLD.replace("\n", "\r\n"), WHOLE),
        ({"path": "a.txt", "oldText": None, "newText": "new\n"}, None, ["@@ -0,0 +1 @@", "+new"]),
        # It says that the file is new, but there is one, which would be lost.
        ({"path": "a.txt", "oldText": None, "newText": "new\n"}, "old\n", ["@@ -1 +1 @@", "-old", "+new"]),
        ({"path": "a.txt", "oldText": OLD, "newText": ""}, OLD, ["@@ -1,3 +0,0 @@", "-one", "-two", "-three"]),
        # A part that is not in the file is shown as it is.
        ({"path": "a.txt", "oldText": "four\n", "newText": "FOUR\n"}, OLD, ["@@ -1 +1 @@", "-four", "+FOUR"]),
        ({"path": "a.txt", "oldText": "two", "newText": "TWO"}, b"\xff two \xff", ["@@ -1 +1 @@", "-two", "+TWO"]),
    ],
)
@pytest.mark.parametrize("is_relative", [True, False])
async def test_a_change_is_shown_against_the_file(
    tmp_path: Path, diff: dict[str, Any], before: str | bytes | None, shown: list[str], *, is_relative: bool
) -> None:
    if before is not None:
        (tmp_path / "a.txt").write_bytes(before if isinstance(before, bytes) else before.encode())
    path = diff["path"] if is_relative else str(tmp_path / diff["path"])
    async with talking(tmp_path) as talk:
        received = await talk.ask(f"diff {json.dumps([{**diff, 'path': path}])}", choose=no)
    details = runs(received)[0].details
    assert isinstance(details, FileChangeDetails)
    assert details.path == "a.txt"
    lines = [line for line in details.diff.splitlines()[2:] if not line.startswith("\\")]
    assert lines == shown


async def test_several_files_are_in_one_diff(tmp_path: Path) -> None:
    diffs = [{"path": str(tmp_path / name), "oldText": None, "newText": f"{name}\n"} for name in ("a.txt", "b.txt")]
    async with talking(tmp_path) as talk:
        received = await talk.ask(f"diff {json.dumps(diffs)}", choose=no)
    details = runs(received)[0].details
    assert isinstance(details, FileChangeDetails)
    assert "+++ b/a.txt" in details.diff
    assert "+++ b/b.txt" in details.diff
    assert (details.lines_added, details.lines_removed) == (2, 0)
