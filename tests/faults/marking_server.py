"""An MCP server on bare JSON-RPC whose tool `mark` appends its argument to a file: `python marking_server.py FILE`.

With a second argument it does not end when its stdin does, as some servers behind wrappers do not.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

FILE = Path(sys.argv[1])
STAYS = len(sys.argv) > 2
SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
TOOL = {"name": "mark", "description": "Marks.", "inputSchema": SCHEMA}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            info = {"name": "marker", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            with FILE.open("a") as file:
                file.write(f"{params['arguments']['id']}\n")
            return {"content": [{"type": "text", "text": f"marked {params['arguments']['id']}"}]}
        case "ping":
            return {}
        case _:
            return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    error = {"error": {"code": -32601, "message": "There is no such method."}}
    sys.stdout.write(
        json.dumps({"jsonrpc": "2.0", "id": message["id"], **({"result": result} if result is not None else error)})
        + "\n"
    )
    sys.stdout.flush()
while STAYS:
    time.sleep(60)
