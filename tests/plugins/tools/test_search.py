"""grep and directory_tree: real programs on real folders, and programs that never end."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Tool, ToolContext
from jupyter_eca.plugins.tools.search import grep
from jupyter_eca.plugins.tools.tree import MAX_ENTRIES, directory_tree
from jupyter_eca.workspace.files import programs as process
from jupyter_eca.workspace.ports import Files
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

PROGRAMS = [
    pytest.param(program, marks=pytest.mark.skipif(shutil.which(program) is None, reason=f"no {program} here"))
    for program in ("rg", "git", "grep")
]


async def run(tool: Tool, root: Path, **arguments: Any) -> str:
    return (await tool.run(ToolContext(chat="c", files=Files((root,))), arguments)).text


async def git(folder: Path, *arguments: str) -> None:
    process = await asyncio.create_subprocess_exec("git", "-C", str(folder), *arguments)
    assert await process.wait() == 0


def only(monkeypatch: pytest.MonkeyPatch, folder: Path, *programs: str) -> Path:
    """A PATH with these programs of the machine and no others."""
    folder.mkdir()
    for program in programs:
        (folder / program).symlink_to(shutil.which(program) or program)
    monkeypatch.setenv("PATH", str(folder))
    return folder


async def project(tmp_path: Path, *, repository: bool = True) -> Path:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("import os\nneedle = 1\n")
    (root / "src" / "b.md").write_text("a needle\nand a needle\n")
    (root / ".ipynb_checkpoints").mkdir()
    (root / ".ipynb_checkpoints" / "a.py").write_text("needle\n")
    (root / "data.bin").write_bytes(b"needle\0")
    (root / ".gitignore").write_text("*.log\n")
    if repository:
        (root / "ignored.log").write_text("needle\n")
        await git(root, "init", "-q")
        await git(root, "add", "src/a.py")
    return root


def lines(text: str) -> list[str]:
    return sorted(text.splitlines())


# --- grep -------------------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture(params=PROGRAMS)
async def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that is searched with one program at a time."""
    made = await project(tmp_path, repository=request.param != "grep")
    only(monkeypatch, tmp_path / "bin", request.param)
    return made


async def test_matching_lines_come_with_path_and_number(root: Path) -> None:
    assert lines(await run(grep, root, path=".", pattern="needle")) == [
        "src/a.py:2:needle = 1",
        "src/b.md:1:a needle",
        "src/b.md:2:and a needle",
    ]


async def test_files_with_matches_are_named_once(root: Path) -> None:
    found = await run(grep, root, path=".", pattern="needle", output_mode="files_with_matches")
    assert lines(found) == ["src/a.py", "src/b.md"]


async def test_matches_are_counted_by_file(root: Path) -> None:
    assert lines(await run(grep, root, path="src", pattern="needle", output_mode="count")) == [
        "src/a.py:1",
        "src/b.md:2",
    ]


@pytest.mark.parametrize("include", ["*.md", "**/*.md", "*.{md,rst}"])
async def test_include_chooses_files_by_name(root: Path, include: str) -> None:
    found = await run(grep, root, path=".", pattern="needle", include=include, output_mode="files_with_matches")
    assert found == "src/b.md"


def write_notebook(path: Path) -> None:
    printed = {"output_type": "stream", "name": "stdout", "text": ['needle = "n"\n']}
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "id": "m1", "metadata": {}, "source": ["# A needle\n", "\n", "Text."]},
        {"cell_type": "code", "id": "c1", "source": ["import os\n", 'needle = "n"'], "outputs": [printed]},
        {"cell_type": "code", "source": "no id: needle", "outputs": []},
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))


async def test_in_notebooks_the_sources_are_searched_and_a_line_names_its_cell(root: Path) -> None:
    write_notebook(root / "n.ipynb")
    assert await run(grep, root, pattern='needle = "') == 'n.ipynb cell 2 [c1] line 2: needle = "n"'
    assert lines(await run(grep, root, pattern="needle")) == [
        "n.ipynb cell 1 [m1] line 1: # A needle",
        'n.ipynb cell 2 [c1] line 2: needle = "n"',
        "n.ipynb cell 3 line 1: no id: needle",
        "src/a.py:2:needle = 1",
        "src/b.md:1:a needle",
        "src/b.md:2:and a needle",
    ]
    assert await run(grep, root, pattern="^needle", path="n.ipynb") == 'n.ipynb cell 2 [c1] line 2: needle = "n"'


async def test_notebooks_are_counted_named_and_chosen_as_files_are(root: Path) -> None:
    write_notebook(root / "n.ipynb")
    assert lines(await run(grep, root, pattern="needle", output_mode="count"))[0] == "n.ipynb:3"
    found = await run(grep, root, pattern="needle", output_mode="files_with_matches")
    assert lines(found) == ["n.ipynb", "src/a.py", "src/b.md"]
    assert await run(grep, root, pattern="needle", include="*.py") == "src/a.py:2:needle = 1"
    assert lines(await run(grep, root, pattern="needle", include="*.ipynb", output_mode="count")) == ["n.ipynb:3"]
    assert "stopped after 2" in await run(grep, root, pattern="needle", include="*.ipynb", max_results=2)


async def test_a_notebook_that_is_none_is_not_searched(root: Path) -> None:
    (root / "n.ipynb").write_text('{"cells": 1}\nneedle')
    assert "n.ipynb" not in await run(grep, root, pattern="needle")


async def test_one_file_can_be_searched(root: Path) -> None:
    assert await run(grep, root, path="src/b.md", pattern="^and") == "src/b.md:2:and a needle"


async def test_a_binary_file_has_no_matching_lines(root: Path) -> None:
    assert await run(grep, root, path="data.bin", pattern="needle") == "No match for needle in data.bin"


async def test_an_extended_regular_expression_is_understood(root: Path) -> None:
    assert await run(grep, root, path=".", pattern="^(import|from) [a-z]+$") == "src/a.py:1:import os"


async def test_a_pattern_that_looks_like_an_option_is_a_pattern(root: Path) -> None:
    (root / "-v").write_text("--help me\n")
    assert await run(grep, root, path=".", pattern="--help") == "-v:1:--help me"


async def test_no_match_is_an_answer_and_no_error(root: Path) -> None:
    assert await run(grep, root, path=".", pattern="haystack") == "No match for haystack in ."


async def test_a_broken_pattern_is_refused_with_the_reason(root: Path) -> None:
    with pytest.raises(ToolError, match=r"The search failed \(\d+\): (?s:.+)pattern"):
        await run(grep, root, path=".", pattern="(needle")


async def test_results_stop_at_the_maximum_and_say_so(root: Path) -> None:
    found = await run(grep, root, path=".", pattern="needle", max_results=2)
    assert len(found.splitlines()) == 3
    assert found.endswith("[stopped after 2: narrow path, include or pattern, or raise max_results]")


async def test_a_search_with_endless_results_is_ended_at_the_maximum(root: Path) -> None:
    (root / "many.txt").write_text("x\n" * 2_000_000)
    found = await asyncio.wait_for(run(grep, root, path="many.txt", pattern="x", max_results=1), PATIENCE)
    assert found.startswith("many.txt:1:x\n[stopped")


async def test_a_long_line_is_cut(root: Path) -> None:
    (root / "min.js").write_text("var x" + "y" * 200_000 + "\nvar z\n")
    found = await run(grep, root, path="min.js", pattern="var")
    assert found == f"min.js:1:var x{'y' * 295} [...]\nmin.js:2:var z"


async def test_a_link_out_of_the_workspace_is_not_searched(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").write_text("needle outside\n")
    (root / "file.py").symlink_to(tmp_path / "outside" / "a.py")
    (root / "folder").symlink_to(tmp_path / "outside")
    shutil.rmtree(root / "src")
    (root / "src").symlink_to(tmp_path / "outside")  # git has src/a.py in its index
    assert await run(grep, root, path=".", pattern="needle") == "No match for needle in ."


async def test_what_a_program_finds_behind_a_link_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = await project(tmp_path, repository=False)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").touch()
    (root / "folder").symlink_to(tmp_path / "outside")
    program = only(monkeypatch, tmp_path / "bin") / "rg"
    program.write_text("#!/bin/sh\nprintf './folder/a.py\\0001:needle\\n./src/a.py\\0002:needle\\n'\n")
    program.chmod(0o755)
    assert await run(grep, root, path=".", pattern="needle") == "src/a.py:2:needle"


async def test_names_with_odd_characters_are_shown(root: Path) -> None:
    (root / "a:1:é b.txt").write_text("odd\n")
    (root / os.fsdecode(b"\xff.txt")).write_text("odd\n")
    assert lines(await run(grep, root, path=".", pattern="odd")) == ["a:1:é b.txt:1:odd", "\ufffd.txt:1:odd"]


async def test_an_include_with_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="names of files only"):
        await run(grep, tmp_path, path=".", pattern="x", include="src/*.py")


async def test_an_ignored_file_is_searched_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = await project(tmp_path)
    only(monkeypatch, tmp_path / "bin", "git")
    assert await run(grep, root, path="ignored.log", pattern="needle") == "ignored.log:1:needle"


async def test_a_machine_without_any_search_program_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, tmp_path / "bin")
    with pytest.raises(ToolError, match="no rg, git or grep"):
        await run(grep, tmp_path, path=".", pattern="x")


async def test_a_pattern_with_a_nul_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be started"):
        await run(grep, tmp_path, path=".", pattern="a\0b")


async def test_git_starts_no_program_that_a_repository_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = await project(tmp_path)
    await git(root, "config", "core.fsmonitor", f"touch {tmp_path / 'started'};")
    only(monkeypatch, tmp_path / "bin", "git", "touch", "sh")
    await run(grep, root, path=".", pattern="needle")
    await run(directory_tree, root, path=".")
    assert not (tmp_path / "started").exists()


async def test_a_folder_that_looks_like_a_repository_does_not_say_what_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = await project(tmp_path, repository=False)
    for name in ("objects", "refs", "info"):
        (root / name).mkdir()
    (root / "HEAD").write_text("ref: refs/heads/main")
    (root / "config").write_text("[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\n")
    (root / "info" / "exclude").write_text("*.py\n")
    only(monkeypatch, tmp_path / "bin", "git", "grep")
    assert await run(grep, root, path=".", pattern="needle", include="*.py") == "src/a.py:2:needle = 1"
    assert "a.py" in await run(directory_tree, root, path=".")


# --- a search that does not end ---------------------------------------------------------------------------------------


@pytest.fixture
def fifo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An `rg` that never ends, nor does its child; both hold the pipe open, so its end is theirs."""
    folder = only(monkeypatch, tmp_path / "bin", "sleep")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (folder / "rg").write_text(f"#!/bin/sh\nexec 3>{fifo}\nsleep 30 &\necho started >&3\nwait\n")
    (folder / "rg").chmod(0o755)
    return fifo


async def test_a_search_that_takes_too_long_is_ended_with_its_children(
    tmp_path: Path, fifo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "TIMEOUT_S", 0.5)
    search = asyncio.create_task(run(grep, tmp_path, path=".", pattern="x"))
    output = await asyncio.wait_for(asyncio.to_thread(fifo.read_text), PATIENCE)
    with pytest.raises(ToolError, match=r"more than 0\.5 s and was ended"):
        await asyncio.wait_for(search, PATIENCE)
    assert output == "started\n"


async def test_a_cancelled_search_leaves_nothing_running(tmp_path: Path, fifo: Path) -> None:
    search = asyncio.create_task(run(grep, tmp_path, path=".", pattern="x"))
    with await asyncio.to_thread(fifo.open) as output:
        assert await asyncio.to_thread(output.readline) == "started\n"
        search.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(search, PATIENCE)
        assert await asyncio.wait_for(asyncio.to_thread(output.read), PATIENCE) == ""
    assert search.cancelled()


async def test_a_program_that_is_cancelled_while_it_starts_is_ended_with_its_children(
    tmp_path: Path, fifo: Path
) -> None:
    async def use() -> None:
        async with process.run_program([str(tmp_path / "bin" / "rg")], tmp_path, asyncio.subprocess.DEVNULL):
            pytest.fail("it was cancelled before")

    using = asyncio.create_task(use())
    for _ in range(3):  # so far that it has been asked for, and is not there yet
        await asyncio.sleep(0)
    output = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    # The loop stands still until its child has begun.
    assert select.select([output], [], [], 5)[0]
    assert os.read(output, 100) == b"started\n"
    using.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait_for(using, PATIENCE)
    assert using.cancelled()
    assert select.select([output], [], [], 5)[0]
    assert os.read(output, 100) == b""
    os.close(output)


# --- directory_tree ---------------------------------------------------------------------------------------------------


async def test_a_tree_has_what_git_does_not_ignore(tmp_path: Path) -> None:
    root = await project(tmp_path)
    assert await run(directory_tree, root, path=".") == ".gitignore\ndata.bin\nsrc/\n  a.py\n  b.md"


async def test_a_tree_without_git_skips_hidden_and_junk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = await project(tmp_path, repository=False)
    (root / "node_modules" / "x").mkdir(parents=True)
    only(monkeypatch, tmp_path / "bin")
    assert await run(directory_tree, root, path=".") == "data.bin\nsrc/\n  a.py\n  b.md"


async def test_a_tree_of_an_ignored_folder_has_what_is_there(tmp_path: Path) -> None:
    root = await project(tmp_path)
    (root / "out.log").mkdir()
    (root / "out.log" / "a.txt").touch()
    assert await run(directory_tree, root, path="out.log") == "a.txt"


async def test_a_deleted_file_is_not_listed(tmp_path: Path) -> None:
    root = await project(tmp_path)
    (root / "src" / "a.py").unlink()
    assert await run(directory_tree, root, path="src") == "b.md"


async def test_another_repository_inside_is_marked_as_not_looked_into(tmp_path: Path) -> None:
    root = await project(tmp_path)
    await git(root, "init", "-q", "src/inner")
    (root / "src" / "inner" / "a.txt").touch()
    assert await run(directory_tree, root, path="src") == "a.py\nb.md\ninner/ ..."


@pytest.mark.parametrize("repository", [True, False])
async def test_max_depth_marks_the_folders_that_have_more(tmp_path: Path, repository: bool) -> None:
    root = await project(tmp_path, repository=repository)
    listed = await run(directory_tree, root, path=".", max_depth=1)
    assert listed.removeprefix(".gitignore\n") == "data.bin\nsrc/ ..."


@pytest.mark.parametrize("repository", [True, False])
async def test_links_are_shown_and_not_followed(tmp_path: Path, repository: bool) -> None:
    root = await project(tmp_path, repository=repository)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").touch()
    shutil.rmtree(root / "src")
    (root / "src").symlink_to(tmp_path / "outside")
    assert (await run(directory_tree, root, path=".")).removeprefix(".gitignore\n") == "data.bin\nsrc (link)"


async def test_a_large_tree_shows_the_nearest_entries_and_how_many_there_are(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for number in range(MAX_ENTRIES):
        (tmp_path / "deep" / "er" / f"{number:04}").touch()
    (tmp_path / "near").touch()
    listed = (await run(directory_tree, tmp_path, path=".")).splitlines()
    assert listed[:3] == ["deep/", "  er/ ...", "    0000"]
    assert listed[-2:] == [
        "near",
        f"[{MAX_ENTRIES} of {MAX_ENTRIES + 3} entries, the nearest first; list a folder in it to see more]",
    ]


@pytest.mark.parametrize(("path", "problem"), [("a.txt", "is not a folder"), ("none", "does not exist")])
async def test_what_is_no_folder_cannot_be_listed(tmp_path: Path, path: str, problem: str) -> None:
    (tmp_path / "a.txt").touch()
    with pytest.raises(ToolError, match=problem):
        await run(directory_tree, tmp_path, path=path)


async def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    assert await run(directory_tree, tmp_path, path=".") == "[. is empty]"
