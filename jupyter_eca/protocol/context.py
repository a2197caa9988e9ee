"""What a user can point at beside the words of a prompt. How each is read is in `contexts/`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from jupyter_eca.protocol.base import ChatId, Model


class LinesRange(Model):
    """1-based, both ends included."""

    start: int
    end: int


class Position(Model):
    """0-based in contexts and diagnostics; inline completion, `editor/getDefinition` and `getReferences` count from
    1."""

    line: int
    character: int


class Range(Model):
    start: Position
    end: Position


class FileContext(Model):
    type: Literal["file"] = "file"
    path: str
    lines_range: LinesRange | None = None


class DirectoryContext(Model):
    type: Literal["directory"] = "directory"
    path: str


class WebContext(Model):
    type: Literal["web"] = "web"
    url: str


class RepoMapContext(Model):
    type: Literal["repoMap"] = "repoMap"


class CursorContext(Model):
    type: Literal["cursor"] = "cursor"
    path: str
    position: Range


class McpResourceContext(Model):
    type: Literal["mcpResource"] = "mcpResource"
    uri: str
    server: str
    name: str = ""
    description: str = ""
    mime_type: str = ""


class ImageContext(Model):
    """`base64` is the raw data, without a prefix."""

    type: Literal["image"] = "image"
    media_type: str
    base64: str


class TextContext(Model):
    type: Literal["text"] = "text"
    label: str = ""
    content: str


class LiveContext(Model):
    """Of a live notebook or its kernel: ours, offered only to clients that have one. `label` is the word that names it
    in a message, `description` what a person tells it by. One with other fields is somebody else's of the same name."""

    model_config = ConfigDict(extra="forbid")

    label: str = ""
    description: str = ""


class CellContext(LiveContext):
    """`cell` is an id, or a number counted from 1; an empty `path` is the notebook that is worked in."""

    type: Literal["cell"] = "cell"
    path: str = ""
    cell: str


class OutputContext(LiveContext):
    """What a cell has put out; named as in `CellContext`."""

    type: Literal["output"] = "output"
    path: str = ""
    cell: str


class NotebookContext(LiveContext):
    type: Literal["notebook"] = "notebook"
    path: str = ""


class SelectionContext(LiveContext):
    """What is selected when it is sent."""

    type: Literal["selection"] = "selection"


class ErrorContext(LiveContext):
    """The last traceback when it is sent."""

    type: Literal["error"] = "error"


class VariableContext(LiveContext):
    type: Literal["variable"] = "variable"
    name: str


class OtherContext(Model):
    """A context of a type that we do not know, or of a shape that does not fit its type: the model is told of it with
    what it says, so that nothing is dropped without a word."""

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
    | OtherContext,
    Field(union_mode="left_to_right"),
]


class ChatQueryContextParams(Model):
    """`contexts` are those the user has already added: they are not offered again."""

    query: str = ""
    chat_id: ChatId | None = None
    contexts: tuple[ChatContext, ...] = ()

    @field_validator("query", mode="before")
    @classmethod
    def _no_query(cls, value: Any) -> Any:
        return value or ""

    @field_validator("contexts", mode="before")
    @classmethod
    def _no_contexts(cls, value: object) -> object:
        return value or ()


class ChatQueryContextResult(Model):
    contexts: tuple[ChatContext, ...]
    chat_id: ChatId | None = None


class ChatQueryFilesParams(Model):
    query: str = ""
    chat_id: ChatId | None = None

    @field_validator("query", mode="before")
    @classmethod
    def _no_query(cls, value: Any) -> Any:
        return value or ""


class QueriedFile(Model):
    type: Literal["file", "directory"] = "file"
    path: str


class ChatQueryFilesResult(Model):
    files: tuple[QueriedFile, ...]
    chat_id: ChatId | None = None
