"""Paths that lead to something that must not be read: a pipe, a device, a huge file, a link that is put there just
now. Whoever asks gets one clear error, and nothing else waits."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import read_config
from jupyter_eca.config.disk import regular_file
from jupyter_eca.errors import ConfigError, RemoteError, ToolError
from jupyter_eca.protocol.content import ToolCalledContent
from jupyter_eca.protocol.context import DirectoryContext
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.workspace.files import atomic_write, read_threads
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files
from tests.config.files import trusting
from tests.support.host_and_client import answer, desk, outcomes, said
from tests.support.samples import sample

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes and /proc are POSIX"),
]

# More than the default executor of an event loop has threads on any machine.
MANY = 40
# More than any kind of file may have, so that it is refused by its size. Under a limit, MANY reads of it would take
# longer than a test waits on a busy machine.
HUGE = 300_000_000


def yes(_call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


def make(folder: Path, kind: str, name: str) -> Path:
    path = folder / name
    match kind:
        case "a pipe":
            os.mkfifo(path)
        case "a link to a device":
            path.symlink_to("/dev/zero")
        case _:
            path.touch()
            os.truncate(path, HUGE)
    return path


each = pytest.mark.parametrize("kind", ["a pipe", "a link to a device", "a sparse file of 300 MB"])


def calling(tool: str, **arguments: Any) -> list[dict[str, Any]]:
    return [
        {"result": "", "reply": [{"text": "{result}"}]},
        {"message": "^all of it$", "reply": [{"tool": tool, "arguments": arguments}] * MANY},
        {"message": "", "reply": [{"text": "Hello"}]},
    ]


@each
@pytest.mark.parametrize(
    ("tool", "name"), sample([("notebook_read", "x.ipynb"), ("read_file", "x.txt"), ("read_file", "x.pdf")], every=2)
)
async def test_a_tool_that_reads_no_plain_file_gets_an_error_and_other_chats_go_on(
    tmp_path: Path, kind: str, tool: str, name: str
) -> None:
    make(tmp_path, kind, name)
    async with desk(tmp_path, calling(tool, path=name), NotebookFiles(Files((tmp_path,)))) as table:
        client, other = await table.client(), await table.client()
        reading = asyncio.create_task(answer(client, "all of it", yes))
        assert said(await answer(other, "hi", chat="other")) == "Hello"
        received = await reading
        results = [item.content for item in received if isinstance(item.content, ToolCalledContent)]
        assert len(results) == MANY
        assert all(result.error for result in results)
        assert outcomes(received) == ["completed"]


@each
@pytest.mark.parametrize("name", ["x.txt", "x.ipynb", "x.png", "x.pdf"])
async def test_what_a_prompt_points_at_is_no_plain_file_and_the_prompt_is_answered(
    tmp_path: Path, kind: str, name: str
) -> None:
    make(tmp_path, kind, name)
    async with desk(tmp_path, calling("read_file"), NotebookFiles(Files((tmp_path,)))) as table:
        received = await answer(await table.client(), f"What is in @{name}?")
        assert (said(received), outcomes(received)) == ("Hello", ["completed"])


@each
@pytest.mark.parametrize(
    "name", ["AGENTS.md", ".eca/rules/x.md", ".eca/skills/x/SKILL.md", ".eca/commands/x.md", ".gitignore"]
)
async def test_instructions_that_are_no_plain_file_are_left_out_and_the_prompt_is_answered(
    tmp_path: Path, kind: str, name: str
) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    make(tmp_path, kind, name)
    async with desk(tmp_path, calling("read_file")) as table:
        received = await answer(await table.client(), "hi")
        assert (said(received), outcomes(received)) == ("Hello", ["completed"])


@each
async def test_a_configuration_that_is_no_plain_file_is_ignored_or_named(tmp_path: Path, kind: str) -> None:
    (tmp_path / ".eca" / "agents").mkdir(parents=True)
    file = make(tmp_path, kind, ".eca/config.json")
    try:
        await asyncio.to_thread(read_config, (tmp_path,), home=tmp_path / "home")
    except ConfigError as error:
        assert str(file) in str(error)  # noqa: PT017  # either is right, and neither may hang


@each
async def test_files_that_a_configuration_names_are_left_out_with_a_warning(tmp_path: Path, kind: str) -> None:
    (tmp_path / ".eca" / "agents").mkdir(parents=True)
    make(tmp_path, kind, ".eca/agents/x.md")
    for name in ("secret", "netrc", ".mcp.json"):
        make(tmp_path, kind, name)
    (tmp_path / ".eca" / "config.json").write_text(
        '{"netrcFile": "../netrc", "providers": {"a": {"url": "${file:../secret}", "key": "${netrc:b}"}}}'
    )
    config = await asyncio.to_thread(read_config, (tmp_path,), home=tmp_path / "home", trust=trusting(tmp_path))
    assert any("secret" in warning for warning in config.warnings)
    assert any("netrc" in warning for warning in config.warnings)


async def test_a_link_that_is_swapped_while_a_file_is_read_never_gives_a_file_outside(tmp_path: Path) -> None:
    inside, outside = tmp_path / "work" / "data", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir(parents=True)
        (folder / "x.txt").write_text(folder.name)
    place, files, over = tmp_path / "work" / "place", Files((tmp_path / "work",)), threading.Event()
    place.symlink_to(inside)

    def swap() -> None:
        while not over.is_set():
            for target in (outside, inside):
                fresh = tmp_path / "fresh"
                fresh.symlink_to(target)
                fresh.replace(place)

    # A folder in place of a link makes the race wide: the path was resolved when it was a folder.
    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        found = set[str]()
        for _ in range(2000):
            try:
                real = files.resolve("place/x.txt")
                found.add(regular_file.read_resolved(real, 100).decode())
            except (OSError, ToolError):
                continue
    finally:
        over.set()
        swapping.join()
    assert found <= {"data"}


async def test_a_folder_that_became_a_link_after_its_check_is_not_followed(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (work / "data", outside):
        folder.mkdir(parents=True)
        (folder / "x.txt").write_text(folder.name)
    real = Files((work,)).resolve("data/x.txt")
    assert regular_file.read_resolved(real, 100) == b"data"
    (work / "data").rename(work / "old")
    (work / "data").symlink_to(outside)
    with pytest.raises(OSError, match="its path leads elsewhere now"):
        regular_file.read_resolved(real, 100)


async def test_nothing_is_written_into_a_folder_that_became_a_link_after_its_check(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (work / "data", outside):
        folder.mkdir(parents=True)
    real = Files((work,)).resolve("data/x.txt")
    atomic_write.write(real, b"one")
    (work / "y.txt").touch()
    (work / "data").rename(work / "old")
    (work / "data").symlink_to(outside)
    for write in (
        lambda: atomic_write.write(real, b"two"),
        lambda: atomic_write.move(work / "y.txt", real),
        lambda: atomic_write.move(real, work / "z.txt"),
    ):
        with pytest.raises(OSError, match="its path leads elsewhere now"):
            write()
    assert [*outside.iterdir()] == []
    assert sorted(path.name for path in (work, *work.iterdir(), *(work / "old").iterdir())) == [
        *("data", "old", "work", "x.txt", "y.txt"),
    ]
    assert (work / "old" / "x.txt").read_bytes() == b"one"


async def test_a_read_that_never_ends_holds_up_no_other_read(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = threading.Event()
    monkeypatch.setattr(read_threads, "READ_SECONDS", 0.05)
    try:
        for _ in range(3 * read_threads.THREADS):
            with pytest.raises(ToolError, match="The disk did not answer"):
                await run_read(stuck.wait)
        monkeypatch.undo()
        assert await run_read(lambda: "read") == "read"
        assert await asyncio.to_thread(lambda: "another thread") == "another thread"
    finally:
        stuck.set()


@pytest.mark.parametrize(
    "reader",
    [
        "instructions.agents_md._AgentsFileReader.run",
        "instructions.rules._find_rules",
        "instructions.skills.registry._find_skills",
        "host.tools.path_resolution._make_resolver",
        "plugins.contexts.directory._resolve_folder",
    ],
)
async def test_a_disk_that_does_not_answer_ends_the_turn_with_a_message_and_takes_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    stuck, threads = threading.Event(), list[str]()

    def wait(*_: object, **__: object) -> None:
        threads.append(threading.current_thread().name)
        stuck.wait()

    monkeypatch.setattr(read_threads, "READ_SECONDS", 1)
    monkeypatch.setattr(f"jupyter_eca.{reader}", wait)
    try:
        rules: list[dict[str, Any]] = [
            {"result": "", "reply": [{"text": "{result}"}]},
            {"message": "did not answer", "reply": [{"text": "{message}"}]},
            {"message": "", "reply": [{"tool": "read_file", "arguments": {"path": "a.txt"}}]},
        ]
        async with desk(tmp_path, rules) as table:
            client = await table.client()
            try:
                shown = str(await answer(client, "look", yes, contexts=(DirectoryContext(path="."),)))
            except RemoteError as error:
                shown = str(error)
        assert "The disk did not answer" in shown
        assert set(threads) == {"eca-read"}
    finally:
        stuck.set()


async def test_a_read_gives_what_its_function_raises() -> None:
    with pytest.raises(FileNotFoundError):
        await run_read(open, "/no/such/file")


async def test_a_file_of_a_terabyte_is_moved_without_being_read_and_an_undo_leaves_it_alone(tmp_path: Path) -> None:
    (tmp_path / "data.bin").touch()
    os.truncate(tmp_path / "data.bin", 2**40)
    rules = [
        {"result": "", "reply": [{"text": "Done."}]},
        {
            "message": "",
            "reply": [{"tool": "move_file", "arguments": {"source": "data.bin", "destination": "old.bin"}}],
        },
    ]
    async with desk(tmp_path, rules) as table:
        client = await table.client()
        assert outcomes(await answer(client, "go", yes)) == ["completed"]
        assert not (tmp_path / "data.bin").exists()
        assert outcomes(await answer(client, "/undo")) == ["completed"]
        assert (tmp_path / "old.bin").exists()
