"""Passes our log records to the log of the Jupyter server. There they are handled like the server's own records, in the
format and the files that the administrator has chosen. Before that, they get their fields
(`jupyter_eca.log_fields`)."""

from __future__ import annotations

import logging
from typing import Any, Final

from jupyter_eca.log_fields import LOG_FIELDS_FILTER
from jupyter_eca.redaction import REDACTING_FILTER

# The name of the logger that is above all loggers of this package.
OURS: Final = "jupyter_eca"


class ServerLogHandler(logging.Handler):
    """Passes the records of our loggers to the logger of a Jupyter server.

    Jupyter's logger has another name and does not propagate. Without this handler, our records would reach no handler:
    Python then writes warnings to stderr without a format, and drops the rest.
    """

    def __init__(self, serverapp: Any) -> None:
        """`serverapp` is Jupyter's object for the server."""
        super().__init__()
        self._server: logging.Logger = serverapp.log
        self.addFilter(LOG_FIELDS_FILTER)
        self.addFilter(REDACTING_FILTER)

    def attach(self) -> None:
        """Begin to pass records. If the administrator has configured a level for our logger, it stays."""
        ours = logging.getLogger(OURS)
        ours.addHandler(self)
        if ours.level == logging.NOTSET:
            ours.setLevel(self._server.getEffectiveLevel())
        # Otherwise a record would be handled twice where the root logger has handlers and Jupyter's logger propagates.
        ours.propagate = False

    def detach(self) -> None:
        """Pass no more records. Called when the server ends."""
        ours = logging.getLogger(OURS)
        ours.removeHandler(self)
        if not any(isinstance(handler, ServerLogHandler) for handler in ours.handlers):
            ours.propagate = True
            ours.setLevel(logging.NOTSET)

    def emit(self, record: logging.LogRecord) -> None:
        """Let the server's logger handle a record."""
        if self._server.isEnabledFor(record.levelno):
            self._server.handle(record)
