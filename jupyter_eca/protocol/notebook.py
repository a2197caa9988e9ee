"""Owns the requests of the server to a client that is a live kernel or has live notebooks.

They are our additions to ECA, the protocol that our clients speak. This module must not know how a notebook is read or
edited: `workspace.notebooks` does. `editor` is its neighbour: it has the requests to an editor. Only clients that
declare one of these two capabilities receive the requests:

- `capabilities.codeAssistant.kernel`: the client is a kernel. While one of its cells waits for an answer, an execute
  request would queue behind that cell. So the server sends the code over the link, and the coroutine of the waiting
  cell runs it.
- `capabilities.codeAssistant.notebook`: the client is a page. It edits its open notebooks in their live model, where
  the user sees each edit and can undo it. It answers with the document as it is after the edit.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.context import Range

# The beginning of a line of a source that looks like the heading of a cell (`# %%`), with the backslashes before it. A
# carriage return and similar characters begin a line too.
_LIKE_HEADING: Final = re.compile(
    r"(?:^|(?<=[\r\v\f\x85\u2028\u2029]))\\*(?=[^\S\n]{0,99}#[^\S\n]{0,99}%%)", re.MULTILINE
)


def format_cell(heading: str, source: str) -> str:
    """Return a cell in the percent format (`# %% heading`), as it is shown to the person who approves it. A line of the
    source that looks like a heading gets a backslash before it, so that one cell cannot look like two."""
    escaped = _LIKE_HEADING.sub(r"\\\g<0>", source)
    return f"# %% {heading}\n{escaped}\n"


class RunStatus(StrEnum):
    """How a run of code ended."""

    OK = "ok"
    ERROR = "error"
    INTERRUPTED = "interrupted"


class KernelExecuteParams(Model):
    """Run code in the kernel."""

    chat_id: str
    code: str


class KernelPicture(Model):
    """A picture that code has shown, or a figure of which a picture can be drawn."""

    name: str
    """The name of the picture in the text of the outputs: `picture 1`."""
    media_type: str
    """The MIME type, such as `image/png`."""
    data: str
    """A picture in base64, or the text of a figure: SVG, or the JSON of plotly."""


class KernelExecuteResult(Model):
    """The end of a run of code."""

    status: RunStatus
    text: str
    """All output as text, in the order in which it came: streams, reprs, the traceback, and a line for each rich
    output.
    """
    pictures: tuple[KernelPicture, ...] = ()
    """The last pictures that were shown."""


class KernelVariablesParams(Model):
    """Asks for variables of the user."""

    chat_id: str
    names: tuple[str, ...] = ()
    """The names of the variables; empty for all of them."""


class Column(Model):
    """A column of a table."""

    name: str
    dtype: str


class DatabaseTable(Model):
    """A table or a view of a database."""

    name: str
    """The name, after the schema and a dot if that is not the default one."""
    is_view: bool = False
    """Whether its rows are computed. They are never read."""
    columns: tuple[Column, ...] = ()
    """The columns; empty if they were not read, because the database has many tables or is slow."""


class Variable(Model):
    """A variable, or a table of a database to which a variable is a connection. Such a table has the name of the
    variable, a dot, and its own name. The kernel limits the size of `preview`, `sample` and `image`."""

    name: str
    type: str
    shape: tuple[int, ...] | None = None
    """The size in each dimension of an array or a table."""
    length: int | None = None
    """The number of items of a collection."""
    dtype: str = ""
    """The data type of an array."""
    memory: int | None = None
    """Its size in bytes; only for a variable that was asked for by name."""
    preview: str = ""
    """A short repr."""
    columns: tuple[Column, ...] = ()
    sample: str = ""
    """The first rows of a table, or a longer repr of another value."""
    profile: str = ""
    """A line for each column of a table, and its first rows, or a line of statistics of an array; only for a variable
    that was asked for by name."""
    image: str = ""
    """A PNG in base64; only for a variable that was asked for by name."""
    database: str = ""
    """For a connection to a database: the kind of the database. If the variable was asked for by name, also the
    address, without secrets."""
    tables: tuple[DatabaseTable, ...] = ()
    """The tables of a connection that was asked for by name."""
    tables_left_out: int = 0
    """How many further tables the database has."""
    remark: str = ""
    """What could not be read of a database, and why, in sentences."""


class KernelVariablesResult(Model):
    """The variables."""

    variables: tuple[Variable, ...]
    missing: tuple[str, ...] = ()
    """The names that do not exist."""
    left_out: int = 0
    """How many further variables are not in the list."""


# -- the document


# No docstring: schemas of tools contain this enum, and a docstring would be sent to the model.
class CellType(StrEnum):
    CODE = "code"
    MARKDOWN = "markdown"
    RAW = "raw"


class CellState(StrEnum):
    """What a code cell is doing. `edited`: its source has changed since it ran. `ran-earlier`: it ran in an earlier
    kernel, and nothing that it defined is in the present one; only the server knows this, from the kernel.
    `ran-uncertain`: it ran, but it is not known whether in the present kernel."""

    NEVER_RUN = "never-run"
    RAN = "ran"
    EARLIER = "ran-earlier"
    UNCERTAIN = "ran-uncertain"
    EDITED = "edited"
    QUEUED = "queued"
    RUNNING = "running"


class NotebookCell(Model):
    """A cell, as it is now."""

    id: str
    """The id of nbformat. For documents without ids (before nbformat 4.5) the reader makes ids, always the same
    ones."""
    cell_type: CellType
    source: str
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    execution_count: int | None = None
    outputs: tuple[dict[str, Any], ...] = ()
    """The outputs in the format of nbformat. A page leaves the field out, in an answer to a request with
    `knownOutputs`, if the server has these outputs or if they do not fit into the answer."""
    outputs_version: int | None = None
    """A number that grows when the outputs change; only in answers to a request with `knownOutputs`."""
    attachments: dict[str, Any] | None = None
    """The images of a text cell, in the format of nbformat."""
    state: CellState | None = None


class CellSelection(Model):
    """The selection or the cursor in a cell."""

    cell_id: str
    range: Range
    text: str = ""
    """The selected text; empty when there is only a cursor."""


class NotebookDocument(Model):
    """A notebook with its cells."""

    path: str
    """The path relative to the root of Jupyter's contents, always with `/` and without the name of a drive."""
    cells: tuple[NotebookCell, ...]
    language: str = ""
    kernel_id: str | None = None
    kernel_status: str | None = None
    """Jupyter's word (`idle`, `busy`, `dead`, …); absent without a kernel."""
    active_cell_id: str | None = None
    selection: CellSelection | None = None
    outputs_version: int | None = None
    """The highest `outputsVersion` that any cell has had so far; only in answers to a request with `knownOutputs`."""

    def find_cell(self, id: str) -> NotebookCell | None:
        """Return the cell with this id; None when there is none."""
        return next((cell for cell in self.cells if cell.id == id), None)


class NotebookInfo(Model):
    """A notebook that is open."""

    path: str
    active: bool = False
    """Whether the user is working in it."""
    language: str = ""
    kernel_id: str | None = None
    instructions: str = ""
    """The user's instructions for the assistant, from the metadata of the notebook; only if the notebook is trusted."""


class NotebookListResult(Model):
    """The open notebooks. The active one comes first, if there is one."""

    notebooks: tuple[NotebookInfo, ...]


class NotebookReadParams(Model):
    """Asks for an open notebook."""

    path: str
    known_outputs: int | None = None
    """The `outputsVersion` of the last answer about this notebook; 0 before the first. The page may leave out outputs
    that have not changed since, and outputs for which an answer has no room. `notebook/readOutputs` asks for those.
    Without this field the answer has all outputs."""


class NotebookReadOutputsParams(Model):
    """Asks for the outputs of code cells. The answer may be shorter than the list: it has the outputs of the first
    cells that fit into it, and always those of at least one cell."""

    path: str
    cell_ids: tuple[str, ...]


class OutputsOfCell(Model):
    """The outputs of a code cell. A cell that does not exist any more has none."""

    id: str
    outputs: tuple[dict[str, Any], ...] = ()
    """The outputs in the format of nbformat."""
    outputs_version: int
    """A number that grows when the outputs change; 0 for a cell that does not exist."""


class NotebookReadOutputsResult(Model):
    """The outputs of code cells, in the order in which they were asked for."""

    cells: tuple[OutputsOfCell, ...]


class NewCell(Model):
    """A cell that is inserted."""

    id: str
    """The server makes the id, so that later changes can name the cell."""
    cell_type: CellType = CellType.CODE
    source: str = ""


class InsertCell(Model):
    """Insert a new cell."""

    kind: Literal["insert"] = "insert"
    index: int
    """The new cell comes before the cell that is at this index now. A larger index is the end of the notebook."""
    cell: NewCell
    after: str | None = None
    """The id of the cell directly before the new one; empty for the top of the notebook. If it is present, `index` is
    ignored, because cells may have moved since the change was computed. If that cell no longer exists, the change is
    refused."""
    marks: bool | None = None
    """Whether the change also sets the mark `jupyter_eca.written` in the cell's metadata, which says that the assistant
    has written in this cell."""


class EditCell(Model):
    """Replace the source of a cell. Its outputs stay, because they belong to the source that ran."""

    kind: Literal["edit"] = "edit"
    cell_id: str
    was: str
    """The source before the edit. If the cell has another source, the edit is refused."""
    source: str
    """The new source."""
    marks: bool | None = None
    """Whether the change also sets the mark `jupyter_eca.written` in the cell's metadata, which says that the assistant
    has written in this cell."""


class DeleteCell(Model):
    """Delete a cell."""

    kind: Literal["delete"] = "delete"
    cell_id: str
    was: str
    """The source of the cell. If the cell has another source, the deletion is refused."""


class MoveCell(Model):
    """Move a cell."""

    kind: Literal["move"] = "move"
    cell_id: str
    index: int
    """The index of the cell after the move."""
    after: str | None = None
    """The id of the cell that is directly before it after the move; see `InsertCell`."""


class PutCell(Model):
    """Restore an earlier version of a cell, with its outputs."""

    kind: Literal["put"] = "put"
    index: int
    """Where the cell is inserted, if no cell has its id."""
    cell: NotebookCell
    """The earlier version. It replaces the cell with its id."""
    was: str | None = None
    """The source of the cell now. If it is present and the cell has another source, the change is refused."""


CellChange = Annotated[InsertCell | EditCell | DeleteCell | MoveCell | PutCell, Field(discriminator="kind")]


class NotebookEditParams(Model):
    """Change a notebook. All changes are made in order, as one step to undo, or none of them.

    The answer is the document after the changes. If a change cannot be made, the answer is an error that says why.
    """

    chat_id: str
    path: str
    changes: tuple[CellChange, ...]
    known_outputs: int | None = None
    """As for `notebook/read`: outputs that have not changed since may be left out of the answer."""


class NotebookRunParams(Model):
    """Run cells in this order, as the user would. A cell that fails ends the run. `$/cancelRequest` interrupts the
    kernel.
    """

    chat_id: str
    path: str
    cell_ids: tuple[str, ...]
    run_id: str = ""
    """If it is not empty, the page reports the progress with this id, by `notebook/runProgress`."""


class NotebookRunProgressParams(Model):
    """The progress of a run."""

    run_id: str
    cell_id: str
    """The cell that is running."""
    text: str = ""
    """The end of its output so far, as text."""


class NotebookRunResult(Model):
    """The end of a run."""

    status: RunStatus
    ran: tuple[NotebookCell, ...]
    """The cells that ran, as they are after the run."""


class NotebookOpenParams(Model):
    """Show a notebook to the user, and a cell of it."""

    path: str
    cell_id: str | None = None


class KernelState(Model):
    """What a kernel is doing, for tools, for the system prompt and for the resources of our MCP server."""

    status: str
    """Jupyter's execution state (`starting`, `idle`, `busy`, `restarting`, `dead`)."""
    language: str = ""
    python: str | None = None
    """The Python interpreter of a Python kernel on this machine, as its kernel specification names it."""
    cell: str | None = None
    """The execution count or the id of the running cell, when it is known."""
    busy_ms: int | None = None
    """For how many milliseconds the cell has been running, when it is known."""
    queued: int = 0
    """How many cells wait."""


class Inspection(Model):
    """A kernel's description of a name (Jupyter's `inspect_request`, in its long form), for tools."""

    found: bool
    text: str = ""
    """The signature, the docstring and the source."""
