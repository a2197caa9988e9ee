"""The provider of Claude at Amazon Bedrock. It uses the client that Anthropic's SDK has for Bedrock, and needs the
extra `bedrock`.

It owns the region and the credentials of AWS: a key of Bedrock, or what the AWS tools use (variables, profiles, roles).
The models are those of the configuration, because an account must enable each one. Everything else is the Messages API:
`anthropic` has it.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import re
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
_LABEL: Final = "Amazon Bedrock"
# Finds the region in the URL of an endpoint.
_REGION: Final = re.compile(r"//bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")

# The errors that users read.
_NO_REGION: Final = (
    "Amazon Bedrock needs a region. Set AWS_REGION and restart Jupyter or your editor, or set `providers.bedrock.url` "
    "to https://bedrock-runtime.REGION.amazonaws.com in ~/.config/eca/config.json."
)
_NO_CREDENTIALS: Final = (
    "There are no valid AWS credentials for Amazon Bedrock ({reason}). Sign in with `aws sso login`, or set "
    "AWS_BEARER_TOKEN_BEDROCK or `providers.bedrock.key`."
)
_UNTRIED: Final = "Amazon Bedrock checks the key only when you ask the first question."


class BedrockProvider:
    """The provider plug `bedrock`. It calls models of Claude in an account of AWS. The class implements
    `base.Provider`."""

    # The name that users write before the model: `bedrock/MODEL`.
    name = "bedrock"
    # The name that people know.
    label = _LABEL
    # The environment variable where the vendor's own tools look for the key.
    key_variable = "AWS_BEARER_TOKEN_BEDROCK"
    # The lower the number, the earlier this provider is asked for the default model.
    rank = 18

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        """Return the configured models."""
        return tuple(settings.models)

    def request_body(self, model: str, request: ModelRequest, settings: ProviderConfig) -> dict[str, Any]:
        """Return the JSON that `stream` sends."""
        return _MESSAGES_PROVIDER.request_body(model, request, settings)

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        """Stream as `AnthropicProvider` does, and explain errors of the credentials. Raises: ProviderError."""
        settings = await asyncio.to_thread(_add_url, settings)
        credential_error: type[Exception] = importlib.import_module("botocore.exceptions").BotoCoreError

        try:
            async with aclosing(_MESSAGES_PROVIDER.stream(model, request, settings)) as deltas:
                async for delta in deltas:
                    yield delta
        except credential_error as error:
            raise _explain_credentials(type(error).__name__) from None

    async def check(self, settings: ProviderConfig) -> None:
        """Raise ProviderError in any case, because Bedrock has no request that only checks the key."""
        await asyncio.to_thread(_add_url, settings)
        raise ProviderError(_UNTRIED)


def _add_url(settings: ProviderConfig) -> ProviderConfig:
    """Return the settings with a URL. Blocks. Raises: ProviderError without the extra, without a region, or if a file
    of a project has set the address: the credentials of the user must not be sent there."""
    require_extra("bedrock", "boto3", _LABEL)
    check_own_address(settings, _LABEL)
    if settings.url:
        return settings
    region = _find_region()
    if not region:
        raise ProviderError(_NO_REGION)
    return settings.model_copy(update={"url": f"https://bedrock-runtime.{region}.amazonaws.com"})


def _find_region() -> str:
    """Return the region of the environment or of the AWS profile, "" for none."""
    if region := os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        return region
    session: Any = importlib.import_module("boto3").Session
    try:
        return session().region_name or ""
    except importlib.import_module("botocore.exceptions").BotoCoreError as error:  # a profile that does not exist
        raise _explain_credentials(type(error).__name__) from None


def _explain_credentials(reason: str) -> ProviderError:
    """Return the error for credentials that are missing or not valid."""
    return ProviderError(_NO_CREDENTIALS.format(reason=reason), kind=FailureKind.AUTH)


def _make_client(sdk: Any, target: RequestTarget, options: dict[str, Any]) -> Any:
    """Create the client. Credentials are looked up first, because without them the SDK only raises a RuntimeError."""
    if not target.key and importlib.import_module("boto3").Session().get_credentials() is None:
        raise _explain_credentials("none were found")
    found = _REGION.search(target.url)
    return sdk.AsyncAnthropicBedrock(
        api_key=target.key or None,
        aws_region=(found.group(1) if found else _find_region()) or "us-east-1",
        **options,
    )


# Sends the requests of this plug.
_MESSAGES_PROVIDER: Final = AnthropicProvider(name="bedrock", label=_LABEL, priced_as="aws", make_client=_make_client)

PROVIDER = BedrockProvider()
