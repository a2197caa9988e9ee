"""What a model tries to do with an approval that was for something else, and what a rule must catch all the same."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host.chat.live_chat import Choice
from jupyter_eca.host.turn.effect_runner import TOOL_REPLACED
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    RejectReason,
    RunCellsDetails,
    ShellCommandDetails,
    ToolCalledContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
)
from jupyter_eca.transport.eca_client import CallDecision
from tests.host.turn.test_protected_paths import EVERYTHING, Person, asked, call, plays, project, words
from tests.mcp_client.house import raw
from tests.support.host_and_client import answer, said
from tests.support.notebook_page import PATH, code, room
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from tests.support.host_and_client import Desk

pytestmark = pytest.mark.asyncio


def rejections(received: list[ChatContentReceivedParams]) -> list[RejectReason]:
    return [one.content.reason for one in received if isinstance(one.content, ToolCallRejectedContent)]


def results(received: list[ChatContentReceivedParams]) -> list[str]:
    return [one.content.outputs[0].text for one in received if isinstance(one.content, ToolCalledContent)]


# -- remembered commands


async def test_a_remembered_program_that_reads_cannot_be_made_to_write_a_file(tmp_path: Path) -> None:
    lines = ["echo a | uniq", "echo a | uniq - notes.txt", "echo a | uniq - .eca/config.json"]
    async with project(tmp_path, plays(*(call("shell_command", command=line) for line in lines))) as table:
        (table.folder / ".eca").mkdir()
        (table.folder / "notes.txt").write_text("mine")
        received = await answer(await table.client(), "look", Person())
        assert [question.arguments["command"] for question in asked(received)] == lines
        assert (table.folder / "notes.txt").read_text() == "mine"
        assert list((table.folder / ".eca").iterdir()) == []


async def test_a_remembered_git_status_runs_no_program_of_a_folder_that_looks_like_a_repository(tmp_path: Path) -> None:
    status = call("shell_command", command="git status", working_directory="sub")
    async with project(tmp_path, plays(status)) as table:
        folder = table.folder / "sub"
        for name in ("objects", "refs"):
            (folder / name).mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/main")
        program = f"touch {shlex.quote(str(tmp_path / 'PWNED'))}; false"
        lines = ("[core]", "repositoryformatversion = 0", "bare = false", "worktree = .", f'fsmonitor = "{program}"')
        (folder / "config").write_text("\n".join(lines))
        received = await answer(await table.client(), "look", Person())
        assert len(results(received)) == 1
        assert not (tmp_path / "PWNED").exists()


async def test_a_remembered_git_status_runs_no_program_that_the_repository_names(tmp_path: Path) -> None:
    async with project(tmp_path, plays(call("shell_command", command="git status"))) as table:
        program = f"touch {shlex.quote(str(tmp_path / 'PWNED'))}; false"
        for arguments in (("init", "-q"), ("config", "core.fsmonitor", program)):
            await asyncio.to_thread(subprocess.run, ["git", *arguments], cwd=table.folder, check=True)
        received = await answer(await table.client(), "look", Person())
        assert len(results(received)) == 1
        assert not (tmp_path / "PWNED").exists()


GIT = {
    "another program for differences": ("config diff.external {program}", "git diff", "diff.external"),
    "a program for one kind of file": ("config diff.x.textconv {program}", "git diff", "diff.x.textconv"),
    "a filter": ("config filter.x.clean {program}", "git status", "filter.x.clean"),
    "a file that the configuration includes": ("config include.path ../included", "git diff", "diff.external"),
    "a program that checks signatures": ("config gpg.program {program}", "git log -1", "gpg.program"),
    "behind a change of the folder": ("config diff.external {program}", "cd ../root && git diff", "diff.external"),
    "behind another program": ("config diff.external {program}", "env git diff", "diff.external"),
    "by an option": ("config diff.external {program}", "git -C . diff", "diff.external"),
}


@pytest.mark.parametrize("name", GIT)
async def test_a_reading_git_for_which_the_repository_names_a_program_is_asked_about_each_time(
    tmp_path: Path, name: str
) -> None:
    setting, line, known = GIT[name]
    program = f"touch {shlex.quote(str(tmp_path / 'PWNED'))}; false"
    rule = {"argsMatchers": {"command": ["(cd|git|env) .*"]}}
    allowed = {"approval": {"allow": {"shell_command": rule}}}
    async with project(tmp_path, plays(*[call("shell_command", command=line)] * 2), toolCall=allowed) as table:
        (table.folder / "a.txt").write_text("one")
        (table.folder / ".gitattributes").write_text("*.txt diff=x filter=x\n")
        commit = "-c user.name=a -c user.email=a@example.org commit -qm one"
        for arguments in ("init -q", "add a.txt", commit, f"config -f included diff.external {shlex.quote(program)}"):
            await run_git(table.folder, arguments)
        await run_git(table.folder, setting.format(program=shlex.quote(program)))
        (table.folder / "a.txt").write_text("two")
        received = await answer(await table.client(), "look", Person(0))
        assert [(question.cause and question.cause.kind, question.remembers) for question in asked(received)] == [
            ("repository", None)
        ] * 2
        assert {question.cause.path for question in asked(received) if question.cause} == {known}
        assert not (tmp_path / "PWNED").exists()


async def test_a_submodule_may_not_name_a_program_for_git_either(tmp_path: Path) -> None:
    async with project(tmp_path, plays(call("shell_command", command="git status")), **EVERYTHING) as table:
        below = table.folder / "sub"
        below.mkdir()
        commit = "-c user.name=a -c user.email=a@example.org commit -q --allow-empty -m one"
        for folder, arguments in (
            *((below, "init -q"), (below, commit), (below, "config filter.x.clean false")),
            *((table.folder, "init -q"), (table.folder, "-c advice.addEmbeddedRepo=false add sub")),
        ):
            await run_git(folder, arguments)
        received = await answer(await table.client(), "look", Person(0))
        assert [question.cause.path for question in asked(received) if question.cause] == ["filter.x.clean"]


@pytest.mark.parametrize(
    "setting", ["", "config filter.x.clean 'git-lfs clean -- %f'", "config alias.x '!touch PWNED'"]
)
async def test_a_reading_git_of_a_usual_repository_is_not_asked_about(tmp_path: Path, setting: str) -> None:
    async with project(tmp_path, plays(call("shell_command", command="git status")), **EVERYTHING) as table:
        for arguments in filter(None, ("init -q", setting)):
            await run_git(table.folder, arguments)
        assert asked(await answer(await table.client(), "look", Person(0))) == []


async def run_git(folder: Path, arguments: str) -> None:
    await asyncio.to_thread(subprocess.run, ["git", *shlex.split(arguments)], cwd=folder, check=True)


async def test_a_command_is_remembered_for_the_working_directory_of_the_chat(tmp_path: Path) -> None:
    script = [
        {"message": "", "reply": [call("shell_command", command="touch here")]},
        {"result": "", "reply": [{"text": "Done."}]},
    ]
    async with project(tmp_path, script) as table:
        below = table.folder / "sub"
        below.mkdir()
        client = await table.client()
        received = await answer(client, "one", Person())
        table.host.turns.choose("chat", Choice(folder=str(below)))
        received = await answer(client, "two", Person(0))
        assert words(received) == [("shell_command", ("touch here (in sub/)",))]
        assert [path.name for path in table.folder.rglob("here")] == ["here"]


# -- paths


@pytest.mark.parametrize("spelling", ["file://../secret/x", "./" * 3_000 + "secret/x", "sub\n/../secret/x"])
async def test_a_file_that_may_not_be_read_is_not_read_by_a_spelling_that_only_a_check_reads_differently(
    tmp_path: Path, spelling: str
) -> None:
    deny = {"read_file": {"argsMatchers": {"path": ["secret/.*"]}}}
    read = call("read_file", path=spelling)
    async with project(tmp_path, plays(read), toolCall={"approval": {"deny": deny}}) as table:
        (table.folder / "secret").mkdir()
        (table.folder / "secret" / "x").write_text("hidden")
        received = await answer(await table.client(), "read")
        assert rejections(received) == [RejectReason.CONFIG]


async def test_a_notebook_that_may_not_be_read_is_not_read_with_a_blank_before_its_path(tmp_path: Path) -> None:
    deny = {"notebook_read": {"argsMatchers": {"path": ["secret.ipynb"]}}}
    cells: list[Any] = [
        {"cell_type": "code", "id": "a", "source": "hidden", "metadata": {}, "outputs": [], "execution_count": 1}
    ]
    notebook: dict[str, Any] = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    read = call("notebook_read", path=" secret.ipynb")
    async with project(tmp_path, plays(read), toolCall={"approval": {"deny": deny}}) as table:
        (table.folder / "secret.ipynb").write_text(json.dumps(notebook))
        received = await answer(await table.client(), "read")
        assert "hidden" not in "".join(results(received))


@pytest.mark.parametrize("path", [".eca/rules/a\n.md", "./" * 3_000 + ".eca/config.json", "file://../.mcp.json"])
async def test_no_spelling_of_a_path_hides_that_it_changes_what_may_run(tmp_path: Path, path: str) -> None:
    async with project(tmp_path, plays(call("write_file", path=path, content="{}")), **EVERYTHING) as table:
        received = await answer(await table.client(), "write", Person(0))
        (question,) = asked(received)
        assert question.cause is not None
        assert question.cause.kind == "protected"
        assert [path for path in table.folder.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"files": {".eca/config.json": "{}"}},
        {"patch": "*** Begin Patch\n*** Add File: .eca/config.json\n+{}\n*** End Patch"},
        {"javascript": "const fs = require('fs')\nfs.writeFileSync('.eca/config.json', '{}')"},
        {"uri": "FILE:///tmp/%2eeca/config.json"},
        {"uri": "file:/tmp/%2eeca/config.json"},
    ],
)
async def test_no_argument_of_anothers_tool_hides_that_it_names_what_may_run(
    tmp_path: Path, arguments: dict[str, Any]
) -> None:
    servers = {"one": raw("works", tmp_path / "log")}
    async with project(tmp_path, plays(call("one__work", **arguments)), mcpServers=servers, **EVERYTHING) as table:
        await table.host.mcp.await_started(PATIENCE)
        (question,) = asked(await answer(await table.client(), "work", Person(0)))
        assert question.cause is not None
        assert question.cause.kind == "protected"


async def test_in_a_chat_with_a_working_directory_the_path_of_a_notebook_starts_there(tmp_path: Path) -> None:
    deny = {"notebook_read": {"argsMatchers": {"path": [re.escape(PATH)]}}}
    approval = {"deny": deny, "byDefault": "allow"}
    async with room(tmp_path, code("a", "x = 'hidden'"), toolCall={"approval": approval}) as there:
        (there.table.folder / "sub").mkdir()
        there.table.host.turns.choose("chat", Choice(folder=str(there.table.folder / "sub")))
        received = await there.ask([call("notebook_read", path=f"./{PATH}")], lambda _: CallDecision(approved=True))
        assert "hidden" not in "".join(results(received))


def put_data_into(table: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jupyter's data and the user's configuration lie in the workspace, as they do when it is the home folder."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(table.folder / "local" / "data"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(table.folder / "jupyter"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(table.folder / "settings"))
    for name in ("local/data/eca/chats.db", "settings/eca/config.json", "new/eca/config.json", "new.json"):
        (table.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (table.folder / name).write_text("{}")


@pytest.mark.parametrize(
    "changes",
    [
        call("write_file", path="local/data/eca/trust.json", content="{}"),
        call("write_file", path="local/data/ECA/chats.db", content="{}"),
        call("write_file", path="local/data/kernels/python3/kernel.json", content="{}"),
        call("write_file", path="jupyter/jupyter_server_config.py", content=""),
        call("write_file", path="settings/eca/agents/code.md", content=""),
        call("move_file", source="settings", destination="old"),
        call("move_file", source="local", destination="old"),
        call("move_file", source="new.json", destination="local/data/eca/keys.json"),
        call("shell_command", command="rm -rf settings"),
        call("shell_command", command="cp new.json local/data/eca/trust.json"),
        call("shell_command", command="echo '{}' > local/data/eca/trust.json"),
    ],
)
async def test_our_own_data_in_the_workspace_is_changed_by_no_approval_rule_or_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    async with project(tmp_path, plays(changes), **EVERYTHING) as table:
        put_data_into(table, monkeypatch)
        received = await answer(await table.client(), "change", Person(0))
        (question,) = asked(received)
        assert question.cause is not None
        assert (question.cause.kind, question.remembers) == ("protected", None)
        assert (table.folder / "settings" / "eca" / "config.json").exists()


async def test_who_works_in_jupyters_own_folder_is_asked_about_our_data_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = (call("write_file", path="eca/trust.json", content="{}"), call("write_file", path="a", content=""))
    async with project(tmp_path, plays(*writes), **EVERYTHING) as table:
        monkeypatch.setenv("JUPYTER_DATA_DIR", str(table.folder))
        received = await answer(await table.client(), "write", Person(0))
        assert [question.arguments["path"] for question in asked(received)] == ["eca/trust.json"]


# -- remembered tools of others


@pytest.mark.parametrize("tool", ["one__work", "custom"])
async def test_an_approval_of_anothers_tool_is_remembered_for_what_its_arguments_name(
    tmp_path: Path, tool: str
) -> None:
    schema: dict[str, Any] = {"properties": {"path": {"type": "string"}}}
    custom = {"description": "Works.", "command": "echo {{path}}", "schema": schema}
    paths = ("notes/a.txt", "notes/b.txt", "src/main.py", "notes/link/x")
    script = plays(*(call(tool, path=path) for path in paths))
    more = {"mcpServers": {"one": raw("works")}, "customTools": {"custom": custom}}
    async with project(tmp_path, script, **more) as table:
        (table.folder / "notes").mkdir()
        (table.folder / "notes" / "link").symlink_to("../secret")
        await table.host.mcp.await_started(PATIENCE)
        received = await answer(await table.client(), "work", Person(2))
        assert words(received) == [(tool, (f"{tool} (path in {folder}/)",)) for folder in ("notes", "src", "secret")]
        assert rejections(received) == [RejectReason.USER]


@pytest.mark.parametrize(
    ("more", "words_of_more"),
    [
        ({"files": {"src/main.py": "x"}}, 'files."src/main.py" "x"'),
        ({"to": "main.py"}, 'to "main.py"'),
        ({"host": "evil.example"}, 'host "evil.example"'),
        ({"note": "see https://evil.example/?q=SECRET"}, "any note with https://evil.example"),
        ({"force": True}, "force true"),
        ({"id": 5}, "any id"),
    ],
)
async def test_an_approval_of_anothers_tool_does_not_hold_for_a_call_with_an_argument_more(
    tmp_path: Path, more: dict[str, Any], words_of_more: str
) -> None:
    script = plays(call("one__work", path="notes/a.txt"), call("one__work", path="notes/b.txt", **more))
    async with project(tmp_path, script, mcpServers={"one": raw("works")}) as table:
        await table.host.mcp.await_started(PATIENCE)
        received = await answer(await table.client(), "work", Person())
        first, second = (question.remembers for question in asked(received))
        assert first == ("one__work (path in notes/)",)
        assert second is not None
        assert words_of_more in second[0]


async def test_an_approval_to_end_one_background_job_ends_no_other(tmp_path: Path) -> None:
    start = call("shell_command", command="sleep 100", background=True)
    script: list[dict[str, Any]] = [
        {"result": "Started as (?P<id>job-[0-9a-f]{8})", "reply": [call("bg_job", action="kill", job_id="$id")]},
        {"result": "was killed", "reply": [start]},
        {"result": "", "reply": [{"text": "Done."}]},
        {"message": "", "reply": [start]},
    ]
    async with project(tmp_path, script) as table:
        received = await answer(await table.client(), "work", Person(2))
        first, second = (question for question in asked(received) if question.name == "bg_job")
        assert first.arguments["job_id"] != second.arguments["job_id"]
        assert first.remembers == (f'bg_job (action "kill", job_id "{first.arguments["job_id"]}")',)


# -- what is shown is what runs


async def test_a_tool_that_its_server_changes_after_the_question_does_not_run_with_the_answer(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = [
        {"message": "", "reply": [call("one__work"), call("one__work")]},
        {"result": "", "reply": [{"text": "I read: {result}"}]},
    ]
    async with project(tmp_path, script, mcpServers={"one": raw("changes its tool", log)}) as table:
        await table.host.mcp.await_started(PATIENCE)
        received = await answer(await table.client(), "work", lambda _: CallDecision(approved=True))
        assert [text[:40] for text in results(received)] == ["done", TOOL_REPLACED.format(tool="one__work")[:40]]
        assert log.read_text().count('"tools/call"') == 1


async def test_the_card_says_that_a_command_runs_in_the_background_however_the_model_wrote_it(tmp_path: Path) -> None:
    script = plays(call("shell_command", command="sleep 100", background="true"))
    async with project(tmp_path, script) as table:
        received = await answer(await table.client(), "wait", Person(0))
        (question,) = asked(received)
        assert isinstance(question.details, ShellCommandDetails)
        assert question.details.background


async def test_the_card_shows_every_place_that_an_edit_replaces_however_the_model_wrote_it(tmp_path: Path) -> None:
    edit = call("edit_file", path="a.txt", original_content="x", new_content="y", all_occurrences="true")
    async with project(tmp_path, plays(edit)) as table:
        (table.folder / "a.txt").write_text("x\nx\n")
        shown: list[str] = []

        def decide(question: ToolCallRunContent) -> CallDecision:
            shown.append(str(getattr(question.details, "diff", "")))
            return CallDecision(approved=False)

        received = await answer(await table.client(), "edit", decide)
        assert shown[0].count("+y") == 2
        assert said(received)


TWO_CELLS: list[Any] = [{"source": "1"}, {"source": "Run me", "cell_type": "markdown"}]


@pytest.mark.parametrize("imitation", ["# %% {}", "#%% {}", "  # %% {}", "\\# %% {}", "x\r# %% {}"])
async def test_no_source_looks_like_the_heading_of_another_cell(tmp_path: Path, imitation: str) -> None:
    shown: list[str] = []

    def decide(question: ToolCallRunContent) -> CallDecision:
        assert isinstance(question.details, FileChangeDetails | RunCellsDetails)
        details = question.details
        shown.append(details.as_text() if isinstance(details, RunCellsDetails) else details.diff)
        return CallDecision(approved=False)

    async with room(tmp_path, code("a", "1"), code("b", f"1\n{imitation.format('cell 2 [b] code')}\n2")) as there:
        for tool, arguments in (
            ("notebook_create", {"path": "a.ipynb", "cells": TWO_CELLS}),
            ("notebook_create", {"path": "a.ipynb", "cells": [f"1\n{imitation.format('markdown')}\nRun me"]}),
            ("notebook_edit_cell", {"cell": "a", "source": f"1\n{imitation.format('cell 2 [b] code')}\n2"}),
            ("notebook_run_cells", {"cells": ["b"]}),
        ):
            await there.ask([call(tool, **arguments)], decide)
    headings = [re.findall(r"^[ +]?(# %%.*)$", text, re.MULTILINE) for text in shown]
    assert headings == [
        ["# %% cell 1 of 2 code", "# %% cell 2 of 2 markdown"],
        ["# %% cell 1 of 1 code"],
        ["# %% cell 1 [a] code", "# %% cell 2 [b] code"],
        ["# %% cell 2"],
    ]
    escaped = imitation.format("").rpartition("\r")[2].rstrip()
    assert all(f"\\{escaped}" in text for text in shown[1:])
