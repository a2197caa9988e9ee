"""Connects LiteLLM Proxy, the model gateway of a JupyterHub, with `hub_accounts`: LiteLLM asks `hub_accounts` about
each request, and reports to it what each answer cost.

`litellm_config.yaml` names `user_api_key_auth` and `spending`.
"""

# pyright: basic, reportMissingImports=false
# LiteLLM is installed in a Python environment of its own, so pyright does not find it.

import asyncio
import os
import sys
from pathlib import Path

from fastapi import Request
from litellm.integrations.custom_logger import CustomLogger
from litellm.proxy._types import ProxyException, UserAPIKeyAuth

# The folder of this file and of `hub_accounts`.
FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from hub_accounts import Accounts, HubUsers, LimitsFile, RefusedRequest, SpendingTable  # noqa: E402  # its folder is not known before

# The name of the gateway among the services of the Hub. A token needs a scope with this name.
SERVICE = os.environ.get("JUPYTERHUB_SERVICE_NAME", "llm")

# Knows the users, their limits and what they have spent.
accounts = Accounts(
    HubUsers(os.environ["JUPYTERHUB_API_URL"], frozenset({f"access:services!service={SERVICE}", "access:services"})),
    LimitsFile(Path(os.environ.get("GATEWAY_LIMITS") or FOLDER / "limits.json")),
    SpendingTable(Path(os.environ.get("GATEWAY_LEDGER") or FOLDER / "ledger.sqlite")),
)


async def user_api_key_auth(request: Request, api_key: str) -> UserAPIKeyAuth:
    """Recognise the caller by a token of the Hub. Return the caller with their limits, which LiteLLM enforces.

    Raises: ProxyException when the request is refused.
    """
    try:
        # Only POST requests cost money. So a user whose budget is used up can still list the models.
        caller = await asyncio.to_thread(accounts.admit, api_key or "", pays=request.method == "POST")
    except RefusedRequest as refusal:
        raise ProxyException(str(refusal), refusal.kind, "key", refusal.status) from None
    return UserAPIKeyAuth(**caller.as_arguments())


class SpendingLogger(CustomLogger):
    """Writes what each answer cost into the ledger. LiteLLM calls it for all APIs, with and without streaming."""

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):  # noqa: ARG002  # LiteLLM's
        """Add an answer to the ledger. `kwargs` is what LiteLLM knows about the answer. An answer without a user is
        left out, because nobody pays for it."""
        about = kwargs["standard_logging_object"]
        user = about["metadata"].get("user_api_key_user_id")
        if user is None:
            return
        await asyncio.to_thread(
            accounts.ledger.add,
            user,
            about.get("model_group") or about["model"],
            about["call_type"],
            about["prompt_tokens"],
            about["completion_tokens"],
            about["response_cost"] or 0.0,
            end_time.timestamp(),
        )


# `litellm_config.yaml` names this object.
spending = SpendingLogger()
