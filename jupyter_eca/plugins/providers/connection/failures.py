"""Owns the errors that users read when the server of a model fails. Pure.

Each error is a `ProviderError` with a kind, and with a message that says what happened and what to do. For example, the
status 402 gives the kind QUOTA and the message "https://… wants to be paid. Add credit to the account, or choose
another model."

This module must not know an SDK. Each provider calls a function of this module for an error of its SDK. For errors of
connections, `sdk_clients` does this for all providers.
"""

from __future__ import annotations

import re
import socket
import ssl
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from jupyter_eca import redaction
from jupyter_eca.config.policy.local_address import is_on_this_machine
from jupyter_eca.errors import FailureKind, ProviderError

# The status of each error type. An error in the middle of a stream comes after the status 200, so only its type says
# what it is. The types of Anthropic come first, then those of OpenAI.
_STATUS_BY_TYPE = {
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

# The message of a server when a prompt is too long. Servers have no common code for this.
_CONTEXT_OVERFLOW = re.compile(
    r"prompt is too long|context_length|context length|context window|context size|maximum context|too many tokens",
    re.IGNORECASE,
)
# The error type of OpenAI for an account without credit.
_QUOTA_USED_UP = "insufficient_quota"
# The error type of LiteLLM for a user whose budget is used up. It has the status 422, and 400 or 429 in other versions.
BUDGET_EXCEEDED = "budget_exceeded"
# The message of Anthropic for an account without credit, which has the status of a wrong request.
_NO_CREDIT = re.compile(r"credit balance is too low", re.IGNORECASE)

# The statuses with which servers refuse an image: it cannot be read, is too large, or the model takes no images.
_IMAGE_REFUSAL_STATUSES = frozenset({400, 413, 415, 422})
_MENTIONS_IMAGE = re.compile(r"\bimage|\bpdf\b|\bdocument\b|input_file", re.IGNORECASE)

# A part of several messages.
_OTHER_MODEL = "choose another model"

# The message for each status. `{reason}` is the server's own message, with a colon before it, or empty.
_SENTENCES = {
    400: "{url} refused the request{reason}. Start a new chat, or " + _OTHER_MODEL + ".",
    402: "{url} wants to be paid{reason}. Add credit to the account, or " + _OTHER_MODEL + ".",
    403: "This key may not use {model} at {url}{reason}. Use another key, or " + _OTHER_MODEL + ".",
    413: "This chat is too long for {url}. Start a new one with what is still needed.",
    429: "{url} takes no more requests for now{reason}. Wait a little, then ask again.",
    529: "{url} is overloaded. Ask again in a minute, or " + _OTHER_MODEL + ".",
}
_NO_KEY = "{url} wants a key. Set `providers.{provider}.key` in ~/.config/eca/config.json."
_BAD_KEY = "{url} refused the key. Check `providers.{provider}.key` or {variable}: is it mistyped or expired?"
_NO_MODEL = "{url} has no model {model!r}. Check its name, or " + _OTHER_MODEL + "."
_NO_API = "{url} does not speak the {api}. Check `providers.{provider}.url`, the part before {path}."
_TOO_LONG = "This chat no longer fits the model's context window. Start a new one with what is still needed."
_BUDGET_USED_UP = (
    "Your budget at {url} is used up{reason}. To ask again does not help before it begins anew. Whoever runs the "
    "gateway can raise it."
)
_FAILED = "{url} failed with status {status}{reason}. Ask again in a minute, or " + _OTHER_MODEL + "."
_REFUSED = "{url} answered with status {status}{reason}. Check `providers.{provider}`, or " + _OTHER_MODEL + "."

# Added to a message if the server says when it takes requests again. The number is in minutes.
_WAIT_SENTENCE = " It will take them again in {:.0f} min."

# A timeout, a conflict and a rate limit are temporary, and so is every status from 500 on.
_TEMPORARY_STATUSES = {408, 409, 429}
_KIND_BY_STATUS = {
    401: FailureKind.AUTH,
    402: FailureKind.QUOTA,
    403: FailureKind.AUTH,
    413: FailureKind.CONTEXT,
    429: FailureKind.RATE_LIMITED,
    503: FailureKind.OVERLOADED,
    529: FailureKind.OVERLOADED,
}

# If the time to wait is longer than this, the message names it.
_MIN_NAMED_WAIT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """The server that a request is sent to."""

    provider: str
    """The name of the provider in the configuration."""
    model: str
    """The name of the model, without the provider."""
    url: str
    """The URL of the API. It may contain a password, so errors show `display_url` instead."""
    key: str = field(default="", repr=False)
    """The key that is sent, "" for none."""
    api: str = "Anthropic Messages API"
    """The name of the API, as users know it."""
    variable: str = "ANTHROPIC_API_KEY"
    """The environment variable that may have the key."""
    path: str = "/v1"
    """The path that the SDK adds to the URL."""

    @property
    def display_url(self) -> str:
        """The URL without user, password and query."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    def fill_in(self, sentence: str, status: int = 0, server_message: str = "") -> str:
        """Fill in the placeholders of a sentence. `server_message` may contain the key, which is
        hidden, and may be long: its first 500 characters are shown."""
        # The text is redacted before it is cut, because a part of a secret would not be recognized.
        message = redaction.redact(server_message.replace(self.key, "…") if self.key else server_message)
        message = f": {message.strip().rstrip('.')[:500]}" if message.strip() else ""
        return sentence.format(
            url=self.display_url,
            provider=self.provider,
            model=self.model,
            status=status,
            reason=message,
            api=self.api,
            variable=self.variable,
            path=self.path,
        )


def classify_status(status: int) -> tuple[FailureKind, bool]:
    """Return the kind of failure for an HTTP status, and whether the failure is temporary."""
    return _KIND_BY_STATUS.get(status, FailureKind.OTHER), status in _TEMPORARY_STATUSES or status >= 500


def explain_refusal(
    target: RequestTarget,
    status: int,
    error_type: str,
    server_message: str,
    *,
    temporary: bool | None = None,
    retry_after: float | None = None,
) -> ProviderError:
    """Return the error for a request that the server refused.

    `error_type` is the API's type of the error, "" if something else than the API has answered. `temporary` says
    whether the server considers a retry useful, None if it does not say. `retry_after` are the seconds to wait.
    """
    if error_type == BUDGET_EXCEEDED:
        sentence = target.fill_in(_BUDGET_USED_UP, status, server_message)
        return ProviderError(sentence, status=status, kind=FailureKind.BUDGET_EXCEEDED)
    if error_type == _QUOTA_USED_UP or (status == 400 and _NO_CREDIT.search(server_message)):
        status = 402  # OpenAI sends 429, but a retry does not help
    elif status < 400:  # the error came in a stream, so only its type says what it is; some servers send a number there
        is_status = error_type.isdecimal() and 400 <= int(error_type) < 600
        status = int(error_type) if is_status else _STATUS_BY_TYPE.get(error_type, 500)
    kind, is_temporary = classify_status(status)
    kind = _refine_kind(status, kind, f"{error_type} {server_message}")
    if status == 404 and error_type:  # without an error type, something else than the API has answered
        kind = FailureKind.MODEL
    message = target.fill_in(
        _TOO_LONG if kind is FailureKind.CONTEXT else _choose_sentence(target, status, error_type),
        status,
        server_message,
    )
    if retry_after is not None and retry_after > _MIN_NAMED_WAIT_SECONDS:
        message += _WAIT_SENTENCE.format(retry_after / 60)
    retryable = is_temporary if temporary is None else temporary
    return ProviderError(message, status=status, kind=kind, retryable=retryable, retry_after=retry_after)


def _refine_kind(status: int, kind: FailureKind, server_message: str) -> FailureKind:
    """Return the kind that the server's message shows, where the status alone is not enough."""
    if status in {400, 413} and _CONTEXT_OVERFLOW.search(server_message):
        return FailureKind.CONTEXT
    return FailureKind.IMAGE if status in _IMAGE_REFUSAL_STATUSES and _MENTIONS_IMAGE.search(server_message) else kind


def _choose_sentence(target: RequestTarget, status: int, error_type: str) -> str:
    """Return the sentence for a status. A 404 without an error type comes from a server that is not this API."""
    if status == 401:
        return _BAD_KEY if target.key else _NO_KEY
    if status == 404:
        return _NO_MODEL if error_type else _NO_API
    return _SENTENCES.get(status) or (_FAILED if status >= 500 else _REFUSED)


def explain_redirect(target: RequestTarget, status: int, location: str) -> ProviderError:
    """Return the error for an answer that leads to another address, which is not followed: the key and the chat go to
    the address that was configured, and to no other one."""
    try:
        address = RequestTarget("", "", urljoin(target.url, location)).display_url
    except ValueError:
        address = "an address that cannot be read"
    text = "{url} leads elsewhere (status {status}), which is not followed{reason}. If this is right, write it into "
    return ProviderError(target.fill_in(f"{text}`providers.{{provider}}.url`.", status, address), status=status)


def explain_wrong_api(target: RequestTarget) -> ProviderError:
    """Return the error for an answer that does not have the form of this API."""
    return ProviderError(target.fill_in(_NO_API))


def explain_unreachable(target: RequestTarget, error: BaseException) -> ProviderError:
    """Return the error for a connection that failed. The cause is the first OSError in the chain of `error`."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    match cause:
        case ssl.SSLCertVerificationError():
            # For this cause a retry is useless on every server.
            text = "The certificate of {url} cannot be trusted{reason}. Set SSL_CERT_FILE to your organisation's own."
            return ProviderError(target.fill_in(text, server_message=cause.verify_message))
        case ssl.SSLError():
            text = "{url} does not speak TLS. Check `providers.{provider}.url` and your proxy."
        case socket.gaierror():
            text = "The name in {url} cannot be found. Check the network and `providers.{provider}.url`."
        case _:
            text = "Nothing answers at {url}. Check the network, that the server runs, and `providers.{provider}.url`."
    # A local server that does not answer was not started, so a retry is useless.
    return ProviderError(target.fill_in(text), kind=FailureKind.NETWORK, retryable=not is_on_this_machine(target.url))


def explain_connect_timeout(target: RequestTarget, seconds: float) -> ProviderError:
    """Return the error for a connection that was not made in time."""
    text = f"{{url}} could not be reached in {seconds:g} s. Check the network, VPN and proxy, then ask again."
    return ProviderError(target.fill_in(text), kind=FailureKind.NETWORK, retryable=True)


def explain_stall(target: RequestTarget, seconds: float) -> ProviderError:
    """Return the error for an answer that stopped arriving."""
    text = f"{{url}} said nothing for {seconds:g} s. Ask again."
    return ProviderError(target.fill_in(text), kind=FailureKind.PREMATURE, retryable=True)


def explain_disconnect(target: RequestTarget) -> ProviderError:
    """Return the error for a connection that the server closed in the middle of an answer."""
    text = "The answer broke off: {url} closed the connection. Ask again."
    return ProviderError(target.fill_in(text), kind=FailureKind.PREMATURE, retryable=True)
