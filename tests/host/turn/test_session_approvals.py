"""What one approval for the session lets run later, and what a project's rules cannot loosen: each in turns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import read_config
from jupyter_eca.config.trust import TrustedFolders
from jupyter_eca.host.host import Host
from jupyter_eca.protocol.content import RejectReason, ToolCallRejectedContent
from jupyter_eca.workspace.ports import Files, Workspace
from tests.config.files import globally, locally
from tests.host.turn.test_protected_paths import Person, asked, call, plays, project, words
from tests.plugins.providers.ask import says
from tests.support.anthropic_server import LoopbackAnthropic
from tests.support.host_and_client import answer, desk_of, settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

KEY = "sk-of-the-user"


async def test_an_approval_of_a_file_for_the_session_holds_for_its_folder_and_for_no_other(tmp_path: Path) -> None:
    files = ("notes/a.txt", "notes/b.txt", "other/c.txt")
    script = plays(*(call("write_file", path=path, content="x") for path in files))
    async with project(tmp_path, script) as table:
        received = await answer(await table.client(), "write", Person())
        assert words(received) == [
            ("write_file", ("write_file in notes/",)),
            ("write_file", ("write_file in other/",)),
        ]
        written = [path.relative_to(table.folder).as_posix() for path in sorted(table.folder.rglob("*.txt"))]
        assert written == ["notes/a.txt", "notes/b.txt"]


@pytest.mark.parametrize(
    ("approved", "attack"),
    [
        ("find . -name f", "find . -maxdepth 0 {-exec,touch,PWN,';'}"),
        ("git log", "git log --outp=PWN"),
        ("sort x", "sort --compress-prog='touch PWN' x"),
        ("echo x", "echo x > 5"),
        ("rm -f x.tmp", "rm -rf keep"),
        ("touch a", "touch b"),
    ],
)
async def test_an_approval_of_one_command_for_the_session_lets_no_other_run(
    tmp_path: Path, approved: str, attack: str
) -> None:
    lines = (approved, approved, attack)
    async with project(tmp_path, plays(*(call("shell_command", command=line) for line in lines))) as table:
        received = await answer(await table.client(), "look", Person())
        assert [question.arguments["command"] for question in asked(received)] == [approved, attack]


@pytest.mark.parametrize("is_trusted", [False, True])
async def test_a_projects_narrower_denial_leaves_the_users_own_in_force(tmp_path: Path, *, is_trusted: bool) -> None:
    home, root = tmp_path / "home", tmp_path / "root"
    lines = ("rm mine.txt", "mv mine.txt gone.txt", "true")
    script = plays(*(call("shell_command", command=line) for line in lines))
    rules = {"deny": {"shell_command": {"argsMatchers": {"command": ["rm .*"]}}}}
    globally(home, settings(tmp_path, script, toolCall={"approval": rules}))
    narrow = {"shell_command": {"argsMatchers": {"command": ["mv .*"]}}}
    loose: Any = {"deny": narrow, "allow": {"shell_command": {}}, "byDefault": "allow"}
    locally(root, {"toolCall": {"approval": loose}})
    (root / "mine.txt").write_text("mine")
    trust = TrustedFolders(tmp_path / "trust.json", [root] if is_trusted else [])
    config = read_config((root,), home=home, trust=trust)
    async with desk_of(Host(config, Workspace(Files((root,))), tmp_path / "chats.db"), root) as table:
        received = await answer(await table.client(), "tidy", Person(0))
        rejected = [one.content for one in received if isinstance(one.content, ToolCallRejectedContent)]
        denied = [str(content.arguments["command"]) for content in rejected if content.reason is RejectReason.CONFIG]
        assert denied == ["rm mine.txt", "mv mine.txt gone.txt"]
        assert [question.arguments["command"] for question in asked(received)] == ([] if is_trusted else ["true"])
        assert (root / "mine.txt").read_text() == "mine"


@pytest.mark.usefixtures("sdk")
async def test_the_server_at_a_projects_address_is_never_sent_the_users_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    home, root = tmp_path / "home", tmp_path / "root"
    root.mkdir()
    with LoopbackAnthropic(says("Hello.")) as house, LoopbackAnthropic(says("Hello.")) as theirs:
        provider: Any = {"url": house.url, "key": KEY, "extraHeaders": {"X-Key": KEY}, "models": {"m": {}}}
        globally(home, {"providers": {"anthropic": provider}, "defaultModel": "anthropic/m"})
        for address in (None, theirs.url):
            if address is not None:
                locally(root, {"providers": {"anthropic": {"url": address}}})
            config = read_config((root,), home=home, trust=TrustedFolders(tmp_path / "trust.json", [root]))
            host = Host(config, Workspace(Files((root,))), tmp_path / "chats.db")
            async with desk_of(host, root) as table:
                await answer(await table.client(), "you")
        assert {request.key for request in house.requests} == {KEY}
        assert theirs.requests
        assert KEY not in json.dumps([[request.headers, request.body] for request in theirs.requests])
