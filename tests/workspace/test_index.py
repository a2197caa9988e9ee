"""Searching the names of files: which are listed, which match, and that nobody waits for the disk."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.workspace.files import index as indexing
from jupyter_eca.workspace.files import listing
from jupyter_eca.workspace.files.index import FileIndex, IndexEntry
from jupyter_eca.workspace.files.listing import list_files
from jupyter_eca.workspace.files.name_search import Fit, NameIndex, rate_fit
from jupyter_eca.workspace.ports import Files
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path


@asynccontextmanager
async def running(*folders: Path) -> AsyncGenerator[FileIndex]:
    index = FileIndex(Files(folders))
    looking = asyncio.create_task(index.run())
    try:
        async with asyncio.timeout(PATIENCE):
            yield index
    finally:
        looking.cancel()
        await asyncio.wait((looking,))


def make(folder: Path, *names: str) -> None:
    """Make files. The first one was changed last."""
    for age, name in enumerate(names):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (1e9 - age, 1e9 - age))


@pytest.fixture(params=["rg", "git", "walk"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Each of the three ways to list files, chosen by what is on the PATH."""
    wanted = {"rg": ["rg"], "git": ["git"], "walk": []}[request.param]
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in wanted:
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(programs))
    return request.param


@pytest.mark.asyncio
async def test_what_git_ignores_is_not_listed(tmp_path: Path, program: str) -> None:
    git, folder = shutil.which("git", path=os.defpath), tmp_path / "work"
    make(folder, "b/new.py", "a.py", "c/d/old.py", "data/x.csv", "b/keep.log", "a.log", "node_modules/m.js")
    (folder / ".gitignore").write_text("*.log\n/data/\n")
    (folder / "b/.gitignore").write_text("!keep.log\n")
    os.utime(folder / ".gitignore", (1, 1))
    os.utime(folder / "b/.gitignore", (0, 0))
    if program == "git":
        assert git is not None
        await asyncio.to_thread(subprocess.run, [git, "init", "-q", folder], check=True)
    names = await list_files(folder)
    assert names == ["b/new.py", "a.py", "c/d/old.py", "b/keep.log", ".gitignore", "b/.gitignore"]


@pytest.mark.asyncio
async def test_symbolic_links_are_not_followed(tmp_path: Path, program: str) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "work"
    make(outside, "secret.txt")
    make(folder, "a.py")
    (folder / "link").symlink_to(outside)
    assert await list_files(folder) == ["a.py"], program


@pytest.mark.asyncio
async def test_a_missing_folder_has_no_files(tmp_path: Path) -> None:
    assert await list_files(tmp_path / "nowhere") == []


@pytest.mark.asyncio
async def test_files_and_directories_are_found_with_their_absolute_path(tmp_path: Path) -> None:
    make(tmp_path, "train/model.py", "docs/training.md")
    async with running(tmp_path) as index:
        assert await index.search("train", 10) == [
            IndexEntry(str(tmp_path / "train"), True),
            IndexEntry(str(tmp_path / "docs/training.md"), False),
            IndexEntry(str(tmp_path / "train/model.py"), False),
        ]


@pytest.mark.asyncio
async def test_an_empty_query_gives_what_was_changed_last(tmp_path: Path) -> None:
    make(tmp_path, "long/way/down/newest.py", "b.py", "a.py")
    async with running(tmp_path) as index:
        assert await index.search_files("", 2) == [str(tmp_path / "long/way/down/newest.py"), str(tmp_path / "b.py")]


@pytest.mark.asyncio
async def test_each_folder_of_the_workspace_is_searched(tmp_path: Path) -> None:
    make(tmp_path / "one", "a.py")
    make(tmp_path / "two", "a.py")
    async with running(tmp_path / "one", tmp_path / "two") as index:
        assert await index.search_files("a.py", 10) == [str(tmp_path / "one/a.py"), str(tmp_path / "two/a.py")]
        assert await index.search_files(f"{tmp_path}/two/a", 10) == [str(tmp_path / "two/a.py")]


@pytest.mark.asyncio
async def test_a_new_file_is_found_once_the_names_are_marked_as_old(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    async with running(tmp_path) as index:
        assert len(await index.search_files("", 10)) == 1
        make(tmp_path, "b.py")
        index.mark_stale()
        assert sorted(await index.list_inside(tmp_path)) == ["a.py", "b.py"]
        assert len(await index.search_files("", 10)) == 2


@pytest.mark.asyncio
async def test_who_asks_first_is_not_kept_waiting_by_a_slow_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "FIRST_WAIT", 0.01)
    index = FileIndex(Files((tmp_path,)))  # it is not running: the slowest disk of all
    assert await index.search("a", 10) == []


@pytest.mark.asyncio
async def test_the_names_that_come_first_are_found_while_a_large_folder_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "FIRST_WAIT", PATIENCE)
    programs, folder, go_on = tmp_path / "bin", tmp_path / "work", tmp_path / "go_on"
    make(folder, "early.py", "late.py")
    programs.mkdir()
    os.mkfifo(go_on)
    # Its second name comes when the test has written to the pipe.
    slow = programs / "rg"
    slow.write_text(f"#!/bin/sh\nprintf 'early.py\\0'\nread line < '{go_on}'\nprintf 'late.py\\0'\n")
    slow.chmod(0o700)
    monkeypatch.setenv("PATH", str(programs))
    async with running(folder) as index:
        assert await index.search_files("", 10) == [str(folder / "early.py")]
        await asyncio.to_thread(go_on.write_text, "on\n")
        assert await index.list_inside(folder) == ["early.py", "late.py"]
        assert await index.search_files("late", 10) == [str(folder / "late.py")]


@given(names=st.lists(st.text(max_size=3)), piece=st.integers(1, 5))
def test_names_that_are_sorted_in_pieces_are_sorted(names: list[str], piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "_PIECE", piece)
        assert listing.sort_in_pieces(names, key=len) == sorted(names, key=len)


@pytest.mark.parametrize(
    ("query", "name", "expected"),
    [
        ("model.py", "src/model.py", Fit.EXACT),
        ("MODEL", "src/model.py", Fit.PREFIX),
        ("src/", "src/model.py", Fit.PREFIX),
        ("py", "src/model.py", Fit.WORD),
        ("odel", "src/model.py", Fit.NAME),
        ("src", "src/model.py", Fit.PATH),
        ("smpy", "src/model.py", Fit.LETTERS),
        ("ymps", "src/model.py", None),
        ("a\nb", "a b.txt", Fit.PREFIX),
    ],
)
def test_a_name_is_rated_by_how_well_it_matches(query: str, name: str, expected: Fit | None) -> None:
    assert rate_fit(query, name) == expected


def test_the_preferred_of_equally_good_names_comes_first() -> None:
    names = NameIndex(["z/report.py", "a/report.md", "report_old.py"])
    assert [name for _, name in names.search("report", 2)] == ["z/report.py", "a/report.md"]


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), max_size=20), st.text())
def test_a_search_finds_only_matches_and_the_best_first(names: list[str], query: str) -> None:
    found = NameIndex(names).search(query, 10)
    assert [fitting for fitting, _ in found] == sorted(fitting for fitting, _ in found)
    assert [rate_fit(query, name) for _, name in found] == [fitting for fitting, _ in found]


@given(st.lists(st.text("ab/._", min_size=1), max_size=12), st.text("ab/._", min_size=1))
def test_a_search_misses_no_match(names: list[str], query: str) -> None:
    """Except for single letters, where a name begins with all of them."""
    found = [name for _, name in NameIndex(names).search(query, len(names))]
    fits = [(rate_fit(query, name), name) for name in names]
    begun = any(fitting in {Fit.EXACT, Fit.PREFIX} for fitting, _ in fits)
    unwanted = {None, Fit.LETTERS} if begun else {None}
    assert sorted(found) == sorted(name for fitting, name in fits if fitting not in unwanted)
