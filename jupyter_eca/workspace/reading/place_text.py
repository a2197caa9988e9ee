"""Writes the text that tells a model where the user is: in which cell of a notebook. The text is the same for the
panel, for its button *Fix*, for `%%eca` and for editors. The user sees the place as a chip above the prompt box.

An example:

    sales.ipynb: 30 cells, python, kernel idle, started 2m 5s ago: cells 1-26 have run in it
    Headings: 1 Load, 5 Clean, 12 Plot
    Own modules: charts.py: line(values, title=''), bar(values)
    Active cell 26 [c25], line 1:
    --- cell 26 [c25]: code, execution 19, failed ---
    share(df)
    --- output of cell 26 ---
    KeyError: 'price'
    --- cell 10 [c09]: code, execution 3; the error passed through it ---
    def share(df): ...

After the cells that an error passed through come those that define the functions and classes which the cell uses.

The text goes into the newest message of the user, so the beginning of the request stays the same, and a vendor's cache
can serve it. Often the text is the same as with the message before. Then only one line is sent:
`(active cell 26 [c25], line 1, as before)`. What the model knows by now is read from the conversation itself
(`read_known_place`). So it is right after a rollback, a summary and a restart of the server, too.

The module is pure. It must not know who asks: `plugins/contexts/reading/place.py` reads the notebook.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.texts import format_context
from jupyter_eca.protocol.notebook import CellState, CellType
from jupyter_eca.workspace.notebooks.prompt_cells import choose_default_kind, is_prompt
from jupyter_eca.workspace.reading.cell_text import describe_kind_and_state, render_outputs
from jupyter_eca.workspace.reading.definitions import find_definitions
from jupyter_eca.workspace.reading.error_text import (
    find_last_error,
    find_last_failed,
    find_passed_cells,
    shorten_errors,
    shorten_traceback,
    summarize_error,
)
from jupyter_eca.workspace.reading.notebook_heading import describe_notebook

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from jupyter_eca.engine.model.request import History
    from jupyter_eca.protocol.context import Range
    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument
    from jupyter_eca.workspace.kernels.run_history import KernelCount, KernelHistory

# The label of the context with this text, as the model sees it.
LABEL: Final = "where the user is"

# A source with at most this many lines and characters is shown whole: then the model can change the cell without
# reading it.
MAX_LINES: Final = 80
MAX_SOURCE: Final = 4000

# The characters of a longer source that are shown, and of one line of it. The model has to read such a cell anyway, and
# often the question is not about it.
MAX_WINDOW: Final = 900
_MAX_LINE: Final = 160

# The characters of the output that are shown: its end, because errors are there.
MAX_OUTPUT: Final = 1500

# The most cells that are shown because an error passed through them, and the characters of each.
_MAX_PASSED: Final = 3
_MAX_PASSED_SOURCE: Final = 1200

# The characters of the cells that are shown because they define what the active cell uses. A cell that does not fit in
# is only named.
_MAX_DEFINITIONS: Final = 1200

# The headings of the notebook that are listed, and the characters of each.
_MAX_HEADINGS: Final = 20
_MAX_HEADING: Final = 40

# The characters of a selected text that are shown beside its cell.
_MAX_SELECTED: Final = 1000

# A cell id with more characters is left out of the line `(..., as before)`. The conversation has the id already.
_MAX_ID: Final = 12

# A heading in a Markdown cell.
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
# The beginnings of three lines of the text: of the headings, of the modules, and of each cell.
_HEADINGS: Final = "Headings: "
_MODULES: Final = "Own modules: "
_BODY: Final = "--- cell "
# The age of the kernel in the first line. It changes all the time, so it is left out of comparisons.
_AGE: Final = re.compile(r", started [^:\n]*? ago")
# Finds the earlier texts about the place in a conversation: the full ones, and the short ones of one line. The group
# `head` is the line about the notebook, which a short text has only if that line has changed.
_FULL: Final = re.escape(format_context(LABEL, "\0")).replace("\0", "(?P<full>.*?)")
_SHORT: Final = r"\n\n\((?:(?P<head>[^\n]+?); )?(?:active|asked from) [^\n]*?, as before[.)]"
_EARLIER_TEXT: Final = re.compile(f"{_FULL}|{_SHORT}", re.DOTALL)
# The beginning of a cell that asks the assistant. Its answer is in the conversation.
_QUESTION: Final = re.compile(r"\s*%{1,2}eca\b")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the user is."""

    document: NotebookDocument
    """The notebook."""
    history: KernelHistory | KernelCount | None
    """What has run in the kernel; None if that is not known."""
    cell: str = ""
    """The id of the active cell, or of the cell that asks; empty if there is none, or it is not known."""
    position: Range | None = None
    """The cursor or the selection in the active cell, counted from 0."""
    selected: str = ""
    """The selected text."""
    asks: bool = False
    """Whether the cell itself asks, with `%%eca`."""
    modules: tuple[str, ...] = ()
    """A line for each of the user's modules that the notebook imports, see `module_outline`."""


@dataclass(frozen=True, slots=True)
class KnownPlace:
    """What the model knows of the place by now, from the conversation."""

    head: str = ""
    """The line about the notebook and its kernel, without the age of the kernel."""
    body: str = ""
    """The sources and outputs."""
    outlined: tuple[str, ...] = ()
    """The lines about the notebooks whose headings and modules were listed, one for each notebook. A line begins with
    the path of its notebook."""

    def has_outline(self, path: str) -> bool:
        """Return whether the headings and the modules of a notebook were listed."""
        return any(line.startswith(f"{path}: ") for line in self.outlined)


@dataclass(frozen=True, slots=True)
class PlaceText:
    """The text about the place for the next message."""

    text: str
    """Empty if there is nothing new."""
    is_short: bool = False
    """Whether the text is the line which says that the cell is as before. This line is sent without a label."""
    complete_cells: tuple[NotebookCell, ...] = ()
    """The cells whose whole sources the model knows when it has read the text."""


def read_known_place(history: History) -> KnownPlace:
    """Return what the model knows of the place, from all texts about it in a conversation."""
    known = KnownPlace()
    for message in history:
        if message.role == "user":
            for match in _EARLIER_TEXT.finditer(message.text):
                known = _add_text(known, match)
    return known


def describe_place(place: Place, known: KnownPlace, *, without_error: bool = False) -> PlaceText:
    """Return the text about the place for the next message. `known` is what the model knows already.

    With `without_error` the error of the cell that failed last is left out, because the same message has it in another
    context.
    """
    document = place.document
    subject = _find_subject(place)
    head, prefix = describe_notebook(document, place.history), f"{document.path}: "
    is_known = _AGE.sub("", head) == known.head
    if subject is None:
        where = _describe_asking(place, None) if place.asks else ""
        return PlaceText("" if is_known and not where else f"{head}\n{where}".strip())
    body, complete = _render_subject(document, subject, place)
    selected = _cut_end(place.selected) if place.selected.strip() != subject.source.strip() else ""
    if body == known.body and known.head.startswith(prefix):
        news = "" if is_known else f"{head}; "
        end = f". Selected:\n{selected})" if selected else ")"
        return PlaceText(
            f"({news}{_describe_where(place, subject, _MAX_ID)}, as before{end}", is_short=True, complete_cells=complete
        )
    if without_error and subject is find_last_failed(document):
        body, complete = _render_subject(document, subject, place, without_error=True)
    is_outlined = known.has_outline(document.path)
    headings = "" if is_outlined else ", ".join(_list_headings(document))
    modules = "" if is_outlined else "; ".join(place.modules)
    where = _describe_where(place, subject)
    lines = (
        head,
        headings and _HEADINGS + headings,
        modules and _MODULES + modules,
        f"{where[:1].upper()}{where[1:]}:",
        selected and f"Selected:\n{selected}",
        body,
    )
    return PlaceText("\n".join(line for line in lines if line), complete_cells=complete)


def _add_text(known: KnownPlace, match: re.Match[str]) -> KnownPlace:
    """Return what the model knows after one more text. `match` is a match of `_EARLIER_TEXT`."""
    if (full := match["full"]) is None:
        return replace(known, head=_AGE.sub("", match["head"])) if match["head"] else known
    head, _, following = full.partition("\n")
    body = following[following.find(f"\n{_BODY}") + 1 :] if f"\n{_BODY}" in following else ""
    outlined = (*known.outlined, head) if following.startswith((_HEADINGS, _MODULES)) else known.outlined
    return KnownPlace(_AGE.sub("", head), body, outlined)


def _find_subject(place: Place) -> NotebookCell | None:
    """Return the cell that is shown: the active cell; or for a cell that asks, the nearest cell above it that has code
    or text and does not ask itself. Return None if there is no such cell."""
    document = place.document
    if not place.asks:
        return document.find_cell(place.cell) if place.cell else None
    ids = [cell.id for cell in document.cells]
    above = document.cells[: ids.index(place.cell)] if place.cell in ids else ()
    return next((cell for cell in reversed(above) if cell.source.strip() and not _is_question(cell, document)), None)


def _is_question(cell: NotebookCell, document: NotebookDocument) -> bool:
    """Return whether a cell asks the assistant."""
    if cell.cell_type is not CellType.CODE:
        return False
    return bool(_QUESTION.match(cell.source)) or is_prompt(cell.source, choose_default_kind(document.language))


def _describe_where(place: Place, subject: NotebookCell, max_id: int = 100) -> str:
    """Return the words that name the cell: "active cell 26 [c25], line 1". An id with more than `max_id` characters is
    left out."""
    if place.asks:
        return _describe_asking(place, subject, max_id)
    return f"active {_name_cell(place.document, subject, max_id)}{_describe_cursor(place)}"


def _describe_asking(place: Place, subject: NotebookCell | None, max_id: int = 100) -> str:
    """Return the words for a cell that asks: "asked from cell 27 [c26]; the cell above is 26 [c25]". If yet another
    cell failed last, it is named too."""
    document = place.document
    asking = document.find_cell(place.cell)
    words = f"asked from {_name_cell(document, asking, max_id) if asking else 'a cell of it'}"
    if subject is not None:
        words += f"; the cell above is {_name_cell(document, subject, max_id).removeprefix('cell ')}"
    failed = find_last_failed(document)
    if failed is not None and failed is not subject and failed is not asking and failed.state is not CellState.EARLIER:
        words += f"; {_name_cell(document, failed, max_id)} failed last: {summarize_error(failed)}"
    return words


def _describe_cursor(place: Place) -> str:
    """Return where the cursor or the selection is, with a comma before it; empty if it is not known."""
    if place.position is None:
        return ""
    start, end = place.position.start, place.position.end
    if start == end:
        return f", line {start.line + 1}"
    # A selection that ends before the first character of a line does not include that line.
    last = end.line - (end.character == 0 and end.line > start.line)
    lines = f"line {start.line + 1}" if last == start.line else f"lines {start.line + 1}-{last + 1}"
    return f", {lines} selected"


def _name_cell(document: NotebookDocument, cell: NotebookCell, max_id: int = 100) -> str:
    """Return "cell 26 [c25]", or "cell 26" if the id has more than `max_id` characters."""
    return f"cell {_get_number(document, cell)}{f' [{cell.id}]' if len(cell.id) <= max_id else ''}"


def _get_number(document: NotebookDocument, cell: NotebookCell) -> int:
    """Return the number of a cell, counted from 1."""
    return next(number for number, other in enumerate(document.cells, 1) if other.id == cell.id)


def _list_headings(document: NotebookDocument) -> Iterator[str]:
    """Yield the headings in the Markdown cells, each with the number of its cell: "5 Clean"."""
    found = [
        (number, match[1].strip())
        for number, cell in enumerate(document.cells, 1)
        if cell.cell_type is CellType.MARKDOWN
        for match in _HEADING.finditer(cell.source)
    ]
    for number, heading in found[:_MAX_HEADINGS]:
        yield f"{number} {heading[:_MAX_HEADING]}"
    if len(found) > _MAX_HEADINGS:
        yield f"{len(found) - _MAX_HEADINGS} more"


def _render_subject(
    document: NotebookDocument, cell: NotebookCell, place: Place, *, without_error: bool = False
) -> tuple[str, tuple[NotebookCell, ...]]:
    """Return the text of the cell with its output, of the cells that its error passed through, and of the cells that
    define the functions and classes which it uses. Also return the cells whose whole sources are in this text. If
    `without_error` is True, the error in the output is left out, because the caller shows it in another place."""
    shown = [_render_heading(document, cell)]
    complete: list[NotebookCell] = []
    line = place.position.start.line + 1 if place.position and not place.asks else 1
    source = _cut_source(cell, line, MAX_LINES, MAX_SOURCE)
    shown.append(source)
    if source == cell.source:
        complete.append(cell)
    if output := _render_output(cell, without_error=without_error):
        shown.append(f"--- output of cell {_get_number(document, cell)} ---\n{output}")
    passed_ids: set[str] = set()
    if error := find_last_error(cell):
        passed, gone = find_passed_cells(document, cell, shorten_traceback(error.get("traceback")))
        passed_ids |= {other.id for other in passed[:_MAX_PASSED]}
        if not without_error:  # otherwise the other context has these cells, too
            for other in passed[:_MAX_PASSED]:
                source = _cut_source(other, 1, MAX_LINES, _MAX_PASSED_SOURCE)
                shown.append(f"{_render_heading(document, other, '; the error passed through it')}\n{source}")
                if source == other.source:
                    complete.append(other)
            if left_out := [_name_cell(document, other) for other in passed[_MAX_PASSED:]]:
                shown.append(f"[the error passed through {', '.join(left_out)}, too]")
            if gone:
                shown.append(f"[it passed through execution {', '.join(map(str, gone))}, which no cell has any more]")
    if cell in complete:  # of a longer cell the model has to read more anyway
        texts, defining = _render_definitions(document, cell, passed_ids)
        return "\n".join((*shown, *texts)), (*complete, *defining)
    return "\n".join(shown), tuple(complete)


def _render_definitions(
    document: NotebookDocument, cell: NotebookCell, shown: Collection[str]
) -> tuple[list[str], list[NotebookCell]]:
    """Return the texts of the cells that define the functions and classes which a cell uses, and those of these cells
    whose whole sources are in the texts. `shown` are the ids of the cells that are shown already."""
    texts: list[str] = []
    complete: list[NotebookCell] = []
    room = _MAX_DEFINITIONS
    for other, names in find_definitions(document, cell):
        if other.id in shown:
            continue
        if len(other.source) <= room:
            room -= len(other.source)
            heading = _render_heading(document, other, f"; it defines {', '.join(names)}")
            texts.append(f"{heading}\n{other.source}")
            complete.append(other)
        else:
            texts.append(f"[{_name_cell(document, other)} defines {', '.join(names)}]")
    return texts, complete


def _render_heading(document: NotebookDocument, cell: NotebookCell, remark: str = "") -> str:
    """Return the line above the source of a cell: "--- cell 26 [c25]: code, execution 19, failed ---". `remark` is
    added at its end."""
    failed = ", failed" if find_last_error(cell) and cell.state not in {CellState.QUEUED, CellState.RUNNING} else ""
    state = f"{describe_kind_and_state(cell, document)}{failed}{remark}"
    return f"{_BODY}{_get_number(document, cell)} [{cell.id}]: {state} ---"


def _render_output(cell: NotebookCell, *, without_error: bool) -> str:
    """Return the end of the output, in which frames of libraries are one line each. See `_render_subject` for
    `without_error`."""
    outputs = shorten_errors(
        output for output in cell.outputs if not (without_error and output.get("output_type") == "error")
    )
    text = render_outputs(outputs, 10 * MAX_OUTPUT)
    if len(text) > MAX_OUTPUT:
        kept = text[-MAX_OUTPUT:]
        # The output is cut at the end of a line, unless the line is very long.
        kept = kept.partition("\n")[2] if "\n" in kept[: MAX_OUTPUT // 2] else kept
        text = f"[its end; all of it: notebook_read {cell.id}]\n{kept}"
    if without_error and find_last_error(cell):
        text = f"{text}\n[its error is below]".strip("\n")
    return text


def _cut_end(text: str) -> str:
    """Return a selected text, of which only the first `_MAX_SELECTED` characters are kept."""
    left_out = len(text) - _MAX_SELECTED
    return text if left_out <= 0 else f"{text[:_MAX_SELECTED]}\n[{left_out} more characters]"


def _cut_source(cell: NotebookCell, line: int, most_lines: int, most_chars: int) -> str:
    """Return the source of a cell. Of a source that is too long, return the first lines and the lines around `line`
    (counted from 1), after a line that says which they are: "[lines 1-9, 20-41 of 3000; notebook_read c25]"."""
    lines = cell.source.split("\n")
    if len(lines) <= most_lines and len(cell.source) <= most_chars:
        return cell.source
    chosen: list[int] = []
    room = min(most_chars, MAX_WINDOW)
    for number in _order_lines(len(lines), min(max(line, 1), len(lines))):
        room -= min(len(lines[number - 1]), _MAX_LINE) + 1
        if len(chosen) == most_lines or (chosen and room < 0):
            break
        chosen.append(number)
    runs = list(_group_runs(sorted(chosen)))
    ranges = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    parts = ("\n".join(_cut_line(lines[number - 1]) for number in run) for run in runs)
    return "\n".join([f"[lines {ranges} of {len(lines)}; notebook_read {cell.id}]", "\n[...]\n".join(parts)])


def _order_lines(total: int, line: int) -> Iterator[int]:
    """Yield the numbers of lines, the most useful first. Each round yields the next line below the cursor, the next one
    above it, and the next one from the top. `total` is the number of lines, and `line` that of the cursor."""
    seen: set[int] = set()
    for step in range(total):
        for number in (line + step, line - step, step + 1):
            if 0 < number <= total and number not in seen:
                seen.add(number)
                yield number


def _cut_line(line: str) -> str:
    """Return a line of a source, cut to `_MAX_LINE` characters."""
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]} [...]"


def _group_runs(numbers: Iterable[int]) -> Iterator[list[int]]:
    """Yield the runs of consecutive numbers: 1, 2, 5 -> [1, 2], [5]."""
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run
