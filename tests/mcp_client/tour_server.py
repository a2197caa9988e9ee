"""What `sdk_server.py` offers, in bare JSON-RPC: `python tour_server.py [FILE]`. The SDK takes most of a second of CPU
to import; this is there at once, for tests that only need a server. Its process id is in FILE.

`test_servers.py` holds it against the SDK's.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

PIXEL: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cf500f0003860180"
    "5a346d6b0000000049454e44ae426082"
)
_IMAGE: Final = {"type": "image", "data": base64.b64encode(PIXEL).decode(), "mimeType": "image/png"}
_SAYING: Final = threading.Lock()


def _schema(name: str, /, **types: str) -> dict[str, Any]:
    properties = {one: {"title": one.title(), "type": type} for one, type in types.items()}
    required = {"required": list(types)} if types else {}
    return {"properties": properties, **required, "type": "object", "title": name}


def _tool(name: str, description: str, result: str | None, /, **types: str) -> dict[str, Any]:
    tool = {"name": name, "description": description, "inputSchema": _schema(f"{name}Arguments", **types)}
    return tool if result is None else {**tool, "outputSchema": _schema(f"{name}Output", result=result)}


_ADD: Final[dict[str, Any]] = {
    **_tool("add", "Adds.", "integer", a="integer", b="integer"), "annotations": {"readOnlyHint": True}
}  # fmt: skip
_TOOLS: Final[list[dict[str, Any]]] = [
    _ADD,
    _tool("draw", "Draws a pixel.", None),
    _tool("fail", "Fails.", "string"),
    _tool("wait", "Waits.", "string", seconds="number"),
    _tool("environment", "A variable.", "string", name="string"),
]
_PROMPTS: Final[list[dict[str, Any]]] = [
    {"name": "greet", "description": "Greets.", "arguments": [{"name": "name", "required": True}]},
    {"name": "illustrate", "description": "Shows a pixel.", "arguments": []},
]
_MEMO: Final = {"name": "memo", "uri": "memo://today", "description": "A memo.", "mimeType": "text/plain"}
_MEMOS: Final = {
    "name": "memos", "uriTemplate": "memo://{year}/{month}", "description": "A memo of a month.",
    "mimeType": "text/plain",
}  # fmt: skip
_LISTS: Final[dict[str, dict[str, Any]]] = {
    "ping": {},
    "tools/list": {"tools": _TOOLS},
    "prompts/list": {"prompts": _PROMPTS},
    "resources/list": {"resources": [_MEMO]},
    "resources/templates/list": {"resourceTemplates": [_MEMOS]},
}


class Refused(Exception):
    """Answered with an error of JSON-RPC: its code and its message."""


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    tool = next(tool for tool in _TOOLS if tool["name"] == name)
    result: Any = None
    if set(arguments) != set(tool["inputSchema"]["properties"]) or name == "fail":
        return {"content": [_text(f"Error executing tool {name}")], "isError": True}
    match name:
        case "draw":
            return {"content": [_IMAGE], "isError": False}
        case "add":
            result = arguments["a"] + arguments["b"]
        case "wait":
            time.sleep(arguments["seconds"])
            result = "waited"
        case _:
            result = os.environ.get(arguments["name"], "unset")
    return {"content": [_text(str(result))], "isError": False, "structuredContent": {"result": result}}


def _prompt(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "greet" and "name" not in arguments:
        raise Refused(0, "Missing required arguments: {'name'}")
    contents = [_text("Describe this:"), _IMAGE]
    if name == "greet":
        contents = [_text(f"Say hello to {arguments['name']}.")]
    messages = [{"role": "user", "content": content} for content in contents]
    description = next(prompt["description"] for prompt in _PROMPTS if prompt["name"] == name)
    return {"description": description, "messages": messages}


def _read(uri: str) -> dict[str, Any]:
    year, _, month = uri.removeprefix("memo://").partition("/")
    text = "buy milk" if uri == _MEMO["uri"] else f"the memo of {year}-{month}"
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}


def _answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            prompts, resources = {"listChanged": False}, {"listChanged": False, "subscribe": False}
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"prompts": prompts, "resources": resources, "tools": {"listChanged": False}},
                "instructions": "Be kind to me.",
                "serverInfo": {"name": "tour", "version": ""},
            }
        case "tools/call":
            return _call(params["name"], params.get("arguments") or {})
        case "prompts/get":
            return _prompt(params["name"], params.get("arguments") or {})
        case "resources/read":
            return _read(params["uri"])
        case _ if method in _LISTS:
            return _LISTS[method]
        case _:
            raise Refused(-32601, "Method not found")


def _serve(message: dict[str, Any]) -> None:
    try:
        said = {"result": _answer(message["method"], message.get("params") or {})}
    except Refused as refused:
        code, words = refused.args
        said = {"error": {"code": code, "message": words}}
    with _SAYING:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}) + "\n")
        sys.stdout.flush()


def main() -> None:
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(str(os.getpid()))
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            # A call that waits holds up no other, and the end of the input ends it.
            threading.Thread(target=_serve, args=(message,), daemon=True).start()


if __name__ == "__main__":
    main()
