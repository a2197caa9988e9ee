"""A hook's program runs, and ends, whatever it does."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from jupyter_eca.host.hooks import Hook, HookRun, parse_hooks, run
from jupyter_eca.workspace.environment import inherit_environment
from tests.support.processes import have_ended, is_alive
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


def hook(action: dict[str, Any], folder: Path | None = None) -> Hook:
    settings = {"type": "preRequest", "actions": [{"type": "shell", **action}], "folder": str(folder or "")}
    return parse_hooks({"one": settings})[0][0]


async def ran(folder: Path, action: dict[str, Any], given: bytes = b"{}", own: Path | None = None) -> HookRun:
    one = hook(action, own)
    async with asyncio.timeout(PATIENCE):
        return await run(one, one.actions[0], given, folder, inherit_environment())


async def test_it_reads_json_and_its_streams_are_kept_apart(tmp_path: Path) -> None:
    done = await ran(tmp_path, {"shell": "cat; pwd >&2; exit 2"}, b'{"a": 1}')
    assert done == HookRun(2, '{"a": 1}', f"{tmp_path}\n")


async def test_one_that_does_not_read_what_it_is_given_breaks_nothing(tmp_path: Path) -> None:
    assert await ran(tmp_path, {"shell": "echo done"}, b"x" * 500_000) == HookRun(0, "done\n", "")


async def test_one_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    line = "sleep 60 & echo $! > child; (setsid sleep 60 & echo $! > apart); wait"
    done = await ran(tmp_path, {"shell": line, "timeout": 300})
    assert (done.status, done.note) == (-9, "It did not end in 0.3 s and was ended.")
    assert done.as_reply(hook({"shell": "x"}), "one").status == 1
    assert have_ended(*_children(tmp_path))


async def test_one_that_is_cancelled_is_ended_with_all_it_started(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    one = hook({"shell": "sleep 60 & echo $! > child; echo $$ > apart; echo > begun; wait"})
    task = asyncio.ensure_future(run(one, one.actions[0], b"{}", tmp_path, inherit_environment()))
    async with asyncio.timeout(PATIENCE):
        await asyncio.to_thread((tmp_path / "begun").read_text)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert task.cancelled()
    assert have_ended(*_children(tmp_path))


async def test_one_that_floods_is_ended_and_what_is_kept_is_bounded(tmp_path: Path) -> None:
    done = await ran(tmp_path, {"shell": "yes"})
    assert done.note == "It wrote more than 1 MiB and was ended."
    assert len(done.output) == 1_048_576


async def test_bytes_that_are_no_text_are_shown_as_such(tmp_path: Path) -> None:
    done = await ran(tmp_path, {"shell": r"printf 'a\xff\x00\x1bb'"})
    assert done.output == "a\ufffd\ufffd\ufffdb"


@pytest.mark.parametrize("mode", [0o644, 0o755])
async def test_a_file_runs_whether_it_is_executable_or_not(tmp_path: Path, mode: int) -> None:
    """A path starts at the configuration's folder, or at the workspace."""
    for folder in (tmp_path / ".eca", tmp_path):
        folder.mkdir(exist_ok=True)
        script = folder / "it's a hook.sh"
        script.write_text('#!/usr/bin/env bash\n[[ -n $BASH ]] && read -r line && echo "$line"\nexit 3\n')
        script.chmod(mode)
        assert await ran(tmp_path, {"file": script.name}, b"hello\n", own=folder) == HookRun(3, "hello\n", "")
    assert await ran(tmp_path, {"file": script.name}, b"hello\n", own=tmp_path / "nowhere") == HookRun(3, "hello\n", "")


async def test_a_file_that_is_missing_or_no_program_is_a_failure_with_words(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    missing, binary = await ran(tmp_path, {"file": "gone.sh"}), await ran(tmp_path, {"file": "picture.png"})
    assert missing == HookRun(1, "", "There is no file 'gone.sh'.")
    assert binary.status not in {0, 2}
    assert binary.error


async def test_no_token_of_the_server_is_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_TOKEN", "JPY_API_TOKEN", "JUPYTERHUB_API_TOKEN"):
        monkeypatch.setenv(name, "secret")
    assert "secret" not in (await ran(tmp_path, {"shell": "env"})).output


async def test_what_it_leaves_running_holds_nobody_up(tmp_path: Path) -> None:
    done = await ran(tmp_path, {"shell": "sleep 60 & echo $! > child; echo $! > apart; echo done"})
    assert done == HookRun(0, "done\n", "")
    for pid in filter(is_alive, _children(tmp_path)):
        psutil.Process(pid).kill()


def _children(folder: Path) -> list[int]:
    return [int((folder / name).read_text()) for name in ("child", "apart")]
