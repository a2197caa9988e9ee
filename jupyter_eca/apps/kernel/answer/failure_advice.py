"""Adds advice to the error of a cell whose turn failed. Pure.

It adds a line that says what the user can type. It also adds a mark to the metadata of the output, so that JupyterLab
shows buttons below the cell. The reason of the failure is not written here, because the server sends it. `turn` raises
the reason and the line as the error of the cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_eca.apps.kernel.engine.saved_code import METADATA_KEY
from jupyter_eca.errors import FailureKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.protocol.content import TurnFailure

_SIGN_IN = "To set a key or to sign in, run `%eca /login`."
_OTHER_MODEL = "To ask another model, add `-m PROVIDER/MODEL` after `%eca`."
_COSTS = "To see what was spent, run `%eca /costs`."

# For the other kinds of failure, the reason itself says what to do: to ask again, or how to get a model.
_ADVICE = {
    FailureKind.AUTH: _SIGN_IN,
    FailureKind.MODEL: _OTHER_MODEL,
    FailureKind.QUOTA: _OTHER_MODEL,
    FailureKind.BUDGET_EXCEEDED: _COSTS,
    FailureKind.CONTEXT: _OTHER_MODEL,
    FailureKind.IMAGE: _OTHER_MODEL,
    FailureKind.BUDGET: _COSTS,
}


def advise(failure: TurnFailure | None) -> str:
    """Return a line that says what the user can type after a failure; empty when there is no general advice."""
    return _ADVICE.get(failure.kind, "") if failure else ""


def add_failure(metadata: Mapping[str, Any], failure: TurnFailure | None) -> dict[str, Any]:
    """Return the metadata of an output with the mark of the failure added:
    `{"jupyter_eca": {"failure": {"kind": ..., "model": ...}}}`."""
    mark = {"failure": failure.as_json_object()} if failure else {}
    return {**metadata, METADATA_KEY: {**metadata.get(METADATA_KEY, {}), **mark}} if mark else dict(metadata)
