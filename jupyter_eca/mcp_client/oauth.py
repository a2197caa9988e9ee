"""Owns the sign-in to one MCP server by OAuth. The SDK (the package `mcp`) implements OAuth. `ServerSignIn` is its
token storage, and decides whether a user is sent to a browser.

It must not know how a browser is opened: `sign_in.py` does. `sign_ins.py` makes one `ServerSignIn` for each server, and
`sign_in_store.py` stores the tokens. Tokens, with everything that is needed to renew them, are called a grant.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib.parse import urlsplit

from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import is_valid_client_metadata_url
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, SecretStr

from jupyter_eca import redaction
from jupyter_eca.mcp_client import transports
from jupyter_eca.mcp_client.sign_in_store import StoredSignIn, TokenGrant

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from jupyter_eca.config import McpServerConfig
    from jupyter_eca.mcp_client.sign_in import SignInAttempt
    from jupyter_eca.mcp_client.sign_in_store import SignInStore

# Reasons why nobody is signed in. They are shown after the name of the server.
_SIGN_IN_AGAIN: Final = "it wants its user to sign in again"
_NO_WEB_ADDRESS: Final = "its authorization server has an address that is no http:// or https://"
# Characters of the reason that an authorization server gives for a refusal.
_MAX_REASON: Final = 200
# A time in the past, as the expiry of a token: the SDK then renews the token before it is used.
_PAST: Final = 1.0

# The SDK logs each failure with a traceback, which may contain the answer of a server and so a code or a token. These
# log messages are not needed: the failure is also raised, and we report it in one line without secrets.
logging.getLogger("mcp.client.auth.oauth2").addFilter(lambda record: record.msg != "OAuth flow error")


class ServerSignIn:
    """The sign-in to one server. It implements the SDK's protocol `TokenStorage`.

    `stored` is what an earlier sign-in left. With an `attempt`, the user may be sent to a browser, once. Without an
    attempt, only the stored tokens are used. `stale` means that the stored tokens must be renewed before they are used.
    `wanted_scope` is the scope that was missing when the server refused a request; None when none was missing.
    `find_url_refusal` returns why the administrator's policy does not allow an address, "" if it does.
    """

    def __init__(
        self,
        settings: McpServerConfig,
        store: SignInStore,
        stored: StoredSignIn,
        attempt: SignInAttempt | None,
        *,
        stale: bool = False,
        wanted_scope: str | None = None,
        find_url_refusal: Callable[[str], str] = lambda _: "",
    ) -> None:
        self.url = settings.url or ""
        # The tokens; None until the user has signed in.
        self.grant: TokenGrant | None = None if attempt else find_usable_grant(stored, settings)
        self.attempt = attempt
        # Why nobody is signed in.
        self.refusal: str | None = None
        self.stale = stale
        self.wanted_scope = wanted_scope
        # Whether `drop` was called. Then nothing is stored any more.
        self.dropped = False
        self._settings = settings
        self._store = store
        self._find_url_refusal = find_url_refusal
        self._code = ""  # the code that the browser has brought; "" before that
        redirect_uri = attempt.landing.address if attempt else "http://127.0.0.1/callback"
        # The OAuth client that we are; None when we must register first.
        self._client = _make_configured_client(settings, redirect_uri) or self._find_client(stored)
        scope = settings.auth_scope or wanted_scope
        metadata = (_FixedScopeMetadata if scope else OAuthClientMetadata)(
            redirect_uris=[AnyUrl(redirect_uri)],
            client_name=settings.client_name or "jupyter-eca",
            scope=scope,
            application_type="native" if _is_loopback(redirect_uri) else "web",
        )
        self.provider = OAuthClientProvider(
            self.url,
            metadata,
            self,
            redirect_handler=self._redirect,
            callback_handler=self._wait_for_code,
            client_metadata_url=settings.client_id if _is_metadata_url(settings.client_id) else None,
        )
        if self.grant is not None:
            self._restore(self.grant)

    def _find_client(self, stored: StoredSignIn) -> OAuthClientInformationFull | None:
        """Return our stored registration as an OAuth client: the one that the tokens were issued to. For a new sign-in,
        it is the registration with the present redirect URI; None if there is none, or if its secret has expired."""
        registered = stored.clients.get(self.attempt.landing.address) if self.attempt else None
        data = self.grant.client if self.grant else registered
        client = OAuthClientInformationFull.model_validate(data) if data else None
        # In a registration, the time 0 means that the secret never expires (RFC 7591).
        has_expired = client is not None and 0 < (client.client_secret_expires_at or 0) < time.time()
        return None if has_expired and self.attempt else client

    def _restore(self, grant: TokenGrant) -> None:
        """Restore the state that the SDK has after a sign-in. Without it, the SDK would not renew the tokens."""
        context = self.provider.context
        context.token_expiry_time = _PAST if self.stale else grant.expires
        if grant.metadata is not None:
            context.oauth_metadata = OAuthMetadata.model_validate(grant.metadata)
        if grant.resource is not None:
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(grant.resource)

    @property
    def can_renew(self) -> bool:
        """Whether there is a refresh token."""
        return self.grant is not None and bool(self.grant.tokens.get("refresh_token"))

    def list_secrets(self) -> tuple[SecretStr, ...]:
        """Return the secrets of this sign-in, which must be redacted everywhere."""
        tokens = self.grant.tokens if self.grant else {}
        secrets = (self._code, tokens.get("access_token"), tokens.get("refresh_token"))
        client_secret = self._client.client_secret if self._client else None
        return tuple(SecretStr(value) for value in (*secrets, client_secret) if value)

    def end(self, why: str | None) -> SignInAttempt | None:
        """End the attempt of the user, and return it. `why` says why it failed; None means that it worked."""
        attempt, self.attempt = self.attempt, None
        if attempt is not None:
            attempt.end(why)
        return attempt

    async def fail(self, why: str) -> None:
        """End the attempt of the user, because it failed. `why` is for the user, see `end`. If the browser did not come
        back, the authorization server may have forgotten our registration. Then the stored registration is removed, so
        that the next attempt registers again."""
        attempt = self.end(why)
        if attempt is not None and attempt.sent and not attempt.has_returned and not self.dropped:
            await self._store.store_registration(self.url, attempt.landing.address, None)

    def drop(self, why: str) -> None:
        """Give up the sign-in. Tokens that it still receives are not stored. `why` is for the user, see `end`."""
        self.dropped = True
        self.end(why)

    # -- the methods of `TokenStorage`, which the SDK calls

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens; None when nobody is signed in. From now on they are redacted."""
        tokens = OAuthToken.model_validate(self.grant.tokens) if self.grant else None
        if tokens is not None:
            redaction.register_secret(tokens.access_token, tokens.refresh_token or "")
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store new tokens, after a sign-in or a renewal. This ends the attempt of the user."""
        redaction.register_secret(tokens.access_token, tokens.refresh_token or "")
        if self.dropped:
            return
        context, client = self.provider.context, self.provider.context.client_info
        self.grant = TokenGrant(
            # A client secret of the configuration is not stored a second time.
            client=_as_json(client, {"client_secret"} if self._settings.client_id else None) if client else {},
            tokens=_as_json(tokens),
            expires=context.token_expiry_time,
            metadata=_as_json(context.oauth_metadata) if context.oauth_metadata else None,
            resource=_as_json(context.protected_resource_metadata) if context.protected_resource_metadata else None,
        )
        self.stale = False
        if (statuses := transports.ERROR_STATUSES.get()) is not None:
            # The server refused requests because nobody was signed in. This is over, so a later failure has another
            # reason.
            statuses.clear()
        survives_restart = await self._store.store_grant(self.url, self.grant)
        if self.attempt is not None:
            self.attempt.survives_restart = survives_restart
        self.end(None)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the OAuth client that we are; None when we must register first."""
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store our registration as an OAuth client, for the present redirect URI."""
        self._client = client_info
        if self.attempt is not None:
            await self._store.store_registration(self.url, self.attempt.landing.address, _as_json(client_info))

    # -- the SDK's callbacks

    async def _redirect(self, url: str) -> None:
        """Send the user to the authorization server. Raises: OAuthFlowError when the user must not be sent now."""
        if self.attempt is None or self.attempt.sent:
            self.wanted_scope = self.provider.context.client_metadata.scope
            self._refuse(self.refusal or _SIGN_IN_AGAIN)
        if urlsplit(url).scheme not in {"http", "https"}:
            self._refuse(_NO_WEB_ADDRESS)
        if refusal := self._find_url_refusal(url):
            self._refuse(refusal.rstrip("."))
        self._choose_client_authentication()
        self.attempt.send(url)

    def _choose_client_authentication(self) -> None:
        """Choose how a configured client secret is sent. A registration would say it. Without one, the metadata of the
        authorization server decides (RFC 8414)."""
        client, metadata = self.provider.context.client_info, self.provider.context.oauth_metadata
        if client is not None and client.client_secret and client.token_endpoint_auth_method is None:
            methods = metadata.token_endpoint_auth_methods_supported if metadata else None
            is_post = methods is not None and "client_secret_post" in methods
            client.token_endpoint_auth_method = "client_secret_post" if is_post else "client_secret_basic"

    async def _wait_for_code(self) -> AuthorizationCodeResult:
        """Wait until the browser comes back, and return the code. Raises: OAuthFlowError when it brings none."""
        assert self.attempt is not None  # noqa: S101  # the SDK sends before it waits
        found = await self.attempt.wait_for_return()
        if "error" in found or "code" not in found:
            why = found.get("error_description") or found.get("error") or "it gave no code"
            self._refuse(f"its authorization server said no: {' '.join(why.split())[:_MAX_REASON]}")
        self._code = found["code"]
        return AuthorizationCodeResult.model_validate(found)

    def _refuse(self, why: str) -> NoReturn:
        """Note why nobody is signed in, and raise OAuthFlowError."""
        self.refusal = why
        raise OAuthFlowError(why)


class _FixedScopeMetadata(OAuthClientMetadata):
    """Metadata of an OAuth client whose scope the SDK cannot change. The scope comes from the configuration, or from
    the server when it refused a request. The SDK would replace it by the scope of a first sign-in."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "scope":
            super().__setattr__(name, value)


def find_usable_grant(stored: StoredSignIn, settings: McpServerConfig) -> TokenGrant | None:
    """Return the stored grant. Return None if it was issued to another client id than the configured one, because it
    could not be renewed."""
    grant = stored.grant
    client_id = settings.client_id if not _is_metadata_url(settings.client_id) else None
    return None if grant and client_id not in {None, grant.client.get("client_id")} else grant


def _is_metadata_url(client_id: str | None) -> bool:
    """Return whether a client id is the address of a metadata document. A server that supports this needs no
    registration. With other servers we register as if no client id were configured."""
    return is_valid_client_metadata_url(client_id)


def _make_configured_client(settings: McpServerConfig, redirect_uri: str) -> OAuthClientInformationFull | None:
    """Return the client that the user registered by hand; None if the configuration has no client id."""
    if settings.client_id is None or _is_metadata_url(settings.client_id):
        return None
    secret = settings.client_secret.get_secret_value() if settings.client_secret else None
    return OAuthClientInformationFull(
        client_id=settings.client_id, client_secret=secret, redirect_uris=[AnyUrl(redirect_uri)]
    )


def _as_json(model: BaseModel, exclude: set[str] | None = None) -> dict[str, Any]:
    """Return a model as JSON, without empty fields and without those in `exclude`."""
    return model.model_dump(mode="json", exclude_none=True, exclude=exclude)


def _is_loopback(address: str) -> bool:
    """Return whether an address leads to this machine."""
    return urlsplit(address).hostname in {"127.0.0.1", "localhost", "::1"}
