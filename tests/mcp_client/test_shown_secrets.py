"""What is shown of a server, and what a model is told by it, has none of the secrets that the server was given."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.plugins.tools.configured.mcp_tool import make_mcp_tools
from jupyter_eca.protocol.mcp import ServerStatus
from tests.mcp_client.house import house, raw

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

# In each secret.
MARK = "zq7k"


async def test_secrets_that_are_written_out_in_a_command_or_an_address_are_shown_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    program = raw("good", tmp_path / "log")
    secrets = ["--token", f"{MARK}-a", f"--password={MARK} b", f"ACCESS_KEY={MARK}-c", f"https://me:{MARK}@h/?k={MARK}"]
    secrets += [
        "--secret-key",
        f"/{MARK}/a+b",
        "--pw",
        f"~{MARK}",
        "--key",
        f"-{MARK}",
        "--bearer",
        MARK,
        "--jwt",
        MARK,
    ]
    secrets += [f"--user=me:{MARK}", f"-ume:{MARK}", "-c", f"API_KEY='a {MARK} b' run", f"https://h/#token={MARK}"]
    servers = {
        "program": {**program, "args": [*program["args"], *secrets]},
        "address": {
            "url": f"http://me:{MARK}-password-1@127.0.0.1:9/mcp?key={MARK}-query-12345#token={MARK}-fragment-123"
        },
    }
    async with house(tmp_path, servers) as at:
        assert (await at.running("program")).args is not None
        await at.come("address", ServerStatus.FAILED)
        logs = [line.text for name in servers for line in at.manager.read_log(name)]
        told = [told.model_dump_json() for told in at.told]
    assert MARK not in json.dumps([told, logs])
    assert MARK not in caplog.text


async def test_a_server_that_repeats_its_secret_tells_it_neither_the_reader_nor_the_model(tmp_path: Path) -> None:
    secret = f"{MARK}-of-the-server-1"
    server = raw("repeats its secret", tmp_path / "log", env={"API_KEY": secret, "MODE": "readonly"})
    async with house(tmp_path, {"chatty": server}) as at:
        shown = await at.running("chatty")
        words = at.manager.list_instructions()["chatty"]
        (tool,) = make_mcp_tools(at.manager)
    assert secret not in shown.model_dump_json()
    assert secret not in words + tool.spec.description
    assert "readonly" in words
