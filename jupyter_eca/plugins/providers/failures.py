"""The failures of model servers: their kind, and one sentence each that says what happened and what to do. Pure. The
SDKs' own errors become these in `sdk_clients` and in each provider.
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

# As those that speak these APIs say it; they share no code for it.
_OVERFLOWS = re.compile(
    r"prompt is too long|context_length|context length|context window|context size|maximum context|too many tokens",
    re.IGNORECASE,
)
_USED_UP = "insufficient_quota"

# What servers answer to an image that they cannot read, that is too large, or that the model has no eyes for.
_REFUSES_IMAGES = frozenset({400, 413, 415, 422})
_PICTURED = re.compile(r"\bimage|\bpdf\b|\bdocument\b|input_file", re.IGNORECASE)

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

# A timeout, a conflict of locks, a limit: they pass. So does whatever is the server's own fault.
_PASSING = {408, 409, 429}
_KINDS = {
    401: FailureKind.AUTH,
    402: FailureKind.QUOTA,
    403: FailureKind.AUTH,
    413: FailureKind.CONTEXT,
    429: FailureKind.RATE_LIMITED,
    503: FailureKind.OVERLOADED,
    529: FailureKind.OVERLOADED,
}

# From here on the reader is told how long it takes.
_LONG_SECONDS = 60


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """The target of a request. `url` may hold a password, so sentences show `where`. `variable` is where the key is
    looked for, `path` where the API's own part of an address begins."""

    provider: str
    model: str
    url: str
    key: str = field(default="", repr=False)
    api: str = "Anthropic Messages API"
    variable: str = "ANTHROPIC_API_KEY"
    path: str = "/v1"

    @property
    def where(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    def say(self, sentence: str, status: int = 0, said: str = "") -> str:
        """Make a sentence with the server's words `said`, which may contain the key."""
        # Before it is cut: half a secret is not known by its sight.
        shown = redaction.redact(said.replace(self.key, "…") if self.key else said)
        shown = f": {shown.strip().rstrip('.')[:500]}" if shown.strip() else ""
        return sentence.format(
            url=self.where,
            provider=self.provider,
            model=self.model,
            status=status,
            said=shown,
            api=self.api,
            variable=self.variable,
            path=self.path,
        )


def kind_of(status: int) -> tuple[FailureKind, bool]:
    """Return the kind of failure that a status means, and whether it passes by itself."""
    return _KINDS.get(status, FailureKind.OTHER), status in _PASSING or status >= 500


def explain_refusal(
    asked: RequestTarget,
    status: int,
    kind: str,
    said: str,
    *,
    passing: bool | None = None,
    retry_after: float | None = None,
) -> ProviderError:
    """Explain a refusal. `kind` is the API's error type, empty when the API did not answer. `passing`: the server says
    whether it passes."""
    if kind == _USED_UP:
        status = 402  # OpenAI calls it 429, but waiting does not help
    elif status < 400:
        status = int(kind) if kind.isdecimal() and 400 <= int(kind) < 600 else _STATUS_OF.get(kind, 500)
    sort, passes = kind_of(status)
    sort = _by_words(status, sort, f"{kind} {said}")
    message = asked.say(_TOO_LONG if sort is FailureKind.CONTEXT else _sentence(asked, status, kind), status, said)
    if retry_after is not None and retry_after > _LONG_SECONDS:
        message += _LATER.format(retry_after / 60)
    retryable = passes if passing is None else passing
    return ProviderError(message, status=status, kind=sort, retryable=retryable, retry_after=retry_after)


def _by_words(status: int, kind: FailureKind, said: str) -> FailureKind:
    if status in {400, 413} and _OVERFLOWS.search(said):
        return FailureKind.CONTEXT
    return FailureKind.IMAGE if status in _REFUSES_IMAGES and _PICTURED.search(said) else kind


def _sentence(asked: RequestTarget, status: int, kind: str) -> str:
    if status == 401:
        return _BAD_KEY if asked.key else _NO_KEY
    if status == 404:
        return _NO_MODEL if kind else _NO_API
    return _SENTENCES.get(status) or (_FAILED if status >= 500 else _REFUSED)


def not_the_api(asked: RequestTarget) -> ProviderError:
    return ProviderError(asked.say(_NO_API))


def unreachable(asked: RequestTarget, error: BaseException) -> ProviderError:
    """Explain a missing connection. The reason is the first of the system's own errors in the chain."""
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
    # A server on this machine that is not there was not started: waiting does not start it.
    return ProviderError(asked.say(text), kind=FailureKind.NETWORK, retryable=not is_here(asked.url))


def no_connection(asked: RequestTarget, seconds: float) -> ProviderError:
    text = f"{{url}} could not be reached in {seconds:g} s. Check the network, VPN and proxy, then ask again."
    return ProviderError(asked.say(text), kind=FailureKind.NETWORK, retryable=True)


def explain_stall(asked: RequestTarget, seconds: float) -> ProviderError:
    text = f"{{url}} said nothing for {seconds:g} s. Ask again."
    return ProviderError(asked.say(text), kind=FailureKind.PREMATURE, retryable=True)


def broke_off(asked: RequestTarget) -> ProviderError:
    text = "The answer broke off: {url} closed the connection. Ask again."
    return ProviderError(asked.say(text), kind=FailureKind.PREMATURE, retryable=True)
