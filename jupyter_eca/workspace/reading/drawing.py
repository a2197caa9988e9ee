"""Draws figures that are no pictures yet, such as SVG, so that a model can look at them. Each format needs a library,
which is used only if it is installed.

It must not know where a figure comes from. Its neighbour `draw_figure.py` is the program that draws, `image.py` loads
pictures, and `kernels/rich_text.py` says in words what a figure shows.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.environment import build_helper_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

# The media types of the figures that can be drawn.
SVG: Final = "image/svg+xml"
PLOTLY: Final = "application/vnd.plotly.v1+json"

# The libraries that draw a format. All of them must be installed.
_LIBRARIES: Final[Mapping[str, tuple[str, ...]]] = {SVG: ("cairosvg",), PLOTLY: ("plotly", "kaleido")}

# The seconds for one figure. An SVG takes half a second. For plotly a browser is started, which takes some seconds.
LIMIT_SECONDS: Final = 20.0

# The program that draws, which runs in a process of its own.
_PROGRAM: Final = Path(__file__).with_name("draw_figure.py")


@cache
def can_draw(media_type: str) -> bool:
    """Return whether a format can be drawn with what is installed."""
    libraries = _LIBRARIES.get(media_type, ())
    return bool(libraries) and all(importlib.util.find_spec(name) is not None for name in libraries)


def draw(media_type: str, source: str) -> bytes:
    """Draw a figure as PNG, in a process of its own. It blocks for some seconds, so it belongs in a thread.

    Raises: ToolError.
    """
    problem = f"A figure of the type {media_type} could not be drawn"
    pipe = subprocess.PIPE
    # With `-P`, no module of this folder or of the user hides one of Python.
    command = [sys.executable, "-P", str(_PROGRAM), media_type]
    try:
        process = subprocess.Popen(  # noqa: S603  # our own program; the figure is only its input
            command, stdin=pipe, stdout=pipe, stderr=pipe, env=build_helper_environment(), start_new_session=True
        )
    except OSError as error:
        raise ToolError(f"{problem}: {error}.") from error
    try:
        drawn, errors = process.communicate(source.encode("utf-8", "replace"), LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        raise ToolError(f"{problem}: it takes more than {LIMIT_SECONDS:g} seconds.") from None
    finally:
        if process.returncode is None:
            _kill(process)
            process.communicate()  # also frees the pipes
    if process.returncode != 0:
        reason = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ToolError(f"{problem}: {reason or f'exit status {process.returncode}'}.")
    return drawn


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process, and where it is possible also the browser that it has started."""
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
