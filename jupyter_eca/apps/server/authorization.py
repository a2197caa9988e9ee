"""Asks Jupyter's authorizer what the user of a request may do with the assistant. For a connection, this is done once,
when it is opened.

| the client wants to | the authorizer must allow |
|---|---|
| see chats and their events | `read` on `eca` |
| ask, steer, stop, delete | also `write` and `execute` on `eca` |
| approve tool calls, answer questions, change the rules of approval | also `execute` on `eca:approve` |

Asking needs `execute` as well as `write`, because the approval rules can let tools run that nobody has to approve.

It must not know the fronts: `websockets.py` and `asgi.py` pass the answer on to them.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_core.utils import ensure_async
from jupyter_server.auth.identity import IdentityProvider

from jupyter_eca.fronts.client_access import FULL_ACCESS, AccessLevel, ClientAccess

if TYPE_CHECKING:
    from jupyter_server.base.handlers import JupyterHandler

    from jupyter_eca.protocol.event import Person

# The resources that the authorizer is asked about.
RESOURCE: Final = "eca"
APPROVAL: Final = "eca:approve"

# What users may do, each with the sentence for a user who wants to do more.
_MAY_READ: Final = ClientAccess(
    AccessLevel.READ,
    "On this server you may read the chats, but not ask or approve. Its administrator decides who may.",
)
_MAY_ASK: Final = ClientAccess(
    AccessLevel.ASK,
    "On this server you may ask, but not approve. Someone who may has to approve it here; the server's administrator "
    "decides who that is.",
)
_HAS_OWN_TOKEN: Final = ClientAccess(
    AccessLevel.ASK,
    "This connection may ask, but not approve: it came with a token that programs in kernels can find. Approve in "
    "JupyterLab, or have the server started with `EcaApp.approve_with_token = True`.",
)


async def find_access(handler: JupyterHandler) -> ClientAccess | None:
    """Return what the user of a request may do, and who the user is; None if the user may not even read the chats."""
    access = await _find_access(handler)
    return access and replace(access, user=find_person(handler))


async def _find_access(handler: JupyterHandler) -> ClientAccess | None:
    """Return what the user of a request may do; None if the user may not even read the chats."""
    if not await _is_allowed(handler, "read", RESOURCE):
        return None
    if not (await _is_allowed(handler, "write", RESOURCE) and await _is_allowed(handler, "execute", RESOURCE)):
        return _MAY_READ
    if not await _is_allowed(handler, "execute", APPROVAL):
        return _MAY_ASK
    return _HAS_OWN_TOKEN if _has_only_own_token(handler) else FULL_ACCESS


def find_person(handler: JupyterHandler) -> Person | None:
    """Return the user of a request; None where the server does not tell its users apart.

    Where a token is all that is needed to use the server, Jupyter invents a user for each browser, and for each request
    of a program. The invented users of browsers are people only where they see each other: with jupyter-collaboration.
    """
    from jupyter_eca.protocol.event import Person  # it needs pydantic, which must not delay the start of Jupyter

    user = handler.current_user
    shared = handler.serverapp and "jupyter_server_ydoc" in handler.serverapp.extension_manager.extension_apps
    if invents_users(handler.identity_provider) and (handler.token_authenticated or not shared):
        return None
    return Person(username=user.username, name=user.display_name or user.name or user.username)


def invents_users(provider: IdentityProvider) -> bool:
    """Return whether Jupyter invents the users, because it can distinguish only their browsers."""
    return _list_user_hooks(type(provider)) == _list_user_hooks(IdentityProvider)


def _list_user_hooks(provider: type[IdentityProvider]) -> tuple[object, ...]:
    """Return the methods that providers override to find the user. JupyterHub's overrides one that is private in
    Jupyter."""
    return provider.get_user, provider._get_user, provider.get_user_token  # pyright: ignore[reportPrivateUsage]


async def _is_allowed(handler: JupyterHandler, action: str, resource: str) -> bool:
    """Ask the authorizer. Some authorizers answer with a coroutine."""
    return await ensure_async(handler.authorizer.is_authorized(handler, handler.current_user, action, resource))


def _has_only_own_token(handler: JupyterHandler) -> bool:
    """Return whether the client shows nothing but the server's own token, and this token may not approve.

    A browser sends a cookie, and may approve. A program sends a token. Code in a kernel can find the server's own
    token: in its environment (JupyterHub sets `JUPYTERHUB_API_TOKEN`), or in the file that Jupyter writes for `jupyter
    server list`. A model may have written that code, and must not be able to approve its own calls. So a program with
    the server's own token may not approve. A token that only a person has, for example one that JupyterHub made for an
    editor, is as good as a cookie.
    """
    if not handler.token_authenticated or handler.settings["jupyter_eca_config"].approve_with_token:
        return False
    provider = handler.identity_provider
    return is_own_token(provider, provider.get_token(handler))


def is_own_token(provider: IdentityProvider, token: str | None) -> bool:
    """Return whether a token is the server's own. None means that the client sent the token in an unknown way. To be
    safe, such a token counts as the server's own."""
    return token is None or token in {provider.token, *os.environ.values()}
