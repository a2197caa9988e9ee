"""The sign-in to one server by OAuth. The SDK does the protocol; this module is its storage, and decides whether a
user is sent to a browser. `sign_ins` makes one per server.
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
    from pydantic import BaseModel

    from jupyter_eca.config import McpServerConfig
    from jupyter_eca.mcp_client.sign_in import Visit
    from jupyter_eca.mcp_client.sign_in_store import SignInStore

_AGAIN: Final = "it wants its user to sign in again"
_ODD: Final = "its authorization server has an address that is no http:// or https://"
# Characters of what an authorization server says of its refusal.
_REASON: Final = 200
# A time that is past: the token is to be renewed before it is used.
_STALE: Final = 1.0

# The SDK logs a traceback of each failure, and in it what a server answered, which may quote a code or a token. The
# failure itself is raised, and told by us in one line without secrets.
logging.getLogger("mcp.client.auth.oauth2").addFilter(lambda record: record.msg != "OAuth flow error")


class ServerSignIn:
    """The sign-in to one server. With a `visit` the user may be sent to sign in, once; without one it uses what is
    stored. `refusal` says why nobody is signed in. `stale`: the stored tokens must be renewed before use. `wants` is
    the scope that was missing when the server refused."""

    def __init__(
        self,
        settings: McpServerConfig,
        keeping: SignInStore,
        kept: StoredSignIn,
        visit: Visit | None,
        *,
        stale: bool = False,
        wants: str | None = None,
    ) -> None:
        self.url = settings.url or ""
        self.grant: TokenGrant | None = None if visit else find_usable_grant(kept, settings)
        self.visit = visit
        self.refusal: str | None = None
        self.stale = stale
        self.wants = wants
        self.dropped = False
        self._settings = settings
        self._keeping = keeping
        self._code = ""
        back = visit.landing.address if visit else "http://127.0.0.1/callback"
        self._client = _make_configured_client(settings, back) or self._find_client(kept)
        scope = settings.auth_scope or wants
        metadata = (_Scoped if scope else OAuthClientMetadata)(
            redirect_uris=[AnyUrl(back)],
            client_name=settings.client_name or "jupyter-eca",
            scope=scope,
            application_type="native" if _loops(back) else "web",
        )
        self.provider = OAuthClientProvider(
            self.url,
            metadata,
            self,
            redirect_handler=self._send,
            callback_handler=self._wait,
            client_metadata_url=settings.client_id if _is_metadata_url(settings.client_id) else None,
        )
        if self.grant is not None:
            self._restore(self.grant)

    def _find_client(self, kept: StoredSignIn) -> OAuthClientInformationFull | None:
        """Return the client that the tokens were given to. To get new tokens, return the client that is registered at
        the address."""
        data = self.grant.client if self.grant else kept.clients.get(self.visit.landing.address) if self.visit else None
        client = OAuthClientInformationFull.model_validate(data) if data else None
        over = client is not None and 0 < (client.client_secret_expires_at or 0) < time.time()
        return None if over and self.visit else client

    def _restore(self, grant: TokenGrant) -> None:
        """Restore what the SDK would know only after a sign-in. Without it the SDK renews nothing after a start."""
        context = self.provider.context
        context.token_expiry_time = _STALE if self.stale else grant.expires
        if grant.metadata is not None:
            context.oauth_metadata = OAuthMetadata.model_validate(grant.metadata)
        if grant.resource is not None:
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(grant.resource)

    @property
    def renewable(self) -> bool:
        return self.grant is not None and bool(self.grant.tokens.get("refresh_token"))

    def secrets(self) -> tuple[SecretStr, ...]:
        """Return the secrets that must appear nowhere."""
        tokens = self.grant.tokens if self.grant else {}
        found = (self._code, tokens.get("access_token"), tokens.get("refresh_token"))
        secret = self._client.client_secret if self._client else None
        return tuple(SecretStr(value) for value in (*found, secret) if value)

    def end(self, why: str | None) -> Visit | None:
        """End the attempt; `why` says why it failed, None means that it worked."""
        visit, self.visit = self.visit, None
        if visit is not None:
            visit.end(why)
        return visit

    async def fail(self, why: str) -> None:
        """End the attempt as failed. If nobody came back from the browser, the server may not know our registration any
        more: register again next time."""
        visit = self.end(why)
        if visit is not None and visit.sent and not visit.has_returned and not self.dropped:
            await self._keeping.register(self.url, visit.landing.address, None)

    def drop(self, why: str) -> None:
        """Give the sign-in up. Nothing that it still receives is stored."""
        self.dropped = True
        self.end(why)

    # -- the SDK's storage

    async def get_tokens(self) -> OAuthToken | None:
        tokens = OAuthToken.model_validate(self.grant.tokens) if self.grant else None
        if tokens is not None:
            redaction.register_secret(tokens.access_token, tokens.refresh_token or "")
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        redaction.register_secret(tokens.access_token, tokens.refresh_token or "")
        if self.dropped:
            return
        context, client = self.provider.context, self.provider.context.client_info
        self.grant = TokenGrant(
            # A secret of the configuration stays there.
            client=_json(client, {"client_secret"} if self._settings.client_id else None) if client else {},
            tokens=_json(tokens),
            expires=context.token_expiry_time,
            metadata=_json(context.oauth_metadata) if context.oauth_metadata else None,
            resource=_json(context.protected_resource_metadata) if context.protected_resource_metadata else None,
        )
        self.stale = False
        if (refusals := transports.REFUSAL.get()) is not None:
            refusals.clear()  # they were answered: what goes wrong from now on has another reason
        lasts = await self._keeping.grant(self.url, self.grant)
        if self.visit is not None:
            self.visit.lasts = lasts
        self.end(None)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info
        if self.visit is not None:
            await self._keeping.register(self.url, self.visit.landing.address, _json(client_info))

    # -- the user

    async def _send(self, url: str) -> None:
        if self.visit is None or self.visit.sent:
            self.wants = self.provider.context.client_metadata.scope
            self._refuse(self.refusal or _AGAIN)
        if urlsplit(url).scheme not in {"http", "https"}:
            self._refuse(_ODD)
        self._authenticate()
        self.visit.send(url)

    def _authenticate(self) -> None:
        """Choose how a configured client secret is sent: as the server prefers (RFC 8414), since no registration says
        it."""
        client, metadata = self.provider.context.client_info, self.provider.context.oauth_metadata
        if client is not None and client.client_secret and client.token_endpoint_auth_method is None:
            known = metadata.token_endpoint_auth_methods_supported if metadata else None
            post = known is not None and "client_secret_post" in known
            client.token_endpoint_auth_method = "client_secret_post" if post else "client_secret_basic"

    async def _wait(self) -> AuthorizationCodeResult:
        assert self.visit is not None  # noqa: S101  # the SDK sends before it waits
        found = await self.visit.back()
        if "error" in found or "code" not in found:
            why = found.get("error_description") or found.get("error") or "it gave no code"
            self._refuse(f"its authorization server said no: {' '.join(why.split())[:_REASON]}")
        self._code = found["code"]
        return AuthorizationCodeResult.model_validate(found)

    def _refuse(self, why: str) -> NoReturn:
        self.refusal = why
        raise OAuthFlowError(why)


class _Scoped(OAuthClientMetadata):
    """The SDK's OAuth client with a fixed scope: the one of the configuration, or the one that the server asked for
    when it refused. The SDK alone would ask for the scope of a first sign-in."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "scope":
            super().__setattr__(name, value)


def find_usable_grant(kept: StoredSignIn, settings: McpServerConfig) -> TokenGrant | None:
    """Return the stored grant, unless it was given to another client id than the configured one: it could not be
    renewed."""
    grant = kept.grant
    own = settings.client_id if not _is_metadata_url(settings.client_id) else None
    return None if grant and own not in {None, grant.client.get("client_id")} else grant


def _is_metadata_url(client_id: str | None) -> bool:
    """Whether a client id is the address of a metadata document. Servers that support it need no registration; at the
    others we register as if there were no id."""
    return is_valid_client_metadata_url(client_id)


def _make_configured_client(settings: McpServerConfig, back: str) -> OAuthClientInformationFull | None:
    """Return the client that was registered by hand."""
    if settings.client_id is None or _is_metadata_url(settings.client_id):
        return None
    secret = settings.client_secret.get_secret_value() if settings.client_secret else None
    return OAuthClientInformationFull(client_id=settings.client_id, client_secret=secret, redirect_uris=[AnyUrl(back)])


def _json(model: BaseModel, exclude: set[str] | None = None) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True, exclude=exclude)


def _loops(address: str) -> bool:
    return urlsplit(address).hostname in {"127.0.0.1", "localhost", "::1"}
