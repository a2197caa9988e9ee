"""Turns each error of a request to a gateway into a `ToolError`, whose text is one sentence for the model and the user.

It must not send anything: `kernel.py` does.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from jupyter_server.gateway.gateway_client import GatewayClient
from tornado.httpclient import HTTPClientError
from tornado.simple_httpclient import HTTPStreamClosedError, HTTPTimeoutError
from tornado.web import HTTPError

from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Generator

# What to do about an error: the `fix` of a ToolError.
_TRY_AGAIN: Final = "Try again later. If it stays so, ask the administrator of the Jupyter server."
_ASK_ADMINISTRATOR: Final = "Ask the administrator of the Jupyter server to check the gateway's token."
_START_KERNEL_AGAIN: Final = "Ask the user to start the kernel of the notebook again, then try again."

# Status codes by which a gateway refuses, and by which it says that it has no such kernel.
_REFUSING: Final = (401, 403)
_MISSING: Final = 404


class KernelMissingError(ToolError):
    """The gateway answers, and does not have the kernel."""


def name_gateway() -> str:
    """Return the words for the gateway in a sentence: without the name and password that its URL may have."""
    address = urlsplit(GatewayClient.instance().url or "")
    return f"The kernel gateway at {address.scheme}://{address.netloc.rpartition('@')[2]}"


@contextmanager
def explain_errors() -> Generator[None]:
    """Raise a ToolError for each error of a request to the gateway. Its text is one sentence about the gateway."""
    try:
        yield
    except HTTPError as error:  # of Jupyter, which keeps the cause
        raise _explain(error.__cause__ or error) from error
    except (TimeoutError, HTTPClientError, OSError) as error:
        raise _explain(error) from error


def _explain(error: BaseException) -> ToolError:
    """Return the error to raise for an error of Tornado, of Jupyter or of the network."""
    match error:
        case TimeoutError() | HTTPTimeoutError():
            return ToolError(f"{name_gateway()} did not answer in time.", _TRY_AGAIN)
        case HTTPStreamClosedError():
            return ToolError(f"{name_gateway()} closed the connection.", _TRY_AGAIN)
        case HTTPClientError(code=status, message=reason) | HTTPError(status_code=status, reason=reason):
            return _explain_status(status, reason or "no reason")
        case OSError(strerror=reason):  # refused, unknown host, no route, or a certificate that is not trusted
            return ToolError(f"{name_gateway()} cannot be reached: {reason or error}.", _TRY_AGAIN)
        case _:
            return ToolError(f"{name_gateway()} cannot be used: {error}.", _TRY_AGAIN)


def _explain_status(status: int, reason: str) -> ToolError:
    """Return the error for an answer with a status code that is not a success."""
    if status in _REFUSING:
        return ToolError(f"{name_gateway()} refuses this Jupyter server (status {status}).", _ASK_ADMINISTRATOR)
    if status == _MISSING:
        return KernelMissingError("The kernel of this notebook is gone from its gateway.", _START_KERNEL_AGAIN)
    return ToolError(f"{name_gateway()} answered with status {status}: {reason}.", _TRY_AGAIN)
