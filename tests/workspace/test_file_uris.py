"""A file URI is decoded once, whatever its name contains."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.workspace.paths import parse_file_uri
from tests.fronts.ahp.place import place

names = st.binary(min_size=1, max_size=30).filter(lambda name: not {0, 47} & set(name) and name not in {b".", b".."})


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX only")
@given(st.lists(names, min_size=1, max_size=3))
def test_every_path_survives_its_uri(parts: list[bytes]) -> None:
    path = Path(os.fsdecode(b"/" + b"/".join(parts)))
    assert parse_file_uri(path.as_uri()) == path


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX only")
@pytest.mark.parametrize("byte", [byte for byte in range(1, 256) if byte != ord("/")])
def test_every_byte_of_a_name_survives_its_uri(byte: int) -> None:
    path = Path(os.fsdecode(b"/a" + bytes([byte]) + b"%41;b"))
    assert parse_file_uri(path.as_uri()) == path


@pytest.mark.parametrize("uri", ["file:///a%00b", "/a\0b", "http://x/y", "relative", "file://[x/y", "file:///\ud800"])
def test_what_names_no_file_is_none(uri: str) -> None:
    assert parse_file_uri(uri) is None


@pytest.mark.asyncio
async def test_a_write_to_a_name_with_a_percent_sign_leaves_the_name_that_it_would_decode_to(tmp_path: Path) -> None:
    (tmp_path / "rA.txt").write_text("untouched")
    async with place(tmp_path) as table:
        client = await table.connect()
        uri = f"{tmp_path.as_uri()}/r%2541.txt"
        await client.request("resourceWrite", uri=uri, data="written", encoding="utf-8")
        assert (await client.request("resourceRead", uri=uri))["data"] == "written"
        assert (tmp_path / "r%41.txt").read_text() == "written"
        assert (tmp_path / "rA.txt").read_text() == "untouched"
        await client.request("resourceDelete", uri=uri)
        assert (tmp_path / "rA.txt").read_text() == "untouched"
        assert not (tmp_path / "r%41.txt").exists()


@pytest.mark.asyncio
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
async def test_a_client_that_reads_a_pipe_gets_an_error_and_the_next_read_is_answered(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 60_000_000)
    (tmp_path / "plain").write_text("text")
    async with place(tmp_path) as table:
        client = await table.connect()
        for name in ["pipe", "device", "huge"] * 10:
            with pytest.raises(Exception, match=f"{name}"):
                await client.request("resourceRead", uri=(tmp_path / name).as_uri())
        assert (await client.request("resourceRead", uri=(tmp_path / "plain").as_uri()))["data"] == "text"
