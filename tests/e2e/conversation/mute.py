"""A tool server with one prompt, which it never gives: what points at it is gathered until somebody says stop."""

from __future__ import annotations

import json
import sys
from typing import Any

INFO = {"name": "mute", "version": "1"}
PROMPTS = [{"name": "wait", "description": "Never given."}]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What stands in the reply; empty for no reply."""
    match method:
        case "initialize":
            can: dict[str, Any] = {"prompts": {}}
            return {"result": {"protocolVersion": params["protocolVersion"], "capabilities": can, "serverInfo": INFO}}
        case "prompts/list":
            return {"result": {"prompts": PROMPTS}}
        case "prompts/get":
            return {}
        case "ping":
            return {"result": {}}
        case _:
            return {"error": {"code": -32601, "message": f"no method {method}"}}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            reply = answer(message["method"], message.get("params") or {})
            if reply:
                sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
