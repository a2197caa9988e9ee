"""A control group of Linux that has little of this machine: a part of a core, and some memory.

    with small_group(cores=0.25, mib=512) as group: group.python("/path/to/python")

It needs the right to make a group, which root has in many containers. Both versions of the interface are known.
"""

from __future__ import annotations

import os
import shlex
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator

ROOT: Final = Path("/sys/fs/cgroup")
MIB: Final = 2**20
# Of the scheduler: so often, a group gets its share.
PERIOD: Final = 100_000
# A process that is killed leaves its group a moment later.
TRIES, PAUSE_SECONDS = 100, 0.05


class NoGroup(Exception):
    """This machine lets nobody make a group, or lets only others."""


@dataclass(frozen=True)
class SmallGroup:
    """`folders` are one for all controllers, or one for each."""

    folders: tuple[Path, ...]

    def write_python(self, python: str, folder: Path) -> str:
        """Return a program that runs this Python in the group, with all that it starts."""
        script = folder / "python-in-group"
        entries = "".join(f"echo $$ > {shlex.quote(str(group / 'cgroup.procs'))}\n" for group in self.folders)
        script.write_text(f'#!/bin/sh\n{entries}exec {shlex.quote(python)} "$@"\n')
        script.chmod(0o755)
        return str(script)

    def peak(self) -> float:
        """Return the most MiB that it had at once, with the files that it has read or written."""
        return self._number("memory.peak", "memory.max_usage_in_bytes") / MIB

    def kills(self) -> int:
        """Return how many of its processes were killed because the memory was full."""
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                if (file := folder / name).exists():
                    counts = dict(line.split() for line in file.read_text().splitlines())
                    return int(counts.get("oom_kill", 0))
        return 0

    def throttled(self) -> int:
        """Return how often it had used up its share of a core."""
        for folder in self.folders:
            if (file := folder / "cpu.stat").exists():
                return int(dict(line.split() for line in file.read_text().splitlines()).get("nr_throttled", 0))
        return 0

    def _number(self, *names: str) -> int:
        found = [folder / name for folder in self.folders for name in names if (folder / name).exists()]
        return int(found[0].read_text()) if found else 0


@contextmanager
def small_group(mib: int, cores: float = 0) -> Generator[SmallGroup]:
    """With 0 `cores`, it may use all. Raises: NoGroup."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    one = (ROOT / "cgroup.controllers").exists()
    folders = (ROOT / name,) if one else (ROOT / "memory" / name, ROOT / "cpu" / name)
    try:
        for folder in folders:
            folder.mkdir()
        _limit(folders, one, mib, cores)
    except OSError as error:
        _remove(folders)
        raise NoGroup(f"no control group can be made here: {error.strerror}") from error
    try:
        yield SmallGroup(folders)
    finally:
        _remove(folders)


def _limit(folders: tuple[Path, ...], one: bool, mib: int, cores: float) -> None:
    quota = round(cores * PERIOD)
    if one:
        (ROOT / "cgroup.subtree_control").write_text("+cpu +memory")
        (folders[0] / "memory.max").write_text(str(mib * MIB))
        with suppress(FileNotFoundError):  # a machine without swap has no such file
            (folders[0] / "memory.swap.max").write_text("0")
        if quota:
            (folders[0] / "cpu.max").write_text(f"{quota} {PERIOD}")
        return
    (folders[0] / "memory.limit_in_bytes").write_text(str(mib * MIB))
    if quota:
        (folders[1] / "cpu.cfs_period_us").write_text(str(PERIOD))
        (folders[1] / "cpu.cfs_quota_us").write_text(str(quota))


def _remove(folders: tuple[Path, ...]) -> None:
    """What still runs in them is killed: only what this bench has started can be there."""
    for folder in folders:
        for _ in range(TRIES):
            if not folder.exists():
                break
            for pid in (folder / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), 9)
            with suppress(OSError):
                folder.rmdir()
                break
            sleep(PAUSE_SECONDS)
