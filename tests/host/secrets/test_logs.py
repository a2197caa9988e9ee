"""Where the log is another's, as in Jupyter: whatever handler it has, no record of ours or of an SDK holds a secret."""

from __future__ import annotations

import gzip
import json
import logging
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jupyter_eca import redaction
from jupyter_eca.config import read_config, register_secrets
from jupyter_eca.mcp_client.server_log import ServerLog
from jupyter_eca.plugins.providers.connection.failures import RequestTarget, explain_refusal
from tests.host.secrets.house import MARK, PLUG, secret, servers
from tests.plugins.test_loader import install
from tests.support.host_and_client import answer, desk, said

ROOT = Path(__file__).parents[3]
# Of OpenAI, Anthropic, Google, GitHub, Amazon; what a test makes up says so, or is too short.
KEYS = r"sk-(?:ant-|proj-)?[A-Za-z0-9_-]{24,}|AIza[A-Za-z0-9_-]{30,}|gh[pousr]_[A-Za-z0-9]{30,}|AKIA[A-Z0-9]{16}"


@pytest.mark.asyncio
@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize("source", ["config", "header", "compatible", "raises", "refuses"])
async def test_no_record_of_a_turn_that_works_or_fails_holds_a_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))  # pyright: ignore[reportUnknownMemberType]  # untyped in pytest
    (tmp_path / "a_leaky_plug.py").write_text(PLUG)
    install(tmp_path, "providers", raises="a_leaky_plug:RAISES", refuses="a_leaky_plug:REFUSES")
    caplog.set_level(logging.DEBUG)
    apis = {"compatible": "openai-chat", "raises": "somebodys-raises", "refuses": "somebodys-refuses"}
    echo, compatible = servers()
    with echo, compatible:
        url = compatible.url if source == "compatible" else echo.url
        own: dict[str, Any] = {"api": apis.get(source, "anthropic"), "url": url, "retry": False}
        own |= {"extraHeaders": {"X-House": secret(source)}} if source == "header" else {"key": secret(source)}
        async with desk(tmp_path, [], providers={"house": own}, defaultModel="house/m") as table:
            client = await table.client()
            for wish in ("be well", "be wrong", "be down", "break off"):
                told = await answer(client, wish)
                assert MARK not in str(told)
                assert said(told) or said(told, "system")
    records = [record for record in caplog.records if record.name != "somebody"]
    shown = "\n".join(logging.Formatter("%(name)s %(message)s").format(record) for record in records)
    assert MARK not in shown
    assert {"raises": "RuntimeError", "refuses": "", "compatible": "openai._base"}.get(
        source, "Request options"
    ) in shown


def test_what_was_filled_into_a_configuration_is_known_and_what_is_no_secret_is_not(tmp_path: Path) -> None:
    (tmp_path / "eca").mkdir()
    (tmp_path / "eca" / "place").write_text("a sentence of a prompt 12345678")
    server = {
        "command": "${cmd:echo one-zq7k-secret-1}",
        "args": ["${env:ONE_TOKEN}", "${file:place}", "${env:MODEL}", "${cmd:echo /somewhere/else/1}"],
        "env": {"NODE_ENV": "production", "A_KEY": "two-zq7k-1"},
    }
    (tmp_path / "eca" / "config.json").write_text(json.dumps({"mcpServers": {"one": server}}))
    register_secrets(
        read_config([], home=tmp_path, environment={"ONE_TOKEN": "three-zq7k-1", "MODEL": "a-model-20251111"})
    )
    assert set(redaction.redact("one-zq7k-secret-1 two-zq7k-1 three-zq7k-1").split()) == {redaction.HIDDEN}
    harmless = "a sentence of a prompt 12345678, a-model-20251111, /somewhere/else/1, production"
    assert redaction.redact(harmless) == harmless


def test_what_is_longer_is_hidden_before_what_is_a_part_of_it() -> None:
    redaction.register_secret("zq7k-part-1", "zq7k-part-1-and-more")
    assert redaction.redact("<zq7k-part-1-and-more> <zq7k-part-1>") == f"<{redaction.HIDDEN}> <{redaction.HIDDEN}>"


def read_text(path: Path) -> str:
    """Read a file, and a database for what is text in it."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    return path.read_text("utf-8")


def test_nothing_that_is_kept_in_the_repository_looks_like_a_key() -> None:
    tracked = subprocess.run(("git", "ls-files", "-z"), cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S607
    kept = [
        ROOT / name
        for name in tracked.split("\0")
        if name and not name.endswith((".png", ".webp", ".gz", ".lock", "lock.json"))
    ]
    found = {
        f"{path.relative_to(ROOT)}: {match[:12]}…"
        for path in kept
        for match in re.findall(rf"\b(?:{KEYS})", read_text(path))
    }
    assert found == set()
    assert len(kept) > 100


def test_a_secret_at_the_place_where_the_words_of_a_server_are_cut_is_not_told_by_half() -> None:
    redaction.register_secret(secret("cut"))
    failed = explain_refusal(
        RequestTarget("house", "m", "https://house.example"), 400, "", f"{'x' * 490}{secret('cut')}"
    )
    assert "xxx" in str(failed)
    assert MARK not in str(failed)


def test_a_secret_at_the_place_where_a_line_of_a_tool_server_is_cut_is_not_kept_by_half() -> None:
    redaction.register_secret(secret("line"))
    log = ServerLog(redaction.redact)
    log.write("info", "x" * 1990 + secret("line"))
    assert MARK not in log.lines[0].text
