"""The loopback server is what every test of a real provider stands on."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.plugins.providers.ask import MODEL, script
from tests.support.anthropic_server import LoopbackAnthropic

BODY = {"model": MODEL, "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "hi"}]}


def post(url: str) -> str:
    request = urllib.request.Request(f"{url}/v1/messages", json.dumps(BODY).encode())  # noqa: S310  # our own http url
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=5) as answer:
        return answer.read().decode()


def test_a_reply_is_streamed_as_the_api_streams_it() -> None:
    reply: list[dict[str, object]] = [{"reasoning": "Hm."}, {"text": "Now."}, {"tool": "t", "arguments": {}}]
    with LoopbackAnthropic(script({"message": "", "reply": reply})) as server:
        events = [json.loads(line[6:]) for line in post(server.url).splitlines() if line.startswith("data: ")]
    assert [event.get("delta", event.get("content_block", event)).get("type", event["type"]) for event in events] == [
        "message_start",
        "ping",
        *("thinking", "thinking_delta", "signature_delta", "content_block_stop"),
        *("text", "text_delta", "content_block_stop"),
        *("tool_use", "input_json_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


def test_a_process_of_its_own_prints_its_address(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"rules": [{"message": "", "reply": [{"text": "Hello."}]}]}))
    command = [sys.executable, "-m", "tests.support.anthropic_server", str(file)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:  # our own
        try:
            assert process.stdout is not None
            assert "Hello." in post(process.stdout.readline().strip())
        finally:
            process.terminate()


@pytest.mark.parametrize("path", ["", "/v1/models"])
def test_other_paths_are_not_found(path: str) -> None:
    with LoopbackAnthropic(script()) as server, pytest.raises(OSError, match="404"):
        urllib.request.urlopen(server.url + path, timeout=5)  # noqa: S310  # our own http url
