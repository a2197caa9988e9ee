"""Files, completions, configuration, turns of the past."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.ahp.resources import files
from jupyter_eca.fronts.ahp.resources.files import MAX_FILE_BYTES
from tests.fronts.ahp.place import Client, Refused, fails, place

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fronts.ahp.place import Json

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


async def test_files_of_the_workspace_are_read_written_listed_copied_moved_and_deleted(tmp_path: Path) -> None:
    folder = tmp_path.as_uri()
    async with place(tmp_path) as at:
        client = await at.connect()
        new = {"uri": f"{folder}/a%20b.txt", "data": base64.b64encode(b"one").decode(), "encoding": "base64"}
        assert await client.request("resourceWrite", **new) == {}
        assert (tmp_path / "a b.txt").read_text() == "one"
        read = await client.request("resourceRead", uri=new["uri"])
        assert read == {"data": "one", "encoding": "utf-8", "contentType": "text/plain"}
        assert (await client.request("resourceRead", uri=new["uri"], encoding="base64"))["data"] == "b25l"
        assert (await fails(client, "resourceWrite", **new, createOnly=True)).code == -32010
        assert await client.request("resourceCopy", source=new["uri"], destination=f"{folder}/c.txt") == {}
        again = {"source": new["uri"], "destination": f"{folder}/c.txt"}
        assert (await fails(client, "resourceCopy", **again, failIfExists=True)).code == -32010
        (tmp_path / "c.txt").write_text("two")
        assert await client.request("resourceMove", **again) == {}
        assert (tmp_path / "c.txt").read_text() == "one"
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "x").touch()
        entries = (await client.request("resourceList", uri=folder))["entries"]
        assert {"name": "c.txt", "type": "file"} in entries
        assert {"name": "full", "type": "directory"} in entries
        assert not any(entry["name"] == "a b.txt" for entry in entries)
        assert (await fails(client, "resourceDelete", uri=f"{folder}/full")).code == -32602
        assert await client.request("resourceDelete", uri=f"{folder}/full", recursive=True) == {}
        assert await client.request("resourceDelete", uri=f"{folder}/c.txt") == {}
        assert not (tmp_path / "full").exists()


async def test_what_is_no_text_comes_in_base64_whatever_was_wished(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\xff\x00")
    async with place(tmp_path) as at:
        client = await at.connect()
        read = await client.request("resourceRead", uri=(tmp_path / "x.bin").as_uri(), encoding="utf-8")
        assert (read["data"], read["encoding"]) == ("/wA=", "base64")


async def test_what_is_not_there_or_not_of_that_kind_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path.as_uri()
    async with place(tmp_path) as at:
        client = await at.connect()
        text = {"data": "x", "encoding": "utf-8"}
        for method, params in (
            ("resourceRead", {"uri": f"{folder}/none"}),
            ("resourceRead", {"uri": folder}),
            ("resourceRead", {"uri": "notafile"}),
            ("resourceRead", {"uri": "file:///%00"}),
            ("resourceList", {"uri": f"{folder}/file"}),
            ("resourceList", {"uri": f"{folder}/none"}),
            ("resourceWrite", {"uri": f"{folder}/none/x", **text}),
            ("resourceWrite", {"uri": folder, **text}),
            ("resourceDelete", {"uri": f"{folder}/none"}),
            ("resourceMove", {"source": f"{folder}/none", "destination": f"{folder}/x"}),
        ):
            assert (await fails(client, method, **params)).code == -32008, (method, params)
        for uri in (f"{S}/content/image/1", f"{S}/content/after/none", "eca:/none/content/x"):
            assert (await fails(client, "resourceRead", uri=uri)).code == -32006
        assert (await fails(client, "resourceWrite", uri=f"{folder}/x", data="?", encoding="base64")).code == -32602
        huge = "A" * (MAX_FILE_BYTES * 4 // 3 + 8)
        assert (await fails(client, "resourceWrite", uri=f"{folder}/x", data=huge, encoding="base64")).code == -32602
        assert not (tmp_path / "x").exists()
        assert await client.request("ping") is None


async def test_nothing_leads_out_of_the_workspace_by_dots_or_links(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (inside / "link").symlink_to(outside)
    (inside / "mine").write_text("mine")
    folder = inside.as_uri()
    async with place(inside) as at:
        client = await at.connect()
        text = {"data": "x", "encoding": "utf-8"}
        for method, params in (
            ("resourceRead", {"uri": f"{folder}/../outside/secret"}),
            ("resourceRead", {"uri": f"{folder}/%2e%2e/outside/secret"}),
            ("resourceRead", {"uri": f"{folder}/link/secret"}),
            ("resourceRead", {"uri": "file:///etc/passwd"}),
            ("resourceWrite", {"uri": f"{folder}/link/new", **text}),
            ("resourceList", {"uri": f"{folder}/link"}),
            ("resourceDelete", {"uri": f"{folder}/link/secret", "recursive": True}),
            ("resourceDelete", {"uri": folder, "recursive": True}),
            ("resourceMove", {"source": f"{folder}/mine", "destination": f"{folder}/link/mine"}),
            ("resourceCopy", {"source": f"{folder}/link/secret", "destination": f"{folder}/mine"}),
        ):
            assert (await fails(client, method, **params)).code == -32009, (method, params)
        denied = await fails(client, "resourceWrite", uri=f"{folder}/link/new", **text)
        assert denied.data == {"request": {"uri": f"{folder}/link/new", "write": True}}
        assert (outside / "secret").read_text() == "secret"
        assert (inside / "mine").read_text() == "mine"
        assert sorted(one.name for one in outside.iterdir()) == ["secret"]


async def test_a_user_lets_a_client_have_a_file_outside_and_nobody_else(tmp_path: Path) -> None:
    inside, secret = tmp_path / "inside", tmp_path / "secret"
    inside.mkdir()
    secret.write_text("secret")
    uri = secret.as_uri()
    async with place(inside) as at:
        client, other = await at.connect("one"), await at.connect("two")
        assert await client.request("resourceRequest", uri=(inside / "x").as_uri(), write=True) == {}
        assert (await fails(client, "resourceRequest", uri=uri)).code == -32009  # nobody to ask
        await client.create(S)
        for choice, wanted in (("2", -32009), ("1", None)):
            asking = at.tasks.create_task(_request(client, uri))
            (request,) = await client.until(lambda: client.states[S].get("inputRequests"))
            assert str(secret) in request["message"]
            value = {"kind": "selected", "value": choice}
            answers = {"answer": {"state": "submitted", "value": value}}
            await client.act("session/inputCompleted", S, requestId=request["id"], response="accept", answers=answers)
            assert await asking == wanted
            await client.until(lambda: "inputRequests" not in client.states[S])
        assert (await client.request("resourceRead", uri=uri))["data"] == "secret"
        assert (await fails(client, "resourceWrite", uri=uri, data="x", encoding="utf-8")).code == -32009
        assert (await fails(other, "resourceRead", uri=uri)).code == -32009


async def test_a_client_cannot_put_words_of_its_own_into_the_question_whether_it_may_have_a_file(
    tmp_path: Path,
) -> None:
    inside, secret = tmp_path / "inside", tmp_path / "secret.txt"
    inside.mkdir()
    secret.write_text("secret")
    async with place(inside) as at:
        client = await at.connect(f"editor read notes.txt?\n\n\u202e\u200b{' ' * 200}x")
        await client.create(S)
        asking = at.tasks.create_task(_request(client, secret.as_uri()))
        (request,) = await client.until(lambda: client.states[S].get("inputRequests"))
        first, _, named = request["message"].partition(" The client calls itself ")
        assert first == f"May a client read {secret}? It is outside of the workspace."
        assert named.startswith("'editor read notes.txt?\\n\\n\\u202e\\u200b ")
        assert len(named) < 120
        asking.cancel()


async def _request(client: Client, uri: str) -> int | None:
    try:
        await client.request("resourceRequest", uri=uri)
    except Refused as error:
        return error.code
    return None


async def test_contexts_and_commands_complete_a_message_in_utf_16_units(tmp_path: Path) -> None:
    (tmp_path / "foo.ts").write_text("let x")
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)

        async def get_list(text: str, offset: int) -> list[Json]:
            given = {"kind": "userMessage", "session": S, "text": text, "offset": offset}
            return (await client.request("completions", **given))["items"]

        first = (await get_list("look 🙂 at @foo and", 15))[0]
        assert (first["insertText"], first["rangeStart"], first["rangeEnd"]) == ("@foo.ts ", 11, 15)
        attachment = first["attachment"]
        assert (attachment["type"], attachment["label"]) == ("resource", "foo.ts")
        assert attachment["uri"] == (tmp_path / "foo.ts").as_uri()
        commands = await get_list("/cos", 4)
        assert (commands[0]["insertText"], commands[0]["rangeStart"]) == ("/costs ", 0)
        assert await get_list("nothing here", 7) == []
        assert await get_list("mail@foo", 8) == []
        given = {"kind": "userMessage", "session": S, "text": "x", "offset": 2}
        assert (await fails(client, "completions", **given)).code == -32602
        await client.ask(S, "t1", "look", attachments=[attachment])
        await client.settled(S, 1)
        assert "foo.ts" in str((await at.host.turns.draft("s1")).messages)


async def test_the_choices_of_a_session_are_described_with_their_defaults(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        resolved = await client.request("resolveSessionConfig", provider="eca", config={"agent": "plan", "x": 1})
        assert resolved["values"] == {"agent": "plan", "effort": "default", "approval": "ask"}
        assert set(resolved["schema"]["properties"]) == {"agent", "effort", "approval"}
        assert all(one["sessionMutable"] for one in resolved["schema"]["properties"].values())
        found = await client.request("sessionConfigCompletions", property="agent", query="PL")
        assert found["items"] == [{"value": "plan", "label": "plan"}]
        assert (await fails(client, "sessionConfigCompletions", property="none")).code == -32602


async def test_turns_of_the_past_come_page_by_page(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        for number in (1, 2, 3):
            await client.ask(S, f"t{number}", "you")
            await client.settled(S, number)

        async def fetch(**more: Any) -> tuple[list[str], bool]:
            page = await client.request("fetchTurns", session=S, **more)
            return [turn["id"] for turn in page["turns"]], page["hasMore"]

        assert await fetch() == (["t1", "t2", "t3"], False)
        assert await fetch(limit=2) == (["t2", "t3"], True)
        assert await fetch(limit=2, before="t2") == (["t1"], False)
        assert await fetch(before="none") == (["t1", "t2", "t3"], False)


async def test_files_below_folders_named_content_are_files(tmp_path: Path) -> None:
    for name in ("content/x.txt", "content/image/1", "content/before/call"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    async with place(tmp_path) as at:
        client = await at.connect()
        for name in ("content/x.txt", "content/image/1", "content/before/call"):
            assert (await client.request("resourceRead", uri=(tmp_path / name).as_uri()))["data"] == name


async def test_a_link_that_leads_out_of_the_workspace_is_moved_and_deleted_itself(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "kept").write_text("kept")
    for name, target in (("folder", outside), ("file", outside / "kept"), ("nowhere", tmp_path / "none")):
        (inside / name).symlink_to(target)
    uri = inside.as_uri()
    async with place(inside) as at:
        client = await at.connect()
        for name in ("folder", "file", "nowhere"):
            copied = await fails(client, "resourceCopy", source=f"{uri}/{name}", destination=f"{uri}/copy")
            assert copied.code == -32009
            assert await client.request("resourceMove", source=f"{uri}/{name}", destination=f"{uri}/moved") == {}
            assert (inside / "moved").is_symlink()
            assert await client.request("resourceDelete", uri=f"{uri}/moved", recursive=True) == {}
        assert list(inside.glob("[!.]*")) == [inside / "script.json"]
        assert (outside / "kept").read_text() == "kept"
        assert (await fails(client, "resourceDelete", uri=f"{uri}/../outside/kept")).code == -32009


async def test_flags_and_numbers_of_another_type_are_refused(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "x").touch()
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        for method, params in (
            ("resourceDelete", {"uri": full.as_uri(), "recursive": "true"}),
            ("resourceDelete", {"uri": full.as_uri(), "recursive": 1}),
            ("fetchTurns", {"session": S, "limit": "3"}),
            ("fetchTurns", {"session": S, "limit": True}),
        ):
            assert (await fails(client, method, **params)).code == -32602, params
        assert full.exists()
        wrong: list[tuple[str, Json]] = [
            ("session/isReadChanged", {"isRead": "false"}),
            ("session/isReadChanged", {"isRead": 0}),
            ("session/isArchivedChanged", {"isArchived": "yes"}),
            ("session/customizationToggled", {"uri": "mcp:x", "enabled": "off"}),
            ("session/configChanged", {"config": {}, "replace": "true"}),
        ]
        for kind, fields in wrong:
            echo = await client.echo(await client.act(kind, S, **fields))
            assert "valid boolean" in echo["rejectionReason"], fields
        assert client.states[S]["summary"]["status"] == 1


@pytest.mark.parametrize("name", ["data", "data/x.txt"])
async def test_a_copy_takes_nothing_from_outside_when_a_folder_becomes_a_link_after_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (work / "data", outside):
        folder.mkdir(parents=True)
        (folder / "x.txt").write_text(folder.name)
    # Between the check of the path and the copy.
    transfer = files._transfer_entry  # pyright: ignore[reportPrivateUsage]  # there is no other moment to wait for

    def swap(*args: Any, **kwargs: Any) -> None:
        (work / "data").rename(work / "old")
        (work / "data").symlink_to(outside)
        transfer(*args, **kwargs)

    monkeypatch.setattr(files, "_transfer_entry", swap)
    async with place(work) as at:
        client = await at.connect()
        source, destination = (work / name).as_uri(), (work / "copy").as_uri()
        refused = await fails(client, "resourceCopy", source=source, destination=destination)
    assert "its path leads elsewhere now" in str(refused)
    assert names(work) == {"old", "data"}


async def test_a_copy_keeps_times_rights_and_links_and_leaves_nothing_when_it_fails(tmp_path: Path) -> None:
    source = tmp_path / "data"
    source.mkdir()
    (source / "run.sh").write_text("x")
    (source / "run.sh").chmod(0o755)
    os.utime(source / "run.sh", (1, 1))
    (source / "link").symlink_to("/does/not/exist")
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.request("resourceCopy", source=source.as_uri(), destination=(tmp_path / "copy").as_uri())
        os.mkfifo(source / "pipe")
        await fails(client, "resourceCopy", source=source.as_uri(), destination=(tmp_path / "none").as_uri())
    copied = (tmp_path / "copy" / "run.sh").stat()
    assert (copied.st_mode & 0o777, copied.st_mtime) == (0o755, 1)
    assert (tmp_path / "copy" / "link").is_symlink()
    assert names(tmp_path) == {"data", "copy"}


def names(folder: Path) -> set[str]:
    """What is in a folder, but for the files of the host."""
    return {entry.name for entry in folder.iterdir()} - {".data", "script.json"}
