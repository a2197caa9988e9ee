"""Background jobs with real processes: what they print, how they end, and that no process is left."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.job import Job, JobStatus
from jupyter_eca.workspace.jobs.background import MAX_LINES, MAX_RUNNING, BackgroundJobs
from tests.support.processes import have_ended, is_alive
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

pytestmark = pytest.mark.asyncio

# A shell, a child, and a grandchild in a session of its own. Each writes down its process id.
FAMILY = "sh -c 'setsid sh -c \"echo $$ \\$\\$ >&3; exec sleep 1000\" & sleep 1000' 3>pids & wait"


class Watched:
    """Background jobs, and a way to wait for their changes."""

    def __init__(self) -> None:
        self.heard: list[tuple[Job, ...]] = []
        self._news = asyncio.Event()
        self.jobs = BackgroundJobs(self._hear, grace=0.2)

    def _hear(self, jobs: tuple[Job, ...]) -> None:
        self.heard.append(jobs)
        self._news.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await self._news.wait()
                self._news.clear()

    async def ended(self, id: str) -> Job:
        await self.until(lambda: self.jobs.read(id).status is not JobStatus.RUNNING)
        return next(job for job in self.jobs.list() if job.id == id)

    def printed(self, id: str) -> list[tuple[str, str]]:
        return [(line.stream, line.text) for line in self.jobs.read(id).lines]


@asynccontextmanager
async def watched() -> AsyncGenerator[Watched]:
    here = Watched()
    try:
        yield here
    finally:
        async with asyncio.timeout(PATIENCE):
            await here.jobs.close()


async def line_of(fifo: Path) -> str:
    """Wait until somebody writes to the pipe."""
    async with asyncio.timeout(PATIENCE):
        return await asyncio.to_thread(fifo.read_text)


async def test_an_ended_job_has_its_output_by_stream_and_its_exit_code(tmp_path: Path) -> None:
    async with watched() as here:
        job = await here.jobs.start("chat", "echo out; echo err >&2; pwd; exit 3", tmp_path, "Trying")
        assert (job.status, job.label, job.chat_id, job.exit_code) == (JobStatus.RUNNING, "Trying", "chat", None)
        ended = await here.ended(job.id)
        assert (ended.status, ended.exit_code) == (JobStatus.FAILED, 3)
        printed = here.printed(job.id)
        assert [text for stream, text in printed if stream == "stdout"] == ["out", str(tmp_path)]
        assert [text for stream, text in printed if stream == "stderr"] == ["err"]


async def test_start_and_end_are_told(tmp_path: Path) -> None:
    async with watched() as here:
        job = await here.jobs.start("chat", "true", tmp_path, "")
        await here.ended(job.id)
        assert [[one.status for one in jobs] for jobs in here.heard] == [[JobStatus.RUNNING], [JobStatus.COMPLETED]]


async def test_the_output_of_a_running_job_can_be_read_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    async with watched() as here:
        job = await here.jobs.start("chat", "printf 'whole\\nhalf'; echo x >told; sleep 1000", tmp_path, "")
        await line_of(tmp_path / "told")
        async with asyncio.timeout(PATIENCE):
            while len(here.jobs.read(job.id).lines) < 2:  # noqa: ASYNC110  # the loop reads the pipe
                await asyncio.sleep(0)
        assert here.printed(job.id) == [("stdout", "whole"), ("stdout", "half")]
        assert here.jobs.read(job.id).status is JobStatus.RUNNING


async def test_only_the_newest_lines_are_kept(tmp_path: Path) -> None:
    async with watched() as here:
        job = await here.jobs.start("chat", "seq 1 5000", tmp_path, "")
        await here.ended(job.id)
        printed = here.printed(job.id)
        assert (len(printed), printed[0][1], printed[-1][1]) == (MAX_LINES, "3001", "5000")


async def test_a_line_without_an_end_is_bounded(tmp_path: Path) -> None:
    async with watched() as here:
        job = await here.jobs.start("chat", "head -c 100000 /dev/zero", tmp_path, "")
        await here.ended(job.id)
        assert max(len(text) for _, text in here.printed(job.id)) <= 4_000


async def test_a_killed_job_takes_its_children_with_it_and_is_killed_not_failed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pids")
    async with watched() as here:
        job = await here.jobs.start("chat", FAMILY, tmp_path, "")
        pids = [int(pid) for pid in (await line_of_family(tmp_path)).split()]
        assert len(pids) == 2
        assert all(is_alive(pid) for pid in pids)
        async with asyncio.timeout(PATIENCE):
            assert await here.jobs.kill(job.id)
        assert here.jobs.read(job.id).status is JobStatus.KILLED
        assert have_ended(*pids)
        assert not await here.jobs.kill(job.id)


async def line_of_family(folder: Path) -> str:
    """Read the first line only: the processes keep the pipe open."""

    def read() -> str:
        with (folder / "pids").open() as pipe:
            return pipe.readline()

    async with asyncio.timeout(PATIENCE):
        return await asyncio.to_thread(read)


async def test_a_job_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    async with watched() as here:
        command = "trap '' TERM; echo $$ >told; while :; do sleep 1000; done"
        job = await here.jobs.start("chat", command, tmp_path, "")
        pid = int(await line_of(tmp_path / "told"))
        async with asyncio.timeout(PATIENCE):
            assert await here.jobs.kill(job.id)
        assert have_ended(pid)


async def test_a_job_whose_shell_handles_the_signal_and_exits_well_is_still_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    async with watched() as here:
        job = await here.jobs.start("chat", "trap 'exit 0' TERM; echo x >told; sleep 1000 & wait", tmp_path, "")
        await line_of(tmp_path / "told")
        assert await here.jobs.kill(job.id)
        ended = await here.ended(job.id)
        assert (ended.status, ended.exit_code) == (JobStatus.KILLED, 0)


async def test_a_server_that_goes_into_the_background_is_a_job_while_it_runs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    async with watched() as here:
        job = await here.jobs.start("chat", "(echo ready; echo x >told; sleep 1000) & exit 0", tmp_path, "")
        await line_of(tmp_path / "told")
        assert here.jobs.read(job.id).status is JobStatus.RUNNING
        assert await here.jobs.kill(job.id)


async def test_no_job_outlives_the_host(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pids")
    here = Watched()
    job = await here.jobs.start("chat", FAMILY, tmp_path, "")
    pids = [int(pid) for pid in (await line_of_family(tmp_path)).split()]
    async with asyncio.timeout(PATIENCE):
        await here.jobs.close()
    assert have_ended(*pids)
    assert here.jobs.read(job.id).status is JobStatus.KILLED
    with pytest.raises(ToolError, match="is shutting down"):
        await here.jobs.start("chat", "true", tmp_path, "")


async def test_no_more_than_ten_run_at_a_time(tmp_path: Path) -> None:
    async with watched() as here:
        started = [await here.jobs.start("chat", "sleep 1000", tmp_path, "") for _ in range(MAX_RUNNING)]
        with pytest.raises(ToolError, match="10 background jobs"):
            await here.jobs.start("chat", "true", tmp_path, "")
        assert await here.jobs.kill(started[0].id)
        await here.jobs.start("chat", "true", tmp_path, "")


async def test_an_unknown_job_has_no_lines_and_no_status(tmp_path: Path) -> None:  # noqa: ARG001
    async with watched() as here:
        assert (here.jobs.read("none").lines, here.jobs.read("none").status) == ((), None)
        assert not await here.jobs.kill("none")


async def test_a_job_in_a_deleted_folder_is_refused(tmp_path: Path) -> None:
    async with watched() as here:
        with pytest.raises(ToolError, match="cannot be started"):
            await here.jobs.start("chat", "true", tmp_path / "gone", "")
        assert here.jobs.list() == ()
