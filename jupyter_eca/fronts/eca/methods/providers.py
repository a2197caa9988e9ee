"""Owns the methods on model providers: list them, sign in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol import provider
from jupyter_eca.protocol.base import Done

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol.base import Model


async def list(session: EcaSession, _params: Model) -> provider.ProvidersListResult:
    return provider.ProvidersListResult(providers=await session.host.logins.list())


async def login(session: EcaSession, params: provider.ProvidersLoginParams) -> provider.LoginStep:
    return await session.host.logins.login(params.provider, params.method, session)


async def enter(session: EcaSession, params: provider.ProvidersLoginInputParams) -> provider.LoginStep:
    return await session.host.logins.enter(params.provider, params.data)


async def logout(session: EcaSession, params: provider.ProviderParams) -> Done:
    await session.host.logins.logout(params.provider)
    return Done()


HANDLERS: Final = {
    "providers/list": list,
    "providers/login": login,
    "providers/loginInput": enter,
    "providers/logout": logout,
}
