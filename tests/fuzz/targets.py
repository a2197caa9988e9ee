"""Owns the parsers that read bytes of others, by name. Each is a function that takes bytes. It ends with nothing, or
with the error that the parser promises, which is expected here: any other error is a defect. With each are samples,
which `mutation` damages.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_types import CallToolResult
from pydantic import BaseModel, ValidationError

import jupyter_eca
from jupyter_eca.apps.kernel.answer.inert_markdown import as_inert_markdown
from jupyter_eca.config import jsonc
from jupyter_eca.config.front_matter import decode_text, parse_agent, parse_lenient_front_matter
from jupyter_eca.config.hooks import parse_hooks
from jupyter_eca.config.layers import read_config
from jupyter_eca.config.policy.sources import VARIABLE, read_policies
from jupyter_eca.engine.approval.code_targets import find_protected_in_code
from jupyter_eca.engine.approval.git_reads import list_git_folders
from jupyter_eca.engine.approval.line_targets import find_protected_in_line
from jupyter_eca.engine.approval.path_resolver import BY_TEXT
from jupyter_eca.engine.approval.shell_parser import get_line_keys
from jupyter_eca.engine.text.exact_text import as_exact_text, as_terminal_text
from jupyter_eca.engine.text.mentions import find_mentions
from jupyter_eca.engine.text.named_paths import find_named_paths
from jupyter_eca.errors import ConfigError, ToolError
from jupyter_eca.fronts.mcp.stdio import parse_line
from jupyter_eca.host.store.unsaved_file import take_unsaved
from jupyter_eca.mcp_client.elicitation_forms import parse_form
from jupyter_eca.mcp_client.results import convert_tool_result
from jupyter_eca.mcp_client.tool_checks import split_tools
from jupyter_eca.plugins.providers.connection.retry_after import parse_retry_after
from jupyter_eca.plugins.tools.terminal_transcript import TerminalTranscript
from jupyter_eca.protocol import rest
from jupyter_eca.protocol.acp import requests
from jupyter_eca.protocol.acp.json_lines import LineReader
from jupyter_eca.protocol.ahp import actions
from jupyter_eca.protocol.chat import AnswerLock
from jupyter_eca.protocol.jsonrpc import FrameReader, Notification, Request, parse_json
from jupyter_eca.protocol.methods import METHODS
from jupyter_eca.workspace.notebooks.cell_outputs import CellOutputs
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.notebooks.loaded_content import find_loaded, find_loaded_in_file
from jupyter_eca.workspace.notebooks.lockfile import LockFiles
from jupyter_eca.workspace.ports import Files
from tests.fuzz import widgets

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

FIXTURES: Final = Path(__file__).parents[1] / "fixtures"
# The newest version of the Model Context Protocol that its SDK knows.
MCP_VERSION: Final = "2025-11-25"

# A card of a cell cannot be made without it.
BUNDLE: Final = Path(jupyter_eca.__file__).parent / "apps" / "kernel" / "static" / "panel.js"

FOLDER: Final = Path(tempfile.mkdtemp(prefix="fuzz-"))
"""A workspace in which files are written. Whoever uses the targets deletes it."""


@dataclass(frozen=True, slots=True)
class Target:
    """A parser."""

    parse: Callable[[bytes], Awaitable[None]]
    """Reads an input."""
    samples: tuple[bytes, ...]
    """Inputs that are good."""
    is_of_page: bool = False
    """Whether the parser needs the bundle of the page."""

    @property
    def problem(self) -> str:
        """The reason why the parser cannot be imported here; "" for none."""
        is_missing = self.is_of_page and not BUNDLE.exists()
        return "the bundle of the page was not built: `npm run build:widget` in `labextension`" if is_missing else ""


def as_text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def dump(*values: Any) -> tuple[bytes, ...]:
    return tuple(json.dumps(value).encode() for value in values)


def read_fixtures(pattern: str) -> tuple[bytes, ...]:
    found = tuple(path.read_bytes() for path in sorted(FIXTURES.glob(pattern)))
    assert found, pattern
    return found


def write(name: str, data: bytes) -> Path:
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def validate(model: type[BaseModel] | None, value: Any) -> None:
    if model is not None:
        with suppress(ValidationError, RecursionError):
            model.model_validate(value)


# -- what clients send


async def read_frames(data: bytes) -> None:
    """ECA over stdio, in two pieces."""
    reader, middle = FrameReader(), len(data) // 2
    for message in (*reader.feed(data[:middle]), *reader.feed(data[middle:])):
        if isinstance(message, Request | Notification) and (method := METHODS.get(message.method)):
            validate(method.params, {} if message.params is None else message.params)


async def read_acp_lines(data: bytes) -> None:
    """The Agent Client Protocol, in two pieces."""
    reader, middle = LineReader(), len(data) // 2
    for message in (*reader.feed(data[:middle]), *reader.feed(data[middle:])):
        if isinstance(message, Request | Notification):
            for model in vars(requests).values():
                if isinstance(model, type) and issubclass(model, BaseModel):
                    validate(model, message.params)


async def read_ahp_action(data: bytes) -> None:
    with suppress(ValueError, RecursionError):  # a ValidationError is a ValueError
        actions.parse(parse_json(data))


async def read_rest_body(data: bytes) -> None:
    with suppress(ValidationError):
        rest.ChatRequest.model_validate_json(data)


async def read_mcp_line(data: bytes) -> None:
    parse_line(data)


async def read_card_messages(data: bytes) -> None:
    from tests.fuzz import cards  # it needs the bundle of the page

    await cards.read_card_messages(data)


# -- what MCP servers answer


async def read_mcp_tools(data: bytes) -> None:
    with suppress(ValueError, RecursionError):
        tools = parse_json(data)
        if isinstance(tools, list):  # the SDK has checked this
            split_tools({"tools": tools}, MCP_VERSION)


async def read_mcp_result(data: bytes) -> None:
    try:
        result = CallToolResult.model_validate_json(data)
    except (ValidationError, RecursionError):
        return
    convert_tool_result(result)


async def read_mcp_form(data: bytes) -> None:
    with suppress(ValueError, RecursionError):
        match parse_json(data):
            case {**schema}:
                parse_form(cast("dict[str, Any]", schema))
            case _:
                pass


# -- what models answer


async def read_retry_after(data: bytes) -> None:
    text = data.decode("latin-1")
    for name in ("retry-after", "retry-after-ms", "x-ratelimit-reset-requests", "anthropic-ratelimit-requests-reset"):
        parse_retry_after({name: text}, 1_000.0)


async def show_markdown(data: bytes) -> None:
    text = as_text(data)
    as_inert_markdown(text)
    find_loaded(text)
    find_loaded_in_file(text)


# -- files


async def read_notebook(data: bytes) -> None:
    write("a.ipynb", data)
    with suppress(ToolError):
        await NotebookFiles(Files((FOLDER,))).read("a.ipynb")


async def read_lock_file(data: bytes) -> None:
    path = write("lock/a.eca.lock", data)
    with suppress(ToolError):
        LockFiles.locate(Files((FOLDER,)), AnswerLock(folder="lock", file=path.name)).read()


async def read_unsaved_events(data: bytes) -> None:
    path = write("unsaved/unsaved-1.json", data)
    for file in take_unsaved(path.parent, "/w"):
        file.release()


async def read_configuration(data: bytes) -> None:
    home = write("home/eca/config.json", data).parent.parent
    with suppress(ConfigError):
        read_config((FOLDER,), home=home, environment={"HOME": str(FOLDER)})


async def change_configuration(data: bytes) -> None:
    with suppress(ConfigError):
        jsonc.put(as_text(data), ("toolCall", "approval", "allow", "x"), {})
    with suppress(ConfigError):
        jsonc.drop(as_text(data), ("providers", "acme"))


async def read_policy(data: bytes) -> None:
    read_policies({VARIABLE: "{" + as_text(data)[1:]})


async def read_front_matter(data: bytes) -> None:
    for parse in (parse_agent, parse_lenient_front_matter):
        with suppress(ValueError):
            parse(decode_text(data))


async def read_hooks(data: bytes) -> None:
    with suppress(ValueError, RecursionError):
        match json.loads(data):
            case {**hooks}:
                parse_hooks(cast("dict[str, Any]", hooks))
            case _:
                pass


# -- what runs


async def read_command_line(data: bytes) -> None:
    line = as_text(data)
    get_line_keys(line)
    find_protected_in_line(line, "", BY_TEXT)
    list_git_folders(line, "")


async def read_code(data: bytes) -> None:
    find_protected_in_code(as_text(data), ("",), BY_TEXT)


async def show_terminal_output(data: bytes) -> None:
    """The output of a command, in two pieces, and that of a cell."""
    transcript, middle = TerminalTranscript(), len(data) // 2
    transcript.feed(data[:middle])
    transcript.feed(data[middle:], final=True)
    transcript.close()
    transcript.as_text()
    outputs = CellOutputs()
    outputs.add_message({"header": {"msg_type": "stream"}, "content": {"name": "stdout", "text": as_text(data)}})
    assert outputs.outputs


async def show_text(data: bytes) -> None:
    text = as_text(data)
    for show in (as_exact_text, as_terminal_text, find_mentions, find_named_paths):
        show(text)


TOOLS: Final = [
    {
        "name": "do",
        "description": "It does.",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
    },
    {"name": "get", "inputSchema": {"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"enum": [1]}}}},
]
RESULT: Final = {
    "content": [
        {"type": "text", "text": "It is done."},
        {"type": "image", "data": "aW1hZ2U=", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "a", "mimeType": "text/plain"}},
        {"type": "resource_link", "uri": "https://example.org", "name": "a"},
    ],
    "structuredContent": {"a": [1]},
    "isError": False,
}
FORM: Final = {
    "type": "object",
    "properties": {
        "age": {"type": "integer", "minimum": 0, "maximum": 10},
        "kind": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
        "many": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "minItems": 1},
        "day": {"type": "string", "format": "date", "default": "2026-01-01"},
    },
    "required": ["age"],
}
CELLS: Final[list[Any]] = [
    {
        "cell_type": "code",
        "id": "a",
        "source": ["x = 1\n", "x"],
        "metadata": {},
        "execution_count": 1,
        "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
            {"output_type": "execute_result", "data": {"text/plain": "1"}, "metadata": {}, "execution_count": 1},
            {"output_type": "error", "ename": "E", "evalue": "e", "traceback": ["\u001b[31mE\u001b[0m"]},
        ],
    },
    {"cell_type": "markdown", "id": "b", "source": "# Title", "metadata": {"tags": ["t"]}},
]
NOTEBOOK: Final[dict[str, Any]] = {
    "cells": CELLS,
    "metadata": {
        "kernelspec": {"name": "python3", "language": "python", "display_name": "P"},
        "language_info": {"name": "python"},
    },
    "nbformat": 4,
    "nbformat_minor": 5,
}
CONFIGURATION: Final[Any] = {
    "defaultModel": "acme/m",
    "providers": {"acme": {"api": "openai-chat", "url": "https://models.example.org/v1", "models": {"m": {}}}},
    "toolCall": {"approval": {"allow": {"shell_command": {"argsMatchers": {"command": ["ls.*"]}}}, "byDefault": "ask"}},
    "mcpServers": {"weather": {"command": "weather", "args": ["-v"], "env": {"A": "b"}}},
    "agent": {"mine": {"mode": "primary", "prompts": {"chat": "Be kind."}}},
    "rules": [{"path": "a.md"}],
    "customTools": {"look": {"description": "d", "command": "ls {{a}}", "schema": {"properties": {}}}},
}
HOOKS: Final = {"mine": {"type": "preToolCall", "matcher": "eca__.*", "actions": [{"type": "shell", "shell": "true"}]}}
POLICY: Final = {
    "contact": "Ask us.",
    "offline": False,
    "allow": {"models": ["a/*"], "urls": ["https://example.org/*"]},
    "deny": {"tools": ["shell_command"]},
    "limits": {"budget": {"perDay": 1.5}},
    "features": {"sandbox": "force-on"},
}
UNSAVED: Final = {
    "workspace": "/w",
    "transaction": ["", 0, 0],
    "events": [{"chat": "c", "turn": "t", "role": "user", "content": {"type": "text", "text": "Hi"}, "at": 1}],
    "spent": [],
}
AGENT: Final = b"---\ndescription: It helps.\ntools:\n  allow: [read_file]\n---\nBe kind.\n"
LINES: Final = (
    *(
        b"git diff | head -n 3 > 'a b' && ls",
        b'for f in *.py; do rm "$f"; done',
        b"cat <<E\nx\nE\n",
        b"cd .eca; cp a b",
    ),
    *(b"A=1 env -i bash -c 'echo $(date)' &", b"find . -name '*.pyc' -delete", b"echo {a,b} ~/x ${X:-y} `id`"),
)
CODE: Final = (
    b"import os\nopen('.eca/config.json', 'w')\n",
    b"!rm -rf .git\n%%bash\ncp a .mcp.json\n",
    b"f'{x!r:>{w}}'",
)
OUTPUTS: Final = (
    b"\x1b[31mred\x1b[0m\r 50%\r100%\r\nab\b\bc\n",
    b"\x1b]8;;https://example.org\x07link\x1b]8;;\x07",
    b"plain",
)
MARKDOWN: Final = (
    *(b"# Title\n\n- a\n- [x](https://example.org)\n\n```python\nx = 1\n```\n", b"$x^2$ and $$\\sum$$ ![p](a.png)"),
    *(
        b"<img src=x onerror=y>\n\n| a | b |\n|---|---|\n| 1 | `2` |\n",
        b"```mermaid\ngraph TD\n```\n> quote\n\n[a]: b\n",
    ),
)
ACTIONS: Final = dump(
    {"type": "session/turnStarted", "turnId": "t", "message": {"text": "Hi"}},
    {"type": "root/configChanged", "config": {}},
)


def _make_frames() -> tuple[bytes, ...]:
    bodies = [json.loads(text) for text in read_fixtures("wire/*.json")]
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": body["method"], "params": body.get("params")}
        for body in bodies
        if "method" in body
    ]
    return tuple(b"Content-Length: %d\r\n\r\n%s" % (len(text), text) for text in dump(*calls))


TARGETS: Final[dict[str, Target]] = {
    "ECA frames": Target(read_frames, _make_frames()),
    "ACP lines": Target(
        read_acp_lines,
        tuple(
            line + b"\n"
            for line in dump(
                {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "session/prompt",
                    "params": {"sessionId": "s", "prompt": [{"type": "text", "text": "Hi"}]},
                },
                {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/w", "mcpServers": []}},
            )
        ),
    ),
    "AHP actions": Target(read_ahp_action, ACTIONS),
    "REST bodies": Target(read_rest_body, dump({"message": "Hi", "chat_id": "c"})),
    "MCP lines": Target(read_mcp_line, dump({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})),
    "MCP tools": Target(read_mcp_tools, dump(TOOLS)),
    "MCP results": Target(read_mcp_result, dump(RESULT)),
    "MCP forms": Target(read_mcp_form, dump(FORM)),
    "times to wait": Target(read_retry_after, (b"20", b"1.5s", b"6m0s", b"Wed, 21 Oct 2026 07:28:00 GMT")),
    "Markdown": Target(show_markdown, MARKDOWN),
    "notebooks": Target(read_notebook, dump(NOTEBOOK, {**NOTEBOOK, "nbformat": 3, "worksheets": [{"cells": []}]})),
    "lock files": Target(read_lock_file, dump({"version": 1, "about": "x", "turns": []})),
    "unsaved events": Target(read_unsaved_events, dump(UNSAVED)),
    "configuration": Target(read_configuration, dump(CONFIGURATION)),
    "changes of the configuration": Target(change_configuration, (*dump(CONFIGURATION), b'{"a": 1, // x\n"b": [2],}')),
    "policies": Target(read_policy, dump(POLICY)),
    "agents and rules": Target(read_front_matter, (AGENT,)),
    "hooks": Target(read_hooks, dump(HOOKS)),
    "command lines": Target(read_command_line, LINES),
    "code": Target(read_code, CODE),
    "outputs": Target(show_terminal_output, OUTPUTS),
    "messages to a card": Target(read_card_messages, dump(*widgets.CARD_SAMPLES), is_of_page=True),
    "messages of a page": Target(widgets.read_page_messages, dump(*widgets.PAGE_SAMPLES)),
    "messages to a panel": Target(widgets.read_engine_messages, dump(*widgets.ENGINE_SAMPLES)),
    "texts": Target(show_text, (b"Look at @src/a.py:3-4 and `b.py`, \xe2\x80\xaehidden", *MARKDOWN)),
}
"""The parsers by name."""
