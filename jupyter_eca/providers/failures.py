"""What goes wrong with a server of the Messages API, in one sentence each that says what to do. Pure."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from jupyter_eca.errors import ProviderError

# The sentence for an error is found by its status. An error in mid-stream comes after a 200 and has only a type.
_STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "api_error": 500,
    "overloaded_error": 529,
}

_OTHER_MODEL = "choose another model with `%eca use MODEL`"

_SENTENCES = {
    400: "{url} refused the request{said}. Start a new chat, or " + _OTHER_MODEL + ".",
    402: "{url} wants to be paid{said}. Add credit to the account, or " + _OTHER_MODEL + ".",
    403: "This key may not use {model} at {url}{said}. Use another key, or " + _OTHER_MODEL + ".",
    413: "This chat is too long for {url}. Start a new one with what is still needed.",
    429: "{url} takes no more requests for now{said}. Wait a little, then ask again.",
    529: "{url} is overloaded. Ask again in a minute, or " + _OTHER_MODEL + ".",
}
_NO_KEY = "{url} wants a key. Set `providers.{provider}.key` in ~/.config/eca/config.json."
_BAD_KEY = "{url} refused the key. Check `providers.{provider}.key` or ANTHROPIC_API_KEY: is it mistyped or expired?"
_NO_MODEL = "{url} has no model {model!r}. Check its name, or " + _OTHER_MODEL + "."
_NO_API = "{url} does not speak the Anthropic Messages API. Check `providers.{provider}.url`, the part before /v1."
_TOO_LONG = "This chat no longer fits the model's context window. Start a new one with what is still needed."
_FAILED = "{url} failed with status {status}{said}. Ask again in a minute, or " + _OTHER_MODEL + "."
_REFUSED = "{url} answered with status {status}{said}. Check `providers.{provider}`, or " + _OTHER_MODEL + "."

# A timeout, a conflict of locks, a limit: they pass. So does whatever is the server's own fault.
_PASSING = {408, 409, 429}


@dataclass(frozen=True, slots=True)
class Asked:
    """Who was asked for what. `url` may hold a password, so sentences show `where`."""

    provider: str
    model: str
    url: str
    key: str = field(default="", repr=False)

    @property
    def where(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    def say(self, sentence: str, status: int = 0, said: str = "") -> str:
        """`said` are the server's words; it may have said the key."""
        shown = said.replace(self.key, "…") if self.key else said
        shown = f": {shown.strip().rstrip('.')[:500]}" if shown.strip() else ""
        return sentence.format(url=self.where, provider=self.provider, model=self.model, status=status, said=shown)


def refused(
    asked: Asked, status: int, kind: str, said: str, *, passing: bool | None = None, retry_after: float | None = None
) -> ProviderError:
    """`kind` is the API's error type, empty when the answer was not the API's. `passing` is the server's own word."""
    status = _STATUS_OF.get(kind, 500) if status < 400 else status
    retryable = (status in _PASSING or status >= 500) if passing is None else passing
    message = asked.say(_sentence(asked, status, kind, said), status, said)
    return ProviderError(message, status=status, retryable=retryable, retry_after=retry_after)


def _sentence(asked: Asked, status: int, kind: str, said: str) -> str:
    if status == 401:
        return _BAD_KEY if asked.key else _NO_KEY
    if status == 404:
        return _NO_MODEL if kind else _NO_API
    if status == 400 and "prompt is too long" in said:
        return _TOO_LONG
    return _SENTENCES.get(status) or (_FAILED if status >= 500 else _REFUSED)


def not_the_api(asked: Asked) -> ProviderError:
    return ProviderError(asked.say(_NO_API))


def unreachable(asked: Asked, error: BaseException) -> ProviderError:
    """No connection. The reason is the first of the system's own errors in the chain."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    match cause:
        case ssl.SSLCertVerificationError():
            # The only one that waiting does not mend.
            text = "The certificate of {url} cannot be trusted{said}. Set SSL_CERT_FILE to your organisation's own."
            return ProviderError(asked.say(text, said=cause.verify_message))
        case ssl.SSLError():
            text = "{url} does not speak TLS. Check `providers.{provider}.url` and your proxy."
        case socket.gaierror():
            text = "The name in {url} cannot be found. Check the network and `providers.{provider}.url`."
        case _:
            text = "Nothing answers at {url}. Check the network, that the server runs, and `providers.{provider}.url`."
    return ProviderError(asked.say(text), retryable=True)


def no_connection(asked: Asked, seconds: float) -> ProviderError:
    text = f"{{url}} could not be reached in {seconds:g} s. Check the network, VPN and proxy, then ask again."
    return ProviderError(asked.say(text), retryable=True)


def stalled(asked: Asked, seconds: float) -> ProviderError:
    return ProviderError(asked.say(f"{{url}} said nothing for {seconds:g} s. Ask again."), retryable=True)


def broke_off(asked: Asked) -> ProviderError:
    return ProviderError(asked.say("The answer broke off: {url} closed the connection. Ask again."), retryable=True)
