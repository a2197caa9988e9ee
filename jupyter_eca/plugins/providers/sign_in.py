"""Signing in to providers: who is signed in, how it is done, and what follows. It knows no client; a key goes in and
never comes out. `api_keys` decides which key is used.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from jupyter_eca import redaction
from jupyter_eca.config.credentials import StoredKey
from jupyter_eca.errors import LocalError, ProviderError
from jupyter_eca.plugins.providers import browser_sign_in, prices
from jupyter_eca.plugins.providers.base import Keyed, MayLackTools
from jupyter_eca.plugins.providers.messages.local_address import is_here
from jupyter_eca.protocol import provider as wire

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from jupyter_eca.config import ModelConfig, ProviderConfig
    from jupyter_eca.config.credentials import KeyStore
    from jupyter_eca.plugins.providers.browser_sign_in import Attempt, User
    from jupyter_eca.plugins.providers.catalog import Catalog, CatalogEntry

# ECA's names of the way in which a key is typed in: for the vendor itself, and for a server of somebody else's.
MANUAL: Final = "manual"
API_KEY: Final = "api-key"
_LABEL = "Enter an API key"
_KEY = "API key"
# In the label, which every client shows; a message at this step is not in the protocol.
_KEY_FOR_NOW = "API key (kept in memory only: it is gone when {until})"
# Ours: ECA has no such way for OpenRouter, and its clients show whatever there is.
BROWSER: Final = "browser"
_BROWSER_LABEL = "Sign in in the browser"
_SIGN_IN = "Sign in to {label} in the browser. It comes back here by itself."
_FOR_NOW = "The key is kept in memory only: it is gone when {until}."
_TO_LAST = 'To have it last, `pip install "jupyter-eca[keyring]"` where the system has a keyring'
_OR_SET = ", or set `{variable}` in the environment"
_AND_URL = " and `providers.{name}.url` in the configuration"
_SIGNED_IN = "You are signed in to {label}."

_NO_PROVIDER = "There is no provider {name!r}. Known are {known}."
_NO_KEY_WANTED = "{name} wants no key: there is nothing to sign in to."
_NO_METHOD = "{name} has no way to sign in called {method!r}. There is {known}."
_NOTHING_TYPED = "No key was typed in. Paste the whole key."
_ODD_KEY = "That is no key: it has characters no key has. Copy it again."
_NO_URL = "That is no address: it must start with https:// or http://."
_NOT_TAKEN = "{name} did not take this key, and it was not kept. Is it mistyped or expired?"
_NOT_KEPT = "The key cannot be kept: {reason}."
_UNCHECKED = "The key was kept. It could not be tried yet: {reason}"
_CONFIGURED = "The key was kept, but `providers.{name}.key` of the configuration comes first. Remove that to use it."

# What the tables of others do not say: every Claude since 3 reads images, as do these of the others.
_SEES: Final = re.compile(r"claude|gpt-(?:4o|4\.1|[5-9])|gemini|(?:^|/)o[34]|pixtral")

# The APIs that have a search of their own.
_SEARCH: Final = {"anthropic", "openai-responses"}


class Logins:
    """The sign-ins of users to providers. `changed` is called with the new status, and with the default model if there
    was none before."""

    def __init__(
        self,
        catalog: Catalog,
        credentials: KeyStore,
        changed: Callable[[wire.ProviderStatus, str | None], Awaitable[None]],
    ) -> None:
        self._catalog = catalog
        self._credentials = credentials
        self._changed = changed
        self._away: dict[str, tuple[Attempt, asyncio.Task[None]]] = {}
        self.until = "this server ends"
        """How long a key lasts that is in the memory of this process."""

    async def list(self) -> tuple[wire.ProviderStatus, ...]:
        """List the providers that can be used here. One that only the configuration makes useful (`scripted`) is left
        out until it is configured."""
        await self._catalog.refresh()
        configured = self._catalog.config.providers
        shown = [
            (name, entry)
            for name, entry in self._catalog.entries().items()
            if entry.plug.rank is not None or name in configured
        ]
        return tuple(await asyncio.gather(*(self._status(name, entry) for name, entry in shown)))

    async def status(self, name: str) -> wire.ProviderStatus:
        """Return the status of a provider. Raises: LocalError for an unknown provider."""
        await self._catalog.refresh()
        return await self._status(name, self._entry(name))

    async def login(self, name: str, method: str | None = None, user: User | None = None) -> wire.LoginStep:
        """Return what to ask the `user` for. Raises: LocalError when there is nothing to sign in to, or not in this
        way."""
        entry, _ = self._find_keyed(name)
        known = _methods(name, entry, browser=user is not None)
        if not method and len(known) > 1:
            return wire.LoginStep(action=wire.LoginAction.CHOOSE_METHOD, methods=known)
        if method and method not in {one.key for one in known}:
            keys = " and ".join(one.key for one in known)
            raise LocalError(_NO_METHOD.format(name=name, method=method, known=keys))
        if method == BROWSER and user is not None:
            return await self._send(name, entry, user)
        label = _KEY if await self._lasts() else _KEY_FOR_NOW.format(until=self.until)
        fields = [wire.LoginField(key="key", label=label, type="secret")]
        if _asks_for_url(entry):
            fields.append(wire.LoginField(key="url", label="Address of the server"))
        return wire.LoginStep(action=wire.LoginAction.INPUT, fields=tuple(fields))

    async def _send(self, name: str, entry: CatalogEntry, user: User) -> wire.LoginStep:
        """Begin a sign-in with a browser. It continues after this returned; an earlier one ends."""
        label = entry.label or name
        message = _SIGN_IN.format(label=label)
        if not await self._lasts():
            message = f"{message} {self._for_now}"
        attempt = await browser_sign_in.begin(label, entry.settings.url or "", user)
        self._give_up(name)

        async def keep(key: str) -> str | None:
            return (await self.enter(name, {"key": key})).message

        task = user.start(attempt.run(user, keep))
        self._away[name] = attempt, task
        task.add_done_callback(partial(self._finish_attempt, name, attempt))
        return wire.LoginStep(action=wire.LoginAction.AUTHORIZE, url=attempt.address, message=message)

    def _finish_attempt(self, name: str, attempt: Attempt, task: asyncio.Task[None]) -> None:
        if self._away.get(name) == (attempt, task):
            self._give_up(name)

    def _give_up(self, name: str) -> None:
        if (away := self._away.pop(name, None)) is not None:
            attempt, task = away
            attempt.visit.end(browser_sign_in.OVER)  # at once, and also if the task has not begun
            task.cancel()

    async def enter(self, name: str, data: Mapping[str, str]) -> wire.LoginStep:
        """Store what was typed in. Raises: LocalError that says what is wrong; then nothing was stored."""
        entry, plug = self._find_keyed(name)
        key, url = _key(data), entry.settings.url
        redaction.register_secret(key)
        if _asks_for_url(entry):
            url = _url(data) or url
        settings = entry.settings.model_copy(update={"key": SecretStr(key), "url": url})
        said = await _try_key(name, plug, settings)
        if entry.key.source == "config":
            said = _CONFIGURED.format(name=name)
        before = await self._catalog.default()
        kept = await self._write(lambda: self._credentials.store(name, StoredKey(key, url)))
        await self._tell(name, before)
        if not kept and self._credentials.can_be_persistent:
            said = said or _SIGNED_IN.format(label=entry.label or name)
            said = f"{said} {self._for_now} {self._to_last(name, entry)}"
        return wire.LoginStep(action=wire.LoginAction.DONE, message=said)

    @property
    def _for_now(self) -> str:
        return _FOR_NOW.format(until=self.until)

    def _to_last(self, name: str, entry: CatalogEntry) -> str:
        """Of the two ways, those that there are; with a key alone nobody finds a server."""
        variable, configured = entry.key.variable, self._catalog.config.providers.get(name)
        found = entry.has_address or (configured is not None and configured.url is not None)
        set_too = _OR_SET.format(variable=variable) if variable else ""
        url_too = _AND_URL.format(name=name) if variable and not found else ""
        return f"{_TO_LAST}{set_too}{url_too}."

    async def _lasts(self) -> bool:
        return await asyncio.to_thread(self._credentials.is_persistent)

    async def logout(self, name: str) -> None:
        """Forget what was typed in; a second call does nothing. Raises: LocalError for an unknown provider."""
        self._entry(name)
        self._give_up(name)
        before = await self._catalog.default()
        await self._write(lambda: self._credentials.forget(name))
        await self._tell(name, before)

    async def _write(self, work: Callable[[], bool | None]) -> bool | None:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise LocalError(_NOT_KEPT.format(reason=error.strerror)) from error

    async def _tell(self, name: str, before: str) -> None:
        default = None if before else await self._catalog.default() or None
        await self._changed(await self.status(name), default)

    def _entry(self, name: str) -> CatalogEntry:
        entries = self._catalog.entries()
        if name not in entries:
            raise LocalError(_NO_PROVIDER.format(name=name, known=", ".join(sorted(entries))))
        return entries[name]

    def _find_keyed(self, name: str) -> tuple[CatalogEntry, Keyed]:
        entry = self._entry(name)
        if not isinstance(entry.plug, Keyed):
            raise LocalError(_NO_KEY_WANTED.format(name=name))
        return entry, entry.plug

    # -- what is shown

    async def _status(self, name: str, entry: CatalogEntry) -> wire.ProviderStatus:
        models = await entry.plug.models(entry.settings)
        auth = _auth(entry, usable=bool(models))
        keyed = isinstance(entry.plug, Keyed)
        return wire.ProviderStatus(
            id=name,
            label=entry.label,
            configured=name in self._catalog.config.providers or bool(models),
            auth=auth,
            login=wire.ProviderLogin(methods=_methods(name, entry)) if keyed else None,
            models=await self._models(name, entry, models),
        )

    async def _models(self, name: str, entry: CatalogEntry, models: tuple[str, ...]) -> tuple[wire.ProviderModel, ...]:
        chosen = entry.settings.models
        vendors = {model: (model in chosen and chosen[model].model_name) or model for model in models}
        rates = await prices.rates(entry.priced_as, vendors.values()) if entry.priced_as and models else {}
        toolless = await asyncio.to_thread(_toolless, entry, models)
        return tuple(
            wire.ProviderModel(
                id=model,
                capabilities=wire.ModelCapabilities(
                    reason=bool(self._catalog.variants(f"{name}/{model}")),
                    vision=bool(_SEES.search(vendor)),
                    tools=model not in toolless,
                    web_search=entry.plug.name in _SEARCH and entry.settings.searches(model),
                ),
                cost=_cost(chosen.get(model), rates.get(vendor)),
            )
            for model, vendor in vendors.items()
        )


def _cost(chosen: ModelConfig | None, listed: tuple[float, float] | None) -> wire.ModelCost | None:
    """Return the user's own rates, else those of the price list."""
    if chosen is not None and chosen.cost is not None:
        listed = chosen.cost.input, chosen.cost.output
    return None if listed is None else wire.ModelCost(input=listed[0], output=listed[1])


def _toolless(entry: CatalogEntry, models: tuple[str, ...]) -> frozenset[str]:
    plug = entry.plug
    if not isinstance(plug, MayLackTools):
        return frozenset()
    return frozenset(model for model in models if not plug.calls_tools(model, entry.settings))


def _auth(entry: CatalogEntry, *, usable: bool) -> wire.ProviderAuth:
    key = entry.key
    if key.source is not None and isinstance(entry.plug, Keyed):
        variable = key.variable if key.source == "env" else None
        status = wire.AuthStatus.AUTHENTICATED
        return wire.ProviderAuth(status=status, type="api-key", source=key.source, env_var=variable)
    if not isinstance(entry.plug, Keyed):
        return wire.ProviderAuth(status=wire.AuthStatus.LOCAL if usable else wire.AuthStatus.NOT_RUNNING)
    if entry.settings.url and is_here(entry.settings.url):
        return wire.ProviderAuth(status=wire.AuthStatus.LOCAL)  # a server of one's own, and no key is often right
    return wire.ProviderAuth(status=wire.AuthStatus.UNAUTHENTICATED, env_var=key.variable)


def _methods(name: str, entry: CatalogEntry, *, browser: bool = True) -> tuple[wire.LoginMethod, ...]:
    """Return the ways to sign in; `browser`: the user has one."""
    typed = wire.LoginMethod(key=MANUAL if name in {entry.plug.name, "openai"} else API_KEY, label=_LABEL)
    return (wire.LoginMethod(key=BROWSER, label=_BROWSER_LABEL), typed) if entry.grants and browser else (typed,)


def _asks_for_url(entry: CatalogEntry) -> bool:
    """Whether to ask for the address: of a self-hosted server that the configuration does not name. One that was typed
    in may be changed."""
    return not entry.has_address and (entry.settings.url is None or entry.key.source == "login")


def _key(data: Mapping[str, str]) -> str:
    key = next((data[name].strip() for name in ("key", "api-key", "apiKey") if data.get(name)), "")
    if not key:
        raise LocalError(_NOTHING_TYPED)
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise LocalError(_ODD_KEY)
    return key


def _url(data: Mapping[str, str]) -> str | None:
    url = data.get("url", "").strip()
    if url and not url.startswith(("https://", "http://")):
        raise LocalError(_NO_URL)
    return url or None


async def _try_key(name: str, plug: Keyed, settings: ProviderConfig) -> str | None:
    """Return what to say about a key that was stored. Raises: LocalError for a wrong one."""
    try:
        await plug.check(settings)
    except ProviderError as error:
        if error.status == 401:
            raise LocalError(_NOT_TAKEN.format(name=name)) from None
        return _UNCHECKED.format(reason=redaction.redact(str(error)))
    return None
