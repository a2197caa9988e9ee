"""Owns the three screens on which an answer can be shown: in a notebook an output that is redrawn at most ten times a
second, in a terminal the printed text, and if nobody watches, one output at the end.

It must not format the answer: `transcript` returns the text. `front_end` chooses the screen.
"""

from __future__ import annotations

import sys
import time
import uuid
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.apps.kernel.answer.pictures import as_bundles
from jupyter_eca.apps.kernel.answer.tool_details import format_plain_checklist
from jupyter_eca.apps.kernel.answer.transcript import AnswerText, TranscriptCall, part_as_text

if TYPE_CHECKING:
    from jupyter_eca.apps.kernel.answer.transcript import CellTranscript

# The least seconds between two redraws. JupyterLab needs milliseconds to render a long text: 2,000 single updates took
# it 5 to 9 s, and some were lost (measured).
REDRAW_SECONDS = 0.1


class Publisher(Protocol):
    """The part of IPython's DisplayPublisher that is needed here."""

    def publish(
        self,
        data: dict[str, Any],
        metadata: dict[str, Any] | None = None,
        *,
        transient: dict[str, str] | None = None,
        update: bool = False,
    ) -> None:
        """Show `data`, which is a MIME bundle, in an output of the cell. With `update`, replace the output that has the
        display id in `transient`."""
        ...


class Screen(Protocol):
    """Shows an answer while it grows."""

    def draw(self, transcript: CellTranscript, *, now: bool = False) -> None:
        """Draw if enough time has passed, or always with `now`. It may be called often."""
        ...

    def finish(self, transcript: CellTranscript) -> None:
        """Draw the complete answer for the last time."""
        ...


class NotebookScreen:
    """Implements `Screen` for a notebook. Shows the answer in one output, which has a display id so that it can be
    redrawn. It keeps the publisher of its cell, because IPython replaces the publisher while the assistant's code
    runs."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._id = uuid.uuid4().hex  # the display id
        self._drawn = ""  # the Markdown that is shown now
        self._next_redraw = 0.0  # the earliest time of the next redraw

    def draw(self, transcript: CellTranscript, *, now: bool = False) -> None:
        """Replace the output by the answer so far, if `REDRAW_SECONDS` have passed since the last time, or always with
        `now`."""
        if now or time.monotonic() >= self._next_redraw:
            self._show(transcript)
            self._next_redraw = time.monotonic() + REDRAW_SECONDS

    def finish(self, transcript: CellTranscript) -> None:
        """Replace the output by the complete answer, and show its pictures in outputs of their own."""
        self._show(transcript, final=True)
        _show_pictures(self._publisher, transcript)

    def _show(self, transcript: CellTranscript, *, final: bool = False) -> None:
        """Publish the answer if it has changed. `final`: it is complete, and is saved with its metadata."""
        text = transcript.as_markdown(final=final)
        metadata = transcript.metadata if final else {}
        if text != self._drawn or metadata:
            data = {"text/markdown": text, "text/plain": transcript.as_text()}
            self._publisher.publish(data, metadata, transient={"display_id": self._id}, update=bool(self._drawn))
            self._drawn = text


class FinalScreen:
    """Implements `Screen` for a cell that nobody watches. Shows the text only once, at the end. nbclient, papermill and
    nbval need that: they compare the outputs, or keep the first output only."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    def draw(self, transcript: CellTranscript, *, now: bool = False) -> None:
        """Draw nothing while the answer grows."""

    def finish(self, transcript: CellTranscript) -> None:
        """Show the complete answer, and its pictures."""
        data = {"text/markdown": transcript.as_markdown(final=True), "text/plain": transcript.as_text()}
        self._publisher.publish(data, transcript.metadata)
        _show_pictures(self._publisher, transcript)


class TerminalScreen:
    """Implements `Screen` for a terminal. Prints new text when it arrives, and a line for a tool call when its state
    changes."""

    def __init__(self) -> None:
        self._printed: dict[int, str] = {}  # what was printed of each part of the answer, by its index

    def draw(self, transcript: CellTranscript, *, now: bool = False) -> None:  # noqa: ARG002  # printing needs no limit
        """Print the text that is new since the last call, and a line for each tool call whose state has changed."""
        for number, part in enumerate(transcript.visible_parts):
            text, before = part_as_text(part), self._printed.get(number, "")
            # A call is not printed while it is prepared or starts ("…"): a printed line cannot be changed later.
            if text == before or (isinstance(part, TranscriptCall) and part.state.startswith("…")):
                continue
            new = text.removeprefix(before) if isinstance(part, AnswerText) else f"{text}\n"
            sys.stdout.write("\n\n" + new if not before and number else new)
            self._printed[number] = text
        sys.stdout.flush()

    def finish(self, transcript: CellTranscript) -> None:
        """Print what is not printed yet, and the task list."""
        self.draw(transcript)
        task_list = transcript.task_list
        sys.stdout.write(f"\n\n{format_plain_checklist(task_list)}\n" if task_list else "\n")
        sys.stdout.flush()


def _show_pictures(publisher: Publisher, transcript: CellTranscript) -> None:
    """Show each picture in an output of its own, because a page shows only one type of data of an output."""
    for bundle in as_bundles(transcript.pictures):
        publisher.publish(bundle)
