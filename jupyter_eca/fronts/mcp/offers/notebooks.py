"""Owns the resources that the assistant offers over MCP: open notebooks, their cells, their kernels, and the chats. A
resource is data with a URI that a client can read, such as `eca://notebook/work%2Fa.ipynb`.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

import mcp_types as types

from jupyter_eca.errors import EcaError
from jupyter_eca.fronts.mcp import answers
from jupyter_eca.fronts.mcp.offers_base import Offers, RefusedCall
from jupyter_eca.fronts.mcp.turn_listeners import CHAT_URI
from jupyter_eca.host.turn.open_notebooks import find_kernels
from jupyter_eca.protocol.content import (
    ReasonTextContent,
    Role,
    TextContent,
    ToolCalledContent,
    ToolCallRejectedContent,
)
from jupyter_eca.protocol.event import merge_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.fronts.mcp.assistant import Assistant
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument, NotebookInfo
    from jupyter_eca.workspace.ports import Notebooks

JSON_TYPE: Final = "application/json"

# The forms of the URIs of resources. `turn_listeners.py` has the form for chats.
_NOTEBOOK: Final = "eca://notebook/{path}"
_CELL: Final = "eca://notebook/{path}/cell/{id}"
_KERNEL: Final = "eca://kernel/{path}"
_URI: Final = re.compile(r"eca://(?P<kind>notebook|kernel|chat)/(?P<name>[^/]+)(?:/cell/(?P<cell>[^/]+))?")


class NotebookShelf:
    """The open notebooks, their cells and kernels, and the chats, as a group of resources. The class implements
    `ResourceShelf`, `PolledShelf` and `GuardedShelf`. In a URI, the `/` of a path is written as %2F."""

    async def list(self, backend: Assistant) -> list[types.Resource]:
        """Return the open notebooks, their kernels, and the chats of the workspace."""
        opened = await _list_open_notebooks(backend)
        active = "The notebook that is worked in" if opened and opened[0].active else ""
        resources = [
            _make_resource(_NOTEBOOK, info.path, active if info.active else "An open notebook, as it is now")
            for info in opened
        ]
        resources += [
            _make_resource(_KERNEL, info.path, f"The kernel of {info.path}: its state and its variables")
            for info in opened
            if info.kernel_id
        ]
        host = backend.host
        await host.store.settle()
        return resources + [
            types.Resource(
                uri=CHAT_URI.format(id=quote(row.id, safe="")),
                name=row.title or row.id,
                description="What was said in a chat",
                mime_type=JSON_TYPE,
            )
            for row in await host.chats.list_rows()
            if row.workspace == host.store.workspace
        ]

    def list_templates(self) -> Sequence[types.ResourceTemplate]:
        """Return the forms of the URIs."""
        described = (
            (_NOTEBOOK, "notebook", "A notebook, its cells with ids, sources, states and outputs; / in path is %2F"),
            (_CELL, "cell", "One cell of a notebook"),
            (_KERNEL, "kernel", "The kernel of a notebook: its state and its variables"),
            (CHAT_URI, "chat", "What was said in a chat"),
        )
        return [
            types.ResourceTemplate(uri_template=template, name=name, description=words, mime_type=JSON_TYPE)
            for template, name, words in described
        ]

    async def complete(self, backend: Assistant, template: str, argument: str) -> Sequence[str]:
        """Return the values that an argument of a template can have now: paths of notebooks, or ids of chats."""
        if argument == "path":
            return [quote(info.path, safe="") for info in await _list_open_notebooks(backend)]
        if template == CHAT_URI:
            return [
                row.id for row in await backend.host.chats.list_rows() if row.workspace == backend.host.store.workspace
            ]
        return []

    async def fingerprint(self, backend: Assistant, uri: str) -> str | None:
        """Return a digest of a notebook or a kernel, which is different after each change. Return None for a chat.

        The digest of a kernel includes its notebook, because the cells show what has run. So no code has to run in the
        kernel to notice a change of its variables.
        """
        match = _URI.fullmatch(uri)
        if match is None or match["kind"] == "chat":
            return None
        path = unquote(match["name"])
        parts: list[Any] = []
        with suppress(EcaError):
            parts.append((await _find_notebooks(backend).read(path)).as_json_object())
        if match["kind"] == "kernel":
            with suppress(EcaError):
                kernels = find_kernels(backend.host.services, None)  # None: no cell asks
                kernel = await kernels.find(path) if kernels is not None else backend.host.workspace.kernel
                parts.append((await kernel.state()).as_json_object() if kernel is not None else None)
        return hashlib.sha256(answers.as_json({"parts": parts}).encode("utf-8", "replace")).hexdigest()

    def needs_ask_access(self, uri: str) -> bool:
        """Return whether a resource is a notebook or a kernel. A client that may only read chats must not read these,
        also because code runs in a kernel when it is read."""
        match = _URI.fullmatch(uri)
        return match is not None and match["kind"] != "chat"

    async def read(self, backend: Assistant, uri: str) -> types.ReadResourceResult | None:
        """Return the resource with this URI; None for a URI of another form. Raises: ToolError."""
        match = _URI.fullmatch(uri)
        if match is None:
            return None
        name = unquote(match["name"])
        match match["kind"]:
            case "notebook":
                data = await _read_notebook(backend, name, unquote(match["cell"]) if match["cell"] else None)
            case "kernel":
                data = await _read_kernel(backend, name)
            case _:
                data = await _read_chat(backend, name)
        content = types.TextResourceContents(uri=uri, mime_type=JSON_TYPE, text=answers.as_json(data))
        return types.ReadResourceResult(contents=[content])


OFFERS = Offers(shelves=(NotebookShelf(),))


def _make_resource(template: str, path: str, description: str) -> types.Resource:
    """Make the resource of a notebook or of its kernel."""
    uri = template.format(path=quote(path, safe=""))
    return types.Resource(uri=uri, name=path, description=description, mime_type=JSON_TYPE)


def _find_notebooks(backend: Assistant) -> Notebooks:
    """Return the access to notebooks. Raises: RefusedCall when there is none."""
    notebooks = backend.host.tool_contexts.find_notebooks("")  # "": no chat asks
    if notebooks is None:
        raise RefusedCall("There are no notebooks here.")
    return notebooks


async def _list_open_notebooks(backend: Assistant) -> Sequence[NotebookInfo]:
    """Return the open notebooks. The one in which the user works comes first."""
    notebooks = backend.host.tool_contexts.find_notebooks("")  # "": no chat asks
    return await notebooks.list() if notebooks is not None else ()


async def _read_notebook(backend: Assistant, path: str, cell: str | None) -> dict[str, Any]:
    """Return a notebook with all its cells, or only the cell with this id. Raises: RefusedCall, ToolError."""
    document = await _find_notebooks(backend).read(path)
    if cell is None:
        return {**document.as_json_object(), "cells": [_describe_cell(document, known) for known in document.cells]}
    wanted = document.find_cell(cell)
    if wanted is None:
        raise RefusedCall(f"{path} has no cell {cell!r}.")
    return _describe_cell(document, wanted)


def _describe_cell(document: NotebookDocument, cell: NotebookCell) -> dict[str, Any]:
    """Return a cell as a JSON object, with its number in the notebook and its own URI."""
    number = document.cells.index(cell) + 1
    uri = _CELL.format(path=quote(document.path, safe=""), id=quote(cell.id, safe=""))
    return {"number": number, "uri": uri, **cell.as_json_object()}


async def _read_kernel(backend: Assistant, path: str) -> dict[str, Any]:
    """Return the state of a notebook's kernel, and its variables if it is idle."""
    kernels = find_kernels(backend.host.services, None)  # None: no cell asks
    # Where notebooks have no kernels of their own, as in a process without a Jupyter server, one kernel may serve all.
    kernel = await kernels.find(path) if kernels is not None else backend.host.workspace.kernel
    if kernel is None:
        raise RefusedCall("There is no kernel here.")
    state = await kernel.state()
    fields = {"notebook": path, "id": kernel.id, **state.as_json_object()}
    if state.status != "idle":
        return fields
    result = await kernel.variables("", ())  # all variables, and "": no chat asks
    return {**fields, "variables": [variable.as_json_object() for variable in result.variables]}


async def _read_chat(backend: Assistant, id: str) -> dict[str, Any]:
    """Return what was said in a chat. Raises: RefusedCall when there is no such chat."""
    host = backend.host
    await host.store.settle()
    row = await host.chats.read_row(id)
    if row is None or row.workspace != host.store.workspace:
        raise RefusedCall(f"There is no chat {id!r}.")
    lines = [
        {**line, **({"by": event.by.as_json_object()} if event.by else {})}
        for event in merge_pieces(await host.chats.read_events(id))
        if (line := _make_line(event))
    ]
    return {"sessionId": id, "title": row.title, "status": host.chats.get_status(id).value, "said": lines}


def _make_line(event: Event) -> dict[str, Any] | None:
    """Return an event of a chat as a JSON object; None for an event that is not part of the conversation."""
    match event.content:
        case TextContent(text=text):
            return {"role": event.role.value, "text": text}
        case ReasonTextContent(text=text):
            return {"role": "reasoning", "text": text}
        case ToolCalledContent(name=name, arguments=arguments, error=error, outputs=outputs):
            text = "\n".join(output.text for output in outputs)
            return {"role": "tool", "name": name, "arguments": arguments, "error": error, "text": text}
        case ToolCallRejectedContent(name=name, arguments=arguments, reason=reason):
            return {"role": Role.SYSTEM.value, "name": name, "arguments": arguments, "rejected": reason.value}
        case _:
            return None
