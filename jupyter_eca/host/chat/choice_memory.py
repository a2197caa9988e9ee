"""Owns what the user has chosen for new chats: the model, the agent and the variant. It is remembered for each
notebook, and as the user's last choice for all other notebooks. An agent is a named set of instructions, tools and
approval rules. A variant is a named set of options of a model, such as a reasoning effort.

It must not decide which choice applies: `engine.chat.remembered_choices` does. It must not know clients: each front
knows which of its clients has a user whose choices are remembered. Whether tool calls run without approval (trust) is
never remembered.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from jupyter_eca.config.agents import CODE
from jupyter_eca.config.schema import AgentMode
from jupyter_eca.engine.chat.remembered_choices import (
    AgentDefaults,
    ChoiceName,
    ChoiceOptions,
    RememberedChoice,
    recall_choices,
)
from jupyter_eca.host.chat.live_chat import NO_CHOICE
from jupyter_eca.protocol.lifecycle import MessageType

if TYPE_CHECKING:
    from jupyter_eca.config.agents import Agent
    from jupyter_eca.host.chat.live_chat import Choice
    from jupyter_eca.host.services import Services


@dataclass(frozen=True, slots=True)
class ChoicePlace:
    """Where the user has made a choice."""

    notebook: str
    """The path of the notebook, "" for none."""
    is_for_all_notebooks: bool = False
    """Whether the choice becomes the user's last choice for all other notebooks, too."""


class ChoiceMemory:
    """Remembers the choices of the user of one host."""

    def __init__(self, services: Services) -> None:
        self._services = services
        # The choices that cannot be used now, and that the users have been told about.
        self._announced: set[tuple[ChoiceName, str]] = set()
        # Reads and writes run one after the other, so that a new chat finds a choice that was made just before.
        self._lock = asyncio.Lock()

    async def recall(self, notebook: str, chosen: Choice = NO_CHOICE) -> Choice:
        """Return the choice that a new chat in a notebook begins with. `chosen` are the settings that were chosen for
        this chat already: they are kept.

        The users get a message, once, about a remembered choice that cannot be used now. Raises: NotSaved.
        """
        await self._services.notebook_ids.follow_move(notebook)
        async with self._lock:
            return await self._recall(notebook, chosen)

    async def _recall(self, notebook: str, chosen: Choice) -> Choice:
        """Do the work of `recall`. The caller holds the lock."""
        stored = await self._services.store.do(lambda tables: tables.choices.list(notebook))
        if not stored:
            return chosen
        options = await self._read_options({choice.value for choice in stored if choice.name is ChoiceName.MODEL})
        recalled = recall_choices(stored, options, agent=chosen.agent, model=chosen.model)
        own_model = options.agents[recalled.agent].model if recalled.agent in options.agents else ""
        for choice in recalled.lost:
            self._announce_lost(choice, recalled.model or own_model or options.best_model, recalled.agent)
        # The default agent is not named, so that the chat uses another one when the configuration changes.
        agent = "" if recalled.agent == options.default_agent else recalled.agent
        found = replace(NO_CHOICE, model=recalled.model or chosen.model, agent=agent, variant=recalled.variant)
        return chosen.fill_from(found)

    async def remember_model(self, place: ChoicePlace, model: str, variant: str = "", agent: str = "") -> None:
        """Remember a model, and the variant that the user has chosen with it; "" for none. `place` is where they were
        chosen.

        `agent` is the name of the chat's agent; "" for the agent of new chats. The chosen model replaces the default
        model of this agent. Raises: NotSaved, like all functions that change what is remembered.
        """
        async with self._lock:
            defaults = await self._read_defaults(place, agent)
            chosen = [RememberedChoice(ChoiceName.MODEL, model, defaults.model)]
            if variant in self._services.catalog.variants(model):
                chosen.append(RememberedChoice(ChoiceName.VARIANT, variant, defaults.variant, model))
            await self._keep(place, chosen)

    async def remember_variant(self, place: ChoicePlace, model: str, variant: str, agent: str = "") -> None:
        """Remember a variant of a model; "" for none. See `remember_model` for `place` and `agent`."""
        async with self._lock:
            defaults = await self._read_defaults(place, agent)
            await self._keep(place, [RememberedChoice(ChoiceName.VARIANT, variant, defaults.variant, model)])

    async def remember_agent(self, place: ChoicePlace, name: str) -> None:
        """Remember an agent, which was chosen at `place`, with a digest of its approval rules (`rights`): if the rules
        change, the choice is lost. An agent that does not exist is not remembered."""
        current = self._services.current
        if (agent := current.resolved.agents.get(name)) is not None:
            rights = self._get_defaults(agent).rights
            choice = RememberedChoice(ChoiceName.AGENT, agent.name, self._get_default_agent_name(), rights=rights)
            async with self._lock:
                await self._keep(place, [choice])

    async def forget_replaced(self, name: ChoiceName, default: str) -> None:
        """Forget the choices that replaced a default, because the user has now configured this default, and the newer
        decision counts. `name` is the kind of the choices, and `default` the value of the default; "" for none."""
        async with self._lock:
            await self._services.store.do(lambda tables: tables.choices.forget_replaced(name, default))

    async def forget(self, path: str) -> None:
        """Forget the choices in a notebook, or in all notebooks of a folder."""
        async with self._lock:
            await self._services.store.do(lambda tables: tables.choices.forget(path))

    async def _keep(self, place: ChoicePlace, choices: list[RememberedChoice]) -> None:
        """Store choices for the notebook of `place`, if it has one, and for all other notebooks, if `place` says so.
        Raises: NotSaved."""
        kept = [replace(choice, notebook=place.notebook) for choice in choices if place.notebook]
        kept += choices if place.is_for_all_notebooks else []
        await self._services.store.do(lambda tables: tables.choices.keep(kept))

    async def _read_defaults(self, place: ChoicePlace, agent: str) -> AgentDefaults:
        """Return what is configured for an agent; "" for the agent of new chats in this place."""
        name = agent or (await self._recall(place.notebook, NO_CHOICE)).agent
        return self._get_defaults(self._services.current.resolved.get_agent(name))

    async def _read_options(self, chosen_models: set[str]) -> ChoiceOptions:
        """Return what can be chosen now. `chosen_models` are the remembered models, which may be gone."""
        services = self._services
        models, best_model = await services.catalog.filter_usable(chosen_models), await services.catalog.default()
        agents = services.current.resolved.agents.values()
        return ChoiceOptions(
            agents={agent.name: self._get_defaults(agent) for agent in agents if agent.mode is not AgentMode.SUBAGENT},
            default_agent=self._get_default_agent_name(),
            models=models | {best_model},
            best_model=best_model,
            list_variants=services.catalog.variants,
        )

    def _get_default_agent_name(self) -> str:
        """Return the name of the agent that new chats have where nothing is chosen."""
        return self._services.current.resolved.get_agent().name

    def _get_defaults(self, agent: Agent) -> AgentDefaults:
        """Return what is configured for an agent. Its model is ignored if no provider has the model."""
        own = agent.default_model if agent.default_model and self._services.catalog.has(agent.default_model) else ""
        model = own or self._services.config.default_model or ""
        return AgentDefaults(model, agent.variant or "", _digest_own_rules(agent))

    def _announce_lost(self, choice: RememberedChoice, model: str, agent: str) -> None:
        """Tell the users, once, that a remembered choice cannot be used now. `model` and `agent` are those that new
        chats begin with instead."""
        if (choice.name, choice.value) in self._announced:
            return
        self._announced.add((choice.name, choice.value))
        if choice.name is ChoiceName.MODEL:
            message = f"The model {choice.value}, which you chose earlier, cannot answer now."
            message += f" Until it can, new chats begin with {model}." if model else ""
        else:
            message = (
                f"The agent {choice.value}, which you chose earlier, is gone or has other approval rules now. New chats"
                f" begin with {agent}. To use {choice.value}, choose it again."
            )
        self._services.subscribers.message(MessageType.WARNING, message)


def _digest_own_rules(agent: Agent) -> str:
    """Return a text that changes when the approval rules change that only this agent has: its kind, and a digest of the
    rules if it has any. "" for an agent of the kind `code` without rules of its own."""
    if not agent.own_rules:
        return "" if agent.kind == CODE else agent.kind
    rules = json.dumps([rules.model_dump(mode="json") for rules in agent.own_rules], sort_keys=True)
    return f"{agent.kind} {sha256(rules.encode()).hexdigest()}"
