"""Our extension for clients that are a live kernel or have live notebooks: requests the server sends to them, never to
other clients.

A kernel declares `capabilities.codeAssistant.kernel`. While one of its cells waits for an answer, an execute request
would queue behind that cell, so the code goes through the link and the waiting cell's own coroutine runs it.

A page declares `capabilities.codeAssistant.notebook`: it edits the notebooks that it has open in their live model,
where the user sees it and can undo it, and answers with what is then really there.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.context import Range


class RunStatus(StrEnum):
    OK = "ok"
    ERROR = "error"
    INTERRUPTED = "interrupted"


class KernelExecuteParams(Model):
    chat_id: str
    code: str


class KernelExecuteResult(Model):
    """`text` is all output as text in the order it came: streams, reprs, traceback, and a line for each rich output."""

    status: RunStatus
    text: str


class KernelVariablesParams(Model):
    """No names: all of the user's variables."""

    chat_id: str
    names: tuple[str, ...] = ()


class Column(Model):
    name: str
    dtype: str


class Variable(Model):
    """`preview` is a short repr, `sample` the first rows of a table or more of another value, `image` a PNG in base64;
    all are capped where they are made. `dtype` is that of an array. `memory`, in bytes, and `image` are there only of
    what was asked for by name."""

    name: str
    type: str
    shape: tuple[int, ...] | None = None
    length: int | None = None
    dtype: str = ""
    memory: int | None = None
    preview: str = ""
    columns: tuple[Column, ...] = ()
    sample: str = ""
    image: str = ""


class KernelVariablesResult(Model):
    """`left_out` counts those behind the last that is told."""

    variables: tuple[Variable, ...]
    missing: tuple[str, ...] = ()
    left_out: int = 0


# -- the document


class CellType(StrEnum):
    CODE = "code"
    MARKDOWN = "markdown"
    RAW = "raw"


class CellState(StrEnum):
    """Of a code cell. `edited`: its source is another than the one that ran last."""

    NEVER_RUN = "never-run"
    RAN = "ran"
    EDITED = "edited"
    QUEUED = "queued"
    RUNNING = "running"


class NotebookCell(Model):
    """One cell as it stands. `id` and `outputs` are nbformat's; of a document that has no ids (before nbformat 4.5) the
    one who reads it makes some up, the same ones each time. `attachments` are a text cell's pictures."""

    id: str
    cell_type: CellType
    source: str
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    execution_count: int | None = None
    outputs: tuple[dict[str, Any], ...] = ()
    attachments: dict[str, Any] | None = None
    state: CellState | None = None


class CellSelection(Model):
    """What is selected in a cell; `text` is empty when it is only a cursor."""

    cell_id: str
    range: Range
    text: str = ""


class NotebookDocument(Model):
    """`path` is relative to the root of Jupyter's contents, with `/`, whatever drive it is on. `kernel_status` is
    Jupyter's word (`idle`, `busy`, `dead`, …), absent without a kernel."""

    path: str
    cells: tuple[NotebookCell, ...]
    language: str = ""
    kernel_id: str | None = None
    kernel_status: str | None = None
    active_cell_id: str | None = None
    selection: CellSelection | None = None

    def cell(self, id: str) -> NotebookCell | None:
        return next((cell for cell in self.cells if cell.id == id), None)


class NotebookInfo(Model):
    """A notebook that is open somewhere. `active`: it is the one that is worked in. `instructions` are the user's for
    the assistant, from its metadata, of one that is trusted."""

    path: str
    active: bool = False
    language: str = ""
    kernel_id: str | None = None
    instructions: str = ""


class NotebookListResult(Model):
    """The active one first, if there is one."""

    notebooks: tuple[NotebookInfo, ...]


class NotebookReadParams(Model):
    path: str


class NewCell(Model):
    """`id` is made by whoever asks, so that later changes can name it."""

    id: str
    cell_type: CellType = CellType.CODE
    source: str = ""


class InsertCell(Model):
    """Before the cell that is at `index` now; an index past the end is the end."""

    kind: Literal["insert"] = "insert"
    index: int
    cell: NewCell


class EditCell(Model):
    """Refused unless the source is still `was`. Outputs stay: they are those of the source that ran."""

    kind: Literal["edit"] = "edit"
    cell_id: str
    was: str
    source: str


class DeleteCell(Model):
    """Refused unless the source is still `was`."""

    kind: Literal["delete"] = "delete"
    cell_id: str
    was: str


class MoveCell(Model):
    """To where it then is at `index`."""

    kind: Literal["move"] = "move"
    cell_id: str
    index: int


class PutCell(Model):
    """A cell as it was once, with its outputs: in the place of the one with its id, or anew at `index`. With `was`,
    refused unless the source is still that."""

    kind: Literal["put"] = "put"
    index: int
    cell: NotebookCell
    was: str | None = None


CellChange = Annotated[InsertCell | EditCell | DeleteCell | MoveCell | PutCell, Field(discriminator="kind")]


class NotebookEditParams(Model):
    """The changes are made in order, all or none, as one step to undo. The answer is the document read back. One that
    cannot be made is answered with an error whose message says why, and then nothing was changed."""

    chat_id: str
    path: str
    changes: tuple[CellChange, ...]


class NotebookRunParams(Model):
    """The cells are run in this order, as by hand; a failing one ends it. `$/cancelRequest` interrupts the kernel. With
    `run_id` the page tells how it goes, by `notebook/runProgress`."""

    chat_id: str
    path: str
    cell_ids: tuple[str, ...]
    run_id: str = ""


class NotebookRunProgressParams(Model):
    """The cell that runs now, and the end of the text that it has put out so far."""

    run_id: str
    cell_id: str
    text: str = ""


class NotebookRunResult(Model):
    """`ran` are the cells that were run, as they are afterwards."""

    status: RunStatus
    ran: tuple[NotebookCell, ...]


class NotebookOpenParams(Model):
    """Show a notebook, and a cell of it."""

    path: str
    cell_id: str | None = None


class KernelState(Model):
    """`status` is Jupyter's execution state (`starting`, `idle`, `busy`, `restarting`, `dead`). `cell` is the number or
    id of the cell that runs, `busy_ms` for how long, where that is known. `python` is the interpreter of a kernel of
    this machine that is Python, as its specification has it."""

    status: str
    language: str = ""
    python: str | None = None
    cell: str | None = None
    busy_ms: int | None = None
    queued: int = 0


class Inspection(Model):
    """What a kernel says of a name (Jupyter's `inspect_request`, the long form): signature, docstring, source."""

    found: bool
    text: str = ""
