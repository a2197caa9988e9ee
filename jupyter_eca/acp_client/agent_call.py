"""Owns `AgentCall`, a tool call of an outside agent, as far as the agent has described it. Pure.

An agent describes a call piece by piece: `tool_call`, then `tool_call_update`, and the request for permission. Some
agents begin with the request. So every description may create a call, and is merged into what is known of the call.
This module must not know our own tool calls: `host/outside/call_view.py` makes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

Json = Mapping[str, Any]

# Statuses after which nothing follows.
ENDED: Final = frozenset({"completed", "failed"})

# What separates a server and its tool in the names of MCP tools: `mcp__jupyter__eca_notebook_read`.
_SEPARATOR: Final = "__"
_MCP: Final = f"mcp{_SEPARATOR}"


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A tool call of an outside agent. Fields that the agent has not described are empty."""

    id: str
    """The agent's id of the call."""
    title: str = ""
    """What the call does, for the user."""
    first_title: str = ""
    """The title that the agent gave first. Some agents begin with the name of the tool."""
    name: str = ""
    """The name of the tool, if the agent names it apart from the title."""
    kind: str = "other"
    """What the call does, in one word of the protocol: `read`, `edit`, `execute` and others."""
    status: str = "pending"
    """How far the call is, in a word of the protocol: `pending`, `in_progress`, `completed` or `failed`."""
    content: tuple[Json, ...] = ()
    """What the call has shown: texts, images, diffs."""
    paths: tuple[str, ...] = ()
    """The files that the call works on."""
    raw_input: Json = field(default_factory=dict[str, Any])
    """The arguments of the call."""
    raw_output: Any = None
    """The result of the call, as JSON of any shape that the agent chooses; None before there is one."""
    mcp: tuple[str, str] | None = None
    """The server and the tool, if the agent says that the call is one of an MCP server."""

    @property
    def has_ended(self) -> bool:
        """Whether the call has ended."""
        return self.status in ENDED

    @property
    def diffs(self) -> tuple[Json, ...]:
        """The changes of files that it has described."""
        return tuple(item for item in self.content if item.get("type") == "diff" and isinstance(item.get("path"), str))

    @property
    def command(self) -> str:
        """The command line that it runs; "" for none."""
        command = self.raw_input.get("command")
        if isinstance(command, str):
            return command
        if isinstance(command, Sequence):
            words = [str(word) for word in cast("Sequence[object]", command)]
            # Codex runs `bash -lc LINE`.
            return words[-1] if len(words) == 3 and words[1] in {"-c", "-lc"} else " ".join(words)
        return ""

    def merge(self, fields: Json) -> AgentCall:
        """Return the call with a further description. A field that is absent or null stays as it is. Empty arguments do
        not replace the known ones, because some agents repeat the arguments as an empty object."""
        title = _get_text(fields, "title")
        raw_input = fields.get("rawInput")
        arguments = cast("Json", raw_input) if isinstance(raw_input, Mapping) and raw_input else self.raw_input
        content, locations = fields.get("content"), fields.get("locations")
        meta = fields.get("_meta")
        known = {**self.raw_input, **arguments} if arguments is not self.raw_input else arguments
        return replace(
            self,
            title=title or self.title,
            first_title=self.first_title or title,
            name=_get_text(fields, "name") or _find_name(meta) or self.name,
            kind=_get_text(fields, "kind") or self.kind,
            status=_get_text(fields, "status") or self.status,
            content=self.content if content is None else _list_objects(content),
            paths=self.paths if locations is None else _list_paths(locations),
            raw_input=known,
            raw_output=self.raw_output if fields.get("rawOutput") is None else fields["rawOutput"],
            mcp=_find_mcp(meta, _get_text(fields, "name") or _find_name(meta), arguments) or self.mcp,
        )

    def as_text(self) -> str:
        """Return the result of the call as text."""
        texts = [_read_text(item) for item in self.content]
        text = "\n".join(filter(None, texts))
        # If there is a diff, a raw output that is not a text adds nothing.
        return text if text or (self.diffs and not isinstance(self.raw_output, str)) else _read_output(self.raw_output)

    def list_images(self) -> list[tuple[str, str]]:
        """Return the media type and the data of each image of the result."""
        blocks = [item.get("content") for item in self.content if item.get("type") == "content"]
        return [image for block in blocks if (image := read_image(block)) is not None]


def read_image(block: Any) -> tuple[str, str] | None:
    """Return the media type and the data of a block that is an image; None for another block."""
    if not isinstance(block, Mapping):
        return None
    fields = cast("Json", block)
    data, media_type = fields.get("data"), fields.get("mimeType")
    is_image = fields.get("type") == "image" and isinstance(data, str) and isinstance(media_type, str)
    return (str(media_type), str(data)) if is_image else None


def read_block(block: Any) -> str:
    """Return a block of a message as text; "" for one that has none, such as an image."""
    if not isinstance(block, Mapping):
        return ""
    fields = cast("Json", block)
    match fields.get("type"):
        case "text":
            return _get_text(fields, "text")
        case "resource_link":
            return f"[{_get_text(fields, 'title') or _get_text(fields, 'name')}]({_get_text(fields, 'uri')})"
        case "resource":
            resource = fields.get("resource")
            return _get_text(cast("Json", resource), "text") if isinstance(resource, Mapping) else ""
        case "audio":
            return "(a sound)"
        case _:
            return ""


def _read_text(item: Json) -> str:
    """Return an item of a call's content as text."""
    return read_block(item.get("content")) if item.get("type") == "content" else ""


def _read_output(output: Any) -> str:
    """Return the result in the agent's own form as text."""
    if isinstance(output, str):
        return output
    if isinstance(output, Mapping):
        fields = cast("Json", output)
        for name in ("output", "formatted_output", "stdout", "result", "error"):
            if isinstance(text := fields.get(name), str):
                return text
    return "" if output is None else json.dumps(output, ensure_ascii=False, default=str)


def _get_text(fields: Json, name: str) -> str:
    """Return a field that is a text; "" if it is absent or no text."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _find_name(meta: Any) -> str:
    """Return the name of the tool that the agent gives in `_meta`: Qwen as `toolName`, Claude in `claudeCode`."""
    if not isinstance(meta, Mapping):
        return ""
    fields = cast("Json", meta)
    claude = fields.get("claudeCode")
    return _get_text(fields, "toolName") or (_get_text(cast("Json", claude), "toolName") if claude else "")


def _find_mcp(meta: Any, name: str, arguments: Json) -> tuple[str, str] | None:
    """Return the server and the tool of a call to an MCP server; None for another call. The agent's program says so in
    `name` or in `_meta`. A title does not count, because a model may have written it."""
    if name.startswith(_MCP):
        server, found, tool = name.removeprefix(_MCP).partition(_SEPARATOR)
        return (server, tool) if found else None
    is_call = isinstance(meta, Mapping) and bool(cast("Json", meta).get("is_mcp_tool_call"))  # Codex
    server, tool = arguments.get("server"), arguments.get("tool")
    return (server, tool) if is_call and isinstance(server, str) and isinstance(tool, str) else None


def _list_objects(value: Any) -> tuple[Json, ...]:
    """Return the objects of a list; none for any other value."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return tuple(cast("Json", item) for item in items if isinstance(item, Mapping))


def _list_paths(value: Any) -> tuple[str, ...]:
    """Return the paths in the field `locations` of a call."""
    return tuple(path for item in _list_objects(value) if (path := _get_text(item, "path")))
