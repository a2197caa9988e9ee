"""Finds what ran since the process of a kernel started. So the cells that ran in an earlier process can be marked.

A notebook keeps the execution counts of its cells when its kernel is restarted, or when it is opened the next day. Only
the kernel knows which of these counts are its own. A Python kernel keeps the source of each execution, and
`HISTORY_EXPRESSION` asks for them. Kernels of other languages only count. The module must not know notebooks:
`notebooks/run_states.py` compares the history with the cells.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

HISTORY_EXPRESSION: Final = (
    "(lambda json, sha, sources, age: json.dumps({'age': age,"
    " 'ran': {n: sha(s.encode('utf-8', 'surrogatepass')).hexdigest() for n, s in enumerate(sources) if n}}))("
    "__import__('json'), __import__('hashlib').sha256, list(get_ipython().history_manager.input_hist_raw),"
    " __import__('time').time() - __import__('psutil').Process().create_time())"
)
"""A Python expression whose value is the history as JSON: `{"age": 12.5, "ran": {"1": "<digest of the source>"}}`. It
defines no name in the kernel. The age of the process comes from psutil, which every ipykernel has."""

PRINT_HISTORY: Final = f"print({HISTORY_EXPRESSION})"
"""Code that prints the history. While a `%%eca` cell runs, its kernel runs nothing else. So this code is sent to that
cell, which runs code of the assistant while it waits for the answer. The cell recognizes this text and returns the
history, but does not show or save it as code that the assistant ran."""


@dataclass(frozen=True, slots=True)
class KernelHistory:
    """What has run in a kernel since its process started."""

    age_seconds: float
    """How long ago the process started, when the kernel was asked."""
    ran: Mapping[int, str]
    """The digest of the source of each execution, by execution count. See `make_digest`."""
    is_complete: bool = True
    """False for a kernel that is busy now: other cells may have run since it was asked."""


@dataclass(frozen=True, slots=True)
class KernelCount:
    """How many executions there were in a kernel of another language than Python. Such a kernel does not tell what
    was executed."""

    last: int
    """The execution count of what ran last; 0 if nothing ran."""


def make_digest(source: str) -> str:
    """Return the digest of a source. It ignores line ends at the end of the source, because IPython does not keep
    them."""
    return hashlib.sha256(source.rstrip("\n").encode("utf-8", "surrogatepass")).hexdigest()


def parse_history(text: str) -> KernelHistory | None:
    """Parse the value of `HISTORY_EXPRESSION`. Return None for any other text."""
    try:
        found = json.loads(text)
        return KernelHistory(float(found["age"]), {int(count): str(digest) for count, digest in found["ran"].items()})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def read_count(language: str, reply: Mapping[str, Any]) -> KernelCount | None:
    """Read the count of a kernel of another language than Python, in its reply to a silent request; None when the reply
    has no count. A silent request is not counted itself. The R kernel gives the count of the next execution, so 1 is
    subtracted."""
    count = reply.get("execution_count")
    return KernelCount(count - (language == "r")) if isinstance(count, int) else None
