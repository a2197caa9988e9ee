"""Owns the rule by which a new chat gets its model, agent and variant from what the user has chosen before.

Each choice is remembered together with the configured default that it replaced. It applies only as long as that default
is still configured. So the newer decision counts: if the user configures another default after the choice, the new
default applies.

    the user chooses `a/one` where `a/default` is configured    new chats begin with `a/one`
    `a/other` is configured later                               new chats begin with `a/other`
    the user chooses `a/two`                                    new chats begin with `a/two`

The choice in the notebook comes first, then the user's last choice in any notebook, then the default. A choice that
cannot be used now is skipped, and is reported in `RecalledChoices.lost`.

This module must not know where choices are stored: `host.chat.choice_memory` reads and writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence


class ChoiceName(StrEnum):
    """What the user chooses for a chat."""

    MODEL = "model"
    AGENT = "agent"
    VARIANT = "variant"


@dataclass(frozen=True, slots=True)
class RememberedChoice:
    """A choice of the user in place of a configured default."""

    name: ChoiceName
    """Whether the choice is that of a model, an agent or a variant."""
    value: str
    """The full name of a model, or the name of an agent or a variant. An empty variant is the choice of none."""
    default: str = ""
    """The configured default that it replaced; "" for none."""
    model: str = ""
    """The model that a variant belongs to; "" for other choices."""
    rights: str = ""
    """For an agent: what it was allowed to do when the user chose it, see `AgentDefaults.rights`."""
    notebook: str = ""
    """The path of the notebook in which it was chosen. "" for the user's last choice in any notebook."""


@dataclass(frozen=True, slots=True)
class AgentDefaults:
    """What is configured for an agent that the user may choose.

    An agent is a named set of settings for chats: a prompt, a model, tools and approval rules.
    """

    model: str = ""
    """Its own model or the configured default model; "" for none."""
    variant: str = ""
    """Its variant; "" for none."""
    rights: str = ""
    """Identifies its own approval rules: two texts are equal only if the rules are."""


@dataclass(frozen=True, slots=True)
class ChoiceOptions:
    """What can be chosen now."""

    agents: Mapping[str, AgentDefaults]
    """The agents that the user may choose, by name."""
    default_agent: str
    """The configured agent. It is one of `agents`."""
    models: Collection[str]
    """Those of the remembered models that can answer now."""
    best_model: str
    """The model that answers where no model is configured; "" for none."""
    list_variants: Callable[[str], Collection[str]]
    """Returns the variants of a model."""


@dataclass(frozen=True, slots=True)
class RecalledChoices:
    """What a new chat begins with."""

    agent: str
    """The name of the agent."""
    model: str
    """The full name of the model; "" for the default."""
    variant: str | None
    """The variant; None for that of the agent."""
    lost: tuple[RememberedChoice, ...] = ()
    """The choices that would apply, but cannot be used now."""


def recall_choices(
    stored: Iterable[RememberedChoice], options: ChoiceOptions, *, agent: str = "", model: str = ""
) -> RecalledChoices:
    """Return what a new chat begins with.

    `stored` are the choices in its notebook, and those of the user that belong to no notebook. `agent` and `model` are
    chosen for this chat already; "" for none.
    """
    # False sorts before True: the choices in the notebook come first.
    ranked = sorted(stored, key=lambda choice: choice.notebook == "")
    lost: list[RememberedChoice] = []
    if not agent:
        choices = [
            choice for choice in ranked if choice.name is ChoiceName.AGENT and choice.default == options.default_agent
        ]
        found = _find_usable(choices, lambda choice: _has_same_rights(choice, options), lost)
        agent = found.value if found else options.default_agent
    defaults = options.agents.get(agent, AgentDefaults())
    if not model:
        choices = [choice for choice in ranked if choice.name is ChoiceName.MODEL and choice.default == defaults.model]
        found = _find_usable(choices, lambda choice: choice.value in options.models, lost)
        model = found.value if found else ""
    answering = model or defaults.model or options.best_model
    variants = options.list_variants(answering)
    of_model = [choice for choice in ranked if choice.name is ChoiceName.VARIANT and choice.model == answering]
    choices = [choice for choice in of_model if choice.default == defaults.variant]
    # A variant that the model no longer has is not reported as lost: the model can answer without it.
    found = _find_usable(choices, lambda choice: choice.value in {"", *variants}, [])
    return RecalledChoices(agent, model, found.value if found else None, tuple(lost))


def _has_same_rights(choice: RememberedChoice, options: ChoiceOptions) -> bool:
    """Return whether a chosen agent is the default, or still has the approval rules with which the user chose it.

    Another project may have an agent of the same name that runs everything without approval. The user has not chosen
    that agent.
    """
    agent = options.agents.get(choice.value)
    return choice.value == options.default_agent or (agent is not None and agent.rights == choice.rights)


def _find_usable(
    choices: Sequence[RememberedChoice],
    is_usable: Callable[[RememberedChoice], bool],
    lost: list[RememberedChoice],
) -> RememberedChoice | None:
    """Return the first choice that can be used, None for none. The choices before it are added to `lost`."""
    for choice in choices:
        if is_usable(choice):
            return choice
        lost.append(choice)
    return None
