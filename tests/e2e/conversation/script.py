"""What the model of the story says, and the rest of the set-up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

Reply = list[dict[str, Any]]


def write(path: str, content: str) -> dict[str, Any]:
    return {"tool": "write_file", "arguments": {"path": path, "content": content}}


def run(command: str) -> dict[str, Any]:
    return {"tool": "shell_command", "arguments": {"command": command}}


ASK: dict[str, Any] = {
    "tool": "ask_user",
    "arguments": {"question": "Tea or coffee?", "options": ["tea", "coffee"]},
}
SLOWLY: dict[str, Any] = {"chunk": 5, "delay": 0.02}

RULES: list[dict[str, Any]] = [
    {"result": "(?P<whole>.+)", "reply": [{"text": "I was told: {result}"}]},
    {"result": "", "reply": [{"text": "I was told nothing."}]},
    {"message": "secret is (?P<word>\\w+)", "reply": [{"text": "I have read $word."}]},
    {"message": "^think", "reply": [{"reasoning": "Hm. Well.", "chunk": 4}, {"text": "I have thought.", "chunk": 4}]},
    {"message": "^write (?P<path>\\S+) (?P<text>.+)", "reply": [{"text": "I write. "}, write("$path", "$text\n")]},
    {"message": "^both", "reply": [write("one.txt", "1\n"), run("echo two")]},
    {"message": "^question", "reply": [ASK]},
    {"message": "^run (?P<line>.+)", "reply": [run("$line")]},
    {"message": "^prepare", "reply": [{**write("never.txt", "x" * 4000), **SLOWLY}]},
    {"message": "^stream", "reply": [{"text": "word " * 2000, **SLOWLY}]},
    {"message": "^ponder", "reply": [{"reasoning": "hm " * 2000, **SLOWLY}]},
    {"message": "in French", "reply": [{"text": "D'accord."}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]  # fmt: skip

MUTE = {"command": sys.executable, "args": [str(Path(__file__).with_name("mute.py"))]}
# As every configuration that is read from files has it by default.
ALLOWED: dict[str, Any] = {"approval": {"allow": {"ask_user": {}}}}
MORE: dict[str, Any] = {"mcpServers": {"mute": MUTE}, "toolCall": ALLOWED}
