"""The provider of Claude at Google Vertex AI. It uses the client that Anthropic's SDK has for Vertex AI, and needs the
extra `vertex`.

It owns the project, the region and the credentials of Google: what Google's own tools use ("application default
credentials"), or an access token as the key. The models are those of the configuration, because a project must enable
each one. Everything else is the Messages API: `anthropic` has it.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.errors import FailureKind, ProviderError
from jupyter_eca.plugins.providers.anthropic import AnthropicProvider
from jupyter_eca.plugins.providers.connection.sdk_clients import check_own_address, require_extra

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.plugins.providers.connection.failures import RequestTarget

# The name that people know.
_LABEL: Final = "Google Vertex AI"
# What the credentials must allow.
_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"

# The errors that users read.
_NO_CREDENTIALS: Final = (
    "There are no valid Google credentials for Google Vertex AI ({reason}). "
    "Run `gcloud auth application-default login`."
)
_NO_PROJECT: Final = (
    "Google Vertex AI needs a project. Set ANTHROPIC_VERTEX_PROJECT_ID or GOOGLE_CLOUD_PROJECT, "
    "and restart Jupyter or your editor."
)
_UNTRIED: Final = "Google Vertex AI checks the access token only when you ask the first question."


class VertexProvider:
    """The provider plug `vertex`. It calls models of Claude in a project at Google Cloud. The class implements
    `base.Provider`."""

    # The name that users write before the model: `vertex/MODEL`.
    name = "vertex"
    # The name that people know.
    label = _LABEL
    # The environment variable in which the key is looked for.
    key_variable = "VERTEX_API_KEY"
    # The lower the number, the earlier this provider is asked for the default model.
    rank = 19

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        """Return the configured models."""
        return tuple(settings.models)

    def request_body(self, model: str, request: ModelRequest, settings: ProviderConfig) -> dict[str, Any]:
        """Return the JSON that `stream` sends."""
        return _MESSAGES_PROVIDER.request_body(model, request, settings)

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        """Stream as `AnthropicProvider` does, and explain errors of the credentials. Raises: ProviderError."""
        settings = await asyncio.to_thread(_add_url, settings)
        credential_error: type[Exception] = importlib.import_module("google.auth.exceptions").GoogleAuthError

        try:
            async with aclosing(_MESSAGES_PROVIDER.stream(model, request, settings)) as deltas:
                async for delta in deltas:
                    yield delta
        except credential_error as error:
            raise ProviderError(_NO_CREDENTIALS.format(reason=type(error).__name__), kind=FailureKind.AUTH) from None

    async def check(self, settings: ProviderConfig) -> None:
        """Raise ProviderError in any case, because Vertex AI has no request that only checks the access token."""
        await asyncio.to_thread(_add_url, settings)
        raise ProviderError(_UNTRIED)


def _add_url(settings: ProviderConfig) -> ProviderConfig:
    """Return the settings with a URL. Blocks. Raises: ProviderError without the extra, or if a file of a project has
    set the address: the credentials of the user must not be sent there."""
    require_extra("vertex", "google.auth", _LABEL)
    check_own_address(settings, _LABEL)
    return settings if settings.url else settings.model_copy(update={"url": _make_url(_find_region())})


def _find_region() -> str:
    """Return the region of the environment, else `global`."""
    return os.environ.get("CLOUD_ML_REGION") or os.environ.get("GOOGLE_CLOUD_LOCATION") or "global"


def _make_url(region: str) -> str:
    """Return the URL of a region. `us` and `eu` are groups of regions."""
    match region:
        case "global":
            return "https://aiplatform.googleapis.com/v1"
        case "us" | "eu":
            return f"https://aiplatform.{region}.rep.googleapis.com/v1"
        case _:
            return f"https://{region}-aiplatform.googleapis.com/v1"


def _make_client(sdk: Any, target: RequestTarget, options: dict[str, Any]) -> Any:
    """Make the client. The project is looked up first, because the SDK needs it before it loads credentials."""
    project = os.environ.get("ANTHROPIC_VERTEX_PROJECT_ID") or os.environ.get("GOOGLE_CLOUD_PROJECT")
    credentials: Any = None
    if not target.key:
        credentials, credentials_project = importlib.import_module("google.auth").default(scopes=[_SCOPE])
        project = project or credentials_project
    if not project:
        raise ProviderError(_NO_PROJECT)
    return sdk.AsyncAnthropicVertex(
        region=_find_region(),
        project_id=project,
        access_token=target.key or None,
        credentials=credentials,
        **options,
    )


# Sends the requests of this plug.
_MESSAGES_PROVIDER: Final = AnthropicProvider(name="vertex", label=_LABEL, priced_as="google", make_client=_make_client)

PROVIDER = VertexProvider()
