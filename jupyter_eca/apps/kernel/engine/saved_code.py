"""Defines the form in which a notebook saves the code that the assistant ran, with its outputs: in the metadata of the
answer's output.

The text of the answer also shows the code, but only for readers and in a shortened form. `to_python` makes cells from
this metadata. This module must not run code: `shell_kernel` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The key of our entry in the metadata of an output. For the output of an answer, the metadata are
# `{"jupyter_eca": {"runs": [RUN, …]}}`.
METADATA_KEY: Final = "jupyter_eca"

# The most characters of an output that are saved: a notebook is not the place for a log.
MAX_CHARS: Final = 20_000

# The beginnings of the MIME types that a page shows in an output of their own.
_SHOWN_TYPES = ("image/", "text/html", "application/")


def has_own_output(data: Mapping[str, Any]) -> bool:
    """Return whether the data are shown on the page in an output of their own, for example a figure."""
    return any(mime.startswith(_SHOWN_TYPES) for mime in data)


def build_metadata(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the metadata of the answer's output. Each of `runs` comes from `describe_run`."""
    return {METADATA_KEY: {"runs": list(runs)}} if runs else {}


def build_output_mark(run: int, output: int) -> dict[str, Any]:
    """Return the metadata of an output that the page shows: the number of its run, and its number in the run. The run
    keeps an empty output with the same number in its place, so the data are saved only once."""
    return {METADATA_KEY: {"run": run, "output": output}}


def describe_run(code: str, captured: Any, error: BaseException | None) -> dict[str, Any]:
    """Return a run as it is saved: the code, and its outputs in nbformat. An output that the page shows by itself is
    saved as that output of the page, so its data are empty here. `captured` is IPython's `CapturedIO`."""
    outputs: list[dict[str, Any]] = [
        {"output_type": "stream", "name": name, "text": _shorten(text)}
        for name, text in (("stdout", captured.stdout), ("stderr", captured.stderr))
        if text
    ]
    for number, output in enumerate(cast("list[Any]", captured.outputs)):
        visible = has_own_output(output.data)
        data = {} if visible else {mime: _shorten(str(text)) for mime, text in output.data.items()}
        # An output inside of a run needs no number of its run, so -1 is written.
        metadata = build_output_mark(-1, number) if visible else {}
        outputs.append({"output_type": "display_data", "data": data, "metadata": metadata})
    # An error is saved without its traceback, which names files of this machine.
    if error is not None:
        outputs.append({"output_type": "error", "ename": type(error).__name__, "evalue": str(error), "traceback": []})
    return {"code": code, "outputs": outputs}


def _shorten(text: str) -> str:
    """Return the first `MAX_CHARS` characters of a text, and how many more there are."""
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}\n… {len(text) - MAX_CHARS} characters more\n"
