"""The shell tools, with real shells: what the model is told, and that nothing runs on."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from jupyter_eca.engine.approval.approval_scope import list_scopes
from jupyter_eca.engine.approval.call_targets import CallTargets
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.plugins.tools.files import read_file
from jupyter_eca.plugins.tools.shell import bg_job, shell_command
from jupyter_eca.protocol.content import ShellCommandDetails, ShellCommandPart
from jupyter_eca.workspace.head_and_tail import MAX_RESULT_CHARS
from jupyter_eca.workspace.jobs.background import BackgroundJobs
from jupyter_eca.workspace.ports import Files
from tests.support.processes import have_ended
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.workspace.tool_result import ToolResult

pytestmark = pytest.mark.asyncio


async def run(folder: Path, command: str, **arguments: Any) -> ToolResult:
    async with asyncio.timeout(PATIENCE):
        return await shell_command.run(ToolContext("chat", Files((folder,))), {"command": command, **arguments})


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def first_line(fifo: Path) -> str:
    def read() -> str:
        with fifo.open() as pipe:
            return pipe.readline()

    async with asyncio.timeout(PATIENCE):
        return await asyncio.to_thread(read)


async def test_output_and_errors_come_in_the_order_in_which_they_were_written(tmp_path: Path) -> None:
    result = await run(tmp_path, "echo 1; echo 2 >&2; echo 3")
    assert (result.text, result.error) == ("1\n2\n3", False)


async def test_a_failure_tells_its_exit_code(tmp_path: Path) -> None:
    result = await run(tmp_path, "echo so far; exit 3")
    assert (result.text, result.error) == ("so far\n[exit code 3]", True)


async def test_a_command_that_a_signal_ended_says_which(tmp_path: Path) -> None:
    assert (await run(tmp_path, "kill -KILL $$")).text == "[ended by SIGKILL]"


async def test_a_command_without_output_says_so(tmp_path: Path) -> None:
    assert (await run(tmp_path, "true")).text == "(no output)"


async def test_a_command_runs_in_the_folder_it_names(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert (await run(tmp_path, "pwd")).text == str(tmp_path)
    assert (await run(tmp_path, "pwd", working_directory="sub")).text == str(tmp_path / "sub")


@pytest.mark.parametrize(("folder", "problem"), [("/", "outside"), ("..", "outside"), ("gone", "no folder")])
async def test_a_folder_outside_of_the_workspace_is_refused(tmp_path: Path, folder: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        await run(tmp_path, "touch here", working_directory=folder)


async def test_a_command_has_no_input_to_wait_for(tmp_path: Path) -> None:
    assert (await run(tmp_path, "cat; test -t 0 || echo none")).text == "none"


@pytest.mark.parametrize("name", ["JUPYTER_TOKEN", "JPY_API_TOKEN", "JUPYTERHUB_API_TOKEN"])
async def test_a_command_sees_no_token_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("MINE", "kept")
    assert (await run(tmp_path, f"echo ${name}$MINE")).text == "kept"


async def test_a_shell_that_quotes_in_its_own_way_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fish = tmp_path / "fish"
    fish.write_text("#!/bin/sh\necho fish\n")
    fish.chmod(0o755)
    monkeypatch.setenv("SHELL", str(fish))
    assert (await run(tmp_path, "echo posix")).text == "posix"


async def test_a_command_over_its_time_is_ended_with_its_children_and_tells_what_it_printed(tmp_path: Path) -> None:
    result = await run(tmp_path, "sh -c 'echo $$; setsid sleep 1000 & echo $!; sleep 1000'", timeout=0.5)
    assert result.error
    *pids, note = result.text.splitlines()
    assert note.startswith("[ended after 0.5 s")
    assert len(pids) == 2
    assert have_ended(*map(int, pids))


async def test_a_stopped_command_is_ended_with_its_children_and_keeps_what_it_printed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    command = "echo before; sh -c 'trap \"\" TERM; echo $$ >told; sleep 1000' & sleep 1000"
    running = asyncio.ensure_future(run(tmp_path, command))
    pid = int(await first_line(tmp_path / "told"))
    running.cancel()
    result = await asyncio.wait_for(running, PATIENCE)
    assert (result.text, result.error) == ("before\n[ended by the user]", True)
    assert have_ended(pid)


@pytest.mark.parametrize("steps", range(1, 30, 2))
async def test_a_command_that_is_stopped_while_it_starts_leaves_nothing_behind(tmp_path: Path, steps: int) -> None:
    seconds = f"{os.getpid()}.{steps}"
    running = asyncio.ensure_future(run(tmp_path, f"setsid sleep {seconds} & sleep {seconds}"))
    for _ in range(steps):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait({running}, timeout=PATIENCE)
    assert running.done()
    assert have_ended(*(pid for pid in psutil.pids() if seconds in command_of(pid)))


def command_of(pid: int) -> list[str]:
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []


async def test_what_a_command_leaves_behind_is_ended_and_told(tmp_path: Path) -> None:
    result = await run(tmp_path, "sleep 1000 & echo $!")
    pid, note = result.text.splitlines()
    assert have_ended(int(pid))
    assert note.startswith("[what it left running was ended")
    assert not result.error


async def test_output_that_is_no_text_does_no_harm(tmp_path: Path) -> None:
    result = await run(tmp_path, r"printf 'a\000b\377\033[31mred\033[0m 10%%\r100%%\r\nend\007'")
    assert result.text == "100%\nend\ufffd"
    assert (await run(tmp_path, r"printf 'a\000b\377\033[31mred\033[0m'")).text == "a\ufffdb\ufffdred"


@pytest.mark.parametrize("command", ["seq 1 100000", "head -c 300000 /dev/zero | tr '\\0' x; echo; echo end"])
async def test_a_long_output_has_its_head_and_tail_and_the_rest_in_a_file(tmp_path: Path, command: str) -> None:
    result = await run(tmp_path, f"echo start; {command}")
    assert len(result.text) < MAX_RESULT_CHARS
    assert len(result.text.splitlines()) <= 2_002
    assert result.text.startswith("start\n")
    assert result.text.endswith(("100000", "end"))
    found = re.search(r"all of it is in (\S+): use read_file", result.text)
    assert found
    assert mode_of(Path(found[1]).parent) == 0o700
    part = await read_file.run(ToolContext("chat", Files((tmp_path,))), {"path": found[1], "limit": 1})
    assert part.text.endswith("\nstart\n")


async def test_only_our_own_files_outside_of_the_workspace_can_be_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("classified")
    found = re.search(r"in (\S+): use", (await run(root, "seq 1 3000")).text)
    assert found
    for path in (str(tmp_path / "secret"), f"{Path(found[1]).parent}/../{tmp_path.name}/secret", "/etc/passwd"):
        with pytest.raises(ToolError, match="outside of the workspace"):
            await read_file.run(ToolContext("chat", Files((root,))), {"path": path})


@pytest.mark.parametrize("command", ["a\0b", "x" * 3_000_000])
async def test_a_command_that_cannot_be_started_is_told(tmp_path: Path, command: str) -> None:
    with pytest.raises(ToolError, match="cannot be started"):
        await run(tmp_path, command)


async def test_a_command_is_shown_by_its_parts_with_what_would_be_remembered(tmp_path: Path) -> None:
    context = ToolContext(
        "chat",
        Files((tmp_path,)),
        remembered=frozenset(list_scopes(shell_command.spec, {"command": "git log"}, CallTargets())),
    )
    arguments = {"command": "git log -5 | sudo wc > x", "background": True}
    assert shell_command.preview is not None
    expected = ShellCommandDetails(
        commands=(
            ShellCommandPart(command="git", args=("log", "-5"), approval_key="git log", remembered=True),
            ShellCommandPart(command="sudo", args=("wc",)),
        ),
        background=True,
        line="git log -5 | sudo wc > x",
        parsed=("git log -5", "sudo wc > x"),
    )
    assert await shell_command.preview(context, arguments) == expected
    unclear = await shell_command.preview(context, {"command": "rm $(ls)"})
    assert unclear == ShellCommandDetails(commands=(ShellCommandPart(command="rm $(ls)"),), line="rm $(ls)")
    assert (await run(tmp_path, "true")).details == ShellCommandDetails(
        commands=(ShellCommandPart(command="true", approval_key="true"),), line="true", parsed=("true",)
    )


# --- in the background ------------------------------------------------------------------------------------------------


@asynccontextmanager
async def working(folder: Path) -> AsyncGenerator[tuple[ToolContext, ToolContext]]:
    """Two chats with the same jobs."""
    jobs = BackgroundJobs(grace=0.2)
    try:
        yield tuple(ToolContext(chat, Files((folder,)), jobs=jobs) for chat in ("mine", "other"))  # type: ignore[misc]
    finally:
        await jobs.close()


async def test_a_job_is_started_listed_read_and_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    async with working(tmp_path) as (mine, _):
        started = await shell_command.run(mine, {"command": "echo out; echo x >told; sleep 1000", "background": True})
        id = re.findall(r"job-\w+", started.text)[0]
        await first_line(tmp_path / "told")
        assert (await bg_job.run(mine, {"action": "list"})).text.startswith(f"{id}: running for 0s: echo out;")
        async with asyncio.timeout(PATIENCE):
            reading = {"action": "read_output", "job_id": id}
            while "\nout" not in (read := await bg_job.run(mine, reading)).text:  # noqa: ASYNC110  # the loop reads the pipe
                await asyncio.sleep(0)
        assert read.text.splitlines()[1:] == ["out"]
        assert (await bg_job.run(mine, {"action": "kill", "job_id": id})).text == f"{id} was killed."
        assert (await bg_job.run(mine, {"action": "kill", "job_id": id})).text == f"{id} had ended before."
        assert "killed" in (await bg_job.run(mine, {"action": "list"})).text


async def test_jobs_of_another_chat_are_none_of_the_models_business(tmp_path: Path) -> None:
    async with working(tmp_path) as (mine, other):
        started = await shell_command.run(mine, {"command": "sleep 1000", "background": True})
        id = re.findall(r"job-\w+", started.text)[0]
        assert (await bg_job.run(other, {"action": "list"})).text == "There are no background jobs in this chat."
        for action in ("read_output", "kill"):
            with pytest.raises(ToolError, match="no job"):
                await bg_job.run(other, {"action": action, "job_id": id})


async def test_without_jobs_nothing_is_started_in_the_background(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no background jobs"):
        await run(tmp_path, "touch here", background=True)
    assert not (tmp_path / "here").exists()
