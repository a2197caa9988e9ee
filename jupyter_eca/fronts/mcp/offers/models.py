"""Owns the tools about models that are offered over MCP: list all models, and configure the requests to one model. The
docstring of a tool is its description for the client's model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_eca.fronts.mcp import project_settings
from jupyter_eca.fronts.mcp.offers_base import Hints, OfferCall, Offers, RefusedCall, offer

if TYPE_CHECKING:
    from jupyter_eca.fronts.mcp.assistant import Assistant

    AssistantCall = OfferCall[Assistant]

Provider = Annotated[str, Field(description="Only those of this provider; empty for all.")]
Options = Annotated[
    dict[str, Any], Field(description='Fields to add to every request to the model, such as {"temperature": 0}.')
]


@offer("eca_model_list", Hints.READS)
async def list_models(call: AssistantCall, provider: Provider = "") -> dict[str, Any]:
    """The models that the assistant can answer with, as PROVIDER/MODEL, and the default one."""
    names, default = await call.backend.host.catalog.list_models()
    matching = [name for name in names if not provider or name.startswith(f"{provider}/")]
    return {"default": default or None, "models": matching}


@offer("eca_model_configure", Hints.WRITES, needs_approval=True)
async def configure_model(
    call: AssistantCall,
    provider: Annotated[str, Field(min_length=1, description="Name of the provider.")],
    model: Annotated[str, Field(min_length=1, description="Name of the model, without its provider.")],
    options: Options,
) -> dict[str, Any]:
    """Set fields that are added to every request to a model, in the project's .eca/config.json."""
    if provider not in call.backend.host.catalog.entries():
        known = ", ".join(sorted(call.backend.host.catalog.entries()))
        raise RefusedCall(f"There is no provider {provider!r}.", f"There are: {known}.")
    path = ("providers", provider, "models", model, "extraPayload")
    file = await project_settings.change(call.backend.host, {path: options})
    return {"provider": provider, "model": model, "options": options, "file": file}


OFFERS = Offers((list_models, configure_model))
