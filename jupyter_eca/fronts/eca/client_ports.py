"""Owns the access to a client's kernel, editor and notebooks, by requests over the link to the client.

It must not know the session. Each class implements a port, which is the interface by which the tools of the model use
something. The ports are in `workspace/ports.py`. The methods raise a `ToolError`, which the model reads, when the
client does not answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from jupyter_eca.errors import RemoteError, ToolError
from jupyter_eca.fronts.eca.known_outputs import KnownOutputs
from jupyter_eca.protocol import dialect, editor, notebook
from jupyter_eca.protocol.base import Done, Empty
from jupyter_eca.workspace.kernels import run_history
from jupyter_eca.workspace.kernels.output_text import as_plain_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from jupyter_eca.protocol.base import Model
    from jupyter_eca.protocol.lifecycle import EditorCapabilities
    from jupyter_eca.transport.peer import Peer
    from jupyter_eca.workspace.kernels.run_history import KernelHistory
    from jupyter_eca.workspace.ports import RunObserver

T = TypeVar("T", bound="Model")

_log = logging.getLogger(__name__)

# Seconds that an editor has to answer. Its language server may still be starting. There is a limit, because nvim and
# the desktop client of ECA never answer.
EDITOR_SECONDS = 30.0

# Seconds that a page has to list its open notebooks. A page is a client with open notebooks: JupyterLab in a tab of a
# browser. The time is short, because a user who types a prompt waits for the list.
LIST_SECONDS = 1.0

# The model reads this sentence: its turn was started by a cell, so its own kernel is busy with this cell.
_BUSY_WITH_ITSELF = "The kernel is busy with the cell that asks: it cannot be {} without ending your own answer."

# Prints what IPython's `name??` shows, as JSON. It is one expression, so that it leaves no variable in the kernel.
_INSPECT = """print((lambda name, shell: __import__("json").dumps(
    shell.object_inspect_mime(name, detail_level=1)["text/plain"] if shell._ofind(name).found else None
))({!r}, get_ipython()))"""


class LinkKernel:
    """The kernel at the other end of a link. One of its cells waits for the answer of the turn. While this cell waits,
    it runs the code that is sent to the kernel."""

    # The model reads this text.
    description = (
        "The user's live IPython kernel is at your side: `run_code` runs in it, `variables` looks at what it holds. "
        "The question came from one of its cells."
    )

    # The path of the kernel's notebook is not known here.
    notebook = ""

    def __init__(
        self,
        peer: Peer,
        interrupt: Callable[[], Awaitable[None]],
        catch_up: Callable[[], Awaitable[None]],
        id: str | None = None,
    ) -> None:
        """Make the port of the kernel with this Jupyter id. `interrupt` interrupts the kernel. `catch_up` sends all
        waiting events to the client. It is awaited before code is sent, because the kernel cannot show events while
        code runs."""
        self.id = id
        self._peer = peer
        self._interrupt = interrupt
        self._catch_up = catch_up

    async def execute(
        self,
        chat: str,
        code: str,
        observer: RunObserver | None = None,  # noqa: ARG002  # running code blocks the kernel, so it cannot report progress
    ) -> notebook.KernelExecuteResult:
        """Run code, and return its output. If the call is cancelled, interrupt the kernel."""
        params = notebook.KernelExecuteParams(chat_id=chat, code=code)
        await self._catch_up()
        try:
            return await self._request("kernel/execute", params, notebook.KernelExecuteResult)
        except asyncio.CancelledError:
            await self._interrupt()
            raise

    async def variables(self, chat: str, names: tuple[str, ...]) -> notebook.KernelVariablesResult:
        """Describe the variables with these names, or all variables if `names` is empty."""
        params = notebook.KernelVariablesParams(chat_id=chat, names=names)
        return await self._request("kernel/variables", params, notebook.KernelVariablesResult)

    async def history(self) -> KernelHistory | None:
        """Return which code the kernel has run; None if that is not known."""
        result = await self.execute("", run_history.PRINT_HISTORY)
        return run_history.parse_history(result.text)

    async def state(self) -> notebook.KernelState:
        """Return the state of the kernel. It is always busy, because the cell that asks still runs."""
        return notebook.KernelState(status="busy", language="python")

    async def interrupt(self) -> None:
        """Refuse, because this would end the cell that waits for the answer."""
        raise ToolError(_BUSY_WITH_ITSELF.format("interrupted"), "The user can stop it.")

    async def restart(self) -> None:
        """Refuse, because this would end the cell that waits for the answer."""
        raise ToolError(_BUSY_WITH_ITSELF.format("restarted"), "Ask the user to restart it.")

    async def inspect(self, name: str) -> notebook.Inspection:
        """Return the documentation and the source of a name, as `name??` shows them."""
        result = await self.execute("", _INSPECT.format(name))
        try:
            text = json.loads(result.text)
        except ValueError as error:
            raise ToolError(f"{name} cannot be inspected: {result.text}") from error
        return notebook.Inspection(found=text is not None, text=as_plain_text(text or ""))

    async def _request(self, method: str, params: Model, result: type[T]) -> T:
        """Send a request to the client, and parse its answer as the model `result`. Raises: ToolError."""
        try:
            return result.model_validate(await self._peer.request(method, params.as_json_object()))
        except RemoteError as error:
            raise ToolError(
                f"The kernel did not answer: {error}.", "It may have died; its variables are gone then."
            ) from error
        except ValidationError as error:
            raise ToolError(f"The kernel's answer to {method} is invalid.") from error


class LinkEditor:
    """The editor at the other end of a link."""

    def __init__(
        self,
        peer: Peer,
        capabilities: EditorCapabilities,
        get_dialect: Callable[[], dialect.Dialect],
        *,
        in_jupyter: bool,
    ) -> None:
        """Make the port. `capabilities` say which requests the editor answers. `get_dialect` returns the ECA revision
        that the client speaks, which may become known only later. `in_jupyter` is true for a client with live
        notebooks."""
        self.capabilities = capabilities
        self.in_jupyter = in_jupyter
        self._peer = peer
        self._get_dialect = get_dialect

    async def diagnostics(self, uri: str | None) -> editor.EditorGetDiagnosticsResult:
        """Return the problems that the editor shows in a file; in all files if the URI is None."""
        params = editor.EditorGetDiagnosticsParams(uri=uri)
        return await self._request("editor/getDiagnostics", params, editor.EditorGetDiagnosticsResult)

    async def definition(self, params: editor.EditorGetDefinitionParams) -> editor.EditorLookupResult:
        """Return where a symbol is defined."""
        return await self._request("editor/getDefinition", params, editor.EditorLookupResult)

    async def references(self, params: editor.EditorGetReferencesParams) -> editor.EditorLookupResult:
        """Return where a symbol is used."""
        return await self._request("editor/getReferences", params, editor.EditorLookupResult)

    async def _request(self, method: str, params: Model, result: type[T]) -> T:
        """Send a request to the editor, and parse its answer as the model `result`. Raises: ToolError."""
        try:
            async with asyncio.timeout(EDITOR_SECONDS):
                answer = await self._peer.request(method, params.as_json_object())
            if method == "editor/getDiagnostics":
                answer = dialect.translate_diagnostics(self._get_dialect(), answer)
            return result.model_validate(answer or {})
        except TimeoutError as error:
            raise ToolError(f"The editor did not answer {method} in {EDITOR_SECONDS:.0f} seconds.") from error
        except RemoteError as error:
            raise ToolError(f"The editor did not answer: {error}.") from error
        except ValidationError as error:
            raise ToolError(f"The editor's answer to {method} is invalid.") from error


class LinkNotebooks:
    """The notebooks that a client has open. They are read and changed as the user sees them, and not in their files."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        # How many messages the page had sent when it did not answer in time; None when it has answered since.
        self._silent_at: int | None = None
        # The functions that are called with the output of running cells, by the id of the run.
        self._runs: dict[str, RunObserver] = {}
        self._known_outputs = KnownOutputs()  # the outputs of cells that the page has sent

    async def list(self) -> tuple[notebook.NotebookInfo, ...]:
        """Return the open notebooks; none if the page does not answer.

        A browser may freeze a page that nobody looks at. So a page that did not answer in time is not asked again
        before it has sent something. When it wakes up, it answers the old request, even though that was cancelled.
        """
        if self._silent_at == self._peer.received_count:
            return ()
        try:
            result = await self._request("notebook/list", Empty(), notebook.NotebookListResult, LIST_SECONDS)
        except ToolError as error:
            if isinstance(error.__cause__, TimeoutError):
                self._silent_at = self._peer.received_count
            _log.warning("%s", error)
            return ()
        self._silent_at = None
        self._known_outputs.keep_only(info.path for info in result.notebooks)
        return result.notebooks

    async def read(self, path: str) -> notebook.NotebookDocument:
        """Return a notebook as it is on the page."""
        params = notebook.NotebookReadParams(path=path, known_outputs=self._known_outputs.get_version(path))
        answer = await self._request("notebook/read", params, notebook.NotebookDocument, EDITOR_SECONDS)
        return await self._add_outputs(answer)

    async def edit(self, chat: str, path: str, changes: Sequence[notebook.CellChange]) -> notebook.NotebookDocument:
        """Change cells, and return the notebook as it is then."""
        known = self._known_outputs.get_version(path)
        params = notebook.NotebookEditParams(chat_id=chat, path=path, changes=tuple(changes), known_outputs=known)
        answer = await self._request("notebook/edit", params, notebook.NotebookDocument, EDITOR_SECONDS)
        return await self._add_outputs(answer)

    async def run(
        self, chat: str, path: str, cells: Sequence[str], observer: RunObserver | None = None
    ) -> notebook.NotebookRunResult:
        """Run the cells with these ids, without a time limit. The caller may cancel the call. `observer` is called with
        the output of cells while they run."""
        id = uuid.uuid4().hex if observer else ""
        params = notebook.NotebookRunParams(chat_id=chat, path=path, cell_ids=tuple(cells), run_id=id)
        if observer is not None:
            self._runs[id] = observer
        try:
            return await self._request("notebook/run", params, notebook.NotebookRunResult, None)
        finally:
            self._runs.pop(id, None)

    def report_progress(self, params: notebook.NotebookRunProgressParams) -> None:
        """Pass the output of a running cell on to the observer of the run. Does nothing if the run has ended."""
        if observer := self._runs.get(params.run_id):
            # The observer gets a function and not the text, because it does not show every report. So only the text of
            # a report that is shown is converted.
            observer(params.cell_id, lambda: as_plain_text(params.text))

    async def show(self, path: str, cell: str | None = None) -> None:
        """Open a notebook on the page, and show the cell with this id. Log a warning if that fails."""
        try:
            params = notebook.NotebookOpenParams(path=path, cell_id=cell)
            await self._request("notebook/open", params, Done, EDITOR_SECONDS)
        except ToolError as error:
            _log.warning("%s", error)

    async def _add_outputs(self, answer: notebook.NotebookDocument) -> notebook.NotebookDocument:
        """Return an answer of the page with the outputs that the page has left out. Raises: ToolError."""
        missing = self._known_outputs.list_missing(answer)
        fetched: list[notebook.OutputsOfCell] = []
        while rest := missing[len(fetched) :]:
            params = notebook.NotebookReadOutputsParams(path=answer.path, cell_ids=tuple(rest))
            result = await self._request(
                "notebook/readOutputs", params, notebook.NotebookReadOutputsResult, EDITOR_SECONDS
            )
            if not result.cells:
                raise ToolError("The page's answer to notebook/readOutputs has no cells.")
            fetched += result.cells
        return self._known_outputs.complete(answer, fetched)

    async def _request(self, method: str, params: Model, result: type[T], seconds: float | None) -> T:
        """Send a request to the page, and parse its answer as the model `result`. There is no time limit if `seconds`
        is None. Raises: ToolError."""
        try:
            async with asyncio.timeout(seconds):
                return result.model_validate(await self._peer.request(method, params.as_json_object()))
        except TimeoutError as error:
            raise ToolError(f"The page did not answer {method} in {seconds:g} seconds.", "Read it again.") from error
        except RemoteError as error:
            raise ToolError(str(error)) from error
        except ValidationError as error:
            raise ToolError(f"The page's answer to {method} is invalid.") from error
