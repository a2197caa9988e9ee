"""`jupyter-eca export` and `purge` as real processes, on the store that a real `jupyter-eca server` has written."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import Notification, Request
from tests.support.editor_process import Editor, editor, environment
from tests.support.host_and_client import settings
from tests.support.samples import sample

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio

CONFIGURED_KEY = "hunter2-configured-key-0815"
PASTED_KEY = "sk-pasted-0123456789abcdef"
STORY: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Changed the zebra."}]},
    {"message": "change", "reply": [{"text": "I change it. "},
        {"tool": "edit_file", "arguments":
            {"path": "kept.txt", "original_content": "old", "new_content": "new"}}]},
    {"message": "long", "reply": [{"tool": "shell_command", "arguments": {"command": "seq -f 'needle %g' 1000"}}]},
    {"message": "", "reply": [{"text": "An answer about {message}"}]},
]  # fmt: skip


class Desktop:
    """A user's machine: one store, and two projects in which an editor has asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data" / "eca"
        self.projects = [folder / "first", folder / "second"]
        providers = {"house": {"url": "http://127.0.0.1:9", "api": "openai-chat", "key": CONFIGURED_KEY}}
        for project in self.projects:
            (project / ".eca" / "rules").mkdir(parents=True)
            story = settings(
                project,
                STORY,
                toolCall={"approval": {"allow": {"shell_command": {}}}, "outputTruncation": {"sizeKb": 1}},
            )
            story["providers"] |= providers
            (project / ".eca" / "config.json").write_text(json.dumps(story))
            (project / ".eca" / "rules" / "style.md").write_text("Speak of okapis.")
            (project / "kept.txt").write_text("the old giraffe")

    @property
    def environment(self) -> dict[str, str]:
        return environment(self.folder) | {"JUPYTER_ECA_TRUSTED_FOLDERS": os.pathsep.join(map(str, self.projects))}

    @asynccontextmanager
    async def editor(self, project: Path) -> AsyncGenerator[Editor]:
        home, config, data = (self.environment[n] for n in ("HOME", "XDG_CONFIG_HOME", "JUPYTER_DATA_DIR"))
        async with editor(project, HOME=home, XDG_CONFIG_HOME=config, JUPYTER_DATA_DIR=data) as at:
            await at.initialize(project)
            yield at
            assert await at.request(99, "shutdown", None) is None
            await at.send(Notification("exit", None))
            await at.process.wait()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "jupyter_eca", *arguments], cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    def export(self, *scope: str) -> dict[str, bytes]:
        """Export, and return the files of the archive by path."""
        done = self.run("export", *scope, "-o", "archive.zip")
        assert done.returncode == 0, done.stderr
        with zipfile.ZipFile(self.folder / "archive.zip") as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def find(self, text: str) -> list[str]:
        """The files below the store in which a text is, in any case: the search folds it."""
        found = (path for path in self.data.rglob("*") if path.is_file())
        return sorted(path.name for path in found if text.lower().encode() in path.read_bytes().lower())


async def ask(at: Editor, chat: str, message: str) -> None:
    await at.send(Request(f"{chat} {message}", "chat/prompt", {"chatId": chat, "message": message}))


async def asked(at: Editor, chat: str, message: str) -> None:
    await ask(at, chat, message)
    await at.content("progress", state="finished")


async def use(desktop: Desktop) -> None:
    """Two chats in the first project, one of which has changed a file and read a long one; a chat in the second."""
    first, second = desktop.projects
    async with desktop.editor(first) as at:
        await ask(at, "busy", "change")
        call = await at.content("toolCallRun")
        await at.send(Notification("chat/toolCallApprove", {"chatId": "busy", "toolCallId": call["id"]}))
        await at.content("progress", state="finished")
        await asked(at, "busy", "long")
        await asked(at, "busy", f"walrus {PASTED_KEY} {CONFIGURED_KEY}")
        await asked(at, "calm", "narwhal")
        # The search makes an index of what was said.
        await at.request(5, "chat/list", {"query": "walrus"})
    async with desktop.editor(second) as at:
        await asked(at, "other", "pangolin")


@pytest.fixture(scope="module")
def used_desktop(tmp_path_factory: pytest.TempPathFactory) -> Desktop:
    """Used once, for all tests: it takes two processes and five turns."""
    desktop = Desktop(tmp_path_factory.mktemp("desktop"))
    asyncio.run(use(desktop))
    shutil.copytree(desktop.data, desktop.folder / "saved")
    return desktop


@pytest.fixture
def desktop(used_desktop: Desktop) -> Desktop:
    """As it was after its use."""
    shutil.rmtree(used_desktop.data)
    shutil.copytree(used_desktop.folder / "saved", used_desktop.data)
    (used_desktop.folder / "archive.zip").unlink(missing_ok=True)
    return used_desktop


async def test_an_export_has_all_that_is_kept_of_a_chat_and_lists_each_file(desktop: Desktop) -> None:
    files = desktop.export("--chat", "busy")
    manifest = json.loads(files["manifest.json"])
    assert {entry["path"] for entry in manifest["files"]} == files.keys() - {"manifest.json"}
    assert all(entry["what"] and entry["bytes"] == len(files[entry["path"]]) for entry in manifest["files"])
    (folder,) = {name.rpartition("/")[0] for name in files if name.endswith("chat.md")}
    assert "Changed the zebra." in files[f"{folder}/chat.md"].decode()
    events = json.loads(files[f"{folder}/events.json"])
    assert next(event["content"]["text"] for event in events if event["role"] == "user") == "change"
    calls = json.loads(files[f"{folder}/approvals.json"])
    assert [(call["tool"], call["asked"], call["became"]) for call in calls] == [
        ("edit_file", True, "ran"), ("shell_command", False, "ran"),
    ]  # fmt: skip
    assert json.loads(files[f"{folder}/usage.json"])
    (change,) = json.loads(files[f"{folder}/changes/changes.json"])
    assert files[f"{folder}/{change['before']}"] == b"the old giraffe"
    (output,) = (name for name in files if "/outputs/" in name)
    assert files[output].count(b"needle") == 1_000
    assert "okapis" in files[f"{folder}/chat.json"].decode(), "the system prompt has the rules as they were"
    assert not any(b"narwhal" in data or b"pangolin" in data for data in files.values())


async def test_no_secret_is_in_an_archive(desktop: Desktop) -> None:
    assert desktop.find(PASTED_KEY), "the chat itself has what the user has pasted"
    files = desktop.export("--everything")
    assert any(b"walrus" in data for data in files.values())
    for secret in (PASTED_KEY, CONFIGURED_KEY):
        assert not [name for name, data in files.items() if secret.encode() in data]


@pytest.mark.cold_start
async def test_a_project_is_exported_with_its_rules_and_without_other_projects(desktop: Desktop) -> None:
    files = desktop.export("--project", "first")
    assert sum(name.endswith("events.json") for name in files) == 2
    assert files["user/rules/00-first/rules/style.md"] == b"Speak of okapis."
    assert not any(b"pangolin" in data for data in files.values())


async def test_an_archive_is_made_while_a_server_runs_and_never_replaces_a_file(desktop: Desktop) -> None:
    async with desktop.editor(desktop.projects[0]):
        files = desktop.export("--everything")
        assert any(b"pangolin" in data for data in files.values())
    before = (desktop.folder / "archive.zip").read_bytes()
    done = desktop.run("export", "--everything", "-o", "archive.zip")
    assert done.returncode == 1
    assert "archive.zip is there already" in done.stderr
    assert (desktop.folder / "archive.zip").read_bytes() == before
    assert list(desktop.folder.glob(".eca-*")) == []


async def test_a_purged_chat_is_in_no_file_and_the_others_go_on(desktop: Desktop) -> None:
    texts = ("zebra", "old giraffe", "needle", "walrus", PASTED_KEY)
    assert all(desktop.find(text) for text in texts)
    done = desktop.run("purge", "--chat", "busy", "--yes")
    assert done.returncode == 0, done.stderr
    assert "chats: 1" in done.stdout
    assert [(text, found) for text in texts if (found := desktop.find(text))] == []
    assert desktop.find("narwhal") == desktop.find("pangolin") == ["chats.db"]
    with closing(sqlite3.connect(desktop.data / "chats.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA freelist_count").fetchone() == (0,)
        assert {chat for (chat,) in db.execute("SELECT chat FROM spending")} == {"calm", "other"}
    async with desktop.editor(desktop.projects[0]) as at:
        assert not (await at.request(5, "chat/open", {"chatId": "busy"}))["found"]
        assert (await at.request(6, "chat/open", {"chatId": "calm"}))["found"]
        await asked(at, "calm", "again")
        assert at.said().endswith("An answer about again")
    assert (desktop.projects[0] / "kept.txt").read_text() == "the new giraffe", "files of the user stay"


@pytest.mark.cold_start
async def test_a_purged_project_takes_its_chats_and_no_other(desktop: Desktop) -> None:
    done = desktop.run("purge", "--project", str(desktop.projects[0]), "--yes")
    assert done.returncode == 0, done.stderr
    assert desktop.find("walrus") == desktop.find("narwhal") == desktop.find("needle") == []
    assert desktop.find("pangolin") == ["chats.db"]


async def test_after_everything_is_purged_only_an_empty_database_is_left(desktop: Desktop) -> None:
    done = desktop.run("purge", "--everything", "--yes")
    assert done.returncode == 0, done.stderr
    left = [path for path in desktop.data.rglob("*") if path.is_file()]
    assert [path.name for path in left if path.stat().st_size] == ["chats.db"]
    with closing(sqlite3.connect(desktop.data / "chats.db")) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        ours = [name for name in tables if not name.startswith(("sqlite_", "message_index"))]
        assert [name for name in ours if db.execute(f"SELECT 1 FROM {name}").fetchone()] == []  # noqa: S608  # ours
    assert desktop.run("export", "--everything").returncode == 1, "there is nothing"
    for text in (*desktop.projects, "walrus", "narwhal", "pangolin", "needle", "okapis"):
        assert desktop.find(str(text)) == []


async def test_nothing_is_purged_while_a_server_has_the_chats(desktop: Desktop) -> None:
    async with desktop.editor(desktop.projects[1]) as at:
        done = await asyncio.to_thread(desktop.run, "purge", "--everything", "--yes")
        assert done.returncode == 1
        assert f"(process {at.process.pid})" in done.stderr
        assert "Nothing was deleted" in done.stderr
        await asked(at, "other", "still")
    assert desktop.find("walrus")


async def test_where_nobody_can_answer_nothing_is_purged_without_yes(desktop: Desktop) -> None:
    done = desktop.run("purge", "--chat", "calm")
    assert done.returncode == 1
    assert "chats: 1" in done.stdout, "it says what would be deleted"
    assert "--yes" in done.stderr
    assert desktop.find("narwhal")


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo terminals of this kind")
@pytest.mark.parametrize("answer", ["no", "yes"])
async def test_at_a_terminal_the_user_is_asked(desktop: Desktop, answer: str) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "jupyter_eca", "purge", "--chat", "calm"]
    with subprocess.Popen(  # noqa: ASYNC220  # nothing else runs in this loop
        command, cwd=desktop.folder, env=desktop.environment, stdin=theirs, stdout=subprocess.PIPE, text=True
    ) as process:
        os.write(ours, f"{answer}\n".encode())
        await asyncio.to_thread(process.communicate, None, 60)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == (0 if answer == "yes" else 1)
    assert bool(desktop.find("narwhal")) == (answer == "no")


@pytest.mark.parametrize("command", sample(["export", "purge"], every=2))
async def test_what_is_unknown_is_an_error_that_says_what_there_is(desktop: Desktop, command: str) -> None:
    done = desktop.run(command, "--chat", "nothing")
    assert done.returncode == 1
    assert all(id in done.stderr for id in ("busy", "calm", "other"))
    done = desktop.run(command, "--project", str(desktop.folder))
    assert done.returncode == 1
    assert all(str(project) in done.stderr for project in desktop.projects)


@pytest.mark.parametrize("command", sample(["purge", "export"], every=2))
async def test_where_nothing_is_kept_no_database_is_made(tmp_path: Path, command: str) -> None:
    desktop = Desktop(tmp_path)
    assert desktop.run(command, "--everything").returncode == 1
    assert not desktop.data.exists()


async def test_the_usage_counts_messages_and_requests_by_day_and_says_nothing_of_them(desktop: Desktop) -> None:
    done = desktop.run("usage", "--store", str(desktop.data / "chats.db"), str(desktop.folder / "nobody"))
    first, second, *more = done.stdout.splitlines()
    assert first == "store,day,person,messages,requests,tokens in,tokens out,US dollars"
    store, day, person, messages, requests, *_ = second.split(",")
    assert (store, person, messages, more) == (str(desktop.data / "chats.db"), "", "5", [])
    assert int(requests) >= 5
    assert "walrus" not in done.stdout
    assert (done.returncode, "nobody cannot be read" in done.stderr) == (1, True)
    assert len(desktop.run("usage", "--since", day).stdout.splitlines()) == 2
    assert len(desktop.run("usage", "--since", "2999-01-01").stdout.splitlines()) == 1
    assert "Write it as 2026-01-31" in desktop.run("usage", "--since", "today").stderr


@pytest.mark.cold_start
async def test_the_usage_names_the_person_whose_message_began_the_turn(desktop: Desktop) -> None:
    by = json.dumps({"username": "ada", "name": "Ada"})
    with closing(sqlite3.connect(desktop.data / "chats.db")) as db, db:
        db.execute("""UPDATE events SET "by" = ? WHERE chat = 'calm' AND role = 'user'""", (by,))
    rows = [line.split(",")[2:5] for line in desktop.run("usage").stdout.splitlines()[1:]]
    assert [(person, messages) for person, messages, _ in rows] == [("", "4"), ("ada", "1")]
    assert rows[1][2] == "1"
