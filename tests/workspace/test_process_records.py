"""What is written down of running processes, for the case that this one is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.workspace.jobs.process_records import ProcessRecord, end_orphans
from tests.support.processes import is_alive

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no sessions of processes")


def test_a_process_that_got_the_number_of_one_that_ended_is_left_alone(tmp_path: Path) -> None:
    innocent = subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True)
    try:
        record = ProcessRecord.open("a command", folder=tmp_path)
        record.note_process(innocent.pid)
        lines = record.path.read_text().splitlines()
        entry = json.loads(lines[-1])
        assert entry["pid"] == innocent.pid
        record.path.write_text("\n".join([*lines[:-1], json.dumps({**entry, "start": entry["start"] - 60})]) + "\n")
        record.abandon()
        assert end_orphans(tmp_path) == []
        assert is_alive(innocent.pid)
        assert list(tmp_path.iterdir()) == []
    finally:
        innocent.kill()
        innocent.wait()
