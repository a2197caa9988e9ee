"""The sandbox for commands, with real shells: what a command in it cannot reach, and which commands run in it without a
question."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools import shell as shell_tools
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.plugins.tools.shell import shell_command
from jupyter_eca.protocol.content import SandboxState, ShellCommandDetails, ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.workspace.jobs import protected_files
from jupyter_eca.workspace.jobs.background import BackgroundJobs
from jupyter_eca.workspace.jobs.protected_files import find_protected_files
from jupyter_eca.workspace.jobs.sandbox import Sandbox, build_seatbelt_profile, find_sandbox_program
from jupyter_eca.workspace.ports import Files
from tests.support.host_and_client import answer, desk, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.workspace.tool_result import ToolResult

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.skipif(
        not find_sandbox_program(), reason="this machine has no sandbox: bubblewrap is missing, or may not be used"
    ),
]

Json = dict[str, Any]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that is not in `/tmp`, which is another one in the sandbox."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:  # a folder of its own
        yield Path(folder)


@pytest.fixture
def home(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a key, beside the workspace."""
    folder = place / "home"
    (folder / ".ssh").mkdir(parents=True)
    (folder / ".ssh" / "id").write_text("the key")
    (folder / "notes.txt").write_text("the notes")
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def workspace(place: Path, home: Path) -> Path:  # noqa: ARG001  # the home folder counts
    """A workspace with what decides what may run: a repository, our settings, one more repository in a folder, and one
    whose `.git` is a file."""
    folder = place / "workspace"
    for repository in (folder, folder / "sub"):
        subprocess.run(["git", "init", "-q", str(repository)], check=True)  # noqa: S607  # git as it is found
        (repository / ".git" / "hooks").mkdir(exist_ok=True)
    apart = ["git", "init", "-q", "--separate-git-dir", str(folder / "store"), str(folder / "apart")]
    subprocess.run(apart, check=True)
    (folder / "store" / "hooks").mkdir(exist_ok=True)
    (folder / ".eca").mkdir()
    (folder / ".eca" / "config.json").write_text("{}")
    (folder / "AGENTS.md").write_text("Be kind.")
    (folder / "docs").mkdir()
    (folder / "docs" / "agents.md").write_text("Be kind.")
    (folder / "CLAUDE.md").symlink_to("docs/agents.md")
    return folder


@pytest.fixture
def listener() -> Iterator[int]:
    """The port of a server on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


async def run(workspace: Path, command: str, **more: Any) -> ToolResult:
    context = ToolContext("chat", Files((workspace,)), sandbox=Sandbox((workspace,), **more), trusts_sandbox=True)
    return await shell_command.run(context, {"command": command})


def snapshot(folder: Path) -> dict[str, str]:
    """All files that a command in the sandbox must not change."""
    guarded = [
        *folder.rglob(".git/*"),
        *folder.rglob(".git/hooks/*"),
        *(folder / "store").glob("*"),
        *(folder / "store").glob("hooks/*"),
        *folder.rglob(".eca/*"),
        folder / "AGENTS.md",
        folder / "docs" / "agents.md",
    ]
    return {str(path): path.read_text() for path in guarded if path.is_file()}


@pytest.mark.parametrize(
    "command",
    [
        "echo x > ../outside.txt",
        "ln -s .. up; echo x > up/outside.txt",
        "echo x > $HOME/notes.txt",
        "echo x >> .git/config",
        "echo x > .git/hooks/post-commit",
        "rm -rf .git/hooks; mkdir -p .git/hooks; echo x > .git/hooks/post-commit",
        "mv .git moved; mkdir -p .git/hooks; echo x > .git/hooks/post-commit",
        "ln .git/config linked; echo x >> linked",
        "echo x >> sub/.git/config",
        "mv sub/.git sub/moved; mkdir -p sub/.git/hooks; echo x > sub/.git/hooks/post-commit",
        "mv sub moved; mkdir -p sub/.git/hooks; echo x > sub/.git/hooks/post-commit; echo x >> moved/.git/config",
        "echo x > .eca/config.json",
        "rm -rf .eca; mkdir .eca; echo x > .eca/config.json",
        "mv .eca moved; mkdir .eca; echo x > .eca/config.json",
        "echo x > AGENTS.md",
        "rm AGENTS.md; echo x > AGENTS.md",
        "mount -o remount,rw / ; umount .git/config; echo x >> .git/config",
        "unshare -Urm sh -c 'umount -l .git; echo x >> .git/config'",
        # What git reads beside its configuration, also where it does not exist yet.
        "echo $HOME/evil > .git/commondir",
        "echo x > .git/config.worktree",
        "mkdir -p .git/modules/m && echo x > .git/modules/m/config",
        # A repository whose `.git` is a file.
        "echo x >> store/config",
        "echo x > store/hooks/post-commit",
        "mv store moved; mkdir -p store/hooks; echo x > store/hooks/post-commit",
        # A link that is read as a protected file.
        "echo x > docs/agents.md",
    ],
)
async def test_a_command_changes_nothing_outside_and_nothing_that_decides_what_may_run(
    workspace: Path, home: Path, command: str
) -> None:
    before = snapshot(workspace)
    await run(workspace, command)
    assert snapshot(workspace).items() >= {path: text for path, text in before.items() if "/sub/" not in path}.items()
    assert not (workspace.parent / "outside.txt").exists()
    assert (home / "notes.txt").read_text() == "the notes"
    assert not (workspace / "store" / "hooks" / "post-commit").exists()
    # A folder with a repository may get another name, but not another repository in its place.
    inner = str(workspace / "sub" / ".git" / "config")
    assert "x" not in snapshot(workspace).get(inner, "").split()


@pytest.mark.parametrize("command", ["cat $HOME/.ssh/id", "cat hidden/it", "cat /proc/{pid}/environ", "cat /run/*"])
async def test_a_command_reads_no_keys_and_nothing_of_other_programs(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("SOME_VALUE", "the value")
    hidden = workspace / "hidden"
    hidden.mkdir()
    (hidden / "it").write_text("the secret")
    result = await run(workspace, command.format(pid=os.getpid()), hidden=(hidden,))
    assert result.error
    assert not any(word in result.text for word in ("the key", "the secret", "the value"))


async def test_a_command_sees_no_key_of_the_environment(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("ANTHROPIC_API_KEY", "MY_LAB_KEY", "HF_TOKEN", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID")
    for name in names:
        monkeypatch.setenv(name, "top-secret")
    monkeypatch.setenv("KEYBOARD", "kept")
    shown = (await run(workspace, "env; cat /proc/*/environ")).text
    assert "KEYBOARD=kept" in shown
    assert "top-secret" not in shown


async def test_a_command_has_the_network_only_if_the_user_allows_it(workspace: Path, listener: int) -> None:
    connect = f"exec 3<>/dev/tcp/127.0.0.1/{listener} && echo connected"
    line = f"bash -c '{connect}'"
    refused, allowed = await run(workspace, line), await run(workspace, line, network=True)
    assert (refused.error, "connected" in refused.text) == (True, False)
    assert (allowed.error, allowed.text) == (False, "connected")


async def test_a_command_cannot_end_a_program_outside(workspace: Path) -> None:
    other = await asyncio.create_subprocess_exec("sleep", "60")
    assert (await run(workspace, f"kill -9 {other.pid}")).error
    assert other.returncode is None
    other.kill()
    await other.wait()


async def test_a_command_changes_no_setting_of_the_kernel_though_the_server_runs_as_root(workspace: Path) -> None:
    # It writes the value that is there already, so that a failing test changes nothing on this machine.
    setting = "/proc/sys/vm/swappiness"
    result = await run(workspace, f"value=$(cat {setting}) && echo $value > {setting} && echo written")
    assert (result.error, "written" in result.text) == (True, False)


async def test_a_command_changes_no_program_that_the_server_starts(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = workspace / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    result = await run(workspace, "echo x > tools/rg")
    assert (result.error, list(tools.iterdir())) == (True, [])


async def test_a_command_reaches_no_program_by_a_socket_in_a_file(workspace: Path, home: Path) -> None:
    path = home / "agent.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        connect = f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r}); print('connected')"
        result = await run(workspace, f'{sys.executable} -c "{connect}"')
    assert (result.error, "connected" in result.text) == (True, False)


async def test_a_socket_in_a_workspace_below_tmp_is_not_reached(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        connect = "import socket; socket.socket(socket.AF_UNIX).connect('s'); print('connected')"
        result = await run(tmp_path, f'{sys.executable} -c "{connect}"')
    assert (result.error, "connected" in result.text) == (True, False)


# As a user who may not enter a folder that is on the `PATH`; root may enter each.
AS_ANOTHER_USER = """
import os, sys
from pathlib import Path
from jupyter_eca.workspace.jobs.sandbox import Sandbox, find_sandbox_program
find_sandbox_program()  # where only root may make sandboxes, it is remembered
Path("locked/bin").mkdir(parents=True)
Path("locked").chmod(0)
os.environ["PATH"] += f":{Path.cwd() / 'locked' / 'bin'}"
if os.getuid() == 0:
    os.seteuid(65534)
sandbox = Sandbox((Path.cwd() / "workspace",))
print([sandbox.explain_unsafe(), bool(sandbox.prepare().prefix)])
"""


async def test_a_folder_on_the_path_that_may_not_be_entered_does_no_harm(place: Path, workspace: Path) -> None:
    for folder in (place, workspace):
        folder.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-c", AS_ANOTHER_USER]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "['', True]\n", done.stderr
    (place / "locked").chmod(0o755)


MAKES = ["git init -q new", "mkdir -p deep/a/b/c/d/.vscode", "echo x > sub/CLAUDE.md", "cp -r sub other"]


@pytest.mark.parametrize("command", MAKES)
async def test_a_protected_file_that_a_command_makes_is_told_when_it_ends(workspace: Path, command: str) -> None:
    result = await run(workspace, command)
    assert "files appeared that decide what may run outside of it" in result.text
    quiet = await run(workspace, "echo x > plain.txt; mkdir -p one; mv one two")
    assert quiet.text == "(no output)"


async def test_a_protected_file_that_a_job_makes_is_told_at_its_end(workspace: Path) -> None:
    notes: list[str] = []
    jobs = BackgroundJobs(on_end=lambda _, note: notes.append(note))
    context = ToolContext("chat", Files((workspace,)), sandbox=Sandbox((workspace,)), trusts_sandbox=True, jobs=jobs)
    await shell_command.run(context, {"command": "git init -q new", "background": True})
    await jobs.wait(jobs.list()[0].id)
    assert [str(workspace / "new" / ".git") in note for note in notes] == [True]
    await jobs.close()


@pytest.mark.parametrize("how", ["", "; mkdir -p sub/.git secrets; echo x > secrets/key"])
@pytest.mark.parametrize("moved", ["sub", "secrets"])
async def test_after_a_command_has_moved_what_is_protected_or_hidden_commands_are_asked_about(
    workspace: Path, moved: str, how: str
) -> None:
    (workspace / "node_modules").mkdir()  # nobody looks for repositories there
    (workspace / "secrets").mkdir()
    (workspace / "secrets" / "key").write_text("the secret")
    sandbox = Sandbox((workspace,), hidden=(workspace / "secrets" / "key",))
    assert sandbox.explain_unsafe() == ""
    result = await run(workspace, f"mv {moved} node_modules/{how}", hidden=sandbox.hidden)
    assert "protected files were deleted or moved" in result.text
    assert str(workspace / moved) in sandbox.explain_unsafe()


async def test_where_not_all_files_can_be_looked_at_commands_are_asked_about(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "data").mkdir()
    monkeypatch.setattr(protected_files, "_MAX_ENTRIES", 5)
    assert "too many files" in Sandbox((workspace,)).explain_unsafe()


async def test_where_the_workspace_is_among_the_programs_commands_are_asked_about(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{workspace}:{os.environ['PATH']}")
    assert "finds other programs" in Sandbox((workspace,)).explain_unsafe()


async def test_a_command_works_in_the_workspace_and_commands_share_a_folder_for_temporary_files(
    workspace: Path,
) -> None:
    made = await run(workspace, "echo 1 > a.txt && echo 2 > /tmp/b")
    assert (made.text, made.error) == ("(no output)", False)
    read = await run(workspace, "cat a.txt /tmp/b && git status --short a.txt && cat $HOME/notes.txt")
    assert read.text.split() == ["1", "2", "??", "a.txt", "the", "notes"]
    extra = workspace.parent / "extra"
    extra.mkdir()
    assert not (await run(workspace, f"echo 3 > {extra}/c", writable=(extra,))).error
    assert (extra / "c").read_text() == "3\n"


async def test_a_command_that_fails_in_the_sandbox_says_how_it_can_run_outside(workspace: Path) -> None:
    result = await run(workspace, "echo x > ../outside.txt")
    assert "[It ran in the sandbox" in result.text
    assert "`outside` runs it outside, which the user must approve" in result.text


# -- what is asked


def rules(**arguments: Any) -> list[Json]:
    call = {"tool": "shell_command", "arguments": {"command": "touch made.txt", **arguments}}
    return [{"result": "", "reply": [{"text": "Done."}]}, {"message": "", "reply": [call]}]


def settings(mode: str, **approval: Any) -> Json:
    return {"toolCall": {"approval": approval, "sandbox": {"mode": mode}}}


async def ask(folder: Path, rules: list[Json], **more: Any) -> list[ToolCallRunContent]:
    """The announcements of calls that waited for an approval, which they got, and of those that did not."""
    async with desk(folder, rules, **more) as table:
        received = await answer(await table.client(), "make", lambda _: CallDecision(approved=True))
        assert said(received) == "Done."
    runs = [one.content for one in received if isinstance(one.content, ToolCallRunContent)]
    return list({call.id: call for call in reversed(runs)}.values())


def get_state(call: ToolCallRunContent) -> SandboxState | None:
    assert isinstance(call.details, ShellCommandDetails)
    return call.details.sandbox


@pytest.mark.parametrize(
    ("mode", "arguments", "approval", "asked", "state"),
    [
        ("auto", {}, {}, False, SandboxState.TRUSTED),
        ("ask", {}, {}, True, SandboxState.INSIDE),
        ("auto", {"outside": True}, {}, True, SandboxState.OUTSIDE),
        ("auto", {}, {"ask": {"shell_command": {}}}, True, SandboxState.TRUSTED),
        ("auto", {"command": "echo '{}' > .eca/config.json"}, {}, True, SandboxState.TRUSTED),
        ("off", {}, {}, True, None),
    ],
    ids=["auto", "ask", "outside", "a rule asks", "protected", "off"],
)
@pytest.mark.usefixtures("home")
async def test_what_runs_in_the_sandbox_is_not_asked_about_if_the_user_wants_it_so(
    tmp_path: Path, mode: str, arguments: Json, approval: Json, asked: bool, state: SandboxState | None
) -> None:
    (call,) = await ask(tmp_path, rules(**arguments), **settings(mode, **approval))
    assert (call.manual_approval, get_state(call)) == (asked, state)
    if not asked:
        assert call.cause is not None
        assert call.cause.kind == "sandbox"
        assert (tmp_path / "made.txt").exists()


@pytest.mark.usefixtures("home")
async def test_an_approval_for_the_session_lets_no_command_out_of_the_sandbox(tmp_path: Path) -> None:
    inside = {"tool": "shell_command", "arguments": {"command": "touch made.txt"}}
    outside = {"tool": "shell_command", "arguments": {"command": "touch made.txt", "outside": True}}
    rules: list[Json] = [
        {"result": "", "times": 1, "reply": [inside, outside]},
        {"result": "", "reply": [{"text": "Done."}]},
        {"message": "", "reply": [inside]},
    ]
    asked: list[ToolCallRunContent] = []

    def choose(call: ToolCallRunContent) -> CallDecision:
        asked.append(call)
        return CallDecision(approved=True, session=True)

    async with desk(tmp_path, rules, **settings("ask")) as table:
        await answer(await table.client(), "make", choose)
    assert [get_state(call) for call in asked] == [SandboxState.INSIDE, SandboxState.OUTSIDE]
    assert [bool(call.remembers) for call in asked] == [True, False]


async def test_where_there_is_no_sandbox_a_command_is_asked_about_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_tools, "find_sandbox_program", lambda: "")
    (call,) = await ask(tmp_path, rules(), **settings("auto"))
    assert (call.manual_approval, get_state(call)) == (True, SandboxState.MISSING)


async def test_where_the_home_folder_is_in_the_workspace_a_command_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (call,) = await ask(tmp_path, rules(), **settings("auto"))
    assert (call.manual_approval, get_state(call)) == (True, SandboxState.INSIDE)


async def test_a_command_runs_as_it_was_shown_or_not_at_all(workspace: Path) -> None:
    shown = ShellCommandDetails(commands=(), line="touch made.txt", sandbox=SandboxState.TRUSTED)
    context = ToolContext("chat", Files((workspace,)), shown_details=shown)
    with pytest.raises(ToolError, match="The sandbox was switched off after this call was shown"):
        await shell_command.run(context, {"command": "touch made.txt"})
    assert not (workspace / "made.txt").exists()


@pytest.mark.parametrize("mode", ["off", "auto"])
async def test_the_model_is_told_of_the_sandbox_only_where_there_is_one(tmp_path: Path, mode: str) -> None:
    async with desk(tmp_path, rules(), **settings(mode)) as table:
        request = await table.host.turns.draft("chat", "make")
    (tool,) = [tool for tool in request.tools if tool.name == "shell_command"]
    assert ("outside" in tool.parameters["properties"]) is (mode == "auto")


async def test_the_profile_for_macos_denies_what_bubblewrap_hides(workspace: Path, home: Path) -> None:
    profile = build_seatbelt_profile(Sandbox((workspace,)), home, find_protected_files([workspace])).splitlines()
    assert f'(allow file-write* (subpath "{workspace}"))' in profile
    assert f'(deny file-write* (subpath "{workspace / ".eca"}"))' in profile
    assert f'(deny file-read* file-write* (subpath "{home / ".ssh"}"))' in profile
    assert profile[-1] == "(deny network*)"


# -- hooks


def read_all(folder: Path, name: str) -> list[str]:
    return [path.read_text() for path in folder.rglob(name)]


async def test_a_hook_runs_in_the_sandbox_if_the_user_wishes_it(workspace: Path, home: Path) -> None:
    script = home / ".config" / "eca" / "hook.sh"
    script.parent.mkdir(parents=True)
    script.write_text(f"echo seen > seen; echo seen > {home}/outside; cat {home}/.ssh/id > key; exit 0")
    hooks = {"h": {"type": "preRequest", "actions": [{"type": "shell", "file": str(script)}]}}
    rules: list[Json] = [{"message": "", "reply": [{"text": "Done."}]}]
    sandbox = {"mode": "ask", "hooks": True}
    async with desk(workspace, rules, toolCall={"sandbox": sandbox}, hooks=hooks) as table:
        assert said(await answer(await table.client(), "go")) == "Done."
    assert read_all(workspace, "seen") == ["seen\n"]
    assert not (home / "outside").exists()
    assert read_all(workspace, "key") == [""]


async def test_where_there_is_no_sandbox_such_a_hook_does_not_run(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_eca.workspace.jobs.sandbox.find_sandbox_program", lambda: "")
    hooks = {"h": {"type": "preRequest", "actions": [{"type": "shell", "shell": "echo seen > seen"}]}}
    rules: list[Json] = [{"message": "", "reply": [{"text": "Done."}]}]
    sandbox = {"mode": "ask", "hooks": True}
    async with desk(workspace, rules, toolCall={"sandbox": sandbox}, hooks=hooks) as table:
        assert said(await answer(await table.client(), "go")) == "Done."
    assert read_all(workspace, "seen") == []
