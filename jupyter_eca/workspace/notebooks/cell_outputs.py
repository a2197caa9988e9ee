"""Builds the outputs of a cell in nbformat (the format of notebook files) from a kernel's messages, as a notebook page
does.

It must not know where the outputs are stored. `kernels/output_text.py` converts outputs to text for a model.
"""

from __future__ import annotations

from typing import Any


class CellOutputs:
    """The outputs of one run of one cell."""

    def __init__(self) -> None:
        self.count: int | None = None
        """The execution count; None until the kernel has begun."""
        # The outputs in nbformat, except that the text of a stream is a list of pieces.
        self._outputs: list[dict[str, Any]] = []
        # The outputs with a display id, which the kernel may update later.
        self._displays: dict[str, list[dict[str, Any]]] = {}
        # Whether the code called `clear_output(wait=True)`: the next output replaces the present ones.
        self._clear_next = False

    def add_message(self, message: dict[str, Any]) -> None:
        """Add a message of the kernel."""
        kind, content = message["header"]["msg_type"], message["content"]
        match kind:
            case "execute_input":
                self.count = content.get("execution_count")
            case "clear_output" if content.get("wait"):
                self._clear_next = True
            case "clear_output":
                self._clear()
            case "update_display_data":
                for output in self._displays.get(_get_display_id(content), ()):
                    output |= {"data": content["data"], "metadata": content["metadata"]}
            case "stream":
                self._add_stream(content["name"], content["text"])
            case "display_data" | "execute_result" | "error":
                self._add_output(kind, content)
            case _:
                pass

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """The outputs in nbformat."""
        return [
            {**output, "text": _apply_overwrites("".join(output["text"]))}
            if output["output_type"] == "stream"
            else output
            for output in self._outputs
        ]

    def _add_stream(self, name: str, text: str) -> None:
        """Add text of a stream (stdout or stderr), to the last output if that is of the same stream."""
        self._clear_if_pending()
        last = self._outputs[-1] if self._outputs else {}
        if last.get("name") == name:
            last["text"].append(text)
        else:
            self._outputs.append({"output_type": "stream", "name": name, "text": [text]})

    def _add_output(self, kind: str, content: dict[str, Any]) -> None:
        """Add an output of another kind than a stream."""
        self._clear_if_pending()
        output: dict[str, Any] = {"output_type": kind}
        if kind == "error":
            output |= {name: content[name] for name in ("ename", "evalue", "traceback")}
        else:
            output |= {"data": content["data"], "metadata": content["metadata"]}
            if kind == "execute_result":
                output["execution_count"] = content["execution_count"]
            if display := _get_display_id(content):
                self._displays.setdefault(display, []).append(output)
        self._outputs.append(output)

    def _clear_if_pending(self) -> None:
        """Remove all outputs if the code has asked to replace them by the next output."""
        if self._clear_next:
            self._clear()

    def _clear(self) -> None:
        """Forget all outputs so far."""
        self._outputs.clear()
        self._displays.clear()
        self._clear_next = False


def _get_display_id(content: dict[str, Any]) -> str:
    """Return the display id in the content of a message; empty when there is none."""
    transient: dict[str, Any] = content.get("transient") or {}
    return transient.get("display_id") or ""


def _apply_overwrites(text: str) -> str:
    """Return the text as a terminal shows it in the end: without text that `\\r` or `\\b` removed. Colour codes stay.

    A progress bar writes the same line a thousand times, and only its last state is stored. The time must grow with the
    length of the text only, because an output may be one line of a megabyte.
    """
    if "\b" in text:
        text = "\n".join(map(_apply_backspaces, text.split("\n")))
    lines = text.replace("\r\n", "\n").split("\n")
    # A carriage return that is followed by text overwrites all text of the line before it.
    return "\n".join(line[line.rstrip("\r").rfind("\r") + 1 :] for line in lines)


def _apply_backspaces(line: str) -> str:
    """Return a line without each backspace and the character that it removes."""
    kept: list[str] = []
    for character in line:
        if character == "\b" and kept and kept[-1] != "\b":
            kept.pop()
        else:
            kept.append(character)
    return "".join(kept)
