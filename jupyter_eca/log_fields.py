"""Owns the fields of our log records: which chat, tool call, MCP server and request a record is about. A formatter that
writes JSON shows them, and others leave them out. They are ids and names, and never what somebody has written.

A task with work of its own, such as that of a chat, sets the fields when it begins:

    LOG_FIELDS.set(LogFields(chat_id=id))

They hold for all that is logged in this task, and in those that it starts, in our code and in libraries. A record about
another chat than that of its task names it with `extra=LogFields(chat_id=id)`.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Final, TypedDict


class LogFields(TypedDict, total=False):
    """The fields that a record can have. Each becomes an attribute of the record with the same name."""

    chat_id: str
    """The id of the chat."""
    tool_call_id: str
    """The id of the tool call."""
    mcp_server: str
    """The name of the MCP server, as it is configured."""
    request_method: str
    """The method of the client's request or notification, such as `chat/prompt`."""


_NONE: Final = LogFields()
LOG_FIELDS: Final[ContextVar[LogFields]] = ContextVar("jupyter_eca_log_fields", default=_NONE)
"""The fields of the records of the current task."""


class LogFieldsFilter(logging.Filter):
    """Gives the fields to log records, and drops none of them."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Set the fields that the record does not have by its `extra`. Always returns True."""
        for name, value in LOG_FIELDS.get().items():
            if not hasattr(record, name):
                setattr(record, name, value)
        return True


LOG_FIELDS_FILTER: Final = LogFieldsFilter()
"""The filter for a handler. It is one instance, so that `logging` adds it to a handler only once."""
