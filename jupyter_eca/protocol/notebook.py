"""Our extension for clients that are a live kernel: requests the server sends to them, never to other clients.

A client declares `capabilities.codeAssistant.kernel`. While one of its cells waits for an answer, an execute request
would queue behind that cell, so the code goes through the link and the waiting cell's own coroutine runs it.
"""

from __future__ import annotations

from enum import StrEnum

from jupyter_eca.protocol.base import Model


class RunStatus(StrEnum):
    OK = "ok"
    ERROR = "error"
    INTERRUPTED = "interrupted"


class KernelExecuteParams(Model):
    chat_id: str
    code: str


class KernelExecuteResult(Model):
    """`text` is all output as text in the order it came: streams, reprs, traceback, and a line for each rich output."""

    status: RunStatus
    text: str


class KernelVariablesParams(Model):
    """No names: all of the user's variables."""

    chat_id: str
    names: tuple[str, ...] = ()


class Column(Model):
    name: str
    dtype: str


class Variable(Model):
    """`preview` is a short repr, `sample` the first rows of a table; both are capped where they are made."""

    name: str
    type: str
    shape: tuple[int, ...] | None = None
    length: int | None = None
    preview: str = ""
    columns: tuple[Column, ...] = ()
    sample: str = ""


class KernelVariablesResult(Model):
    variables: tuple[Variable, ...]
    missing: tuple[str, ...] = ()
