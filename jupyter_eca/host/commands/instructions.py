"""What the model is told before the first word: `/init`, `/rules`, `/sync-system-prompt`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval.approval_scope import key
from jupyter_eca.host.chat.ports import CommandAnswer, CommandReplacement
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.instructions import rules as the_rules
from jupyter_eca.instructions.base import facts
from jupyter_eca.instructions.prompt_texts import read_prompt
from jupyter_eca.instructions.template import render

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.engine.model.texts import Section
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace
    from jupyter_eca.host.turn.setup import Briefing
    from jupyter_eca.instructions.rules import InstructionRule

_NO_RULES: Final = (
    "There are no rules for this agent and model. A Markdown file in `.eca/rules` of the workspace, or in "
    "`~/.config/eca/rules`, is one."
)
_SAME: Final = "The model is told what it was told: nothing has changed."


async def brief(place: CommandPlace, *, anew: bool = False) -> Briefing:
    """Raises: ProviderError when there is no model to tell."""
    host = place.host
    choice = replace((await host.chats.load(place.chat)).choice, model=await host.turns.model(place.chat))
    return await host.setups.brief(choice, host.tool_contexts.build(place.chat, place.kernel), anew=anew)


async def init(place: CommandPlace, called: CommandCall) -> CommandReplacement:
    host = place.host
    told = await brief(place)
    who = host.current.resolved.agent((await host.chats.load(place.chat)).choice.agent)
    known = facts(host.workspace.files, (key(tool) for tool in told.tools), subagent=False)
    of_agent = host.config.agent.get(who.name)
    own = (of_agent.prompts.init if of_agent else "") or host.config.prompts.init
    try:
        words = render(own or read_prompt("init"), known)
    except ValueError as error:
        host.subscribers.warn(f"The prompt of /init (`prompts.init`) is taken as it is: {error}.")
        words = own
    return CommandReplacement(f"{words}\n\n{called.text}" if called.text else words)


async def rules(place: CommandPlace, _called: CommandCall) -> CommandAnswer:
    host = place.host
    choice = (await host.chats.load(place.chat)).choice
    who, model = host.current.resolved.agent(choice.agent).name, await host.turns.model(place.chat)
    every = await the_rules.find(host.workspace.files, host.config, host.subscribers.warn)
    holding = [rule for rule in every if rule.holds(who, model)]
    other = [rule for rule in every if rule not in holding]
    if not every:
        return CommandAnswer(_NO_RULES)
    told = await brief(place)
    parts = [
        _list_rules("Rules the model reads at the beginning of a chat:", (rule for rule in holding if not rule.paths)),
        _list_rules("Fetched for some files only:", (rule for rule in holding if rule.paths)),
        _list_rules(f"Not for the agent `{who}` with `{model}`:", other),
        _describe_new(holding, told),
    ]
    return CommandAnswer("\n\n".join(filter(None, parts)))


def _list_rules(head: str, some: Iterable[InstructionRule]) -> str:
    lines = [f"- `{rule.id}`{_describe_scope(rule)}" for rule in some]
    return "\n".join([head, "", *lines]) if lines else ""


def _describe_scope(rule: InstructionRule) -> str:
    said = {
        "files": rule.paths,
        "before": tuple({"modify": "changes", "read": "reading"}[one] for one in rule.enforce) if rule.paths else (),
        "agents": rule.agents,
        "models": rule.models,
    }
    told = "; ".join(f"{name} {', '.join(f'`{one}`' for one in words)}" for name, words in said.items() if words)
    return f" ({told})" if told else ""


def _describe_new(holding: Iterable[InstructionRule], told: Briefing) -> str:
    """Those that are newer than the chat."""
    text = told.pinned.text
    new = [rule for rule in holding if rule.id not in text and not told.pinned.has(the_rules.source(rule))]
    if not new:
        return ""
    names = ", ".join(f"`{rule.name}`" for rule in new)
    return f"This chat began without {names}: `/sync-system-prompt` tells the model."


async def sync_system_prompt(place: CommandPlace, _called: CommandCall) -> CommandAnswer:
    """Raises: ProviderError when there is no model to tell."""
    old, new = await brief(place), await brief(place, anew=True)
    await place.host.system_prompts.save(place.chat, new.pinned)
    lines = _compare(old.pinned.sections, new.pinned.sections)
    return CommandAnswer("\n".join(["The model is told from now on:", "", *lines]) if lines else _SAME)


def _compare(old: tuple[Section, ...], new: tuple[Section, ...]) -> list[str]:
    was, now = ({section.source: section.text for section in sections} for sections in (old, new))
    return [
        *(f"- new: {source}" for source in now if source not in was),
        *(f"- changed: {source}" for source in now if was.get(source, now[source]) != now[source]),
        *(f"- no more: {source}" for source in was if source not in now),
    ]


COMMANDS: Final = {
    "init": NativeCommand(
        init,
        "Have AGENTS.md written, or improved: what an assistant must know of this project",
        may_ask_model=True,
    ),
    "rules": NativeCommand(rules, "Show the rules that hold here, and the files they are from"),
    "sync-system-prompt": NativeCommand(
        sync_system_prompt, "Tell the model the instructions and rules as they are now"
    ),
}
