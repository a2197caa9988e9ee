"""Reads from a chat the tokens and the costs that its outside agents have reported.

It must not add them to what our own models cost: `host.costs.ledger` has those, and the budgets count only those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.protocol.content import UsageContent
from jupyter_eca.protocol.costs import OutsideCost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.config import Agent
    from jupyter_eca.host.chat.registry import Chats


async def read_usages(chats: Chats, chat: str) -> list[UsageContent]:
    """Return what the requests in a chat have used, in their order. Those of our own models are included."""
    contents = [event.content for event in await chats.read_events(chat)]
    return [content for content in contents if isinstance(content, UsageContent)]


async def list_outside_costs(chats: Chats, agents: Mapping[str, Agent], chat: str) -> tuple[OutsideCost, ...]:
    """Return the costs that each outside agent of a chat has reported, in the order in which the agents began. The cost
    of an agent that has reported none is None. `agents` are all agents by their names."""
    costs: dict[str, list[float]] = {}
    for usage in await read_usages(chats, chat):
        if usage.agent is not None:
            known = [] if usage.last_message_cost is None else [float(usage.last_message_cost)]
            costs.setdefault(usage.agent, []).extend(known)
    outsides = {name: agents[name].outside if name in agents else None for name in costs}
    return tuple(
        OutsideCost(
            agent=outside.title if outside is not None else name, cost=sum(costs[name]) if costs[name] else None
        )
        for name, outside in outsides.items()
    )
