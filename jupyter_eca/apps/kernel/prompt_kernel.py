"""Owns the kernel `eca`, which the user sees as "ECA (Python)": IPython's own kernel, whose cells are prompts.

It must not know how a prompt is answered: it turns a prompt into a cell with `%%eca`, which `magic` answers.
"""

from __future__ import annotations

from typing import Any, cast

from ipykernel.ipkernel import IPythonKernel
from traitlets import UseEnum

from jupyter_eca._version import __version__
from jupyter_eca.apps.kernel.extension import load
from jupyter_eca.workspace.notebooks.prompt_cells import (
    LANGUAGE,
    PROMPT_MAGIC,
    DefaultCellKind,
    as_ipython_source,
    is_prompt,
)

# The language of the kernel while its cells are prompts, as the field `language_info` of a kernel_info_reply. It is a
# kind of Markdown for Jupyter's editors.
_PROMPT_LANGUAGE = {
    # The name is not Python's. Otherwise linters and language servers would read prompts as code.
    "name": LANGUAGE,
    "version": "1",
    "mimetype": "text/x-ipythongfm",
    "codemirror_mode": "ipythongfm",
    "pygments_lexer": "markdown",
    "nbconvert_exporter": "markdown",
    "file_extension": ".md",
}


class EcaKernel(IPythonKernel):
    """The kernel `eca`. With `c.EcaKernel.cells = "code"` in `ipython_kernel_config.py`, its cells are code, and `%eca`
    is loaded."""

    implementation = "jupyter_eca"
    implementation_version = __version__
    cells: DefaultCellKind = cast(
        "DefaultCellKind",
        UseEnum(
            DefaultCellKind,
            DefaultCellKind.PROMPTS,
            help="What a cell without a marker is: a prompt or code.",
            config=True,
        ),
    )

    @property
    def language_info(self) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleVariableOverride]  # it depends on the setting
        """The language of the cells: Markdown for prompts, Python for code."""
        return _PROMPT_LANGUAGE if self.cells is DefaultCellKind.PROMPTS else IPythonKernel.language_info

    @property
    def banner(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # a property there, too; untyped
        """The text that a console shows when it starts the kernel."""
        cells = (
            "prompts; %%python begins one with code" if self.cells is DefaultCellKind.PROMPTS else "code; %%eca asks"
        )
        return f"jupyter_eca {__version__}: cells are {cells}. %eca help\n"

    def start(self) -> None:
        """Load `%eca`, and start the kernel."""
        load(cast("Any", self.shell))
        super().start()

    async def do_execute(self, code: str, silent: bool, store_history: bool = True, **options: Any) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]  # versions of ipykernel pass different arguments
        """Run a cell. A silent request, or one that leaves no history, comes from a program and is code."""
        if store_history and not silent:
            code = as_ipython_source(code, self.cells)
        return await cast("Any", super()).do_execute(code, silent, store_history, **options)

    def do_complete(self, code: str, cursor_pos: int) -> Any:
        """Complete code. A prompt gets no names of Python here: `completion.py` completes commands and files in it."""
        if is_prompt(code, self.cells):
            return {
                "status": "ok",
                "matches": [],
                "cursor_start": cursor_pos,
                "cursor_end": cursor_pos,
                "metadata": {},
            }
        return cast("Any", super()).do_complete(code, cursor_pos)

    def do_is_complete(self, code: str) -> dict[str, str]:
        """Return whether a cell is complete, so that Enter in a console sends it. A prompt is complete, except when it
        ends with a backslash or has an open block of code."""
        if not is_prompt(code, self.cells):
            return cast("Any", super()).do_is_complete(code)
        fences = sum(line.lstrip().startswith("```") for line in code.splitlines())
        if fences % 2 or code.endswith("\\"):
            return {"status": "incomplete", "indent": ""}
        return {"status": "complete"}

    def add_prompt_magic(self, code: str) -> tuple[str, int]:
        """Return the cell as IPython sees it, and the number of characters that were added at its beginning."""
        return (PROMPT_MAGIC + code, len(PROMPT_MAGIC)) if is_prompt(code, self.cells) else (code, 0)
