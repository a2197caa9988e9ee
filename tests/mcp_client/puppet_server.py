"""A server that does what its one tool is told to: `python puppet_server.py legacy|modern [FILE]`, on bare JSON-RPC.

`do(say, note, stderr, ends, page, ask)`: it sends the notifications of `say` (`$token` is the call's progress token),
changes its resource to `note`, writes to stderr, kills itself, wants its user to open a `page` first, asks what `ask`
wants of the client and answers with what it got as JSON. Each line that it is sent goes to FILE.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

MODERN = sys.argv[1] == "modern"
LOG = Path(sys.argv[2]) if len(sys.argv) > 2 else None
TOOL = {"name": "do", "description": "Does.", "inputSchema": {"type": "object"}}
URI = "note://one"
CAN: dict[str, Any] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
}
note = "first"
waiting: dict[Any, Any] = {}
listening: Any = None


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def result(id: Any, **fields: Any) -> None:
    if MODERN:
        fields = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **fields}
    say(id=id, result=fields)


def text(id: Any, words: str) -> None:
    say(id=id, result={"content": [{"type": "text", "text": words}], **({"resultType": "complete"} if MODERN else {})})


def call(id: Any, params: dict[str, Any]) -> None:
    told: dict[str, Any] = params.get("arguments") or {}
    if "inputResponses" in params:
        return text(id, json.dumps(params["inputResponses"]["it"]))
    for line in told.get("say", ()):
        say(**json.loads(json.dumps(line).replace('"$token"', json.dumps(params["_meta"]["progressToken"]))))
    if told.get("note"):
        change(told["note"])
    if told.get("stderr"):
        print(told["stderr"], file=sys.stderr, flush=True)
    if told.get("ends"):
        os.kill(os.getpid(), 9)
    if (url := told.get("page")) and not waiting.get("page"):
        waiting["page"] = True
        wanted = [{"mode": "url", "elicitationId": "e", "message": "Sign in", "url": url}]
        return say(id=id, error={"code": -32042, "message": "sign in first", "data": {"elicitations": wanted}})
    ask = told.get("ask")
    if ask is None:
        return text(id, told.get("echo", "done"))
    if MODERN:
        return say(id=id, result={"resultType": "input_required", "inputRequests": {"it": ask}, "requestState": "s"})
    waiting[f"ask {id}"] = id
    return say(id=f"ask {id}", **ask)


def change(words: str) -> None:
    global note
    note = words
    meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": listening}} if MODERN else {}
    say(method="notifications/resources/updated", params={"uri": URI, **meta})


def answer(id: Any, method: str, params: dict[str, Any]) -> None:
    global listening
    match method:
        case "initialize":
            info = {"name": "puppet", "version": "1"}
            say(id=id, result={"protocolVersion": params["protocolVersion"], "capabilities": CAN, "serverInfo": info})
        case "server/discover" if MODERN:
            result(id, supportedVersions=["2026-07-28"], capabilities=CAN)
        case "tools/list":
            result(id, tools=[TOOL])
        case "resources/list":
            result(id, resources=[{"uri": URI, "name": "one"}])
        case "resources/templates/list":
            named = {"uriTemplate": "note://{name}/{part}", "name": "notes", "description": "By name."}
            result(id, resourceTemplates=[named])
        case "completion/complete":
            offered = {"name": ["alpha", "alps", "beta"], "part": ["head", "tail"]}[params["argument"]["name"]]
            values = [value for value in offered if value.startswith(params["argument"]["value"])]
            say(id=id, result={"completion": {"values": values}, **({"resultType": "complete"} if MODERN else {})})
        case "resources/read":
            words = note if params["uri"] == URI else f"this is {params['uri']}"
            result(id, contents=[{"uri": params["uri"], "text": words}])
        case "subscriptions/listen":
            listening = id
            meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": id}}
            wanted = params.get("notifications", {})
            say(method="notifications/subscriptions/acknowledged", params={"notifications": wanted, **meta})
        case "tools/call":
            call(id, params)
        case "ping" | "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel":
            say(id=id, result={})
        case _:
            say(id=id, error={"code": -32601, "message": f"no method {method}"})


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if LOG is not None:
            with LOG.open("a") as opened:
                opened.write(line)
        if "method" not in message:
            text(waiting.pop(message["id"]), json.dumps(message.get("result") or message["error"]))
        elif "id" in message:
            answer(message["id"], message["method"], message.get("params") or {})


if __name__ == "__main__":
    main()
