"""Owns the methods of ECA on costs: what chats have cost, and what a prompt would cost.

It must not compute prices: `host/costs/` and `host/operations/estimates.py` do.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ProviderError, RemoteError
from jupyter_eca.host.chat.live_chat import NO_CHOICE, Choice, Prompt, now
from jupyter_eca.host.operations.estimates import describe_request
from jupyter_eca.host.operations.outside_usage import list_outside_costs
from jupyter_eca.protocol import costs
from jupyter_eca.protocol.jsonrpc import ErrorCode

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.host.store import Total


async def read_costs(session: EcaSession, params: costs.ChatCostsParams) -> costs.ChatCostsResult:
    """Return what the last message, the chat, the notebook and this day have cost."""
    chat = session.find_chat(params.chat_id)
    account = await session.host.ledger.read_account(chat, now())
    return costs.ChatCostsResult(
        message=_make_cost(account.message) if account.message.requests else None,
        chat=_make_cost(account.chat),
        notebook=_make_cost(account.notebook) if account.notebook_path else None,
        path=account.notebook_path or None,
        today=_make_cost(account.today),
        outside=await list_outside_costs(session.host.chats, session.host.current.resolved.agents, chat) or None,
    )


def _make_cost(total: Total) -> costs.Cost:
    """Return a total as ECA's model."""
    return costs.Cost(
        requests=total.requests,
        input_tokens=total.tokens_in,
        cached_tokens=total.tokens_cached,
        output_tokens=total.tokens_out,
        cost=total.cost,
        unpriced=total.unpriced,
    )


async def estimate(session: EcaSession, params: costs.ChatEstimateParams) -> costs.ChatEstimateResult:
    """Return what a prompt would cost, without sending it."""
    host = session.host
    id = uuid.uuid4().hex if params.chat_id is None else session.find_chat(params.chat_id)
    choice = Choice(params.model or "", params.agent or "", params.variant)
    selected = session.choices.get(id, NO_CHOICE).fill_from(session.choices.get("", NO_CHOICE))
    prompt = Prompt(id, params.message, choice.fill_from(selected), params.contexts)
    # The user will probably send this prompt soon, so the model is prepared.
    session.start(host.warmup.warm(id, prompt.choice.model))
    try:
        await host.catalog.refresh()
        # The exact request is computed only if the client wants to show it, because this takes longer.
        estimate = await (
            host.estimates.estimate_exactly(prompt) if params.request else host.estimates.estimate(prompt)
        )
        request = describe_request(host.catalog, estimate.request) if params.request else None
    except ProviderError as error:
        raise RemoteError(str(error), ErrorCode.REFUSED) from error
    finally:
        if params.chat_id is None:
            host.chats.forget(id)  # the new chat was only made for the estimate
    return costs.ChatEstimateResult(
        model=estimate.model,
        input_tokens=estimate.tokens,
        cost=estimate.expected.cost,
        context_limit=estimate.expected.context_limit or None,
        request=request,
    )


HANDLERS: Final = {"chat/costs": read_costs, "chat/estimate": estimate}
