"""Tries the key of a provider with one small request, and returns the outcome, such as "works" or "refused".

Only a real request shows whether the account has credit. It is paid and recorded like any other request, and ends with
the first words of the answer. It must not know how a key is stored: `plugins/providers/credentials/sign_in.py` does.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction
from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, TextPart
from jupyter_eca.errors import FailureKind, LocalError, ProviderError
from jupyter_eca.host.costs.ledger import Bill
from jupyter_eca.protocol.provider import ProvidersTryResult, TrialOutcome

if TYPE_CHECKING:
    from jupyter_eca.host.costs.model_caller import ModelCaller
    from jupyter_eca.plugins.providers.catalog import Catalog

_SYSTEM: Final = "Answer with one word."
_QUESTION: Final = ChatMessage("user", (TextPart("Say OK."),))

_NO_PROVIDER: Final = "There is no provider {name!r}."
_NO_MODEL: Final = "{name} has no model yet. Add one to `providers.{name}.models` in the configuration."

# The outcome of a trial that failed, by the kind of the failure. All other kinds are `FAILED`.
_OUTCOMES: Final = {
    FailureKind.AUTH: TrialOutcome.REFUSED,
    FailureKind.QUOTA: TrialOutcome.NO_CREDIT,
    FailureKind.NETWORK: TrialOutcome.NO_NETWORK,
}


class KeyTrials:
    """Sends the small requests of one host."""

    def __init__(self, catalog: Catalog, model_caller: ModelCaller) -> None:
        self._catalog = catalog
        self._model_caller = model_caller

    async def run(self, provider: str) -> ProvidersTryResult:
        """Try the key of a provider with the first of its models. Raises: LocalError for an unknown provider."""
        await self._catalog.refresh()
        if (entry := self._catalog.entries().get(provider)) is None:
            raise LocalError(_NO_PROVIDER.format(name=provider))
        if not (models := await entry.plug.models(entry.settings)):
            return ProvidersTryResult(outcome=TrialOutcome.FAILED, message=_NO_MODEL.format(name=provider))
        model = f"{provider}/{models[0]}"
        try:
            await self._ask(model)
        except ProviderError as error:
            outcome = _OUTCOMES.get(error.kind, TrialOutcome.FAILED)
            return ProvidersTryResult(outcome=outcome, model=model, message=redaction.redact(str(error)))
        return ProvidersTryResult(outcome=TrialOutcome.WORKS, model=model)

    async def _ask(self, model: str) -> None:
        """Send the request, and wait for the first piece of the answer. The rest is not read. Raises: ProviderError."""
        request = ModelRequest(model, _SYSTEM, (_QUESTION,))
        async with aclosing(self._model_caller.stream(Bill(model), self._catalog.choose(model), request)) as deltas:
            async for _ in deltas:
                return
