"""What a saved notebook keeps of the code that the assistant ran: the code, and what came of it, as the metadata of the
answer. The text of the answer is for readers, and cuts what is long; `to_python` makes cells of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEY: Final = "jupyter_eca"

# Characters of one output: a notebook is not the place for a log.
MAX_CHARS: Final = 20_000

_SHOWN = ("image/", "text/html", "application/")


def is_shown(data: Mapping[str, Any]) -> bool:
    """Return whether a page shows it in an output of its own."""
    return any(mime.startswith(_SHOWN) for mime in data)


def metadata(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {KEY: {"runs": list(runs)}} if runs else {}


def mark(run: int, output: int) -> dict[str, Any]:
    """Return the metadata of an output that is shown: its run and its number. So the output is saved only once."""
    return {KEY: {"run": run, "output": output}}


def run(code: str, captured: Any, error: BaseException | None) -> dict[str, Any]:
    outputs: list[dict[str, Any]] = [
        {"output_type": "stream", "name": name, "text": _shorten(text)}
        for name, text in (("stdout", captured.stdout), ("stderr", captured.stderr))
        if text
    ]
    for number, output in enumerate(cast("list[Any]", captured.outputs)):
        visible = is_shown(output.data)
        data = {} if visible else {mime: _shorten(str(text)) for mime, text in output.data.items()}
        metadata = mark(-1, number) if visible else {}
        outputs.append({"output_type": "display_data", "data": data, "metadata": metadata})
    # Only the first line of an error: its traceback names files of this machine.
    if error is not None:
        outputs.append({"output_type": "error", "ename": type(error).__name__, "evalue": str(error), "traceback": []})
    return {"code": code, "outputs": outputs}


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}\n… {len(text) - MAX_CHARS} characters more\n"
