"""Owns the contexts that a user can add to a prompt, such as a file or a cell, and the messages that list them.

A context or a field marked "Not in ECA" is our addition to ECA, the protocol that our clients speak. This module must
not know how a context is read: `plugins.contexts` reads each kind. `command` is its neighbour: it lists commands.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from jupyter_eca.protocol.base import EMPTY_IS_DEFAULT, ChatId, Model


class LinesRange(Model):
    """A range of lines, counted from 1. Both ends are included."""

    start: int
    end: int


class Position(Model):
    """A position in a text. Contexts and diagnostics count from 0. Inline completion, `editor/getDefinition` and
    `editor/getReferences` count from 1."""

    line: int
    character: int


class Range(Model):
    """A part of a text, from one position to another."""

    start: Position
    end: Position


class FileContext(Model):
    """A file, or some lines of it."""

    type: Literal["file"] = "file"
    path: str
    lines_range: LinesRange | None = None


class DirectoryContext(Model):
    """A folder."""

    type: Literal["directory"] = "directory"
    path: str


class WebContext(Model):
    """A web page."""

    type: Literal["web"] = "web"
    url: str


class RepoMapContext(Model):
    """The list of the workspace's files."""

    type: Literal["repoMap"] = "repoMap"


class CursorContext(Model):
    """The cursor or the selection in an editor."""

    type: Literal["cursor"] = "cursor"
    path: str
    position: Range
    cell: str = ""
    """Not in ECA: the id of the cell of a notebook that the cursor is in. The position is counted in this cell."""


class McpResourceContext(Model):
    """A resource of an MCP server."""

    type: Literal["mcpResource"] = "mcpResource"
    uri: str
    server: str
    """The name of the MCP server."""
    name: str = ""
    description: str = ""
    mime_type: str = ""


class ImageContext(Model):
    """An image."""

    type: Literal["image"] = "image"
    media_type: str
    base64: str
    """The data of the image, without a prefix."""


class TextContext(Model):
    """A text, for example from the clipboard."""

    type: Literal["text"] = "text"
    label: str = ""
    """The name of the text for the user."""
    content: str
    path: str = ""
    """Not in ECA: the notebook or the file that the text comes from. A prompt with a text from a notebook was asked in
    that notebook."""
    cell: str = ""
    """Not in ECA: the id of the cell, when the text is the whole source of a cell."""


class LiveContext(Model):
    """Not in ECA: a part of a live notebook or of its kernel. The base of these contexts. They are offered only to
    clients that have a live notebook or a kernel.

    Additional fields are forbidden: another client may use the same type for a context of its own with other fields.
    Such a context is parsed as `OtherContext`.
    """

    model_config = ConfigDict(extra="forbid")

    label: str = ""
    """The word that stands for the context in a message."""
    description: str = ""
    """A short text by which the user recognizes the context."""


class CellContext(LiveContext):
    """The source of a cell."""

    type: Literal["cell"] = "cell"
    path: str = ""
    """The notebook; empty for the active one."""
    cell: str
    """The id of the cell, or its number counted from 1."""


class OutputContext(LiveContext):
    """The output of a cell."""

    type: Literal["output"] = "output"
    path: str = ""
    """The notebook; empty for the active one."""
    cell: str
    """The id of the cell, or its number counted from 1."""


class NotebookContext(LiveContext):
    """A whole notebook."""

    type: Literal["notebook"] = "notebook"
    path: str = ""


class SelectionContext(LiveContext):
    """The text that is selected when the prompt is sent."""

    type: Literal["selection"] = "selection"


class ErrorContext(LiveContext):
    """The last error before the prompt is sent, with its traceback."""

    type: Literal["error"] = "error"


class VariableContext(LiveContext):
    """A variable in the kernel."""

    type: Literal["variable"] = "variable"
    name: str


class TableContext(LiveContext):
    """A table of a database. A variable in the kernel is a connection to this database."""

    type: Literal["table"] = "table"
    name: str
    """The name of the table. If several connections have a table of this name, the variable of the connection and a dot
    come before it."""


class OtherContext(Model):
    """A context whose type we do not know, or whose fields do not fit its type. The model receives its fields as they
    are, so that nothing is dropped silently."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="allow")

    type: str


ChatContext = Annotated[
    FileContext
    | DirectoryContext
    | WebContext
    | RepoMapContext
    | CursorContext
    | McpResourceContext
    | ImageContext
    | TextContext
    | CellContext
    | OutputContext
    | NotebookContext
    | SelectionContext
    | ErrorContext
    | VariableContext
    | TableContext
    | OtherContext,
    Field(union_mode="left_to_right"),  # the first that fits, so `OtherContext`, which fits always, is the last
]


class ChatQueryContextParams(Model):
    """Asks for the contexts that match the text typed so far."""

    query: Annotated[str, EMPTY_IS_DEFAULT] = ""
    chat_id: ChatId | None = None
    contexts: Annotated[tuple[ChatContext, ...], EMPTY_IS_DEFAULT] = ()
    """The contexts that the user has already added. They are not offered again."""


class ChatQueryContextResult(Model):
    """The contexts that match."""

    contexts: tuple[ChatContext, ...]
    chat_id: ChatId | None = None
    lacks_variables: bool | None = None
    """Not in ECA: whether variables are missing, because the kernel is busy or has not answered in time."""


class ChatQueryFilesParams(Model):
    """Asks for the files and folders that match the text typed so far."""

    query: Annotated[str, EMPTY_IS_DEFAULT] = ""
    chat_id: ChatId | None = None


class QueriedFile(Model):
    """A file or a folder."""

    type: Literal["file", "directory"] = "file"
    path: str
    relative_path: str | None = None
    """Not in ECA: the path as a message can name it, relative to the folder in which the chat works; absent if it lies
    on another drive."""


class ChatQueryFilesResult(Model):
    """The files and folders that match."""

    files: tuple[QueriedFile, ...]
    chat_id: ChatId | None = None
