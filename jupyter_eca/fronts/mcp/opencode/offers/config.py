"""Owns the tools about OpenCode's models, providers and configuration that are offered over MCP. The answers never
contain keys. The docstring of a tool is its description for the client's model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from pydantic import Field

from jupyter_eca.fronts.mcp.offers_base import Hints, OfferCall, Offers, RefusedCall, offer
from jupyter_eca.fronts.mcp.opencode import settings
from jupyter_eca.fronts.mcp.opencode.offers.run import check_agent, check_model

if TYPE_CHECKING:
    from jupyter_eca.fronts.mcp.opencode.backend import Folder, OpenCode

    OpenCodeCall = OfferCall[OpenCode]

ModelName = Annotated[str, Field(description="PROVIDER/MODEL; empty to leave it as it is.")]

# Names of fields in the configuration whose values may be a secret or contain one.
_SECRET_FIELDS: Final = frozenset({"apikey", "key", "token", "headers", "environment", "env", "password", "secret"})


@offer("opencode_model_list", Hints.READS)
async def list_models(
    call: OpenCodeCall,
    provider: Annotated[str, Field(description="Only those of this provider; empty for all.")] = "",
    refresh: Annotated[bool, Field(description="Has no effect: the list always comes from the server.")] = False,
) -> dict[str, Any]:
    """List the models, as PROVIDER/MODEL, and each provider's default model."""
    del refresh
    folder, answer = await _read_providers(call)
    if provider and provider not in {known["id"] for known in answer["providers"]}:
        raise RefusedCall(f"There is no provider {provider!r}.", "Take one from opencode_provider_list.")
    names = [
        f"{known['id']}/{name}"
        for known in answer["providers"]
        if not provider or known["id"] == provider
        for name in known.get("models", {})
    ]
    return {"models": names, "default": answer.get("default", {}), **folder.fields}


@offer("opencode_model_configure", Hints.WRITES)
async def configure_model(
    call: OpenCodeCall,
    provider: Annotated[str, Field(min_length=1, description="Id of the provider.")],
    model: Annotated[str, Field(min_length=1, description="Id of the model, without its provider.")],
    options: Annotated[
        dict[str, Any], Field(description='Options of requests to the model, such as {"temperature": 0}.')
    ],
) -> dict[str, Any]:
    """Set options of a model in the project's configuration. Returns all options of the model that are in force now."""
    folder = await call.backend.find_folder()
    await check_model(call, folder, f"{provider}/{model}")
    place = ("provider", provider, "models", model, "options")
    file, config = await settings.change(
        call.backend.api, folder, {(*place, name): value for name, value in options.items()}
    )
    current_options = hide_secrets(settings.read_place(config, place) or {})
    return {"provider": provider, "model": model, "options": current_options, "file": file, **folder.fields}


@offer("opencode_provider_list", Hints.READS)
async def list_providers(call: OpenCodeCall) -> dict[str, Any]:
    """The providers that are set up, and how many models each has."""
    folder, answer = await _read_providers(call)
    described = [
        {
            "id": provider["id"],
            "name": provider.get("name"),
            "source": provider.get("source"),
            "models": len(provider.get("models", {})),
        }
        for provider in answer["providers"]
    ]
    return {"providers": described, **folder.fields}


@offer("opencode_config_get", Hints.READS)
async def read_config(call: OpenCodeCall) -> dict[str, Any]:
    """The configuration in force, without anything secret."""
    folder = await call.backend.find_folder()
    return {"config": hide_secrets(await call.backend.api.get("/config", directory=folder.path)), **folder.fields}


@offer("opencode_config_update", Hints.WRITES)
async def update_config(
    call: OpenCodeCall,
    model: ModelName = "",
    smallModel: ModelName = "",
    defaultAgent: Annotated[str, Field(description="Name of an agent; empty to leave it as it is.")] = "",
) -> dict[str, Any]:
    """Change the default models or the default agent of the project. Returns the values that are in force now."""
    folder = await call.backend.find_folder()
    for name in filter(None, (model, smallModel)):
        await check_model(call, folder, name)
    if defaultAgent:
        await check_agent(call, folder, defaultAgent)
    wanted = {"model": model, "small_model": smallModel, "default_agent": defaultAgent}
    change = {(name,): value for name, value in wanted.items() if value}
    if not change:
        raise RefusedCall("Nothing was to be changed.", "Give a model, a smallModel or a defaultAgent.")
    file, config = await settings.change(call.backend.api, folder, change)
    return {"changed": {name: config.get(name) for (name,) in change}, "file": file, **folder.fields}


OFFERS = Offers((list_models, configure_model, list_providers, read_config, update_config))


async def _read_providers(call: OpenCodeCall) -> tuple[Folder, Any]:
    """Return the project folder, and OpenCode's answer about its providers and their models."""
    folder = await call.backend.find_folder()
    return folder, await call.backend.api.get("/config/providers", directory=folder.path)


def hide_secrets(value: Any) -> Any:
    """Return a configuration with all secrets replaced by stars. Pure."""
    match value:
        case dict():
            return {
                name: _mask_value(name) or hide_secrets(item) for name, item in cast("dict[str, Any]", value).items()
            }
        case list():
            return [hide_secrets(item) for item in cast("list[Any]", value)]
        case _:
            return value


def _mask_value(name: str) -> str:
    """Return stars for a field with this name if its value may be secret, otherwise ""."""
    return "**********" if name.lower().replace("_", "") in _SECRET_FIELDS else ""
