"""Signs users in to providers: it lists the providers with their status, has the steps of a sign-in, and stores keys.

This module must not know the clients, and never returns a key. `api_keys` decides which key is used, and
`browser_sign_in` has the sign-in with a browser.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from jupyter_eca import redaction
from jupyter_eca.config.credentials import StoredKey
from jupyter_eca.config.policy.document import Feature
from jupyter_eca.config.policy.local_address import is_on_this_machine
from jupyter_eca.errors import LocalError, ProviderError
from jupyter_eca.plugins.providers import prices
from jupyter_eca.plugins.providers.base import Bundles, Keyed, MayLackTools, Serves, SignsInByDevice
from jupyter_eca.plugins.providers.credentials import browser_sign_in
from jupyter_eca.plugins.providers.presets import KEY_PREFIXES
from jupyter_eca.protocol import provider as wire
from jupyter_eca.protocol.lifecycle import MessageType

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from jupyter_eca.config import ModelConfig, ProviderConfig
    from jupyter_eca.config.credentials import KeyStore
    from jupyter_eca.plugins.providers.catalog import Catalog, CatalogEntry
    from jupyter_eca.plugins.providers.credentials.browser_sign_in import BrowserSignIn, User

# ECA's names for the method in which the user types in a key: at the vendor itself, and at another server.
MANUAL: Final = "manual"
API_KEY: Final = "api-key"
_LABEL = "Enter an API key"
_KEY_LABEL = "API key"
# The label of the field has this remark, because the protocol has no message at this step, and all clients show labels.
_MEMORY_ONLY_KEY_LABEL = "API key (kept in memory only: it is gone when {until})"
# A method that ECA does not have. Its clients show every method that they get.
BROWSER: Final = "browser"
_BROWSER_LABEL = "Sign in in the browser"
# ECA's name for the method in which the user types a code of the provider in a browser.
DEVICE: Final = "device"
_DEVICE_LABEL = "Sign in with a code"
_TYPE_CODE = "Open the page of {label} and type the code there. It goes on here by itself."
_DEVICE_FAILED = "The sign-in to {label} did not work: {reason}."
_SIGN_IN = "Sign in to {label} in the browser. It comes back here by itself."
_MEMORY_ONLY = "The key is kept in memory only: it is gone when {until}."
_HOW_TO_PERSIST = 'To have it last, `pip install "jupyter-eca[keyring]"` where the system has a keyring'
_OR_SET = ", or set `{variable}` in the environment"
_AND_URL = " and `providers.{name}.url` in the configuration"
_SIGNED_IN = "You are signed in to {label}."

# The errors that users read, and the remarks about a key that was stored.
_NO_PROVIDER = "There is no provider {name!r}. Known are {known}."
_NO_KEY_WANTED = "{name} wants no key: there is nothing to sign in to."
_NO_METHOD = "{name} has no way to sign in called {method!r}. There is {known}."
_NOTHING_TYPED = "No key was typed in. Paste the whole key."
_ODD_KEY = "That is no key: it has characters no key has. Copy it again."
_NO_URL = "That is no address: it must start with https:// or http://."
_REJECTED = "{label} did not take this key, and it was not kept. Is it mistyped or expired?"
_NOT_KEPT = "The key cannot be kept: {reason}."
_UNCHECKED = "The key was kept. It could not be tried yet: {reason}"
_CONFIGURED = "The key was kept, but `providers.{name}.key` of the configuration comes first. Remove that to use it."

# The names of models that can read images. No price list has this fact.
_READS_IMAGES: Final = re.compile(r"claude|gpt-(?:4o|4\.1|[5-9])|gemini|(?:^|/)o[34]|pixtral")

# The plugs that have a web search.
_SEARCHING_PLUGS: Final = {"anthropic", "azure", "openai-responses"}


class Logins:
    """The sign-ins of users to providers."""

    def __init__(
        self,
        catalog: Catalog,
        credentials: KeyStore,
        on_change: Callable[[wire.ProviderStatus, str | None], Awaitable[None]],
    ) -> None:
        """`on_change` is called after a sign-in or sign-out, with the new status, and with the default model if there
        was none before."""
        self._catalog = catalog
        self._credentials = credentials
        self._on_change = on_change
        # The sign-ins that are not complete yet, by provider. A sign-in with a code has no `BrowserSignIn`.
        self._running: dict[str, tuple[BrowserSignIn | None, asyncio.Task[None]]] = {}
        self.until = "this server ends"
        """Says until when a key is kept that is only in memory, as a part of a sentence."""

    async def list(self) -> tuple[wire.ProviderStatus, ...]:
        """Return the status of all providers that can be used here. A provider that needs a configuration, such as
        `scripted`, is left out until it is configured."""
        await self._catalog.refresh()
        configured = self._catalog.config.providers
        listed = [
            (name, entry)
            for name, entry in self._catalog.entries().items()
            if entry.plug.rank is not None or name in configured
        ]
        return tuple(await asyncio.gather(*(self._describe_status(name, entry) for name, entry in listed)))

    async def status(self, name: str) -> wire.ProviderStatus:
        """Return the status of a provider. Raises: LocalError for an unknown provider."""
        await self._catalog.refresh()
        return await self._describe_status(name, self._find_entry(name))

    async def login(self, name: str, method: str | None = None, user: User | None = None) -> wire.LoginStep:
        """Return the next step of a sign-in: the methods to choose from, the fields to fill in, or the page to open in
        a browser. With such a page, the sign-in has begun. `method` is the chosen method, None if none was chosen.
        Without a `user` the sign-in with a browser is not offered.

        Raises: LocalError when the provider needs no key, or does not have this method.
        """
        entry, _ = self._find_keyed(name)
        known = _list_methods(name, entry, browser=user is not None)
        if not method and len(known) > 1:
            return wire.LoginStep(action=wire.LoginAction.CHOOSE_METHOD, methods=known)
        if method and method not in {offered.key for offered in known}:
            keys = " and ".join(offered.key for offered in known)
            raise LocalError(_NO_METHOD.format(name=name, method=method, known=keys))
        if method == BROWSER and user is not None:
            return await self._begin_in_browser(name, entry, user)
        if method == DEVICE and user is not None and isinstance(entry.plug, SignsInByDevice):
            return await self._begin_with_code(name, entry.label or name, entry.plug, user)
        label = _KEY_LABEL if await self._is_persistent() else _MEMORY_ONLY_KEY_LABEL.format(until=self.until)
        fields = [wire.LoginField(key="key", label=label, type="secret")]
        if _asks_for_url(entry):
            fields.append(wire.LoginField(key="url", label="Address of the server"))
        return wire.LoginStep(action=wire.LoginAction.INPUT, fields=tuple(fields))

    async def _begin_in_browser(self, name: str, entry: CatalogEntry, user: User) -> wire.LoginStep:
        """Begin a sign-in with a browser, which continues after this returns. An earlier one is cancelled."""
        label = entry.label or name
        message = _SIGN_IN.format(label=label)
        if not await self._is_persistent():
            message = f"{message} {self._memory_only_remark}"
        sign_in = await browser_sign_in.begin(label, entry.settings.url or "", user)
        self._cancel_sign_in(name)

        async def keep(key: str) -> str | None:
            """Store the key, and return a remark for the user; None for no remark."""
            return (await self.enter(name, {"key": key})).message

        task = user.start(sign_in.run(user, keep))
        self._running[name] = sign_in, task
        task.add_done_callback(partial(self._finish_sign_in, name, sign_in))
        return wire.LoginStep(action=wire.LoginAction.AUTHORIZE, url=sign_in.address, message=message)

    async def _begin_with_code(self, name: str, label: str, plug: SignsInByDevice, user: User) -> wire.LoginStep:
        """Begin a sign-in with a code, which continues after this returns. An earlier one is cancelled.

        Raises: LocalError when the provider gives no code.
        """
        authorization = await plug.authorize_device()
        self._cancel_sign_in(name)

        async def run() -> None:
            """Wait for the token, store it as the key, and tell the user how that ended."""
            try:
                remark = (await self.enter(name, {"key": await plug.await_token(authorization)})).message
                user.say(MessageType.INFO, remark or _SIGNED_IN.format(label=label))
            except LocalError as error:
                reason = str(error).removesuffix(".")
                user.say(MessageType.ERROR, _DEVICE_FAILED.format(label=label, reason=reason))

        task = user.start(run())
        self._running[name] = None, task
        task.add_done_callback(partial(self._finish_sign_in, name, None))
        message = _TYPE_CODE.format(label=label)
        if not await self._is_persistent():
            message = f"{message} {self._memory_only_remark}"
        return wire.LoginStep(
            action=wire.LoginAction.DEVICE_CODE,
            url=authorization.verification_uri,
            code=authorization.user_code,
            message=message,
        )

    def _finish_sign_in(self, name: str, sign_in: BrowserSignIn | None, task: asyncio.Task[None]) -> None:
        """Forget a sign-in whose task has ended, unless another one has replaced it."""
        if self._running.get(name) == (sign_in, task):
            self._cancel_sign_in(name)

    def _cancel_sign_in(self, name: str) -> None:
        """Cancel the sign-in to a provider, if there is one."""
        if (running := self._running.pop(name, None)) is not None:
            sign_in, task = running
            if sign_in is not None:
                sign_in.attempt.end(browser_sign_in.OVER)  # because the task may not have begun yet
            task.cancel()

    async def enter(self, name: str, data: Mapping[str, str]) -> wire.LoginStep:
        """Store a key that the user has typed in. `data` has what the user typed into the fields of `login`, by the key
        of the field. Raises: LocalError, whose message says what is wrong. Then nothing is stored."""
        entry, plug = self._find_keyed(name)
        key, url = _parse_key(data), entry.settings.url
        redaction.register_secret(key)
        if _asks_for_url(entry):
            url = _parse_url(data) or url
        settings = entry.settings.model_copy(update={"key": SecretStr(key), "url": url})
        remark = await _try_key(entry.label or name, plug, settings)
        if entry.key.source == "config":
            remark = _CONFIGURED.format(name=name)
        before = await self._catalog.default()
        is_persistent = await self._write_keys(lambda: self._credentials.store(name, StoredKey(key, url)))
        await self._announce(name, before)
        if not is_persistent and self._credentials.can_be_persistent:
            remark = remark or _SIGNED_IN.format(label=entry.label or name)
            remark = f"{remark} {self._memory_only_remark} {self._explain_persistence(name, entry)}"
        return wire.LoginStep(action=wire.LoginAction.DONE, message=remark)

    @property
    def _memory_only_remark(self) -> str:
        """The remark for a key that is not stored on the disk."""
        return _MEMORY_ONLY.format(until=self.until)

    def _explain_persistence(self, name: str, entry: CatalogEntry) -> str:
        """Explain how a key can be kept: in a keyring, or in an environment variable. A variable alone is not enough if
        the URL of the provider is not known."""
        variable, configured = entry.key.variable, self._catalog.config.providers.get(name)
        has_url = entry.has_address or (configured is not None and configured.url is not None)
        set_too = _OR_SET.format(variable=variable) if variable else ""
        url_too = _AND_URL.format(name=name) if variable and not has_url else ""
        return f"{_HOW_TO_PERSIST}{set_too}{url_too}."

    async def _is_persistent(self) -> bool:
        """Return whether keys are stored so that they outlive this process."""
        return await asyncio.to_thread(self._credentials.is_persistent)

    async def logout(self, name: str) -> None:
        """Delete the key that the user has typed in. Raises: LocalError for an unknown provider."""
        self._find_entry(name)
        self._cancel_sign_in(name)
        before = await self._catalog.default()
        await self._write_keys(lambda: self._credentials.forget(name))
        await self._announce(name, before)

    async def _write_keys(self, work: Callable[[], bool | None]) -> bool | None:
        """Run a function that changes the stored keys in a thread, and return its result. Raises: LocalError when the
        keys cannot be stored."""
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise LocalError(_NOT_KEPT.format(reason=error.strerror)) from error

    async def _announce(self, name: str, before: str) -> None:
        """Call `on_change`. `before` is the default model before the change, "" for none."""
        default = None if before else await self._catalog.default() or None
        await self._on_change(await self.status(name), default)

    def _find_entry(self, name: str) -> CatalogEntry:
        """Return a provider. Raises: LocalError when there is none of this name."""
        entries = self._catalog.entries()
        if name not in entries:
            raise LocalError(_NO_PROVIDER.format(name=name, known=", ".join(sorted(entries))))
        return entries[name]

    def _find_keyed(self, name: str) -> tuple[CatalogEntry, Keyed]:
        """Return a provider that needs a key, and its plug. Raises: LocalError when there is no provider of this name,
        it needs no key, or the administrator's policy does not allow typed keys."""
        entry = self._find_entry(name)
        if refusal := self._catalog.config.policy.find_feature_refusal(Feature.TYPED_KEYS):
            raise LocalError(refusal)
        if not isinstance(entry.plug, Keyed):
            raise LocalError(_NO_KEY_WANTED.format(name=name))
        return entry, entry.plug

    # -- the status that clients show

    async def _describe_status(self, name: str, entry: CatalogEntry) -> wire.ProviderStatus:
        """Return a provider as clients show it: its key, its ways to sign in, and its models."""
        models = await entry.plug.models(entry.settings)
        trial = self._catalog.key_outcomes.get(entry.settings)
        auth = _describe_auth(entry, trial, usable=bool(models))
        policy = self._catalog.config.policy
        models = tuple(model for model in models if not policy.find_model_refusal(f"{name}/{model}"))
        signs_in = isinstance(entry.plug, Keyed) and not policy.find_feature_refusal(Feature.TYPED_KEYS)
        return wire.ProviderStatus(
            id=name,
            label=entry.label,
            configured=name in self._catalog.config.providers or bool(models),
            auth=auth,
            login=_describe_login(name, entry) if signs_in else None,
            models=await self._describe_models(name, entry, models),
            bundled=entry.plug.describe_bundled() if isinstance(entry.plug, Bundles) else None,
        )

    async def _describe_models(
        self, name: str, entry: CatalogEntry, models: tuple[str, ...]
    ) -> tuple[wire.ProviderModel, ...]:
        """Return the models of a provider with their abilities and prices."""
        model_configs = entry.settings.models
        # The vendor's name of each model.
        vendors = {model: (model in model_configs and model_configs[model].model_name) or model for model in models}
        rates = await prices.list_rates(entry.priced_as, vendors.values()) if entry.priced_as and models else {}
        toolless = await asyncio.to_thread(_find_toolless, entry, models)
        return tuple(
            wire.ProviderModel(
                id=model,
                capabilities=wire.ModelCapabilities(
                    reason=bool(self._catalog.variants(f"{name}/{model}")),
                    vision=bool(_READS_IMAGES.search(vendor)),
                    tools=model not in toolless,
                    web_search=entry.plug.name in _SEARCHING_PLUGS and entry.settings.can_search_web(model),
                ),
                cost=_choose_cost(model_configs.get(model), rates.get(vendor)),
            )
            for model, vendor in vendors.items()
        )


def _choose_cost(model_config: ModelConfig | None, listed: tuple[float, float] | None) -> wire.ModelCost | None:
    """Return the user's own rates, or those of the price list if there are none; None if there are none there either.
    `listed` are the rates of the price list: US dollars for a million tokens of input and of output."""
    if model_config is not None and model_config.cost is not None:
        listed = model_config.cost.input, model_config.cost.output
    return None if listed is None else wire.ModelCost(input=listed[0], output=listed[1])


def _find_toolless(entry: CatalogEntry, models: tuple[str, ...]) -> frozenset[str]:
    """Return the models that cannot call tools. Blocks."""
    plug = entry.plug
    if not isinstance(plug, MayLackTools):
        return frozenset()
    return frozenset(model for model in models if not plug.calls_tools(model, entry.settings))


def _describe_auth(entry: CatalogEntry, trial: wire.TrialOutcome | None, *, usable: bool) -> wire.ProviderAuth:
    """Return whether the user is signed in to a provider, and where the key is from. `trial` is what requests have
    shown about the key. `usable` says whether the provider has models now."""
    key = entry.key
    if key.source is not None and isinstance(entry.plug, Keyed):
        variable = key.variable if key.source == "env" else None
        status = wire.AuthStatus.AUTHENTICATED
        return wire.ProviderAuth(status=status, type="api-key", source=key.source, env_var=variable, trial=trial)
    if not isinstance(entry.plug, Keyed):
        return wire.ProviderAuth(status=wire.AuthStatus.LOCAL if usable else wire.AuthStatus.NOT_RUNNING)
    if entry.settings.url and is_on_this_machine(entry.settings.url):
        return wire.ProviderAuth(status=wire.AuthStatus.LOCAL)  # the user's own server often needs no key
    return wire.ProviderAuth(status=wire.AuthStatus.UNAUTHENTICATED, env_var=key.variable)


def _describe_login(name: str, entry: CatalogEntry) -> wire.ProviderLogin:
    """Return how a user can sign in to a provider."""
    methods, prefixes = _list_methods(name, entry), KEY_PREFIXES.get(name)
    return wire.ProviderLogin(methods=methods, key_prefixes=prefixes, asks_for_url=_asks_for_url(entry) or None)


def _list_methods(name: str, entry: CatalogEntry, *, browser: bool = True) -> tuple[wire.LoginMethod, ...]:
    """Return the methods of signing in, the best one first. `browser` says whether the user has a browser."""
    is_vendor = name == "openai" or (name == entry.plug.name and not isinstance(entry.plug, Serves))
    typed = wire.LoginMethod(key=MANUAL if is_vendor else API_KEY, label=_LABEL)
    if browser and isinstance(entry.plug, SignsInByDevice):
        return (wire.LoginMethod(key=DEVICE, label=_DEVICE_LABEL), typed)
    if browser and entry.browser_sign_in:
        return (wire.LoginMethod(key=BROWSER, label=_BROWSER_LABEL), typed)
    return (typed,)


def _asks_for_url(entry: CatalogEntry) -> bool:
    """Return whether the user is asked for the URL: the server is self-hosted, and its URL is not configured. A URL
    that was typed in can be changed."""
    return not entry.has_address and (entry.settings.url is None or entry.key.source == "login")


def _parse_key(data: Mapping[str, str]) -> str:
    """Return the key among the fields that a client sends. Raises: LocalError for a text that cannot be a key."""
    key = next((data[name].strip() for name in ("key", "api-key", "apiKey") if data.get(name)), "")
    if not key:
        raise LocalError(_NOTHING_TYPED)
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise LocalError(_ODD_KEY)
    return key


def _parse_url(data: Mapping[str, str]) -> str | None:
    """Return the URL among the fields that a client sends, None for none. Raises: LocalError for another text."""
    url = data.get("url", "").strip()
    if url and not url.startswith(("https://", "http://")):
        raise LocalError(_NO_URL)
    return url or None


async def _try_key(label: str, plug: Keyed, settings: ProviderConfig) -> str | None:
    """Try a key. Return None if it works, or a remark for the user if it could not be tried. Raises: LocalError when
    the server rejects it."""
    try:
        await plug.check(settings)
    except ProviderError as error:
        if error.status == 401:
            raise LocalError(_REJECTED.format(label=label)) from None
        return _UNCHECKED.format(reason=redaction.redact(str(error)))
    return None
