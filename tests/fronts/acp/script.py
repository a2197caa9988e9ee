"""What the model of these tests says, and small helpers."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

SLOWLY: Json = {"chunk": 5, "delay": 0.005}
PLAN: Json = {"tool": "task", "arguments": {"op": "plan", "tasks": ["Load the data", "Draw it"]}}
START: Json = {"tool": "task", "arguments": {"op": "start", "ids": ["1"], "active_summary": "Loading"}}

RULES: list[Json] = [
    {"result": "", "tool": "read_file", "reply": [{"text": "I have read it."}]},
    {"result": "is_error|nothing was changed|did not run", "reply": [{"text": "Then I leave it."}]},
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "^think", "reply": [{"reasoning": "Hm. Well.", "chunk": 4}, {"text": "So it is."}]},
    {"message": "^write (?P<path>\\S+) (?P<text>.+)", "reply": [{"text": "I write. "}, {
        "tool": "write_file", "arguments": {"path": "$path", "content": "$text\n"}}]},
    {"message": "^edit", "reply": [{"tool": "edit_file", "arguments": {
        "path": "old.txt", "original_content": "b\n", "new_content": "B\nc\n"}}]},
    {"message": "^run (?P<line>.+)", "reply": [{"tool": "shell_command", "arguments": {"command": "$line"}}]},
    {"message": "^twice", "reply": [{"tool": "write_file", "arguments": {"path": "1.txt", "content": "1"}},
                                    {"tool": "write_file", "arguments": {"path": "2.txt", "content": "2"}}]},
    {"message": "^question", "reply": [{"tool": "ask_user", "arguments": {
        "question": "Tea or coffee?", "options": ["tea", "coffee"]}}]},
    {"message": "^plan", "reply": [PLAN]},
    {"message": "^stream", "reply": [{"text": "word " * 4000, **SLOWLY}]},
    {"message": "^overloaded", "reply": [{"error": "The endpoint broke off.", "status": 400}]},
    {"message": "^key", "reply": [{"error": "The key is wrong.", "status": 401}]},
    {"message": "in file.txt", "reply": [{"text": "The file says it."}]},
    {"message": "secret is (?P<word>\\w+)", "reply": [{"text": "I have read $word."}]},
    {"message": "", "reply": [{"text": "Hello, {message}", "chunk": 3}]},
]  # fmt: skip
