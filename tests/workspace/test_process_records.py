"""What is written down of running processes, for the case that this one is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.workspace.jobs.process_records import MARK, ProcessRecord, end_orphans
from tests.support.processes import have_ended, is_alive

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no sessions of processes")


def shift_start(record: ProcessRecord, seconds: float) -> None:
    """Write another start time into the last entry of a record."""
    *lines, last = record.path.read_text().splitlines()
    entry = json.loads(last)
    record.path.write_text("\n".join([*lines, json.dumps({**entry, "start": entry["start"] + seconds})]) + "\n")


@pytest.mark.parametrize("is_noted", [True, False], ids=["", "and this program was killed before it noted them"])
def test_processes_are_ended_although_the_clock_was_set_since_their_start(tmp_path: Path, is_noted: bool) -> None:
    record = ProcessRecord.open("a command", folder=tmp_path)
    # The second process has no mark: it is found in the session of the first one.
    line = "env -i sleep 1000 & echo $!; sleep 1000"
    leader = subprocess.Popen(
        ["/bin/sh", "-c", line],
        start_new_session=True,
        env={**os.environ, MARK: record.mark},
        stdout=subprocess.PIPE,
        text=True,
    )
    with leader:
        try:
            assert leader.stdout is not None
            second = int(leader.stdout.readline())
            if is_noted:
                record.note_process(leader.pid)
                shift_start(record, -3600)
            record.abandon()
            assert [orphan.name for orphan in end_orphans(tmp_path)] == ["a command"]
            leader.wait()
            assert have_ended(second)
        finally:
            leader.kill()


def test_a_process_that_got_the_number_of_one_that_ended_is_left_alone(tmp_path: Path) -> None:
    innocent = subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True)
    try:
        record = ProcessRecord.open("a command", folder=tmp_path)
        record.note_process(innocent.pid)
        assert json.loads(record.path.read_text().splitlines()[-1])["pid"] == innocent.pid
        shift_start(record, -60)
        record.abandon()
        assert end_orphans(tmp_path) == []
        assert is_alive(innocent.pid)
        assert list(tmp_path.iterdir()) == []
    finally:
        innocent.kill()
        innocent.wait()
