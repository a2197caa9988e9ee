"""Owns the tools about the files of an OpenCode project that are offered over MCP: read a file, search in files, find
files and symbols by name. The docstring of a tool is its description for the client's model.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from jupyter_eca.fronts.mcp.offers_base import Hints, OfferCall, Offers, RefusedCall, offer

if TYPE_CHECKING:
    from jupyter_eca.fronts.mcp.opencode.backend import OpenCode

    OpenCodeCall = OfferCall[OpenCode]


@offer("opencode_file_read", Hints.READS)
async def read_file(
    call: OpenCodeCall,
    path: Annotated[str, Field(min_length=1, description="Path of the file, from the project's folder.")],
) -> dict[str, Any]:
    """Read a file of the project."""
    folder = await call.backend.find_folder()
    name = PurePosixPath(path)
    if name.is_absolute() or ".." in name.parts:
        raise RefusedCall(f"{path} is not in the project.", "Give a path from the project's folder on.")
    api = call.backend.api
    answer = await api.get("/file/content", directory=folder.path, path=path)
    # OpenCode answers with an empty text for a file that does not exist.
    if not answer.get("content"):
        siblings = await api.get("/file", directory=folder.path, path=str(name.parent))
        if name.name not in {entry["name"] for entry in siblings}:
            raise RefusedCall(f"There is no file {path} in {folder.path}.", "Look for it with opencode_find_files.")
    result = {"path": path, "content": answer.get("content", ""), "type": answer.get("type"), **folder.fields}
    return {**result, "encoding": answer["encoding"]} if answer.get("encoding") else result


@offer("opencode_file_search", Hints.READS)
async def search_files(
    call: OpenCodeCall,
    pattern: Annotated[str, Field(min_length=1, description="Regular expression to look for in files.")],
    directory: Annotated[str, Field(description="Folder of the project; empty for the default one.")] = "",
) -> dict[str, Any]:
    """Search the text of the project's files."""
    folder = await call.backend.find_folder(directory)
    answer = await call.backend.api.get("/find", directory=folder.path, pattern=pattern)
    matches = [
        {"path": match["path"]["text"], "line": match["line_number"], "text": match["lines"]["text"].rstrip("\n")}
        for match in answer
    ]
    return {"matches": matches, **folder.fields}


@offer("opencode_find_files", Hints.READS)
async def find_files(
    call: OpenCodeCall,
    query: Annotated[str, Field(min_length=1, description="Part of a name; letters may be left out.")],
    type: Annotated[Literal["", "file", "directory"], Field(description="Only these; empty for both.")] = "",
    limit: Annotated[int, Field(ge=1, le=200, description="How many at most.")] = 50,
) -> dict[str, Any]:
    """Find files by their names."""
    folder = await call.backend.find_folder()
    answer = await call.backend.api.get("/find/file", directory=folder.path, query=query, type=type, limit=limit)
    return {"paths": list(answer), **folder.fields}


@offer("opencode_find_symbols", Hints.READS)
async def find_symbols(
    call: OpenCodeCall, query: Annotated[str, Field(min_length=1, description="Part of a function's or class' name.")]
) -> dict[str, Any]:
    """Find functions, classes and the like by name, where a language server runs."""
    folder = await call.backend.find_folder()
    answer = await call.backend.api.get("/find/symbol", directory=folder.path, query=query)
    return {"symbols": list(answer), **folder.fields}


OFFERS = Offers((read_file, search_files, find_files, find_symbols))
