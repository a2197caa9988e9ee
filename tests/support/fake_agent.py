"""A scripted outside agent: a program that speaks the Agent Client Protocol and does what the prompt says, with the
quirks of real agents.

    python -m tests.support.fake_agent [--frames FILE] [--quirk NAME]...

Each line of a prompt that begins with `DO: ` is a step: `say TEXT`, `think TEXT`, or the name of a scenario with its
arguments. The scenarios repeat sequences of messages that real agents were seen to send. FILE gets every message in
both directions, one a line, as `[sender, message]`. It needs nothing but the standard library, so that it starts fast.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from queue import Queue
from typing import Any

Json = dict[str, Any]
EMPTY: Json = {}
MCP_GREETING: Json = {
    "protocolVersion": "2025-06-18", "capabilities": EMPTY, "clientInfo": {"name": "f", "version": "1"}
}  # fmt: skip

ONCE = {"optionId": "once", "name": "Allow once", "kind": "allow_once"}
ALWAYS = {"optionId": "always", "name": "Always allow", "kind": "allow_always"}
REJECT = {"optionId": "reject", "name": "Reject", "kind": "reject_once"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


class Gone(Exception):
    """The client has left."""


class Cancelled(Exception):
    """The turn was cancelled."""


class FakeAgent:
    def __init__(self, frames: str, quirks: set[str]) -> None:
        self.quirks = quirks
        self.frames = Path(frames).open("a") if frames else None  # noqa: SIM115
        self.incoming: Queue[Json | None] = Queue()
        self.sent = 0
        self.session = ""
        self.folder = ""
        self.servers: list[Json] = []
        self.mode = "auto"
        self.values: Json = {"model": "small", "effort": "low", "web": False, "unasked": False}
        self.cost = 0.0
        self.cancelled = False
        self.calls = 0
        threading.Thread(target=self.read, daemon=True).start()

    # -- the wire

    def read(self) -> None:
        for line in sys.stdin.buffer:
            message = json.loads(line)
            self.record("client", message)
            self.incoming.put(message)
        self.incoming.put(None)

    def record(self, sender: str, message: Json) -> None:
        if self.frames is not None:
            self.frames.write(json.dumps([sender, message]) + "\n")
            self.frames.flush()

    def send(self, message: Json) -> None:
        self.record("agent", {"jsonrpc": "2.0", **message})
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def receive(self) -> Json:
        message = self.incoming.get()
        if message is None:
            raise Gone
        return message

    def update(self, kind: str, /, **fields: Any) -> None:
        params = {"sessionId": self.session, "update": {"sessionUpdate": kind, **fields}}
        self.send({"method": "session/update", "params": params})

    def request(self, method: str, /, **params: Any) -> Any:
        """The answer of the client, None for an error. A cancellation that comes meanwhile is noted."""
        id = self.sent
        self.sent += 1
        self.send({"id": id, "method": method, "params": {"sessionId": self.session, **params}})
        while True:
            message = self.receive()
            if "method" not in message and message.get("id") == id:
                return message.get("result")
            self.note(message)

    def note(self, message: Json) -> None:
        if message.get("method") == "session/cancel":
            self.cancelled = True

    def ask(self, call: Json, *options: Json) -> str:
        """Ask for permission. Return the id of the option that was chosen, "" for none."""
        result = self.request("session/request_permission", toolCall=call, options=list(options or (ONCE, REJECT)))
        outcome: Json = result["outcome"] if result else {}
        return str(outcome.get("optionId") or "")

    # -- the life of a session

    def run(self) -> None:
        if "dies" in self.quirks:
            print("no such model", file=sys.stderr, flush=True)
            os._exit(3)
        while True:
            message = self.receive()
            method, id = message.get("method"), message.get("id")
            params: Json = message.get("params") or {}
            if method == "initialize":
                self.initialize(id)
            elif method in {"session/new", "session/load", "session/resume"}:
                self.open(method, id, params)
            elif method == "session/set_mode":
                self.mode = self.mode if "keeps mode" in self.quirks else params["modeId"]
                if "keeps mode" in self.quirks:
                    self.update("current_mode_update", currentModeId="bypass")
                self.send({"id": id, "result": {}})
            elif method == "session/set_config_option":
                self.set_option(id, params)
            elif method == "session/prompt":
                self.prompt(id, params)
            elif method == "session/list":
                self.list_sessions(id, params)
            elif method == "session/close":
                self.send({"id": id, "result": {}})
            elif id is not None and method:
                self.send({"id": id, "error": {"code": -32601, "message": f"no method {method}"}})

    def initialize(self, id: Any) -> None:
        if "silent" in self.quirks:
            return
        if "junk" in self.quirks:
            print("Welcome to the agent! Loading ...", flush=True)
        version = 2 if "version 2" in self.quirks else 1
        can: Json = {
            "loadSession": True,
            "promptCapabilities": {"image": True},
            "mcpCapabilities": {"http": "no addresses" not in self.quirks},
            "sessionCapabilities": EMPTY if "no resume" in self.quirks else {"resume": {}, "close": {}, "list": {}},
        }
        result: Json = {
            "protocolVersion": version,
            "agentCapabilities": can,
            "authMethods": [],
            "agentInfo": {"name": "fake", "version": "1"},
        }
        self.send({"id": id, "result": result})

    def open(self, method: str, id: Any, params: Json) -> None:
        if "signed out" in self.quirks:
            self.send({"id": id, "error": {"code": -32000, "message": "Authentication required"}})
            return
        if method != "session/new" and "forgets" in self.quirks:
            self.send({"id": id, "error": {"code": -32002, "message": "Resource not found"}})
            return
        self.session = params.get("sessionId") or f"session-{os.getpid()}"
        self.folder, self.servers = params["cwd"], params.get("mcpServers") or []
        modes = [{"id": name, "name": name} for name in ("auto", "default", "bypass")]
        result: Json = {"modes": {"currentModeId": self.mode, "availableModes": modes}}
        if "options" in self.quirks:
            result["configOptions"] = self.list_options()
        if method == "session/load":
            self.update("user_message_chunk", content={"type": "text", "text": "an earlier prompt"})
            self.update("agent_message_chunk", content={"type": "text", "text": "an earlier answer"})
        if method == "session/new":
            result["sessionId"] = self.session
        self.send({"id": id, "result": result})
        commands = [{"name": "review", "description": "Reviews the changes"}]
        self.update("available_commands_update", availableCommands=commands)

    def list_options(self) -> list[Json]:
        """The options. Only the large model can think hard."""
        models = [
            {"group": "ours", "name": "Ours", "options": [{"value": "small", "name": "Small one"}]},
            {"group": "theirs", "name": "Theirs", "options": [{"value": "large", "name": "Large one"}]},
        ]
        modes = [{"value": name, "name": name} for name in ("auto", "default", "bypass")]
        efforts = [{"value": name, "name": name} for name in ("low", "high")]
        efforts = efforts[: 2 if self.values["model"] == "large" else 1]
        options: list[Json] = [
            {
                "id": "permissions",
                "name": "Permissions",
                "category": "mode",
                "currentValue": self.mode,
                "options": modes,
            },
            {"id": "model", "name": "Model", "category": "model", "options": models},
            {"id": "effort", "name": "Effort", "category": "thought_level", "options": efforts},
        ]
        for option in options[1:]:
            option["currentValue"] = self.values[option["id"]]
        for option in options:
            option["type"] = "select"
        switches = (("web", "Search the web", "model_config"), ("unasked", "Never ask", "other"))
        return options + [
            {"id": id, "name": name, "category": category, "type": "boolean", "currentValue": self.values[id]}
            for id, name, category in switches
        ]

    def set_option(self, id: Any, params: Json) -> None:
        if params["configId"] == "permissions":
            self.mode = params["value"]
        elif "keeps options" not in self.quirks:
            self.values[params["configId"]] = params["value"]
        if self.values["model"] == "small":
            self.values["effort"] = "low"
        self.send({"id": id, "result": {"configOptions": self.list_options()}})

    def do_set(self, words: str) -> None:
        """Change an option without being asked."""
        name, _, value = words.partition(" ")
        self.values[name] = value
        self.update("config_option_update", configOptions=self.list_options())

    def do_values(self, _: str) -> None:
        self.do_say(f"model {self.values['model']}, effort {self.values['effort']}, web {self.values['web']}")

    def list_sessions(self, id: Any, params: Json) -> None:
        """Two pages of one session each. The second session has neither a title nor a time."""
        first = {
            "sessionId": "s-1",
            "cwd": params["cwd"],
            "title": "Clean the data",
            "updatedAt": "2026-01-31T12:00:00Z",
        }
        if params.get("cursor") == "page 2":
            self.send({"id": id, "result": {"sessions": [{"sessionId": "s-2", "cwd": params["cwd"]}]}})
        else:
            self.send({"id": id, "result": {"sessions": [first], "nextCursor": "page 2"}})

    def prompt(self, id: Any, params: Json) -> None:
        self.cancelled = False
        reason = "end_turn"
        texts = [block["text"] for block in params["prompt"] if block["type"] == "text"]
        lines = [line for text in texts for line in text.splitlines()]
        try:
            for line in lines:
                if line.startswith("DO: "):
                    step, _, rest = line.removeprefix("DO: ").partition(" ")
                    reason = getattr(self, f"do_{step}")(rest) or reason
            if not any(line.startswith("DO: ") for line in lines):
                self.do_say("I got: " + " / ".join(texts))
        except Cancelled:
            pass
        self.send({"id": id, "result": {"stopReason": "cancelled" if self.cancelled else reason}})

    # -- steps

    def do_say(self, text: str, message: str = "") -> None:
        more = {"messageId": message} if message else {}
        self.update("agent_message_chunk", content={"type": "text", "text": text}, **more)

    def do_think(self, text: str) -> None:
        self.update("agent_thought_chunk", content={"type": "text", "text": text})

    def do_interleave(self, _: str) -> None:
        for number in range(5):
            self.do_think(f"t{number} ")
            self.do_say(f"a{number} ")

    def do_many(self, count: str) -> None:
        for number in range(int(count)):
            self.do_say(f"{number} ")

    def do_picture(self, _: str) -> None:
        self.update("agent_message_chunk", content={"type": "image", "data": PIXEL, "mimeType": "image/png"})

    def do_messages(self, _: str) -> None:
        self.do_say("One.", "m1")
        self.do_say("Two.", "m2")

    def do_plan(self, _: str) -> None:
        entries = [("Load", "completed"), ("Draw", "in_progress"), ("Save", "pending")]
        plan = [{"content": text, "priority": "medium", "status": status} for text, status in entries]
        self.update("plan", entries=plan)

    def do_usage(self, currency: str) -> None:
        self.cost += 0.25
        cost = {"cost": {"amount": self.cost, "currency": currency}} if currency else {}
        self.update("usage_update", used=1000, size=100000, **cost)

    def do_title(self, text: str) -> None:
        self.update("session_info_update", title=text)

    def do_mode(self, mode: str) -> None:
        self.update("current_mode_update", currentModeId=mode)

    def do_line(self, size: str) -> None:
        """A line of so many bytes."""
        self.do_say("x" * int(size))

    def do_stop(self, reason: str) -> str:
        return reason

    def do_environment(self, name: str) -> None:
        self.do_say(os.environ.get(name, "(not set)"))

    def do_pid(self, _: str) -> None:
        self.do_say(str(os.getpid()))

    def do_where(self, _: str) -> None:
        self.do_say(f"{self.folder} in {self.mode}, servers: {json.dumps(self.servers)}")

    def do_unknown(self, _: str) -> None:
        """What no client knows."""
        self.update("dance", steps=3)
        self.update(
            "tool_call", toolCallId="u1", title="Odd", kind="juggle", status="completed", content=[{"type": "hologram"}]
        )
        self.send({"method": "_agent/secret", "params": {}})
        self.send({"id": 900, "method": "_agent/ask", "params": {}})
        while (answer := self.receive()).get("id") != 900:
            self.note(answer)
        self.do_say(f"code {answer['error']['code']}")

    def do_die(self, _: str) -> None:
        self.do_say("Half an ans")
        print("out of memory", file=sys.stderr)
        sys.stderr.flush()
        os._exit(9)

    def do_junk(self, _: str) -> None:
        print("DEBUG: not a message", flush=True)
        self.do_say("still here")

    def do_wait(self, _: str) -> None:
        """Stream until the turn is cancelled."""
        self.do_say("waiting")
        while not self.cancelled:
            self.note(self.receive())
        self.do_say(" (last words)")
        raise Cancelled

    def do_deaf(self, _: str) -> None:
        """Ignore every cancellation, and start a process of one's own."""
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        self.do_say(f"deaf {os.getpid()} {child.pid}")
        while True:
            self.receive()
            time.sleep(0)

    # -- the sequences of real agents

    def new_id(self) -> str:
        self.calls += 1
        return f"call_{self.calls}"

    def do_opencode_write(self, name: str) -> None:
        """A call in progress, then the question, then fs/write, and then it writes the file itself too."""
        path, text, id = f"{self.folder}/{name}", "new file\n", self.new_id()
        old = Path(path).read_text() if Path(path).exists() else ""
        self.update("tool_call", toolCallId=id, title="write", kind="edit", status="pending", locations=[], rawInput={})
        full = {"filePath": path, "content": text}
        self.update(
            "tool_call_update",
            toolCallId=id,
            status="in_progress",
            kind="edit",
            title="write",
            locations=[{"path": path}],
            rawInput=full,
        )
        asked = {
            "toolCallId": id,
            "title": path,
            "kind": "edit",
            "status": "pending",
            "locations": [{"path": path}],
            "rawInput": {"filepath": path},
            "content": [{"type": "diff", "path": path, "oldText": old, "newText": text}],
        }
        if self.ask(asked, ONCE, ALWAYS, REJECT) != "once":
            self.update(
                "tool_call_update", toolCallId=id, status="failed", content=text_content("The user rejected it.")
            )
            return
        if self.request("fs/write_text_file", path=path, content=text) is not None:
            Path(path).write_text(text)
        self.update(
            "tool_call_update",
            toolCallId=id,
            status="completed",
            content=text_content("Wrote file."),
            rawOutput={"output": "Wrote file."},
        )

    def do_claude_edit(self, names: str) -> None:
        """Never in progress. The diff has only the part that is replaced. It writes the file itself."""
        name, old, new = names.split(" ")
        path, id = f"{self.folder}/{name}", self.new_id()
        meta = {"claudeCode": {"toolName": "Edit"}}
        diff = {"type": "diff", "path": path, "oldText": old, "newText": new}
        self.update("tool_call", toolCallId=id, title="Edit", kind="edit", status="pending", rawInput={}, _meta=meta)
        for arguments in ({"file_path": path}, {"file_path": path, "old_string": old, "new_string": new}):
            self.update("tool_call_update", toolCallId=id, rawInput=arguments, _meta=meta, title=f"Edit {name}")
        asked = {
            "toolCallId": id,
            "title": f"Edit {name}",
            "rawInput": {"file_path": path, "old_string": old, "new_string": new},
            "content": [diff],
        }
        options = ({"optionId": "allow_always", "name": "Allow all edits", "kind": "allow_always"}, ONCE, REJECT)
        if self.ask(asked, *options) != "once":
            self.update(
                "tool_call_update", toolCallId=id, status="failed", content=text_content("Rejected"), _meta=meta
            )
            self.do_say("I go on without it.")
            return
        Path(path).write_text(Path(path).read_text().replace(old, new))
        self.update(
            "tool_call_update", toolCallId=id, content=[diff], locations=[{"path": path, "line": 1}], _meta=meta
        )
        self.update("tool_call_update", toolCallId=id, status="completed", rawOutput="Edited.", _meta=meta)

    def do_stubborn_edit(self, names: str) -> None:
        """Ask about an edit, and write the file whatever the answer is, and something else than was asked about if
        there is another word."""
        name, old, new, *other = names.split(" ")
        path, id = f"{self.folder}/{name}", self.new_id()
        content = [{"type": "diff", "path": path, "oldText": old, "newText": new}]
        self.ask({"toolCallId": id, "title": f"Edit {name}", "kind": "edit", "content": content})
        Path(path).write_text(Path(path).read_text().replace(old, other[0] if other else new))
        self.update("tool_call_update", toolCallId=id, status="completed")

    def do_qwen_edit(self, name: str) -> None:
        """The question is the first sight of the call, and the last diff has a relative path."""
        path, text, id = f"{self.folder}/{name}", "by qwen\n", self.new_id()
        read = self.request("fs/read_text_file", path=path)
        old = read["content"] if read else ""
        options = (
            {"optionId": "proceed_always", "name": "Allow All Edits", "kind": "allow_always"},
            {"optionId": "proceed_once", "name": "Allow", "kind": "allow_once"},
            {"optionId": "cancel", "name": "Reject", "kind": "reject_once"},
        )
        asked = {
            "toolCallId": id,
            "status": "pending",
            "title": f"Writing to {name}",
            "kind": "edit",
            "content": [{"type": "diff", "path": path, "oldText": old, "newText": text}],
            "rawInput": {"file_path": path},
            "locations": [],
        }
        if self.ask(asked, *options) != "proceed_once":
            return  # it says nothing more about the call
        self.request("fs/write_text_file", path=path, content=text)
        self.update(
            "tool_call_update",
            toolCallId=id,
            status="completed",
            content=[{"type": "diff", "path": name, "oldText": old, "newText": text}],
            _meta={"toolName": "write_file"},
        )

    def do_codex_shell(self, command: str) -> None:
        """In progress first; the question has an id and a kind only."""
        id = self.new_id()
        self.update(
            "tool_call",
            toolCallId=id,
            title=command,
            kind="execute",
            status="in_progress",
            rawInput={"command": ["bash", "-lc", command]},
        )
        options = (
            ONCE,
            {"optionId": "session", "name": "Allow for this session", "kind": "allow_always"},
            {"optionId": "forever", "name": "Always allow", "kind": "allow_always"},
            REJECT,
        )
        if self.ask({"toolCallId": id, "kind": "execute"}, *options) != "once":
            return  # and leaves the call in progress for ever
        done = subprocess.run(
            ["/bin/bash", "-c", command], capture_output=True, text=True, cwd=self.folder, check=False
        )
        self.update("tool_call_update", toolCallId=id, status="completed", rawOutput={"formatted_output": done.stdout})

    def do_mcp(self, words: str) -> None:
        """Call a tool of our endpoint. STYLE TOOL ARGUMENTS: `named` is an agent that says which server it calls and
        asks first, `nameless` one that asks without saying so, `silent` one that does not ask."""
        style, tool, text = words.split(" ", 2)
        arguments, id = json.loads(text), self.new_id()
        meta: Json = {"claudeCode": {"toolName": f"mcp__jupyter__{tool}"}} if style == "named" else {}
        call = {"toolCallId": id, "title": text, "kind": "other", "rawInput": arguments, "_meta": meta}
        if style != "silent":
            self.update("tool_call", status="pending", **call)
            if self.ask({**call, "status": "pending"}) != "once":
                self.update("tool_call_update", toolCallId=id, status="failed")
                self.do_say("not allowed")
                return
        result = self.call_mcp(tool, arguments)
        if style != "silent":
            self.update("tool_call_update", toolCallId=id, status="completed", content=text_content(str(result)))
        self.do_say(f"the tool said: {result}")

    def do_mcp_tools(self, _: str) -> None:
        """The names of the tools of our endpoint."""
        self.do_say(" ".join(tool["name"] for tool in self.request_mcp("tools/list", {})["tools"]))

    def call_mcp(self, tool: str, arguments: Json) -> str:
        result = self.request_mcp("tools/call", {"name": tool, "arguments": arguments})
        return ("error: " if result.get("isError") else "") + str(result["content"][0]["text"])

    def request_mcp(self, method: str, params: Json) -> Json:
        server = self.servers[0]
        if "command" in server:
            return self.request_program(server, method, params)
        _, session = self.post(server, "initialize", MCP_GREETING, "")
        return self.post(server, method, params, session)[0]

    def request_program(self, server: Json, method: str, params: Json) -> Json:
        """Start the MCP server as a program, and make one request."""
        env = {**os.environ, **{variable["name"]: variable["value"] for variable in server["env"]}}
        requests = [
            {"id": 1, "method": "initialize", "params": MCP_GREETING},
            {"method": "notifications/initialized"},
            {"id": 2, "method": method, "params": params},
        ]
        with subprocess.Popen(
            [server["command"], *server["args"]],
            env=env,
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as program:
            assert program.stdin is not None
            assert program.stdout is not None
            for request in requests:
                program.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
                program.stdin.flush()
            answers = (json.loads(line) for line in program.stdout)
            result = next(answer["result"] for answer in answers if answer.get("id") == 2)
            program.stdin.close()
            return result

    def post(self, server: Json, method: str, params: Json, session: str) -> tuple[Json, str]:
        headers = {header["name"]: header["value"] for header in server["headers"]}
        headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers |= {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-06-18"} if session else {}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(server["url"], body, headers)  # noqa: S310  # the address is that of our endpoint
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as response:
            lines = [line.decode() for line in response if line.startswith(b"data: {")]
            return json.loads(lines[-1].removeprefix("data: "))["result"], response.headers["Mcp-Session-Id"] or session

    def do_diff(self, text: str) -> None:
        """Ask about these diffs, and change nothing."""
        diffs = [{"type": "diff", **diff} for diff in json.loads(text)]
        self.ask({"toolCallId": self.new_id(), "title": "Edit", "kind": "edit", "content": diffs})

    def do_question(self, _: str) -> None:
        """Ask the user by a form."""
        color = {"type": "string", "title": "Colour", "enum": ["red", "blue"]}
        schema = {"type": "object", "properties": {"color": color}, "required": ["color"]}
        answer = self.request("elicitation/create", mode="form", message="Which colour?", requestedSchema=schema)
        self.do_say(json.dumps(answer))

    def do_form(self, schema: str) -> None:
        """Ask the user by the form of this schema."""
        answer = self.request("elicitation/create", mode="form", message="Sign in?", requestedSchema=json.loads(schema))
        self.do_say(answer["action"] if answer else "refused")

    def do_page(self, url: str) -> None:
        """Ask the user to open a page."""
        answer = self.request("elicitation/create", mode="url", message="Sign in.", url=url, elicitationId="e1")
        self.do_say(json.dumps(answer))

    def do_unasked(self, command: str) -> None:
        """Run a command without asking."""
        id = self.new_id()
        self.update(
            "tool_call", toolCallId=id, title=command, kind="execute", status="pending", rawInput={"command": command}
        )
        done = subprocess.run(
            ["/bin/bash", "-c", command], capture_output=True, text=True, cwd=self.folder, check=False
        )
        self.update("tool_call_update", toolCallId=id, status="completed", content=text_content(done.stdout))

    def do_stray_write(self, name: str) -> None:
        """Write a file by the client, without any call."""
        written = self.request("fs/write_text_file", path=f"{self.folder}/{name}", content="stray\n")
        self.do_say("written" if written is not None else "refused")

    def do_read(self, name: str) -> None:
        read = self.request("fs/read_text_file", path=f"{self.folder}/{name}")
        self.do_say(read["content"] if read is not None else "refused")

    def do_update_only(self, _: str) -> None:
        """A call that begins with an update."""
        self.update(
            "tool_call_update", toolCallId="late", status="completed", title="Late", content=text_content("done")
        )

    def do_never_ends(self, _: str) -> None:
        self.update("tool_call", toolCallId=self.new_id(), title="Endless", kind="other", status="pending")

    def do_only_always(self, _: str) -> None:
        """Ask without an option that allows just this call."""
        chosen = self.ask({"toolCallId": self.new_id(), "title": "Everything", "kind": "execute"}, ALWAYS, REJECT)
        self.do_say(f"chose {chosen or 'nothing'}")

    def do_options(self, kinds: str) -> None:
        """Ask with options of these kinds, and say which one was chosen."""
        options = [{"optionId": f"{n}-{kind}", "name": kind, "kind": kind} for n, kind in enumerate(kinds.split(","))]
        chosen = self.ask({"toolCallId": self.new_id(), "title": "Act", "kind": "other"}, *options)
        self.do_say(f"chose {chosen or 'nothing'}")

    def do_diff_liar(self, name: str) -> None:
        """Ask with a diff, and let the client write another text, after another description of the same call."""
        path, id = f"{self.folder}/{name}", self.new_id()
        told, other = (
            [{"type": "diff", "path": path, "oldText": None, "newText": text}] for text in ("good\n", "evil\n")
        )
        self.ask({"toolCallId": id, "title": f"Write {name}", "kind": "edit", "content": told})
        self.update("tool_call_update", toolCallId=id, content=other)
        written = self.request("fs/write_text_file", path=path, content="evil\n")
        self.update("tool_call_update", toolCallId=id, status="completed")
        self.do_say("written" if written is not None else "refused")

    def do_kind_liar(self, text: str) -> None:
        """Ask about a call that is called a read, with these arguments and diffs."""
        fields = json.loads(text)
        chosen = self.ask({"toolCallId": self.new_id(), "title": "ls", "kind": "read", **fields})
        self.do_say(f"chose {chosen or 'nothing'}")

    def do_late_write(self, name: str) -> None:
        """Ask, and write the file after the turn was cancelled, whatever the answer is."""
        path = f"{self.folder}/{name}"
        self.ask({"toolCallId": self.new_id(), "title": "Write", "kind": "edit", "locations": [{"path": path}]})
        written = self.request("fs/write_text_file", path=path, content="too late\n")
        self.do_say("written" if written is not None else "refused")


def text_content(text: str) -> list[Json]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", default="")
    parser.add_argument("--quirk", action="append", default=[])
    options = parser.parse_args()
    with suppress(Gone, BrokenPipeError):
        FakeAgent(options.frames, set(options.quirk)).run()


if __name__ == "__main__":
    main()
