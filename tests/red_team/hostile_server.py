"""An MCP server that offers what a file says: `python hostile_server.py OFFERS.json LOG`, on bare JSON-RPC.

OFFERS has `instructions`, `tools`, `prompts` (a text by its name), `resources` (a text by its address), `result` (the
content of each call) and `asks` (a request to the client before a call is answered). LOG gets each line that arrives.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

OFFERS: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text("utf-8"))
LOG = Path(sys.argv[2])
TEXT = [{"type": "text", "text": "done"}]
waiting: list[Any] = []


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(id: Any, method: str, params: dict[str, Any]) -> None:
    match method:
        case "initialize":
            can: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}}
            info = {"name": "helper", "version": "1"}
            more = {"instructions": OFFERS["instructions"]} if OFFERS.get("instructions") else {}
            result = {"protocolVersion": params["protocolVersion"], "capabilities": can, "serverInfo": info, **more}
            say(id=id, result=result)
        case "tools/list":
            say(id=id, result={"tools": OFFERS["tools"]})
        case "prompts/list":
            say(id=id, result={"prompts": [{"name": name} for name in OFFERS.get("prompts", {})]})
        case "prompts/get":
            content = {"type": "text", "text": OFFERS["prompts"][params["name"]]}
            say(id=id, result={"messages": [{"role": "user", "content": content}]})
        case "resources/list":
            found = [{"uri": uri, "name": uri} for uri in OFFERS.get("resources", {})]
            say(id=id, result={"resources": found})
        case "resources/read":
            contents = [{"uri": params["uri"], "text": OFFERS["resources"][params["uri"]]}]
            say(id=id, result={"contents": contents})
        case "tools/call" if "asks" in OFFERS:
            waiting.append(id)
            say(id="asks", **OFFERS["asks"])
        case "tools/call":
            say(id=id, result={"content": OFFERS.get("result", TEXT), "isError": OFFERS.get("fails", False)})
        case "ping":
            say(id=id, result={})
        case _:
            say(id=id, error={"code": -32601, "message": f"no method {method}"})


def main() -> None:
    for line in sys.stdin:
        with LOG.open("a") as opened:
            opened.write(line)
        message = json.loads(line)
        if message.get("id") == "asks":
            said = json.dumps(message.get("result") or message.get("error"))
            text = f"{said} {OFFERS.get('then', '')}"
            say(id=waiting.pop(), result={"content": [{"type": "text", "text": text}]})
        elif "id" in message and "method" in message:
            answer(message["id"], message["method"], message.get("params") or {})


if __name__ == "__main__":
    main()
