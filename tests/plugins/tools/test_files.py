"""The file tools, driven as a turn drives them, on real folders."""

from __future__ import annotations

import asyncio
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Tool, ToolContext
from jupyter_eca.plugins.tools.files import edit_file, move_file, read_file, write_file
from jupyter_eca.plugins.tools.search import grep
from jupyter_eca.plugins.tools.tree import directory_tree
from jupyter_eca.protocol.content import FileChangeDetails
from jupyter_eca.workspace.files.text_file import MAX_BYTES
from jupyter_eca.workspace.head_and_tail import MAX_RESULT_CHARS
from jupyter_eca.workspace.ports import Files
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.workspace.tool_result import ToolResult

pytestmark = pytest.mark.asyncio


async def run(tool: Tool, root: Path, **arguments: Any) -> ToolResult:
    context = ToolContext(chat="c", files=Files((root,)))
    if tool is write_file:
        with suppress(ToolError):
            await read_file.run(context, {"path": arguments["path"]})
        context.known.begin_request()
    return await tool.run(context, arguments)


def contents(folder: Path) -> dict[str, bytes | str]:
    """Everything in a folder: files by their bytes, links by where they lead."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        link = str(path.readlink()) if path.is_symlink() else ""
        found[str(path.relative_to(folder))] = path.read_bytes() if path.is_file() and not link else link
    return found


# --- containment ------------------------------------------------------------------------------------------------------

ESCAPES: dict[str, Callable[[Path], str]] = {
    "dots": lambda _: "../outside/secret.txt",
    "dots behind a folder": lambda _: "folder/../../outside/secret.txt",
    "absolute": lambda base: str(base / "outside/secret.txt"),
    "file link": lambda _: "file_link",
    "folder link": lambda _: "folder_link/secret.txt",
    "link in the middle": lambda _: "folder/deep_link/inner/secret.txt",
    "dangling link": lambda _: "dangling_link",
    "new file behind a link": lambda _: "folder_link/new.txt",
    "dots behind a link": lambda _: "folder_link/../outside/secret.txt",
}

TOUCHES: dict[str, Callable[[str], tuple[Tool, dict[str, Any]]]] = {
    "read": lambda path: (read_file, {"path": path}),
    "write": lambda path: (write_file, {"path": path, "content": "x"}),
    "edit": lambda path: (edit_file, {"path": path, "original_content": "classified", "new_content": "x"}),
    "move away": lambda path: (move_file, {"source": path, "destination": "taken.txt"}),
    "move there": lambda path: (move_file, {"source": "inside.txt", "destination": path}),
    "grep": lambda path: (grep, {"path": path, "pattern": "class"}),
    "list": lambda path: (directory_tree, {"path": path}),
}


def workspace_with_links(base: Path) -> Path:
    root, outside = base / "root", base / "outside"
    (outside / "inner").mkdir(parents=True)
    (root / "folder").mkdir(parents=True)
    for secret in (outside / "secret.txt", outside / "inner" / "secret.txt"):
        secret.write_text("classified")
    (root / "inside.txt").write_text("inside")
    (root / "file_link").symlink_to(outside / "secret.txt")
    (root / "folder_link").symlink_to(outside)
    (root / "folder" / "deep_link").symlink_to("../../outside")
    (root / "dangling_link").symlink_to(outside / "nothing.txt")
    return root


@pytest.mark.parametrize("touch", TOUCHES)
@pytest.mark.parametrize("escape", ESCAPES)
async def test_a_path_that_leads_out_is_refused_and_nothing_changes(tmp_path: Path, escape: str, touch: str) -> None:
    root = workspace_with_links(tmp_path)
    before = contents(tmp_path)
    tool, arguments = TOUCHES[touch](ESCAPES[escape](tmp_path))
    with pytest.raises(ToolError, match="outside of the workspace"):
        await run(tool, root, **arguments)
    assert contents(tmp_path) == before


LINKS = ["deep_link", "folder_link", "file_link", "dangling_link"]
steps = st.sampled_from(["..", ".", "~", "", "folder", "inner", "new.txt", "secret.txt", *LINKS])


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, min_size=1, max_size=5), st.booleans(), st.sampled_from(sorted(TOUCHES)))
async def test_no_path_touches_anything_outside(parts: list[str], absolute: bool, touch: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        root = workspace_with_links(base)
        before = contents(base / "outside")
        tool, arguments = TOUCHES[touch]((f"{root}/" if absolute else "") + "/".join(parts))
        try:
            result = await run(tool, root, **arguments)
        except ToolError:
            pass
        else:
            assert "classified" not in result.text
        assert contents(base / "outside") == before
        assert {name for name in contents(base) if "/" not in name} == {"root", "outside"}


async def test_a_link_that_stays_inside_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("text")
    (tmp_path / "link.txt").symlink_to("real.txt")
    await run(write_file, tmp_path, path="link.txt", content="new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


async def test_a_file_of_another_root_is_shown_by_a_path_that_can_be_used(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    context = ToolContext(chat="c", files=Files((first, second)))
    result = await write_file.run(context, {"path": str(second / "a.txt"), "content": "text"})
    assert isinstance(result.details, FileChangeDetails)
    assert (await read_file.run(context, {"path": result.details.path})).text == "text"


# --- read_file --------------------------------------------------------------------------------------------------------


async def test_a_whole_file_is_read_without_numbers_or_header(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffé\r\nb\n".encode())
    assert (await run(read_file, tmp_path, path="a.txt")).text == "é\nb\n"


async def test_a_long_file_is_cut_and_says_where_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{number}\n" for number in range(1, 9001)))
    head, _, rest = (await run(read_file, tmp_path, path="a.txt", line_offset=2000)).text.partition("\n")
    assert head == "[lines 2001-4000 of 9000; go on with line_offset=4000]"
    assert rest == "".join(f"{number}\n" for number in range(2001, 4001))


async def test_the_last_part_of_a_file_has_nowhere_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3")
    assert (await run(read_file, tmp_path, path="a.txt", line_offset=1)).text == "[lines 2-3 of 3]\n2\n3"


async def test_a_part_ends_at_a_whole_line_before_a_result_is_cut_in_the_middle(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(("x" * 999 + "\n") * 100)
    text = (await run(read_file, tmp_path, path="a.txt")).text
    assert text.startswith("[lines 1-19 of 100; go on with line_offset=19]\n")
    assert len(text) <= MAX_RESULT_CHARS


async def test_an_empty_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    assert (await run(read_file, tmp_path, path="a.txt")).text == "[a.txt is empty]"


async def test_an_offset_behind_the_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n")
    with pytest.raises(ToolError, match="only 2 lines"):
        await run(read_file, tmp_path, path="a.txt", line_offset=2)


async def test_a_notebook_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text('{"cells": []}')
    assert (await run(read_file, tmp_path, path="n.ipynb")).text == '{"cells": []}'


async def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolError, match="not a regular file"):
        await asyncio.wait_for(run(read_file, tmp_path, path="pipe"), PATIENCE)


async def test_a_file_too_large_to_hold_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ToolError, match="Use grep"):
        await run(read_file, tmp_path, path="large")


@pytest.mark.parametrize(
    ("path", "problem"), [(".", "is a folder"), ("none", "There is no file"), ("x" * 300, "too long")]
)
async def test_what_cannot_be_read_says_why(tmp_path: Path, path: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        await run(read_file, tmp_path, path=path)


# --- write_file -------------------------------------------------------------------------------------------------------


async def test_a_new_file_is_written_with_its_folders_and_a_diff(tmp_path: Path) -> None:
    result = await run(write_file, tmp_path, path="a/b/c.txt", content="1\r\n2")
    assert (tmp_path / "a/b/c.txt").read_bytes() == b"1\r\n2"
    assert result.text == "Created a/b/c.txt (2 lines, +2 -0)."
    assert isinstance(result.details, FileChangeDetails)
    assert (result.details.path, result.details.lines_added, result.details.lines_removed) == ("a/b/c.txt", 2, 0)
    assert result.details.diff == (
        "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1,2 @@\n+1\r\n+2\n\\ No newline at end of file\n"
    )


async def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("old\n")
    script.chmod(0o751)
    result = await run(write_file, tmp_path, path="run.sh", content="new\n")
    assert stat.S_IMODE(script.stat().st_mode) == 0o751
    assert result.text.startswith("Replaced run.sh (1 lines, +1 -1). What changed on disk:\n--- a/run.sh\n")


async def test_a_write_leaves_no_other_file_behind(tmp_path: Path) -> None:
    await run(write_file, tmp_path, path="a.txt", content="x")
    await run(write_file, tmp_path, path="a.txt", content="y")
    assert contents(tmp_path) == {"a.txt": b"y"}


@pytest.mark.parametrize("data", [b"\x89PNG\0\x01", "é".encode("latin-1")])
@pytest.mark.parametrize("touch", ["read", "write", "edit"])
async def test_a_file_that_is_no_utf8_text_is_refused_and_left_alone(tmp_path: Path, touch: str, data: bytes) -> None:
    (tmp_path / "data").write_bytes(data)
    tool, arguments = TOUCHES[touch]("data")
    with pytest.raises(ToolError, match="not UTF-8 text"):
        await run(tool, tmp_path, **arguments)
    assert contents(tmp_path) == {"data": data}


@pytest.mark.parametrize("touch", ["write", "edit"])
async def test_a_notebook_is_not_edited_as_raw_json(tmp_path: Path, touch: str) -> None:
    (tmp_path / "n.ipynb").write_text("classified")
    tool, arguments = TOUCHES[touch]("n.ipynb")
    with pytest.raises(ToolError, match="open with unsaved work"):
        await run(tool, tmp_path, **arguments)
    assert contents(tmp_path) == {"n.ipynb": b"classified"}


@pytest.mark.parametrize("content", ["a\0b", "\ud83d"])
async def test_content_that_is_no_text_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(ToolError):
        await run(write_file, tmp_path, path="a.txt", content=content)
    assert contents(tmp_path) == {}


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="nothing is read-only for root")
async def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("classified")
    (tmp_path / "a.txt").chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        await run(write_file, tmp_path, path="a.txt", content="x")


# --- edit_file --------------------------------------------------------------------------------------------------------


async def test_an_edit_shows_what_is_on_disk_then(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\nb = 2\nc = 3\n")
    result = await run(edit_file, tmp_path, path="a.py", original_content="b = 2", new_content="b = 4")
    assert (tmp_path / "a.py").read_text() == "a = 1\nb = 4\nc = 3\n"
    assert result.text == (
        "Edited a.py (3 lines, +1 -1). What changed on disk:\n"
        "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n a = 1\n-b = 2\n+b = 4\n c = 3\n"
    )


async def test_an_edit_deep_in_a_file_has_the_right_line_numbers_in_its_diff(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{number}\n" for number in range(1, 101)))
    result = await run(edit_file, tmp_path, path="a.txt", original_content="\n50\n", new_content="\n")
    assert isinstance(result.details, FileChangeDetails)
    assert "@@ -47,7 +47,6 @@\n 47\n 48\n 49\n-50\n 51\n 52\n 53\n" in result.details.diff


async def test_an_edit_keeps_the_byte_order_mark_and_the_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    await run(edit_file, tmp_path, path="a.txt", original_content=" one\ntwo", new_content="1\n2\n3")
    assert (tmp_path / "a.txt").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n3\r\n"


async def test_all_occurrences_are_replaced_when_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a a\na")
    result = await run(edit_file, tmp_path, path="a.txt", original_content="a", new_content="b", all_occurrences=True)
    assert (tmp_path / "a.txt").read_text() == "b b\nb"
    assert result.text.startswith("Edited 3 places of a.txt ")


@pytest.mark.parametrize(
    ("original", "new", "problem"),
    [
        ("a", "b", "2 places"),
        ("nothing", "b", "is not in the file"),
        ("x", "x", "has already"),
        ("", "b", "do not fit"),
    ],
)
async def test_an_edit_that_is_refused_leaves_the_file_alone(
    tmp_path: Path, original: str, new: str, problem: str
) -> None:
    (tmp_path / "a.txt").write_text("a x a")
    with pytest.raises(ToolError, match=problem):
        await run(edit_file, tmp_path, path="a.txt", original_content=original, new_content=new)
    assert (tmp_path / "a.txt").read_text() == "a x a"


async def test_edits_of_one_file_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"<{number}>\n" for number in range(20)))
    edits = [
        run(edit_file, tmp_path, path="a.txt", original_content=f"<{number}>", new_content=f"[{number}]")
        for number in range(20)
    ]
    await asyncio.gather(*edits)
    assert (tmp_path / "a.txt").read_text() == "".join(f"[{number}]\n" for number in range(20))


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab \r\n\x0c\ufeffé"), st.text(alphabet="ab \r\n\x0c\ufeffé"))
async def test_every_byte_outside_of_an_edit_is_kept_on_disk(before: str, after: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "a.txt"
        file.write_bytes(f"{before}<old>{after}".encode())
        await run(edit_file, file.parent, path="a.txt", original_content="<old>", new_content="new")
        assert file.read_bytes() == f"{before}new{after}".encode()


# --- move_file --------------------------------------------------------------------------------------------------------


async def test_a_file_is_moved_into_a_new_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    result = await run(move_file, tmp_path, source="a.txt", destination="new/b.txt")
    assert contents(tmp_path) == {"new": "", "new/b.txt": b"text"}
    assert result.text == "Moved a.txt to new/b.txt (4 bytes)."
    assert isinstance(result.details, FileChangeDetails)
    assert result.details.path == "new/b.txt"
    assert "rename from a.txt\nrename to new/b.txt\n" in result.details.diff


async def test_a_folder_is_moved_with_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a.txt").write_text("text")
    assert (await run(move_file, tmp_path, source="old", destination="new")).text == "Moved old to new (a folder)."
    assert contents(tmp_path) == {"new": "", "new/a.txt": b"text"}


@pytest.mark.parametrize(
    ("source", "destination", "problem"),
    [
        ("a.txt", "b.txt", "exists already"),
        ("a.txt", "folder", "exists already"),
        ("a.txt", "link", "exists already"),
        ("link", "c.txt", "is a symbolic link"),
        ("none.txt", "c.txt", "There is no none.txt"),
        ("folder", "folder/deeper/still", "into itself"),
        (".", "folder/root", "the workspace itself"),
        ("a.txt", "b.txt/c.txt", "b.txt/c.txt"),
    ],
)
async def test_a_move_that_is_refused_changes_nothing(
    tmp_path: Path, source: str, destination: str, problem: str
) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("new.txt")
    before = contents(tmp_path)
    with pytest.raises(ToolError, match=problem):
        await run(move_file, tmp_path, source=source, destination=destination)
    assert contents(tmp_path) == before
