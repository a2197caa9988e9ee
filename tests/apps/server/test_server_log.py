"""What the log of a Jupyter server says of us: the format and the files are those of the administrator's
`logging_config`, and a JSON formatter shows what each record is about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.apps.server.test_kill import connect, hear, send, server
from tests.support.notebook_page import script

if TYPE_CHECKING:
    from pathlib import Path

# As in the documentation, and a second file in the format of the console.
CONFIG = """
c.ServerApp.logging_config = {{
    "formatters": {{
        "json": {{
            "class": "pythonjsonlogger.json.JsonFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        }},
    }},
    "handlers": {{
        "json": {{"class": "logging.FileHandler", "filename": "{0}/log.jsonl", "formatter": "json", "level": "INFO"}},
        "plain": {{"class": "logging.FileHandler", "filename": "{0}/log.txt", "formatter": "console"}},
    }},
    "loggers": {{"ServerApp": {{"handlers": ["console", "json", "plain"]}}}},
}}
"""


@pytest.fixture
def rules() -> dict[str, Any]:
    return {"allow": {"shell_command": {}}}


@pytest.fixture
def failing_programs(eca_config: None, jp_root_dir: Path) -> None:  # noqa: ARG001  # it writes the file first
    """A hook and an MCP server that fail."""
    file = jp_root_dir / ".eca" / "config.json"
    config = json.loads(file.read_text())
    config["hooks"] = {"late": {"type": "postToolCall", "actions": [{"type": "shell", "shell": "exit 3"}]}}
    config["mcpServers"] = {"broken": {"command": "/nonexistent/program"}}
    file.write_text(json.dumps(config))


def read_log(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The fields of our records, by logger: all that neither the format nor the console (its colours) names."""
    named = {"asctime", "levelname", "name", "message", "color", "end_color"}
    records: dict[str, list[dict[str, Any]]] = {}
    for line in (folder / "log.jsonl").read_text().splitlines():
        record = json.loads(line)
        fields = {name: record[name] for name in record.keys() - named}
        records.setdefault(record["name"], []).append(fields)
    return records


@pytest.mark.usefixtures("failing_programs")
async def test_our_records_are_in_the_servers_log_with_what_they_are_about_and_no_content(
    jp_root_dir: Path, tmp_path: Path
) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "jupyter_server_config.py").write_text(CONFIG.format(tmp_path))
    script(tmp_path, [{"tool": "shell_command", "arguments": {"command": "echo top-secret"}}])
    call, waited_for = "", {"turn", "server"}
    with server(tmp_path, jp_root_dir) as process:
        socket = await connect(tmp_path, process)
        await send(socket, "initialize", {}, 1)
        malformed: dict[str, Any] = {"jsonrpc": "2.0", "method": "chat/promptStop", "params": {"chatId": []}}
        await socket.write_message(json.dumps(malformed))
        await send(socket, "chat/prompt", {"message": "a top-secret prompt", "chatId": "chat"}, 2)
        while waited_for:
            params = (await hear(socket)).get("params", {})
            content = params.get("content", {})
            call = content["id"] if content.get("type") == "toolCalled" else call
            waited_for -= {"turn"} if content.get("state") == "finished" else set()
            waited_for -= {"server"} if (params.get("name"), params.get("status")) == ("broken", "failed") else set()
        socket.close()
    records = read_log(tmp_path)
    assert records["jupyter_eca.host.hooks.runner"] == [{"chat_id": "chat", "tool_call_id": call}]
    assert records["jupyter_eca.mcp_client.server"] == [{"mcp_server": "broken"}]
    assert records["jupyter_eca.transport.peer"] == [{"request_method": "chat/promptStop"}]
    plain = (tmp_path / "log.txt").read_text()
    assert plain.count(" jupyter_eca.mcp_client.server] ") == 1
    assert "top-secret" not in plain
