"""The published JSON schema of the Agent Client Protocol, version 1. Every message of a test is held against it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

from jupyter_eca.protocol.jsonrpc import ErrorResponse, Notification, Request, Result, to_json

if TYPE_CHECKING:
    from jupyter_eca.protocol.jsonrpc import Id, Message

FILE = Path(__file__).parents[1] / "npm/node_modules/@agentclientprotocol/sdk/schema/v1/schema.json"


@cache
def read_schema() -> dict[str, Any]:
    return json.loads(FILE.read_text())


@cache
def find_definitions() -> dict[tuple[str, str], str]:
    """The name of the definition for each method, as a request or notification, and as its response."""
    found: dict[tuple[str, str], str] = {}
    for name, definition in read_schema()["$defs"].items():
        if method := definition.get("x-method"):
            kind = "response" if name.endswith("Response") else "call"
            found[method, kind] = name
    return found


@cache
def make_validator(name: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": read_schema()["$defs"]})


def list_faults(name: str, data: Any) -> list[str]:
    """What is wrong with data of this definition, in words."""
    errors: list[Any] = list(make_validator(name).iter_errors(data))  # pyright: ignore[reportUnknownMemberType]
    return [f"{name}: {error.json_path}: {error.message[:300]}" for error in errors]


class Conversation:
    """Checks the messages of one connection in both directions. An answer is checked by the request that it is for."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.methods: set[str] = set()
        self._asked: dict[tuple[str, Id | None], str] = {}

    def check(self, message: Message, sender: str) -> None:
        """Note the faults of a message. `sender` is `client` or `agent`."""
        definitions = find_definitions()
        other = "agent" if sender == "client" else "client"
        match message:
            case Request(id, method, params):
                self._asked[sender, id] = method
                self._check_call(definitions, method, params)
            case Notification(method, params):
                self._check_call(definitions, method, params)
            case Result(id, result):
                method = self._asked.get((other, id), "")
                if (name := definitions.get((method, "response"))) is not None:
                    self.faults += list_faults(name, result)
                elif method:
                    self.faults.append(f"an answer to {method!r}, which the schema does not have")
            case ErrorResponse():
                self.faults += list_faults("Error", to_json(message)["error"])

    def _check_call(self, definitions: dict[tuple[str, str], str], method: str, params: Any) -> None:
        self.methods.add(method)
        name = definitions.get((method, "call"))
        self.faults += list_faults(name, params) if name is not None else [f"the schema has no method {method!r}"]
