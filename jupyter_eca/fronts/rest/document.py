"""Owns the description of the REST front: an OpenAPI document for programs, and a page for people. Pure.

It must not know the operations themselves: `app.py` lists them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from jupyter_eca._version import __version__
from jupyter_eca.protocol import rest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

Json = dict[str, Any]

# The form of a reference to a model's schema.
_REF: Final = "#/components/schemas/{model}"
# The schema and the description of each parameter in a path.
_PARAMETERS: Final = {
    "server_id": ({"type": "string", "minLength": 1}, "As `/servers` lists it."),
    "chat_id": ({"type": "string", "pattern": rest.CHAT_ID_PATTERN}, "As `/chats` lists it."),
}
# The schema of one event in a stream. OpenAPI does not define events, and tools apply this schema to each event.
_EVENT: Final[Json] = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "id": {"type": "string", "pattern": "^[0-9]*$"},
        "data": {
            "type": "string",
            "anyOf": [
                {"const": "[DONE]"},
                {"pattern": r"^\[ERROR\] "},
                {"contentMediaType": "application/json", "contentSchema": {"$ref": _REF.format(model="StreamEvent")}},
            ],
        },
    },
}
# The CSS of the page.
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}"
    "code,pre{font:14px/1.4 monospace;background:#8882}pre{padding:.5rem;overflow:auto}"
    "h2{border-top:1px solid #8886;padding-top:1rem}:root{color-scheme:light dark}"
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the API.

    A client that may only read can send the operations with the method GET, and those with `allows_readers`."""

    method: str
    """The HTTP method, in capitals."""

    path: str
    """The path, with its parameters in the form that Starlette uses."""

    answer: Callable[[Request], Awaitable[Response]]
    """The function that answers a request."""

    result: Any
    """The type of the response's body or, with `streams`, of each event."""

    summary: str
    """What the operation does, for the description."""

    body: Any = None
    """The type of the request's body; None if it has no body."""

    errors: Mapping[int, str] = field(default_factory=dict[int, str])
    """The reason for each HTTP status of an error. If it is "", the description has HTTP's own text of the status."""

    streams: bool = False
    """Whether the response is a stream of server-sent events."""

    allows_readers: bool = False
    """Whether a client that may only read can send the operation, although its method is not GET. Then the function
    `answer` itself refuses what such a client may not do."""

    @property
    def shown_path(self) -> str:
        """The path in the form that OpenAPI uses."""
        return self.path.replace(":path}", "}")


def make_openapi(operations: Sequence[Operation]) -> Json:
    """Return the OpenAPI document of the operations."""
    schemas: Json = {}
    paths: dict[str, Json] = {}
    for operation in operations:
        paths.setdefault(operation.shown_path, {})[operation.method.lower()] = _describe_operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "jupyter_eca: MCP chat",
            "version": __version__,
            "description": "One tool server at a time, and conversations that have its tools alone.",
        },
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def _describe_operation(operation: Operation, schemas: Json) -> Json:
    """Return the description of one operation in OpenAPI's form. The schemas of its models are added to `schemas`."""
    result = _make_schema(operation.result, schemas, "serialization")
    kind = "application/json"
    if operation.streams:
        schemas["StreamEvent"] = result
        schemas["Event"] = _EVENT
        kind, result = "text/event-stream", {"$ref": _REF.format(model="Event")}
    problem = {"application/json": {"schema": _make_schema(rest.RestProblem, schemas, "serialization")}}
    answers: Json = {"200": {"description": "It is done.", "content": {kind: {"schema": result}}}}
    answers |= {
        str(status): {"description": reason or HTTPStatus(status).phrase, "content": problem}
        for status, reason in operation.errors.items()
    }
    name = f"{operation.method} {operation.shown_path}".lower().replace("/", " ").replace("{", "").replace("}", "")
    described: Json = {"summary": operation.summary, "operationId": "_".join(name.split()), "responses": answers}
    if parameters := [
        {"name": name, "in": "path", "required": True, "schema": schema, "description": description}
        for name, (schema, description) in _PARAMETERS.items()
        if f"{{{name}}}" in operation.shown_path
    ]:
        described["parameters"] = parameters
    if operation.body is not None:
        schema = _make_schema(operation.body, schemas, "validation")
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
        described["parameters"] = [
            {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string", "pattern": "^[0-9]{0,18}$"}}
        ]
    return described


def _make_schema(kind: Any, schemas: Json, mode: Any) -> Json:
    """Return the JSON schema of a type. The schemas of the models in it are added to `schemas`. `mode` is pydantic's:
    "validation" for what clients send, "serialization" for what they get."""
    schema = TypeAdapter(kind).json_schema(ref_template=_REF, mode=mode)
    schemas.update(schema.pop("$defs", {}))
    if isinstance(kind, type) and issubclass(kind, rest.RestModel):
        schemas[kind.__name__] = schema
        return {"$ref": _REF.format(model=kind.__name__)}
    return schema


def write_page(description: Json) -> str:
    """Return the page for people as HTML. It has no script and loads no other file, so it works without a network."""
    info = description["info"]
    parts = [f"<h1>{escape(info['title'])}</h1><p>Version {escape(info['version'])}. {escape(info['description'])}</p>"]
    parts.append('<p>For programs: <a href="openapi.json">openapi.json</a></p>')
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            parts.append(f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation['summary'])}</p>")
            parts.append(_write_operation_details(operation))
    for name, schema in description["components"]["schemas"].items():
        parts.append(f'<h2 id="{escape(name)}">{escape(name)}</h2><pre>{escape(json.dumps(schema, indent=2))}</pre>')
    head = f'<meta charset="utf-8"><title>{escape(info["title"])}</title><style>{_STYLE}</style>'
    return f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'


def _write_operation_details(operation: Json) -> str:
    """Return the parameters, the body and the responses of an operation as an HTML list."""
    rows = [
        f"<li>{escape(parameter['name'])} ({parameter['in']}): {escape(parameter.get('description', ''))}</li>"
        for parameter in operation.get("parameters", ())
    ]
    if body := operation.get("requestBody"):
        rows.append(f"<li>body: {_make_link(body['content']['application/json']['schema'])}</li>")
    for status, answer in operation["responses"].items():
        (kind, content), *_ = answer["content"].items()
        rows.append(
            f"<li>{status}: {escape(answer['description'])} <code>{kind}</code> {_make_link(content['schema'])}</li>"
        )
    return f"<ul>{''.join(rows)}</ul>"


def _make_link(schema: Json) -> str:
    """Return a link to the schema of a model on the page; "" for a schema that is not a reference to a model."""
    name = schema.get("$ref", schema.get("items", {}).get("$ref", "")).rpartition("/")[2]
    return f'<a href="#{escape(name)}">{escape(name)}</a>' if name else ""
