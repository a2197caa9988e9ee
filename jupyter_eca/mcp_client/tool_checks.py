"""Checks each tool that an MCP server lists. A malformed tool is left out, and the other tools can still be used.

Without this check, the SDK would refuse the whole list because of one bad tool, and a vendor of models would refuse the
whole request because of one bad schema. The module must not know transports: `transports.py` calls it with each list.
"""

from __future__ import annotations

from typing import Any

from jsonschema import SchemaError
from jsonschema.validators import (
    Draft202012Validator,
    validator_for,  # pyright: ignore[reportUnknownVariableType]  # untyped library
)
from mcp_types import methods
from pydantic import ValidationError


def split_tools(result: dict[str, Any], version: str) -> tuple[list[Any], dict[str, str]]:
    """Return the usable tools of a `tools/list` result, without their output schemas, and the reason for each tool that
    is left out, by its name.
    `version` is the version of the protocol that is used.

    If the result itself is malformed, or if each of its tools is malformed, all tools are returned. Then the SDK
    refuses the list with its own explanation.
    """
    tools: list[Any] = result["tools"]
    if _explain_result({**result, "tools": []}, version):
        return tools, {}
    usable: list[Any] = []
    left_out: dict[str, str] = {}
    for number, tool in enumerate(tools, 1):
        if reason := _explain_tool(result, tool, version):
            name = tool.get("name") if isinstance(tool, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # JSON
            left_out[name if isinstance(name, str) else f"number {number}"] = reason
        else:
            # Without an output schema: the SDK would check results with it, and a server could write a schema and a
            # result whose check never ends, while nothing else runs. No model reads it.
            usable.append({key: value for key, value in tool.items() if key != "outputSchema"})
    if not usable and _explain_result(result, version):
        return tools, {}
    return usable, left_out


def _explain_tool(result: dict[str, Any], tool: Any, version: str) -> str:
    """Return why a tool cannot be used; empty if it can."""
    if reason := _explain_result({**result, "tools": [tool]}, version):
        return reason
    execution: dict[str, Any] = tool.get("execution") or {}
    if execution.get("taskSupport") == "required":
        return "it runs only as a task, which is not supported"
    schema: dict[str, Any] = tool["inputSchema"]
    if not isinstance(schema.get("properties", {}), dict):
        return "inputSchema.properties: it is no object"
    try:
        validator_for(schema, Draft202012Validator).check_schema(schema)  # pyright: ignore[reportUnknownMemberType]  # untyped library
    except SchemaError as error:
        place = ".".join(map(str, error.absolute_path))  # pyright: ignore[reportUnknownArgumentType]  # untyped library
        return f"inputSchema{place and f'.{place}'}: {error.message}"
    return ""


def _explain_result(result: dict[str, Any], version: str) -> str:
    """Return why a result breaks the protocol; empty if it does not."""
    try:
        methods.validate_server_result("tools/list", version, result)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"] if part not in {"tools", 0})
        return f"{place}: {first['msg']}"
    except KeyError:
        return ""  # the SDK has no schema for `tools/list` in this version, so the tools cannot be checked
    return ""
