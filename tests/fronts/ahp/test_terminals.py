"""Terminals, and the commands that are seen in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.errors import LocalError
from jupyter_eca.fronts.ahp.terminals import terminals
from jupyter_eca.protocol.ahp import ROOT
from tests.fronts.ahp.place import Client, fails, place

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fronts.ahp.place import Json

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


@dataclass
class Scripted:
    """A terminal that says back what it is told."""

    said: Callable[[str], None]
    ended: Callable[[int | None], None]
    size: tuple[int, int]
    gone: bool = False

    def write(self, data: str) -> None:
        self.said(f"\x1b]633;A\x07{data}\r\n")
        if data == "exit\r":
            self.ended(3)

    def resize(self, cols: int, rows: int) -> None:
        self.size = (cols, rows)

    async def end(self) -> None:
        self.gone = True


@dataclass
class Shells:
    opened: list[Scripted] = field(default_factory=list[Scripted])

    def open(
        self,
        folder: Path,
        cols: int,
        rows: int,
        on_output: Callable[[str], None],
        on_exit: Callable[[int | None], None],
    ) -> Scripted:
        if folder.name == "closed":
            raise LocalError("It cannot be started.")
        self.opened.append(Scripted(on_output, on_exit, (cols, rows)))
        return self.opened[-1]


async def test_a_terminal_is_shared_claimed_resized_and_ended(tmp_path: Path) -> None:
    shells = Shells()
    t, claim = "term:/1", {"kind": "client", "clientId": "one"}
    async with place(tmp_path, shells=shells) as at:
        client, other = await at.connect("one", ROOT), await at.connect("two")
        assert client.states[ROOT]["terminals"] == []
        made = {"terminal": t, "claim": claim, "name": "Build", "cols": 100, "rows": 30}
        assert await client.request("createTerminal", **made) is None
        assert (await fails(client, "createTerminal", **made)).code == -32010
        assert (await fails(other, "createTerminal", terminal="term:/2", claim=claim)).code == -32602
        (tmp_path / "closed").mkdir()
        closed = {"terminal": "term:/3", "claim": claim, "cwd": (tmp_path / "closed").as_uri()}
        assert (await fails(client, "createTerminal", **closed)).code == -32603
        state = await client.subscribe(t)
        assert (state["title"], state["cols"], state["rows"], state["content"]) == ("Build", 100, 30, [])
        assert state["cwd"] == tmp_path.as_uri()
        await other.subscribe(t)
        await client.act("terminal/input", t, data="ls\r")
        shown = [{"type": "unclassified", "value": "ls\r\r\n"}]
        await other.until(lambda: other.states[t]["content"] == shown)
        await client.act("terminal/resized", t, cols=90, rows=20)
        await other.until(lambda: other.states[t]["cols"] == 90)
        assert shells.opened[0].size == (90, 20)
        stolen = await other.act("terminal/claimed", t, claim={"kind": "client", "clientId": "two"})
        assert (await other.echo(stolen))["rejectionReason"]
        await client.create(S)
        await client.act("terminal/claimed", t, claim={"kind": "session", "session": S})
        await client.until(lambda: client.states[ROOT]["terminals"][0]["claim"]["kind"] == "session")
        await client.act("terminal/titleChanged", t, title="Other")
        await client.act("terminal/cleared", t)
        await client.until(lambda: client.states[ROOT]["terminals"][0]["title"] == "Other")
        await client.act("terminal/input", t, data="exit\r")
        await client.until(lambda: client.states[ROOT]["terminals"][0].get("exitCode") == 3)
        late = await client.act("terminal/input", t, data="x")
        assert (await client.echo(late))["rejectionReason"]
        at.same(client, t)
        at.same(client, ROOT)
        await client.request("disposeSession", session=S)
        await client.until(lambda: client.states[ROOT]["terminals"] == [])
        assert shells.opened[0].gone
        assert (await fails(client, "disposeTerminal", terminal=t)).code == -32008


def marks(*said: str) -> str:
    return "".join(f"\x1b]{one}\x07" for one in said)


async def shell(client: Client, shells: Shells, t: str) -> Scripted:
    await client.request("createTerminal", terminal=t, claim={"kind": "client", "clientId": "one"})
    assert not (await client.subscribe(t)).get("supportsCommandDetection")
    return shells.opened[-1]


async def contents(client: Client, t: str) -> list[Json]:
    await client.request("ping")
    return [{k: v for k, v in one.items() if k not in {"commandId", "timestamp", "durationMs"}}
            for one in client.states[t]["content"]]  # fmt: skip


async def test_commands_are_told_apart_by_the_marks_of_the_shell_however_its_output_is_cut(tmp_path: Path) -> None:
    shells = Shells()
    moved = (tmp_path / "a b").as_posix()
    said = (
        marks("633;D;0", "633;A") + "$ " + marks("633;B") + "ls \x1b[1m;x\r\n"
        + marks("633;E;ls \\x3bx \\\\;nonce", "633;C") + "one\r\n"
        + marks("633;D;2", f"633;P;Cwd={moved}", "633;A") + "$ "
    )  # fmt: skip
    expected = [
        {"type": "unclassified", "value": "$ ls \x1b[1m;x\r\n"},
        {"type": "command", "commandLine": "ls ;x \\", "output": "one\r\n", "isComplete": True, "exitCode": 2},
        {"type": "unclassified", "value": "$ "},
    ]
    async with place(tmp_path, shells=shells) as at:
        client = await at.connect("one")
        for size in (1, 7, len(said)):
            t = f"term:/{size}"
            at_shell = await shell(client, shells, t)
            for start in range(0, len(said), size):
                at_shell.said(said[start : start + size])
            assert await contents(client, t) == expected
            assert client.states[t]["cwd"] == (tmp_path / "a b").as_uri()
            assert client.states[t]["supportsCommandDetection"]
            at.same(client, t)


@pytest.mark.parametrize("folder", ["file://[", "//[", "vscode://x", "relative"])
async def test_a_folder_that_is_no_address_does_not_end_the_output_of_a_terminal(tmp_path: Path, folder: str) -> None:
    shells = Shells()
    async with place(tmp_path, shells=shells) as at:
        client = await at.connect("one")
        at_shell = await shell(client, shells, "term:/1")
        at_shell.said(f"before {marks(f'7;{folder}')}after")
        assert await contents(client, "term:/1") == [{"type": "unclassified", "value": "before after"}]
        assert client.states["term:/1"]["cwd"] == tmp_path.as_uri()


async def test_a_shell_that_does_not_tell_the_line_is_believed_what_was_typed(tmp_path: Path) -> None:
    shells = Shells()
    async with place(tmp_path, shells=shells) as at:
        client = await at.connect("one")
        at_shell = await shell(client, shells, "term:/1")
        at_shell.said(
            marks("133;A") + "$ " + marks("133;B") + "ma\x1b[Kke\r\n" + marks("133;C") + "done" + marks("133;D")
        )
        *_, command = await contents(client, "term:/1")
        assert command == {"type": "command", "commandLine": "make", "output": "done", "isComplete": True}


async def test_of_a_long_output_the_end_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminals, "MAX_OUTPUT_CHARACTERS", 100)
    shells = Shells()
    async with place(tmp_path, shells=shells) as at:
        client = await at.connect("one")
        at_shell = await shell(client, shells, "term:/1")
        at_shell.said(marks("133;C"))
        for number in range(40):
            at_shell.said(f"{number:03},")
        at_shell.said(marks("133;D;0"))
        (part,) = await contents(client, "term:/1")
        assert part["value"].endswith("038,039,")
        assert len(part["value"]) <= 100
        at.same(client, "term:/1")


async def test_a_terminal_cannot_be_claimed_for_a_session_that_is_unknown(tmp_path: Path) -> None:
    unknown = {"kind": "session", "session": "eca:/none"}
    async with place(tmp_path, shells=Shells()) as at:
        client = await at.connect("one", ROOT)
        refused = await fails(client, "createTerminal", terminal="term:/1", claim=unknown)
        assert (refused.code, client.states[ROOT]["terminals"]) == (-32001, [])
        await client.request("createTerminal", terminal="term:/1", claim={"kind": "client", "clientId": "one"})
        await client.subscribe("term:/1")
        echo = await client.echo(await client.act("terminal/claimed", "term:/1", claim=unknown))
        assert "eca:/none" in echo["rejectionReason"]
        await client.create(S)
        await client.act("terminal/claimed", "term:/1", claim={"kind": "session", "session": S})
        await client.until(lambda: client.states[ROOT]["terminals"][0]["claim"]["kind"] == "session")
