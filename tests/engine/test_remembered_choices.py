"""Which model, agent and variant a new chat begins with: the choice in its notebook, the user's last one, or the
default. Each row of the tables is one story."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from jupyter_eca.engine.chat.remembered_choices import (
    AgentDefaults,
    ChoiceName,
    ChoiceOptions,
    RecalledChoices,
    RememberedChoice,
    recall_choices,
)

OPTIONS: Final = ChoiceOptions(
    agents={
        "code": AgentDefaults(model="a/default", rights="usual"),
        "plan": AgentDefaults(model="a/default", rights="looks"),
        "deep": AgentDefaults(model="a/deep", variant="high", rights="usual"),
        "bold": AgentDefaults(model="a/default", rights="runs everything"),
    },
    default_agent="code",
    models={"a/default", "a/deep", "a/one", "a/two"},
    best_model="a/best",
    list_variants=lambda model: ("low", "high") if model in {"a/default", "a/deep", "a/one"} else (),
)


def model(value: str, default: str = "a/default", notebook: str = "") -> RememberedChoice:
    return RememberedChoice(ChoiceName.MODEL, value, default, notebook=notebook)


def agent(value: str, rights: str, default: str = "code", notebook: str = "") -> RememberedChoice:
    return RememberedChoice(ChoiceName.AGENT, value, default, rights=rights, notebook=notebook)


def variant(value: str, of: str, default: str = "", notebook: str = "") -> RememberedChoice:
    return RememberedChoice(ChoiceName.VARIANT, value, default, model=of, notebook=notebook)


HERE: Final = "here.ipynb"

MODELS: Final[dict[str, tuple[list[RememberedChoice], str]]] = {
    "nothing was chosen: the default": ([], ""),
    "chosen in another notebook: the last choice of the user": ([model("a/one")], "a/one"),
    "chosen in this notebook, and later in another": ([model("a/two"), model("a/one", notebook=HERE)], "a/one"),
    "chosen before another default was configured": ([model("a/one", "a/older")], ""),
    "chosen here before another default, elsewhere after it": (
        [model("a/one", "a/older", HERE), model("a/two")],
        "a/two",
    ),
    "chosen before any default was configured": ([model("a/one", "")], ""),
    "the user has gone back to the default here": ([model("a/one"), model("a/default", notebook=HERE)], "a/default"),
}


@pytest.mark.parametrize("story", MODELS)
def test_the_newest_decision_about_the_model_counts_in_its_notebook(story: str) -> None:
    stored, expected = MODELS[story]
    assert recall_choices(stored, OPTIONS) == RecalledChoices("code", expected, None)


def test_without_a_configured_default_a_choice_made_then_counts() -> None:
    options = replace(OPTIONS, agents={"code": AgentDefaults(rights="usual")})
    assert recall_choices([model("a/one", "")], options).model == "a/one"
    assert recall_choices([model("a/one", "a/default")], options).model == ""


AGENTS: Final[dict[str, tuple[list[RememberedChoice], str]]] = {
    "nothing was chosen": ([], "code"),
    "chosen in another notebook": ([agent("plan", "looks")], "plan"),
    "chosen here": ([agent("plan", "looks"), agent("code", "usual", notebook=HERE)], "code"),
    "the user has gone back to the default, whose rules have changed since": ([agent("code", "earlier ones")], "code"),
    "another default agent was configured since": ([agent("plan", "looks", "bold")], "code"),
    "the user chose one that runs everything": ([agent("bold", "runs everything")], "bold"),
}


@pytest.mark.parametrize("story", AGENTS)
def test_the_newest_decision_about_the_agent_counts_in_its_notebook(story: str) -> None:
    stored, expected = AGENTS[story]
    assert recall_choices(stored, OPTIONS) == RecalledChoices(expected, "", None)


def test_an_agent_that_may_do_more_now_was_not_chosen_by_the_user() -> None:
    harmless = agent("bold", "usual")
    assert recall_choices([harmless], OPTIONS) == RecalledChoices("code", "", None, (harmless,))


def test_an_agent_with_its_own_model_has_choices_of_its_own() -> None:
    stored = [model("a/one"), model("a/two", "a/deep")]
    assert recall_choices(stored, OPTIONS).model == "a/one"
    assert recall_choices(stored, OPTIONS, agent="deep").model == "a/two"
    assert recall_choices(stored[:1], OPTIONS, agent="deep").model == ""


def test_a_model_that_cannot_answer_is_passed_over_and_named() -> None:
    gone = model("b/gone", notebook=HERE)
    assert recall_choices([gone], OPTIONS) == RecalledChoices("code", "", None, (gone,))
    assert recall_choices([model("a/one"), gone], OPTIONS) == RecalledChoices("code", "a/one", None, (gone,))


VARIANTS: Final[dict[str, tuple[list[RememberedChoice], str | None]]] = {
    "of the default model": ([variant("high", "a/default")], "high"),
    "of another model": ([variant("high", "a/one")], None),
    "of the chosen model": ([model("a/one"), variant("low", "a/one")], "low"),
    "none is a choice too": ([variant("high", "a/default"), variant("", "a/default", notebook=HERE)], ""),
    "one that the model no longer has": ([model("a/two"), variant("high", "a/two")], None),
    "chosen before another one was configured": ([variant("high", "a/default", "low")], None),
}


@pytest.mark.parametrize("story", VARIANTS)
def test_each_model_keeps_its_own_variant(story: str) -> None:
    stored, expected = VARIANTS[story]
    recalled = recall_choices(stored, OPTIONS)
    assert (recalled.variant, recalled.lost) == (expected, ())


def test_what_this_chat_has_already_counts_before_what_is_remembered() -> None:
    stored = [model("a/two"), agent("plan", "looks"), variant("low", "a/one")]
    assert recall_choices(stored, OPTIONS, agent="code", model="a/one") == RecalledChoices("code", "a/one", "low")


def test_an_agent_that_is_gone_has_no_defaults() -> None:
    assert recall_choices([], OPTIONS, agent="gone") == RecalledChoices("gone", "", None)
