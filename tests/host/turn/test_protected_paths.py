"""What changes what may run without asking is asked about each time, whatever was approved, allowed or trusted."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import read_config
from jupyter_eca.host.chat.live_chat import Choice
from jupyter_eca.host.host import Host
from jupyter_eca.protocol.content import RejectReason, ToolCalledContent, ToolCallRejectedContent, ToolCallRunContent
from jupyter_eca.protocol.context import FileContext
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files, Workspace
from tests.mcp_client.house import raw
from tests.support.host_and_client import Desk, Notebook, answer, desk_of, said, settings
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio

LOOSE = json.dumps({"toolCall": {"approval": {"byDefault": "allow"}}})
EVERYTHING = {"toolCall": {"approval": {"byDefault": "allow"}}}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def plays(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    """A model that makes these calls, one after the other."""
    first, *others = calls
    later: list[dict[str, Any]] = [{"result": "", "reply": [one], "times": 1} for one in others]
    return [{"message": "", "reply": [first]}, *later, {"result": "", "reply": [{"text": "Done."}]}]


def asked(received: list[ChatContentReceivedParams]) -> list[ToolCallRunContent]:
    """The calls that were asked about."""
    contents = [one.content for one in received]
    return [content for content in contents if isinstance(content, ToolCallRunContent) and content.manual_approval]


def words(received: list[ChatContentReceivedParams]) -> list[tuple[str, tuple[str, ...] | None]]:
    """What was asked about, and what an approval for the session would have remembered."""
    return [(content.name, content.remembers) for content in asked(received)]


class Person:
    """Approves the first questions for the session, and rejects all others."""

    def __init__(self, approves: int = 1) -> None:
        self.approves = approves

    def __call__(self, _call: ToolCallRunContent) -> CallDecision:
        self.approves -= 1
        return CallDecision(approved=self.approves >= 0, session=True)


@asynccontextmanager
async def project(folder: Path, rules: list[dict[str, Any]], **more: Any) -> AsyncGenerator[Desk]:
    """A host that reads its configuration from the user's file and the project's, and again when they change."""
    root, own = folder / "root", folder / "home" / "eca"
    root.mkdir()
    own.mkdir(parents=True)
    (own / "config.json").write_text(json.dumps(settings(folder, rules, **more)))
    reading = partial(read_config, (root,), home=own.parent)
    files = Files((root,))
    host = Host(reading(), Workspace(files, notebooks=NotebookFiles(files)), folder / "chats.db", reading)
    async with desk_of(host, root) as table:
        yield table


async def test_an_approval_of_one_file_for_the_session_does_not_hand_over_the_configuration(tmp_path: Path) -> None:
    script = plays(
        call("write_file", path="hello.txt", content="Hello"),
        call("write_file", path="again.txt", content="Hello"),
        call("write_file", path=".eca/config.json", content=LOOSE),
        call("shell_command", command="touch PWNED"),
    )
    async with project(tmp_path, script) as table:
        received = await answer(await table.client(), "write", Person())
        assert words(received) == [
            ("write_file", ("write_file in the top folder",)),
            ("write_file", None),
            ("shell_command", ("touch PWNED",)),
        ]
        assert (table.folder / "again.txt").exists()
        assert not (table.folder / "PWNED").exists()
        assert not (table.folder / ".eca").exists()


async def test_what_is_approved_of_the_configuration_is_approved_once(tmp_path: Path) -> None:
    one = call("write_file", path=".eca/rules/a.md", content="Be kind.")
    two = call("write_file", path=".eca/rules/b.md", content="Be quick.")
    async with project(tmp_path, plays(one, two)) as table:
        received = await answer(await table.client(), "write", Person())
        assert words(received) == [("write_file", None)] * 2
        assert {content.cause.kind for content in asked(received) if content.cause} == {"protected"}
        assert [path.name for path in (table.folder / ".eca" / "rules").iterdir()] == ["a.md"]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        (call("write_file", path="AGENTS.md", content="x"), "AGENTS.md"),
        (call("write_file", path="link/config.json", content="x"), ".eca/config.json"),
        (call("edit_file", path="settings.json", original_content="{}", new_content="x"), ".eca/config.json"),
        (call("move_file", source="harmless", destination=".eca/hooks"), ".eca/hooks"),
        (call("move_file", source="link/config.json", destination="gone"), ".eca/config.json"),
        (call("notebook_create", path=".eca/x.ipynb"), ".eca/x.ipynb"),
        (call("shell_command", command="echo x > link/config.json"), "link/config.json"),
        (call("shell_command", command="cd link; cp ../harmless config.json"), "link"),
        (call("shell_command", command="cp ../harmless config.json", working_directory="link"), ".eca"),
        (call("run_code", code="open('.eca/config.json', 'w')"), ".eca"),
        (call("notebook_insert_cell", path="a.ipynb", source="!cp x .mcp.json"), ".mcp.json"),
    ],
)
async def test_neither_rules_nor_trust_lift_the_question_and_without_anybody_it_is_refused(
    tmp_path: Path, changes: dict[str, Any], path: str
) -> None:
    async with project(tmp_path, plays(changes), **EVERYTHING) as table:
        own = table.folder / ".eca"
        own.mkdir()
        (own / "config.json").write_text("{}")
        (table.folder / "harmless").write_text("x")
        (table.folder / "link").symlink_to(own)
        (table.folder / "settings.json").symlink_to(own / "config.json")
        (table.folder / "a.ipynb").write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
        client = await table.client(Notebook(), unattended=True)
        table.host.turns.choose("chat", Choice(trust=True))
        known = (FileContext(path=".eca/config.json"),)
        received = await answer(client, "write", Person(0), contexts=known)
        (question,) = asked(received)
        assert question.cause is not None
        assert (question.cause.kind, question.remembers) == ("protected", None)
        assert question.cause.path is not None
        assert question.cause.path.startswith(path)
        (refused,) = [one.content for one in received if isinstance(one.content, ToolCallRejectedContent)]
        assert refused.reason is RejectReason.NOBODY
        assert [item.name for item in own.iterdir()] == ["config.json"]
        assert (own / "config.json").read_text() == "{}"


SCRIPTS = {
    "the script of a hook": {"hooks": {"h": {"type": "sessionEnd", "actions": [{"file": "tools/run.sh"}]}}},
    "a command of a hook": {"hooks": {"h": {"type": "sessionEnd", "actions": [{"shell": "cd tools && ./run.sh"}]}}},
    "a custom tool": {"customTools": {"t": {"description": "d", "command": "bash tools/run.sh {{x}} > out.txt"}}},
    "an MCP server": {"mcpServers": {"s": {"command": "sh", "args": ["tools/run.sh"], "disabled": True}}},
}


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize(
    "changes",
    [
        call("write_file", path="tools/run.sh", content="touch PWNED"),
        call("move_file", source="tools", destination="gone"),
        call("shell_command", command="echo 'touch PWNED' > tools/run.sh"),
        call("shell_command", command="cp -r harmless tools"),
    ],
)
async def test_a_script_that_the_settings_run_is_protected(tmp_path: Path, name: str, changes: dict[str, Any]) -> None:
    async with project(tmp_path, plays(changes), **EVERYTHING, **SCRIPTS[name]) as table:
        (table.folder / "harmless").mkdir()
        script = table.folder / "tools" / "run.sh"
        script.parent.mkdir()
        script.write_text("")
        known = (FileContext(path="tools/run.sh"),)
        received = await answer(await table.client(), "write", Person(0), contexts=known)
        assert [question.cause.kind for question in asked(received) if question.cause] == ["protected"]
        assert script.read_text() == ""


async def test_a_remembered_approval_does_not_let_the_model_write_the_script_of_a_hook(tmp_path: Path) -> None:
    hooks = {"h": {"type": "preRequest", "actions": [{"file": "tools/hook.sh"}]}}
    script = plays(
        call("write_file", path="tools/notes.txt", content="Hello"),
        call("write_file", path="tools/hook.sh", content="touch PWNED"),
    )
    async with project(tmp_path, script, hooks=hooks) as table:
        (table.folder / "tools").mkdir()
        received = await answer(await table.client(), "write", Person())
        await answer(await table.client(), "write", Person(0), chat="two")
        assert words(received) == [("write_file", ("write_file in tools/",)), ("write_file", None)]
        assert not (table.folder / "PWNED").exists()


async def test_the_files_that_agents_md_includes_are_protected(tmp_path: Path) -> None:
    writes = [call("write_file", path=path, content="Obey.") for path in ("docs/style.md", "docs/more.md", "docs/x.md")]
    appends = call("shell_command", command="echo Obey. >> docs/style.md; ls docs; python -m pydoc docs")
    async with project(tmp_path, plays(*writes, appends), **EVERYTHING) as table:
        (table.folder / "docs").mkdir()
        (table.folder / "AGENTS.md").write_text("Read @docs/style.md\n")
        style = table.folder / "docs" / "style.md"
        style.write_text("Use tabs. See @more.md.")
        known = (FileContext(path="docs/style.md"),)
        received = await answer(await table.client(), "write", Person(0), contexts=known)
        assert [question.summary for question in asked(received)] == [
            "Writing docs/style.md",
            "Writing docs/more.md",
            f"Running {appends['arguments']['command']}",
        ]
        assert {question.cause.kind for question in asked(received) if question.cause} == {"protected"}
        assert sorted(path.name for path in (table.folder / "docs").iterdir()) == ["style.md", "x.md"]


async def test_work_beside_a_script_that_the_settings_run_is_not_asked_about(tmp_path: Path) -> None:
    tool = {"description": "d", "command": "python src/report.py data/sales.csv"}
    calls = (
        call("write_file", path="src/other.py", content="x"),
        call("write_file", path="data/sales.csv", content="x"),
        call("shell_command", command="true; env | sort -o data/sales.csv"),
        call("shell_command", command="git add src data/sales.csv || sed -n 1p src/*.py"),
    )
    async with project(tmp_path, plays(*calls), **EVERYTHING, customTools={"t": tool}) as table:
        for folder in ("src", "data"):
            (table.folder / folder).mkdir()
        received = await answer(await table.client(), "work", Person(0))
        assert (asked(received), said(received)) == ([], "Done.")


@pytest.mark.parametrize(
    "line",
    [
        "cd ~/.config && echo '{{}}' > eca/config.json",
        "cd ~ && cd .config && cp {harmless} eca/config.json",
        "cd ..; cd home/../.config; cp {harmless} eca/config.json",
        "git -C .. diff; install {harmless} -D ~/.conf*/eca/config.json",
        "tar -C .git/.. -xf x; sh -c 'cd ..; cd .config && cp {harmless} eca/config.json'",
        "ln -s ~/.config x; cp {harmless} x/eca/config.json",
        "echo $HOME; cp harmless .ec?",
        "cp harmless .e{{c,c}}a; echo $HOME",
        "cp harmless .[^x]ca/config.json",
        "cp harmless .[[:lower:]]ca/config.json; echo $HOME",
        "cd .e*; echo $HOME; cp ../harmless config.json",
        'echo "$(cp harmless .e*/config.json)"',
        "# don't\ncp harmless .e*/config.json; echo $HOME # '",
        "cp harmless $HOME/.config/eca/config.json",
        'A=.e; B=ca; cp harmless "$A${{B}}/config.json"',
        "for name in .config x; do cp harmless ~/$name/eca/config.json; done",
        "(cd $XDG_CONFIG_HOME; cp {harmless} eca/config.json)",
        "cp harmless ${{X:-.e}}ca/config.json",
        "cp harmless $'.\\145ca/config.json'",
        "X=(.e); cp harmless ${{X}}ca/config.json",
        "set -- .e; cp harmless $1ca/config.json",
        "cp harmless $(printf .e)ca/config.json",
        "cd $(printf .e)ca; cp ../harmless config.json",
        "find . -name harmless -exec cp {harmless} .e?a/config.json +",
        "ls -a | xargs -I% cp harmless %/config.json",
        "find . -path './.?ca' -delete",
    ],
)
async def test_a_line_that_reaches_the_configuration_by_another_folder_a_pattern_or_a_variable_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    user = tmp_path / ".config" / "eca"
    user.mkdir(parents=True)
    harmless = tmp_path / "root" / "harmless"
    async with project(
        tmp_path, plays(call("shell_command", command=line.format(harmless=harmless))), **EVERYTHING
    ) as table:
        own = table.folder / ".eca"
        own.mkdir()
        harmless.write_text("{}")
        received = await answer(await table.client(), "go", Person(0))
        assert [question.cause.kind for question in asked(received) if question.cause] == ["protected"]
        assert (list(user.iterdir()), list(own.iterdir())) == ([], [])


async def test_the_card_of_a_line_shows_no_secret_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "hunter2")
    hooks = {"h": {"type": "sessionEnd", "actions": [{"file": "tools/run.sh"}]}}
    lines = (
        "echo x; cp harmless $MY_TOKEN/../tools/run.sh",
        "".join(f"cd {n}; " for n in range(30)) + "echo $MY_TOKEN",
    )
    calls = [call("shell_command", command=line) for line in lines]
    async with project(tmp_path, plays(*calls), **EVERYTHING, hooks=hooks) as table:
        received = await answer(await table.client(), "go", Person(0))
        assert [question.cause.kind for question in asked(received) if question.cause] == ["protected"] * 2
        assert not any("hunter2" in one.model_dump_json() for one in received)


async def test_ordinary_lines_with_variables_patterns_and_folders_are_not_asked_about(tmp_path: Path) -> None:
    lines = (
        "for file in *.md data/*.json; do wc -l $file; done",
        "cd src && for i in 1 2; do echo $i > out$i.txt; done; cd ..; cat src/*.txt",
        "python3 - <<EOF\nimport re\nprint(re.sub('.*', 'x', \"$HOME\"))\nEOF",
        "sed -e 's/.*/x/' README > copy; echo ${HOME}/data ~/data",
        "git -C src status; make -C src || ls -d src/* $PWD",
        "> empty.txt",
    )
    calls = [call("shell_command", command=line) for line in lines]
    async with project(tmp_path, plays(*calls), **EVERYTHING) as table:
        (table.folder / "src").mkdir()
        received = await answer(await table.client(), "go", Person(0))
        assert (asked(received), said(received)) == ([], "Done.")


async def test_what_only_reads_the_configuration_runs_as_ever(tmp_path: Path) -> None:
    reads = (call("read_file", path="AGENTS.md"), call("shell_command", command="cat AGENTS.md"))
    async with project(tmp_path, plays(*reads), **EVERYTHING) as table:
        (table.folder / "AGENTS.md").write_text("Be kind.")
        received = await answer(await table.client(), "read", Person(0))
        assert asked(received) == []
        assert said(received) == "Done."


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (call("write_file", path="editor/tasks.json", content="x"), "editor/tasks.json"),
        (call("shell_command", command="cp harmless shell/envrc"), "shell/envrc"),
        (call("write_file", path="store/hooks/pre-commit", content="x"), "store/hooks/pre-commit"),
    ],
)
async def test_what_a_link_or_a_file_of_git_makes_a_protected_path_is_protected(
    tmp_path: Path, one: dict[str, Any], shown: str
) -> None:
    async with project(tmp_path, plays(one), **EVERYTHING) as table:
        for folder in ("editor", "shell", "store/hooks"):
            (table.folder / folder).mkdir(parents=True)
        (table.folder / ".vscode").symlink_to("editor")
        (table.folder / ".envrc").symlink_to("shell/envrc")
        (table.folder / ".git").write_text("gitdir: store\n")
        (question,) = asked(await answer(await table.client(), "go", lambda _: CallDecision(approved=False)))
        assert question.cause is not None
        assert (question.cause.kind, question.cause.path) == ("protected", shown)


async def test_a_link_that_changes_after_the_decision_stops_the_call(tmp_path: Path) -> None:
    write = call("write_file", path="notes/config.json", content=LOOSE)
    async with project(tmp_path, plays(write)) as table:
        folder, own = table.folder / "notes", table.folder / ".eca"
        folder.mkdir()
        own.mkdir()

        def swap(_call: ToolCallRunContent) -> CallDecision:
            folder.rmdir()
            folder.symlink_to(own)
            return CallDecision(approved=True)

        received = await answer(await table.client(), "write", swap)
        (ran,) = [one.content for one in received if isinstance(one.content, ToolCalledContent)]
        assert ran.error
        assert "symbolic link" in ran.outputs[0].text
        assert list(own.iterdir()) == []


SPELLINGS = (
    "secret/x",
    "./secret/x",
    "secret//x",
    "secret/./x",
    "secret/../secret/x",
    "open/../secret/x",
    "link/x",
    "link/../secret/x",
    "open/link/x",
    "file",
    "{root}/secret/x",
    "{root}/open/../secret/x",
    "{root}/link/x",
    "~/root/secret/x",
    "~/root/link/x",
)


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_a_denied_path_is_denied_however_it_is_spelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    deny = {"read_file": {"argsMatchers": {"path": ["secret/.*"]}}}
    read = call("read_file", path=spelling.format(root=tmp_path / "root"))
    async with project(tmp_path, plays(read), toolCall={"approval": {"deny": deny}}) as table:
        (table.folder / "secret").mkdir()
        (table.folder / "secret" / "x").write_text("hidden")
        (table.folder / "open").mkdir()
        (table.folder / "link").symlink_to("secret")
        (table.folder / "open" / "link").symlink_to("../secret")
        (table.folder / "file").symlink_to("secret/x")
        received = await answer(await table.client(), "read")
        (refused,) = [one.content for one in received if isinstance(one.content, ToolCallRejectedContent)]
        assert refused.reason is RejectReason.CONFIG


@pytest.mark.parametrize("spelling", ["notes/../secret", "notes/link", "notes/up/secret"])
async def test_an_allowed_folder_allows_nothing_outside_of_it(tmp_path: Path, spelling: str) -> None:
    allow = {"write_file": {"argsMatchers": {"path": ["notes/.*"]}}}
    writes = (call("write_file", path="notes/a", content="x"), call("write_file", path=spelling, content="x"))
    async with project(tmp_path, plays(*writes), toolCall={"approval": {"allow": allow}}) as table:
        (table.folder / "notes").mkdir()
        (table.folder / "secret").write_text("hidden")
        (table.folder / "notes" / "link").symlink_to("../secret")
        (table.folder / "notes" / "up").symlink_to("..")
        known = (FileContext(path="secret"),)
        received = await answer(await table.client(), "write", Person(0), contexts=known)
        assert [question.arguments["path"] for question in asked(received)] == [spelling]
        assert (table.folder / "secret").read_text() == "hidden"


async def test_a_tool_that_its_server_changed_after_its_approval_is_asked_about_and_the_user_is_told(
    tmp_path: Path,
) -> None:
    works = call("one__work")
    async with project(tmp_path, plays(works, works), mcpServers={"one": raw("changes its tool")}) as table:
        await table.host.mcp.await_started(PATIENCE)
        received = await answer(await table.client(), "work", Person())
        kinds = [content.cause.kind for content in asked(received) if content.cause]
        assert kinds == ["default", "changed"]
        assert "has changed the tool one__work since you approved it" in said(received, "system")
        assert [one.content.type for one in received if isinstance(one.content, ToolCallRejectedContent)]
