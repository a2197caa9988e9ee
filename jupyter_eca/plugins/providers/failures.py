"""Owns the errors that users read when a model server fails: the kind of each, and one sentence that says what happened
and what to do. Pure.

`sdk_clients` and each provider turn the errors of their SDK into these.
"""

from __future__ import annotations

import re
import socket
import ssl
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from jupyter_eca import redaction
from jupyter_eca.errors import FailureKind, ProviderError
from jupyter_eca.plugins.providers.messages.local_address import is_here

# The sentence for an error is found by its status. An error in mid-stream comes after a 200 and has only a type: those
# of Anthropic come first, then those of OpenAI.
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
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
    "invalid_api_key": 401,
    "insufficient_quota": 402,
    "model_not_found": 404,
    "rate_limit_exceeded": 429,
    "requests": 429,
    "tokens": 429,
    "slow_down": 503,
    "server_is_overloaded": 503,
}

# Servers have no common code for a prompt that is too long, so it is recognised by their words.
_OVERFLOWS = re.compile(
    r"prompt is too long|context_length|context length|context window|context size|maximum context|too many tokens",
    re.IGNORECASE,
)
_USED_UP = "insufficient_quota"

# The statuses with which servers refuse an image: unreadable, too large, or a model that takes no images.
_REFUSES_IMAGES = frozenset({400, 413, 415, 422})
_NAMES_AN_IMAGE = re.compile(r"\bimage|\bpdf\b|\bdocument\b|input_file", re.IGNORECASE)

_OTHER_MODEL = "choose another model"

_SENTENCES = {
    400: "{url} refused the request{said}. Start a new chat, or " + _OTHER_MODEL + ".",
    402: "{url} wants to be paid{said}. Add credit to the account, or " + _OTHER_MODEL + ".",
    403: "This key may not use {model} at {url}{said}. Use another key, or " + _OTHER_MODEL + ".",
    413: "This chat is too long for {url}. Start a new one with what is still needed.",
    429: "{url} takes no more requests for now{said}. Wait a little, then ask again.",
    529: "{url} is overloaded. Ask again in a minute, or " + _OTHER_MODEL + ".",
}
_NO_KEY = "{url} wants a key. Set `providers.{provider}.key` in ~/.config/eca/config.json."
_BAD_KEY = "{url} refused the key. Check `providers.{provider}.key` or {variable}: is it mistyped or expired?"
_NO_MODEL = "{url} has no model {model!r}. Check its name, or " + _OTHER_MODEL + "."
_NO_API = "{url} does not speak the {api}. Check `providers.{provider}.url`, the part before {path}."
_TOO_LONG = "This chat no longer fits the model's context window. Start a new one with what is still needed."
_FAILED = "{url} failed with status {status}{said}. Ask again in a minute, or " + _OTHER_MODEL + "."
_REFUSED = "{url} answered with status {status}{said}. Check `providers.{provider}`, or " + _OTHER_MODEL + "."

_LATER = " It will take them again in {:.0f} min."

# A timeout, a conflict and a rate limit are temporary. So is every 5xx.
_TEMPORARY = {408, 409, 429}
_KINDS = {
    401: FailureKind.AUTH,
    402: FailureKind.QUOTA,
    403: FailureKind.AUTH,
    413: FailureKind.CONTEXT,
    429: FailureKind.RATE_LIMITED,
    503: FailureKind.OVERLOADED,
    529: FailureKind.OVERLOADED,
}

# The error names the waiting time when it is longer than this.
_LONG_SECONDS = 60


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """Where a request goes to."""

    provider: str
    """The name of the provider in the configuration."""
    model: str
    url: str
    """May contain a password. Errors show `where` instead."""
    key: str = field(default="", repr=False)
    api: str = "Anthropic Messages API"
    """The name of the API, as users know it."""
    variable: str = "ANTHROPIC_API_KEY"
    """The environment variable that may hold the key."""
    path: str = "/v1"
    """The path with which the API's own part of a URL begins."""

    @property
    def where(self) -> str:
        """The URL without user, password and query."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    def say(self, sentence: str, status: int = 0, said: str = "") -> str:
        """Fill in a sentence. `said` is the server's own message, which may contain the key."""
        # Redact before cutting: a part of a secret is not recognised as one.
        message = redaction.redact(said.replace(self.key, "…") if self.key else said)
        message = f": {message.strip().rstrip('.')[:500]}" if message.strip() else ""
        return sentence.format(
            url=self.where,
            provider=self.provider,
            model=self.model,
            status=status,
            said=message,
            api=self.api,
            variable=self.variable,
            path=self.path,
        )


def kind_of(status: int) -> tuple[FailureKind, bool]:
    """Return the kind of failure that a status means, and whether it is temporary."""
    return _KINDS.get(status, FailureKind.OTHER), status in _TEMPORARY or status >= 500


def explain_refusal(
    target: RequestTarget,
    status: int,
    kind: str,
    said: str,
    *,
    temporary: bool | None = None,
    retry_after: float | None = None,
) -> ProviderError:
    """Return the error for a request that the server refused.

    `kind` is the API's error type, empty when something else than the API answered. `said` is the server's message.
    `temporary` is what the server says about a retry, None where it says nothing. `retry_after` is in seconds.
    """
    if kind == _USED_UP:
        status = 402  # OpenAI calls it 429, but waiting does not help
    elif status < 400:
        status = int(kind) if kind.isdecimal() and 400 <= int(kind) < 600 else _STATUS_OF.get(kind, 500)
    failure, is_temporary = kind_of(status)
    failure = _correct_kind(status, failure, f"{kind} {said}")
    message = target.say(_TOO_LONG if failure is FailureKind.CONTEXT else _sentence(target, status, kind), status, said)
    if retry_after is not None and retry_after > _LONG_SECONDS:
        message += _LATER.format(retry_after / 60)
    retryable = is_temporary if temporary is None else temporary
    return ProviderError(message, status=status, kind=failure, retryable=retryable, retry_after=retry_after)


def _correct_kind(status: int, kind: FailureKind, said: str) -> FailureKind:
    """Return the kind that the server's message names, where the status alone does not tell."""
    if status in {400, 413} and _OVERFLOWS.search(said):
        return FailureKind.CONTEXT
    return FailureKind.IMAGE if status in _REFUSES_IMAGES and _NAMES_AN_IMAGE.search(said) else kind


def _sentence(target: RequestTarget, status: int, kind: str) -> str:
    if status == 401:
        return _BAD_KEY if target.key else _NO_KEY
    if status == 404:
        return _NO_MODEL if kind else _NO_API
    return _SENTENCES.get(status) or (_FAILED if status >= 500 else _REFUSED)


def explain_wrong_api(target: RequestTarget) -> ProviderError:
    """Return the error for an answer that is not of this API."""
    return ProviderError(target.say(_NO_API))


def explain_unreachable(target: RequestTarget, error: BaseException) -> ProviderError:
    """Return the error for a connection that failed. The cause is the first OSError in the chain of `error`."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    match cause:
        case ssl.SSLCertVerificationError():
            # The only cause for which a retry is useless on every server.
            text = "The certificate of {url} cannot be trusted{said}. Set SSL_CERT_FILE to your organisation's own."
            return ProviderError(target.say(text, said=cause.verify_message))
        case ssl.SSLError():
            text = "{url} does not speak TLS. Check `providers.{provider}.url` and your proxy."
        case socket.gaierror():
            text = "The name in {url} cannot be found. Check the network and `providers.{provider}.url`."
        case _:
            text = "Nothing answers at {url}. Check the network, that the server runs, and `providers.{provider}.url`."
    # A local server that does not answer was not started, so a retry is useless.
    return ProviderError(target.say(text), kind=FailureKind.NETWORK, retryable=not is_here(target.url))


def explain_connect_timeout(target: RequestTarget, seconds: float) -> ProviderError:
    text = f"{{url}} could not be reached in {seconds:g} s. Check the network, VPN and proxy, then ask again."
    return ProviderError(target.say(text), kind=FailureKind.NETWORK, retryable=True)


def explain_stall(target: RequestTarget, seconds: float) -> ProviderError:
    """Return the error for an answer that stopped arriving."""
    text = f"{{url}} said nothing for {seconds:g} s. Ask again."
    return ProviderError(target.say(text), kind=FailureKind.PREMATURE, retryable=True)


def explain_disconnect(target: RequestTarget) -> ProviderError:
    """Return the error for a connection that the server closed in the middle of an answer."""
    text = "The answer broke off: {url} closed the connection. Ask again."
    return ProviderError(target.say(text), kind=FailureKind.PREMATURE, retryable=True)
