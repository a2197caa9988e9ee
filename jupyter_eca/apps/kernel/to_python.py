"""Converts a notebook with prompts into a notebook of plain Python, which runs without this package.

Questions and answers become Markdown cells. Code that the assistant ran becomes code cells with its outputs. That code
is in the metadata of the answers, where `engine/saved_code.py` put it: `{"jupyter_eca": {"runs": [RUN, …]}}`. A run is
one piece of code with its outputs. The converter needs no engine and no kernel. It never overwrites a file.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.apps.kernel import options
from jupyter_eca.apps.kernel.engine.saved_code import METADATA_KEY
from jupyter_eca.apps.kernel.transform import find_questions
from jupyter_eca.errors import LocalError
from jupyter_eca.workspace.notebooks.prompt_cells import KERNEL_NAME as KERNEL_OF_PROMPTS
from jupyter_eca.workspace.notebooks.prompt_cells import DefaultCellKind, as_ipython_source, is_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A JSON object, such as a notebook, a cell or an output in nbformat.
Json = dict[str, Any]

# The kernelspec of the new notebook.
KERNEL: Final = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}

# The first line of a question: "%%eca -n Why?".
_CELL = re.compile(r"\s*%%eca(?![\w?])([^\n]*)\n?")
# A line for the assistant: a question or command of `%eca`, or the line that loads the extension.
_LINE = re.compile(r"(\s*)(%eca(?![\w?])|%(?:re)?load_ext\s+jupyter_eca\b)(.*)")
# Matches a folded tool call. Texts of the assistant contain no tags, because they are made inert (`inert_markdown`).
_CALL = re.compile(r"^<details><summary>.*?^</details>$", re.M | re.S)


def write_python(source: Path, target: Path | None = None) -> Path:
    """Write the notebook as plain Python and return the new path. By default it is NAME-python.ipynb in the same
    folder. Raises: LocalError when the file is not a notebook, or when the new file exists already."""
    target = target or source.with_name(f"{source.stem}-python.ipynb")
    try:
        notebook = json.loads(source.read_text("utf-8"))
        if notebook["nbformat"] != 4:
            raise LocalError(f"{source.name} has an old format: open and save it in JupyterLab first.")
        text = json.dumps(convert(notebook), ensure_ascii=False, indent=1) + "\n"
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise LocalError(f"{target.name} exists already: delete or rename it first.") from None
    except OSError as error:
        raise LocalError(f"{error.filename or source}: {error.strerror or error}.") from None
    except (ValueError, KeyError, TypeError):
        raise LocalError(f"{source.name} is not a notebook.") from None
    return target


def convert(notebook: Json) -> Json:
    """Return the notebook as plain Python. Raises: KeyError, TypeError, when it is not a notebook."""
    has_prompts = notebook["metadata"].get("kernelspec", {}).get("name") == KERNEL_OF_PROMPTS
    cells = list(_convert_cells(notebook["cells"], DefaultCellKind.PROMPTS if has_prompts else DefaultCellKind.CODE))
    metadata = notebook["metadata"] | {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    # The saved widgets belong to questions, and the new notebook does not show them.
    metadata.pop("widgets", None)
    return notebook | {
        "cells": cells,
        "metadata": metadata,
        "nbformat_minor": max(5, notebook.get("nbformat_minor", 0)),
    }


def _convert_cells(old_cells: list[Json], default_kind: DefaultCellKind) -> Iterator[Json]:
    """Yield the new cells. `default_kind` says what a cell without a magic in its first line is: a prompt or code. The
    line `%eca cells` in a cell changes this for the cells after it."""
    for number, cell in enumerate(old_cells):
        id = str(cell.get("id", f"cell-{number}"))
        source = _join_lines(cell["source"])
        if cell["cell_type"] != "code":
            yield cell | {"id": id}
            continue
        for part_number, part in enumerate(_convert_cell(cell, as_ipython_source(source, default_kind))):
            # The id of a cell may have at most 64 characters.
            yield part | {"id": f"{id[:50]}-{part_number}" if part_number else id}
        for line in source.splitlines() if not is_prompt(source, default_kind) else ():
            parsed = options.parse(match[3]) if (match := _LINE.match(line)) else None
            if (
                isinstance(parsed, options.LineCommand)
                and parsed.name == "cells"
                and parsed.argument in list(DefaultCellKind)
            ):
                default_kind = DefaultCellKind(parsed.argument)


def _convert_cell(cell: Json, source: str) -> Iterator[Json]:
    """Yield the new cells for a code cell. `source` is the code that IPython ran for it.

    There are three cases: the cell is a question with `%%eca`; it has only lines for the assistant; or it has code,
    perhaps with such lines between.
    """
    outputs: list[Json] = cell.get("outputs", [])
    if match := _CELL.match(source):
        parsed = options.parse(match[1].strip(), source[match.end() :])
        yield _create_markdown_cell(parsed.message if isinstance(parsed, options.CellQuestion) else source)
        yield from _convert_answer(outputs)
        return
    code, questions = _comment_out_our_lines(source)
    if code is None:
        yield from map(_create_markdown_cell, questions)
        yield from _convert_answer(outputs) if questions else ()
        return
    code_outputs = [output for output in outputs if METADATA_KEY not in output.get("metadata", {})]
    old_fields = {"metadata": cell.get("metadata", {}), "execution_count": cell.get("execution_count")}
    # In a notebook of prompts, code begins with `%%python`, which IPython ran as a comment.
    yield _create_code_cell(code.removeprefix("# %%python\n"), code_outputs) | old_fields
    if questions:
        yield from _convert_runs(outputs)


def _comment_out_our_lines(source: str) -> tuple[str | None, list[str]]:
    """Return the code with the lines for the assistant as comments, and the questions of those lines. The code is None
    if nothing else is in the cell.

    An example: "%eca Why?\\nx = 1" -> ("# %eca Why?\\nx = 1", ["Why?"]).
    """
    lines, texts = source.splitlines(), list[str]()
    question_lines = set(find_questions(source.splitlines(keepends=True)))
    has_code = False
    for number, line in enumerate(lines):
        match = _LINE.match(line) if number in question_lines or "load_ext" in line else None
        if match is None:
            has_code = has_code or bool(line.strip())
            continue
        # An indented line becomes `pass`, because it may be the only statement of its block.
        lines[number] = f"{match[1]}pass  # {line.strip()}" if match[1] else f"# {line}"
        question = options.parse(match[3]) if match[2] == "%eca" else None
        texts += [question.message] if isinstance(question, options.CellQuestion) else []
    return ("\n".join(lines) if has_code or not source.strip() else None), texts


def _convert_answer(outputs: list[Json]) -> Iterator[Json]:
    """Yield cells for the code that ran, and then the text of the answer without its tool calls."""
    yield from _convert_runs(outputs)
    for output in outputs:
        text = _join_lines(output.get("data", {}).get("text/markdown", ""))
        # An output with our key and no runs is a figure, which belongs to a run.
        if METADATA_KEY not in output.get("metadata", {}) or "runs" in output["metadata"][METADATA_KEY]:
            answer = _CALL.sub("", text).strip()
            yield from [_create_markdown_cell(re.sub(r"\n{3,}", "\n\n", answer))] if answer else ()


def _convert_runs(outputs: list[Json]) -> Iterator[Json]:
    """Yield a code cell for each run of code that the outputs of an answer keep."""
    marks = [(output.get("metadata", {}).get(METADATA_KEY, {}), output) for output in outputs]
    # The figures that the page has shown, by the number of their run and their number in the run.
    shown_outputs = {(mark["run"], mark["output"]): output for mark, output in marks if "run" in mark}
    for runs in (mark["runs"] for mark, _ in marks if "runs" in mark):
        for number, run in enumerate(runs):
            run_outputs = [_find_output(number, output, shown_outputs) for output in run["outputs"]]
            cell = _create_code_cell(run["code"], [output for output in run_outputs if output is not None])
            if any(output["output_type"] == "error" for output in cell["outputs"]):
                # The code failed when the assistant ran it, and will fail again. With this tag, a failure does not stop
                # the cells after it.
                cell["metadata"] = {"tags": ["raises-exception"]}
            yield cell


def _find_output(run: int, output: Json, shown_outputs: dict[tuple[int, int], Json]) -> Json | None:
    """Return an output of a run as the new notebook has it. `run` is the number of the run, `output` the output as it
    is saved there. If the page has shown it in an output of its own (`shown_outputs`), return that, or None if the user
    has removed it."""
    mark = output.get("metadata", {}).get(METADATA_KEY)
    if mark is None:
        return output
    own_output = shown_outputs.get((run, mark["output"]))
    if own_output is None:
        return None
    metadata = {name: value for name, value in own_output["metadata"].items() if name != METADATA_KEY}
    return {"output_type": "display_data", "data": own_output["data"], "metadata": metadata}


def _create_markdown_cell(text: str) -> Json:
    """Return a Markdown cell in nbformat, without an id."""
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _create_code_cell(source: str, outputs: list[Json]) -> Json:
    """Return a code cell in nbformat, without an id."""
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": outputs, "execution_count": None}


def _join_lines(text: str | list[str]) -> str:
    """Return a text that a notebook may save as a list of its lines."""
    return text if isinstance(text, str) else "".join(text)
