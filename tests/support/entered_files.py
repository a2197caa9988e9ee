"""Lists the files of the package whose functions are entered between `%eca hello` in a cell and the first letter of the
answer. It must be run as a program of its own, in an empty folder, because it profiles all threads:
`python -m tests.support.entered_files`.

The host runs in the same process, as it does where there is no Jupyter server. The model is a stub that writes one
letter, and goes on when the cell has it. The first question is not measured: it loads what all later questions share.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jupyter_eca

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from types import FrameType

    from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.protocol.chat import ChatContentReceivedParams

PACKAGE: Final = Path(jupyter_eca.__file__).parent
# Something else may happen during a question, such as a look at the files of the configuration. So several questions
# are measured, and the one that has entered the fewest files counts.
QUESTIONS: Final = 3


class Recorder:
    """Records the files while it is on."""

    def __init__(self) -> None:
        self.is_on = False
        self.files: set[str] = set()
        self.first_letter = asyncio.Event()

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        if self.is_on and event == "call":
            self.files.add(frame.f_code.co_filename)

    def begin(self) -> None:
        self.files, self.first_letter, self.is_on = set(), asyncio.Event(), True

    @property
    def entered(self) -> list[str]:
        paths = (Path(file) for file in self.files)
        return sorted(path.relative_to(PACKAGE).as_posix() for path in paths if path.is_relative_to(PACKAGE))


@contextmanager
def profile_all_threads(recorder: Recorder) -> Generator[None]:
    """Profile this thread, and all threads that are started within this context."""
    threading.setprofile(recorder.profile)
    sys.setprofile(recorder.profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def install_stubs(recorder: Recorder) -> None:
    """Replace the answer of the scripted model by a stub, and note when a cell gets its first letter."""
    from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
    from jupyter_eca.engine.model.delta import TextDelta, UsageDelta
    from jupyter_eca.plugins.providers.scripted import ScriptedProvider
    from jupyter_eca.protocol.content import Role, TextContent

    add = CellTranscript.add

    async def stream(*_: Any) -> AsyncGenerator[Delta]:
        yield TextDelta("H")
        await recorder.first_letter.wait()
        yield TextDelta("i")
        yield UsageDelta(1, 1)

    def add_and_note(transcript: CellTranscript, received: ChatContentReceivedParams) -> None:
        add(transcript, received)
        if received.role is Role.ASSISTANT and isinstance(received.content, TextContent):
            recorder.is_on = False
            recorder.first_letter.set()

    ScriptedProvider.stream = stream  # pyright: ignore[reportAttributeAccessIssue]  # a stub takes any arguments
    CellTranscript.add = add_and_note  # pyright: ignore[reportAttributeAccessIssue]  # its parameter has another name


def main() -> None:
    """Print the files as a JSON array."""
    from IPython.core.interactiveshell import InteractiveShell

    recorder = Recorder()
    with profile_all_threads(recorder):
        shell: Any = InteractiveShell.instance()  # its methods have no complete types
        shell.run_cell("%load_ext jupyter_eca")
        install_stubs(recorder)
        measured: list[list[str]] = []
        for _ in range(1 + QUESTIONS):
            recorder.begin()
            shell.run_cell("%eca hello").raise_error()
            measured.append(recorder.entered)
    print(json.dumps(min(measured[1:], key=len)))  # the result of this program


if __name__ == "__main__":
    main()
