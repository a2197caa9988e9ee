"""Owns the methods of ECA on model providers: list them, sign in to a provider and out of it, try its key.

It must not know how a sign-in works: `host/operations/` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol import provider
from jupyter_eca.protocol.base import Done

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol.base import Model


async def list(session: EcaSession, _params: Model) -> provider.ProvidersListResult:
    """Return the providers, and whether the user is signed in to each. The user looks for a model now, so the models
    are looked for again, too."""
    session.start(session.host.notices.announce_new_models())
    return provider.ProvidersListResult(providers=await session.host.logins.list())


async def log_in(session: EcaSession, params: provider.ProvidersLoginParams) -> provider.LoginStep:
    """Begin a sign-in, and return its first step: what the user must choose, enter or open."""
    return await session.host.logins.login(params.provider, params.method, session)


async def enter_input(session: EcaSession, params: provider.ProvidersLoginInputParams) -> provider.LoginStep:
    """Continue a sign-in with what the user has entered, and return its next step."""
    return await session.host.logins.enter(params.provider, params.data)


async def try_key(session: EcaSession, params: provider.ProviderParams) -> provider.ProvidersTryResult:
    """Try the key of a provider by a small request, and return what came out."""
    return await session.host.key_trials.run(params.provider)


async def log_out(session: EcaSession, params: provider.ProviderParams) -> Done:
    """Delete the stored key of a provider."""
    await session.host.logins.logout(params.provider)
    return Done()


HANDLERS: Final = {
    "providers/list": list,
    "providers/login": log_in,
    "providers/loginInput": enter_input,
    "providers/try": try_key,
    "providers/logout": log_out,
}
